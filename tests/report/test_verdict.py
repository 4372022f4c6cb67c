"""The verdict is sentences filled from comparisons.json: every template, each branch once."""

import pytest

from report.floors import is_floor
from report.judging import from_json
from report.verdict import CHEAPER, CONSTANT, verdict_of

BI, LATE, CROSS = (f"none-{reader}-frozen" for reader in ("bi", "late", "cross"))
SUP_BI, SUP_CROSS = "sup-bi-frozen", "sup-cross-frozen"
METRICS = {"sst": "accuracy", "para": "accuracy", "sts": "pearson"}
COSINE, OVERLAP = "cosine_spearman", "word overlap"


def scored(system, mean, interval=(0.1, 0.9), metric=None, seeds=(1,)) -> dict:
    """Return an entry of `estimates`."""
    entry = {"system": system, "n": 4000, "seeds": list(seeds), "deviation": None}
    between = interval and {"low": interval[0], "high": interval[1], "method": "percentile"}
    return entry | {"mean": mean, "interval": between} | ({"metric": metric} if metric else {})


def versus(a, b, difference, interval, p, **more) -> dict:
    """Return an entry of `comparisons`, a minus b."""
    entry = {"a": a, "b": b, "n": 4000, "seeds": [1], "test": "t", "p": p}
    between = interval and {"low": interval[0], "high": interval[1], "method": "percentile"}
    return entry | {"difference": difference, "interval": between} | more


def place(best, estimates, comparisons=(), task="sts", split="test", **question) -> dict:
    """Return the content of comparisons.json on one task and split."""
    where = {"task": task, "split": split}
    main = {"metric": METRICS[task]}
    names = dict.fromkeys(entry["system"] for entry in estimates if not is_floor(entry["system"]))
    keys = ("pretrain", "reader", "tune")
    systems = {name: dict(zip(keys, name.split("-"), strict=True)) for name in names}
    asked = {"systems": systems, "best": best, "chosen_on": "", "changes": [], **question}
    return {
        "estimates": [where | main | entry for entry in estimates],
        "comparisons": [where | main | entry for entry in comparisons],
        "questions": [where | asked] if best else [],
    }


def verdict(*places) -> tuple[str, list[str]]:
    """Return the verdict on the content of comparisons.json, headline and advice as one."""
    content = {"level": 0.95}
    for name in ("estimates", "comparisons", "questions"):
        content[name] = [entry for one in places for entry in one[name]]
    headline, advice, paragraphs = verdict_of(from_json(content))
    return " ".join(filter(None, [headline, advice])), paragraphs


TWO = {"bi": BI, "cross": CROSS}
THREE = {"bi": BI, "late": LATE, "cross": CROSS}
BOTH = [scored(BI, 0.75), scored(CROSS, 0.7)]
ALL = [*BOTH, scored(LATE, 0.8)]
AHEAD = versus(BI, CROSS, 0.05, (0.04, 0.06), 0.0001)
EVEN = versus(BI, CROSS, 0.001, (-0.008, 0.01), 0.7, findable=0.013)
WHY = "It encodes each text once and compares two vectors."
USE_BI = f"the cross-encoder did not score significantly higher, and it is {CHEAPER}. {WHY}"
UNDECIDED = f"Undecided between the bi-encoder and the cross-encoder. Use the bi-encoder: {USE_BI}"
SAME = "The bi-encoder and the cross-encoder are equivalent, within ±0.02"
EQUAL = f"{SAME}. Use the bi-encoder: {USE_BI}"
BETTER = (
    "The bi-encoder is significantly better than the cross-encoder. Use the bi-encoder, which is "
    f"also {CHEAPER}. {WHY}"
)
BEST = "the bi-encoder and the cross-encoder"
REACH = (
    "With 4,000 pairs, differences below about 0.013 will often be missed: read this as unknown, "
    "not as equal."
)
WORTH = "if you can afford to read every pair, otherwise the bi-encoder."


@pytest.mark.parametrize(
    ("compared", "headline", "words"),
    [
        (
            [AHEAD],
            BETTER,
            "the bi-encoder beats the cross-encoder by 0.050 Pearson "
            "(95% CI [0.040, 0.060], p < 0.001).",
        ),
        (
            [versus(CROSS, BI, 0.05, None, 0.04)],
            "The cross-encoder is significantly better than the bi-encoder. Use the cross-encoder "
            f"{WORTH}",
            "the cross-encoder beats the bi-encoder by 0.050 Pearson (p = 0.040).",
        ),
        (
            [EVEN],
            EQUAL,
            f"{BEST} differ by +0.001 Pearson (95% CI [-0.008, 0.010]; equivalent within ±0.02, "
            "p = 0.700).",
        ),
        (
            [versus(BI, CROSS, -0.01, (-0.03, 0.01), 0.7, findable=0.013)],
            f"{UNDECIDED} {REACH} About 6,800 pairs would show a difference of 0.010, as measured "
            "here.",
            f"{BEST} differ by -0.010 Pearson (95% CI [-0.030, 0.010]; undecided, p = 0.700).",
        ),
        (
            [versus(CROSS, BI, 0.0001, None, 1.0)],  # all resamples alike
            UNDECIDED,
            f"{BEST} differ by +0.000 Pearson (undecided, p = 1.000).",
        ),
        (
            [versus(BI, CROSS, None, None, None)],
            UNDECIDED,
            f"{BEST} cannot be compared: Pearson is undefined for one of them: {CONSTANT}.",
        ),
        (
            [versus(BI, CROSS, 0.1, None, None)],
            UNDECIDED,
            f"{BEST} cannot be compared: fewer than three examples share no text.",
        ),
        ([], UNDECIDED, f"{BEST} cannot be compared: they have no seed in common."),
    ],
)
def test_two_readers_are_compared_in_a_sentence(compared, headline, words):
    answer, (paragraph, _) = verdict(place(TWO, BOTH, compared))
    assert answer == headline
    assert paragraph == f"STS (similarity 0-5): {words} Neither uses SimCSE."


def test_three_readers_are_compared_two_by_two():
    compared = [
        versus(BI, LATE, -0.016, (-0.024, -0.007), 0.001, p_holm=0.003),
        versus(BI, CROSS, 0.006, (-0.014, 0.026), 0.5, p_holm=0.5),
        versus(LATE, CROSS, 0.022, (-0.002, 0.046), 0.04, p_holm=0.08, findable=0.013, level=0.975),
    ]
    answer, (paragraph, _) = verdict(
        place(THREE, ALL, compared), place({}, ALL, compared, split="dev")
    )
    assert answer == (
        "The late-interaction encoder is significantly better than the bi-encoder. Use the "
        "late-interaction encoder: the bi-encoder and the cross-encoder did not score "
        f"significantly higher, and it is {CHEAPER}. It "
        "encodes each text once, but a cross-encoder reads every pair."
    )
    assert paragraph == (
        "STS (similarity 0-5): the late-interaction encoder beats the bi-encoder by "
        f"0.016 Pearson (95% CI [0.007, 0.024], p = 0.003). T{BEST[1:]} differ by +0.006 Pearson "
        "(95% CI [-0.014, 0.026]; undecided, p = 0.500). The late-interaction encoder "
        "and the cross-encoder differ by +0.022 Pearson (97.5% CI [-0.002, 0.046]; "
        "undecided, p = 0.080). None uses SimCSE."
    )
    compared[2] |= {"p_holm": 0.04}
    answer, _ = verdict(place(THREE, ALL, compared))
    assert answer == (
        "The late-interaction encoder is significantly better than the bi-encoder and the "
        f"cross-encoder. Use the late-interaction encoder, which is also {CHEAPER}. It encodes "
        "each text once, but a cross-encoder reads every pair."
    )


@pytest.mark.parametrize(
    ("best", "systems", "compared", "words"),
    [
        (
            [SUP_BI, CROSS],
            [BI, CROSS, SUP_BI, SUP_CROSS],
            [
                versus(SUP_BI, CROSS, 0.1, (0.09, 0.11), 0.001),
                EVEN | {"p_holm": 0.7},
                versus(SUP_BI, SUP_CROSS, 0.2, (0.19, 0.21), 0.001, p_holm=0.004),
            ],
            "the bi-encoder (supervised SimCSE) beats the cross-encoder (no SimCSE) by "
            "0.100 Pearson (95% CI [0.090, 0.110], p = 0.001). With the same setting for every "
            "reader: no significant difference (no SimCSE); the bi-encoder is better (supervised "
            "SimCSE).",
        ),
        (
            ["ct-bi-joint", "ct-cross-joint"],
            [f"ct-{r}-{tune}" for tune in ("joint", "frozen", "full") for r in ("bi", "cross")],
            [versus("ct-bi-joint", "ct-cross-joint", 0.1, (0.09, 0.11), 0.001)],
            "the bi-encoder beats the cross-encoder by 0.100 Pearson (95% CI [0.090, "
            "0.110], p = 0.001). Both use ct, jointly fine-tuned (joint). With the same setting "
            "for every reader: no significant difference (ct, frozen encoder; ct, fully "
            "fine-tuned).",
        ),
        (
            [BI, LATE, CROSS],
            [BI, LATE, CROSS, SUP_BI, SUP_CROSS, "sup-late-frozen"],
            [],
            "With the same setting for every reader: no reader is better than all others "
            "(supervised SimCSE).",
        ),
    ],
)
def test_readers_are_also_compared_under_the_same_setting(best, systems, compared, words):
    readers = {system.split("-")[1]: system for system in best}
    content = place(readers, [scored(system, 0.5) for system in systems], compared)
    assert verdict(content)[1][0].endswith(f" {words}")


@pytest.mark.parametrize(
    ("means", "interval", "words"),
    [
        ({SUP_BI: 0.453}, (0.424, 0.483), "setting: supervised SimCSE, accuracy 0.453 (95% CI "
         "[0.424, 0.483])."),
        ({SUP_BI: 0.8, BI: 0.7}, None, "best setting: supervised SimCSE, accuracy 0.800."),
        ({SUP_BI: None}, None, f"accuracy is undefined for the bi-encoder: {CONSTANT}."),
        ({SUP_BI: 0.8, BI: 0.7, "unsup-bi-full": 0.7, "ct-bi-full": 0.6}, None,
         "best setting: supervised SimCSE, frozen encoder, accuracy 0.800. Not significantly "
         "different from: no SimCSE, frozen encoder; unsupervised SimCSE, fully fine-tuned."),
    ],
)  # fmt: skip
def test_one_reader_is_compared_with_its_other_settings(means, interval, words):
    compared = []
    if len(means) > 2:
        compared = [
            versus(BI, SUP_BI, -0.1, (-0.2, 0.1), 0.1, p_holm=0.1),
            versus(SUP_BI, "unsup-bi-full", 0.1, (-0.1, 0.2), 0.04, p_holm=0.1),
            versus(SUP_BI, "ct-bi-full", 0.1, (0.1, 0.2), 0.01, p_holm=0.01),
            versus("unsup-bi-full", "ct-bi-full", 0.1, (-0.1, 0.2), 0.1, p_holm=0.1),
            versus(SUP_BI, "ct-bi-full", 0.1, (0.1, 0.2), 0.1, p_holm=0.1, metric="f1"),
        ]
    estimates = [scored(system, mean, interval) for system, mean in means.items()]
    answer, (paragraph, _) = verdict(place({"bi": SUP_BI}, estimates, compared, task="sst"))
    assert answer == ""
    only = "" if means[SUP_BI] is None else "only the bi-encoder was run; "
    assert paragraph == f"SST (sentiment in 5 classes): {only}{words}"


PARA_AHEAD = place(TWO, BOTH, [versus(BI, CROSS, -0.05, (-0.06, -0.04), 0.001)], task="para")
THREE_EVEN = place(THREE, ALL, [AHEAD])
BEATEN = [
    versus(BI, LATE, -0.05, (-0.06, -0.04), 0.001),
    versus(BI, CROSS, -0.05, (-0.06, -0.04), 0.001),
]
CROSS_ON_PARA = (
    "The cross-encoder is significantly better than the bi-encoder on paraphrase detection."
)
USE_CROSS = f"Use the cross-encoder on paraphrase detection {WORTH}"


@pytest.mark.parametrize(
    ("places", "headline"),
    [
        (
            [place(TWO, BOTH, [AHEAD]), PARA_AHEAD],
            "The bi-encoder is significantly better than the cross-encoder on STS. "
            f"{CROSS_ON_PARA} Use the bi-encoder on STS, which is also {CHEAPER}. {WHY} "
            f"{USE_CROSS}",
        ),
        (
            [place(TWO, BOTH, [EVEN]), PARA_AHEAD],
            f"{SAME} on STS. {CROSS_ON_PARA} Use the bi-encoder on STS: {USE_BI} {USE_CROSS}",
        ),
        (
            [place(TWO, BOTH, [EVEN]), place({"bi": BI}, [scored(BI, 0.5)], task="sst")],
            f"{SAME} on STS. Use the bi-encoder: {USE_BI}",
        ),
        (
            [THREE_EVEN, place(THREE, ALL, task="para")],
            "The bi-encoder is significantly better than the cross-encoder on STS. Undecided "
            "between the bi-encoder, the late-interaction encoder and the cross-encoder on "
            "paraphrase detection. Use the bi-encoder on STS and paraphrase detection: the "
            "late-interaction encoder and the cross-encoder did not score significantly higher, "
            f"and it is {CHEAPER}. {WHY}",
        ),
        (
            [place(THREE, ALL, BEATEN), place(TWO, BOTH, [EVEN], task="para")],
            "The late-interaction encoder is significantly better than the bi-encoder on STS. The "
            f"cross-encoder is significantly better than the bi-encoder on STS. {SAME} on "
            "paraphrase detection. Use the late-interaction encoder on STS: the bi-encoder and the "
            f"cross-encoder did not score significantly higher, and it is {CHEAPER}. It encodes "
            "each text once, but a cross-encoder reads every pair. Use the bi-encoder on "
            f"paraphrase detection: {USE_BI}",
        ),
        (
            [place({"late": LATE, "cross": CROSS}, ALL)],
            "Undecided between the late-interaction encoder and the cross-encoder. Use the "
            "late-interaction encoder: the cross-encoder did not score significantly higher, and "
            f"it is {CHEAPER}. It encodes each text once, but a cross-encoder reads every pair.",
        ),
        ([], ""),
    ],
)
def test_several_tasks_have_one_headline(places, headline):
    assert verdict(*places)[0] == headline


def test_what_simcse_changed_is_in_aligned_lines():
    means = {BI: 0.731, SUP_BI: 0.754, "unsup-bi-frozen": 0.7301}
    cosines = {BI: 0.682, SUP_BI: 0.729, "unsup-bi-frozen": None}
    estimates = [scored(name, mean) for name, mean in means.items()]
    estimates += [scored(name, mean, metric=COSINE) for name, mean in cosines.items()]
    changed = [
        versus(SUP_BI, BI, 0.023, (0.018, 0.029), 0.001, p_holm=0.001),
        versus(BI, SUP_BI, -0.047, (-0.054, -0.041), 0.001, p_holm=0.001, metric=COSINE),
        versus(BI, "unsup-bi-frozen", 0.0009, (-0.01, 0.01), 0.3, p_holm=0.3),
        versus(BI, "unsup-bi-frozen", None, None, None, metric=COSINE),
    ]
    changes = [[BI, SUP_BI], [BI, "unsup-bi-frozen"]]
    content = place({"bi": SUP_BI}, estimates, changed, changes=changes)
    _, (_, sup, unsup, _) = verdict(content)
    assert sup == (
        "Effect of supervised SimCSE on STS:\n"
        "  cosine similarity   0.682 -> 0.729 Spearman   (+0.047, 95% CI [0.041, 0.054])\n"
        "  bi-encoder head     0.731 -> 0.754 Pearson    (+0.023, 95% CI [0.018, 0.029])"
    )
    assert unsup == (
        "Effect of unsupervised SimCSE on STS:\n"
        "  bi-encoder head     0.731 -> 0.730 Pearson   (-0.001, 95% CI [-0.010, 0.010]; "
        "not significant)"
    )


FLOOR = [scored(OVERLAP, 0.69)]
ABOVE = versus(BI, OVERLAP, 0.06, (0.05, 0.07), 0.001)
MORE = "label more, or compare another encoder."
COSINE_WILL_DO = "use the cosine. More labels or another encoder may do better."


@pytest.mark.parametrize(
    ("compared", "headline"),
    [
        (
            [ABOVE, ABOVE | {"a": CROSS}],
            "Both readers are significantly better than word overlap (0.690 Pearson). The ",
        ),
        (
            [ABOVE, versus(CROSS, OVERLAP, 0.01, (-0.01, 0.03), 0.2)],
            "The bi-encoder is significantly better than word overlap (0.690 Pearson), the "
            "cross-encoder is not. The ",
        ),
        (
            [versus(name, OVERLAP, -0.1, (-0.12, -0.08), 0.001) for name in (BI, CROSS)],
            "Neither reader is significantly better than word overlap (0.690 Pearson): "
            f"{MORE} Among trained heads, the ",
        ),
    ],
)
def test_the_headline_says_first_whether_anything_beats_what_needs_no_head(compared, headline):
    answer, (paragraph, _) = verdict(place(TWO, [*BOTH, *FLOOR], [AHEAD, *compared]))
    assert answer.startswith(f"{headline}bi-encoder is significantly better than the cross")
    assert paragraph.endswith(" Neither uses SimCSE.")
    assert ("Use the" in answer) == ("Neither" not in headline)


@pytest.mark.parametrize(
    ("floor", "words"),
    [
        ("always no", f"always answering no (0.690 Pearson): {MORE}"),
        ("cosine threshold", f"a threshold on the cosine (0.690 Pearson): {COSINE_WILL_DO}"),
        ("cosine (sup)", f"the cosine (sup) (0.690 Pearson): {COSINE_WILL_DO}"),
    ],
)
def test_one_reader_is_compared_with_what_needs_no_head(floor, words):
    floors = [scored(floor, 0.69), scored(OVERLAP, 0.5)]
    even = versus(BI, floor, 0.06, (-0.05, 0.07), 0.1)
    above = versus(BI, OVERLAP, 0.25, (0.2, 0.3), 0.001)
    answer, _ = verdict(place({"bi": BI}, [BOTH[0], *floors], [even, above]))
    assert answer == f"The bi-encoder is not significantly better than {words}"
    answer, _ = verdict(place({"bi": BI}, [BOTH[0], *floors], [even | {"p": 0.001}, above]))
    said = words.partition(": ")[0]
    assert answer == f"The bi-encoder, at 0.750, is significantly better than {said}."


def test_the_cosine_is_advised_only_if_it_is_better_than_one_answer_for_all():
    floors = [scored("cosine threshold", 0.69), scored("always no", 0.6)]
    even = versus(BI, "cosine threshold", 0.06, (-0.05, 0.07), 0.1)
    for p, words in ((0.001, "is"), (0.4, "is not")):
        trivial = versus("cosine threshold", "always no", 0.09, None, p)
        answer, _ = verdict(place({"bi": BI}, [BOTH[0], *floors], [even, trivial]))
        assert answer.endswith(f" {words} significantly better than always answering no (0.600).")
        assert ("use the cosine" in answer) == (words == "is")


def test_late_interaction_without_a_head_stands_next_to_the_cosine():
    sup_late = "sup-late-frozen"
    bare = {BI: 0.706, LATE: 0.738, SUP_BI: 0.73, sup_late: 0.74}
    estimates = [*ALL, scored(SUP_BI, 0.76), scored(sup_late, 0.81)]
    estimates += [scored(name, mean, metric=COSINE) for name, mean in bare.items()]
    compared = [
        versus(BI, LATE, -0.032, (-0.04, -0.024), 0.001, p_holm=0.001, metric=COSINE),
        versus(SUP_BI, sup_late, -0.01, (-0.03, 0.01), 0.2, p_holm=0.3, metric=COSINE),
        versus(BI, SUP_BI, -0.024, (-0.03, -0.02), 0.001, metric=COSINE),
        versus(LATE, sup_late, -0.002, (-0.02, 0.02), 0.8, metric=COSINE),
    ]
    _, (paragraph, effect, _) = verdict(place(THREE, estimates, compared, changes=[[BI, SUP_BI]]))
    assert (
        "Without a head (no SimCSE): MaxSim beats cosine similarity by 0.032 Spearman (95% CI "
        "[0.024, 0.040], p = 0.001). Without a head (supervised SimCSE): MaxSim and cosine "
        "similarity differ by +0.010 Spearman (95% CI [-0.010, 0.030]; undecided, p = 0.300)."
    ) in paragraph
    assert effect == (
        "Effect of supervised SimCSE on STS:\n"
        "  cosine similarity   0.706 -> 0.730 Spearman   (+0.024, 95% CI [0.020, 0.030])\n"
        "  MaxSim              0.738 -> 0.740 Spearman   (+0.002, 95% CI [-0.020, 0.020]; not "
        "significant)"
    )


ONE_SEED = (
    " Only one seed was run, so this result is about these trained models, not about the methods "
    "in general. Use --seeds 5 to include variation between seeds."
)
SEEDS = [scored(BI, 0.75, seeds=(1, 2, 3)), scored(CROSS, 0.7, seeds=(1, 2, 3))]
MEANS = " Scores are means over 3 seeds. Intervals cover both examples and seeds"
SIGNIFICANT = ' "Significant" means p < 0.05.'


@pytest.mark.parametrize(
    ("places", "basis"),
    [
        ([place(TWO, BOTH, [EVEN])], f"Based on 4,000 test pairs.{SIGNIFICANT}{ONE_SEED}"),
        (
            [place(TWO, BOTH, [EVEN], chosen_on="dev")],
            "Based on 4,000 test pairs. The best system of each type was selected on the dev "
            "split. The bi-encoder vs. cross-encoder test is unadjusted; all other p-values and "
            f"confidence intervals are Holm-corrected (alpha = 0.05).{ONE_SEED}",
        ),
        (
            [place(TWO, BOTH, [EVEN], split="dev", chosen_on="dev")],
            "Based on 4,000 dev pairs. The best system of each type was selected on the same "
            'examples. "Significant" means p < 0.05 after Holm correction. Each confidence '
            f"interval has the level at which Holm decided.{ONE_SEED}",
        ),
        ([place({"bi": BI}, [scored(BI, 0.5)])], f"Based on 4,000 test pairs.{ONE_SEED}"),
        (
            [
                place({"bi": BI}, [scored(BI, 0.5)], task="sst"),
                place(TWO, SEEDS, [EVEN | {"seeds_share": 0.29}], task="para"),
                place(TWO, SEEDS, [EVEN | {"seeds_share": 0.16}]),
            ],
            "Based on 4,000 test sentences of SST, 4,000 test pairs of paraphrase detection and "
            f"4,000 test pairs of STS.{SIGNIFICANT}{MEANS}; seeds account for 29% (paraphrase "
            "detection) and 16% (STS) of the variance of the main comparison.",
        ),
        (
            [place({"bi": BI}, SEEDS[:1]), place({"bi": BI}, SEEDS[:1], split="dev")],
            f"Based on 4,000 test pairs of STS and 4,000 dev pairs of STS.{MEANS}.",
        ),
    ],
)
def test_the_last_paragraph_says_what_it_is_based_on(places, basis):
    assert verdict(*places)[1][-1] == basis

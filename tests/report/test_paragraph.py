"""The verdict in one paragraph: who is ahead, by how much, and when nobody can tell."""

import numpy as np
import pytest
from made_cells import cell, para_cell

from report.paragraph import paragraph, verdict_of
from report.verdict import judge

N = 400


def judged_cells(noises, splits=("dev", "test"), seeds=(1,), task="sts"):
    """Return cells and what the data can tell of them; scores are labels and noise.

    Args:
        noises: (pretrain, encoder), or with the tuning, too -> the noise's standard deviation, on
            dev and on test.
    """
    draw = np.random.default_rng(5)
    make = cell if task == "sts" else para_cell
    cells, systems, labels = [], {}, {}
    for k, split in enumerate(splits):
        gold = draw.integers(0, 6 if task == "sts" else 2, N).astype(float)
        labels[task, split] = gold
        for (pretrain, encoder, *tune), noise in noises.items():
            for seed in seeds:
                one = make(
                    task=task, pretrain=pretrain, encoder=encoder, split=split, seed=seed, n=N,
                    tune=tune[0] if tune else "frozen",
                )  # fmt: skip
                cells.append(one)
                found = gold + draw.normal(0, noise[k], N)
                if task == "para":
                    found = (found > 0.5).astype(float)
                systems.setdefault((task, split), {}).setdefault(one.system, {})[seed] = found
    return cells, judge(systems, labels)


GOOD, BAD = (0.5, 0.5), (3.0, 3.0)


@pytest.mark.parametrize(("bi", "cross", "ahead"), [(GOOD, BAD, "bi"), (BAD, GOOD, "cross")])
def test_who_is_ahead_is_named_with_a_difference_above_nought(bi, cross, ahead):
    cells, judged = judged_cells({("none", "bi"): bi, ("none", "cross"): cross})
    headline, details = verdict_of(cells, judged)
    behind = {"bi": "cross", "cross": "bi"}[ahead]
    assert headline == f"The {ahead}-encoder on sts."
    assert f"the best {ahead}-encoder is ahead of the best {behind}-encoder by" in details
    (versus,) = [
        one for found in judged if found.split == "test" for one in found.comparisons
        if one.metric == "pearson"
    ]  # fmt: skip
    low, high = sorted(abs(bound) for bound in (versus.interval.low, versus.interval.high))
    assert (
        f"by {abs(versus.difference):.3f} [{low:.3f}, {high:.3f}] in pearson, both without SimCSE."
        in details
    )


def test_what_the_data_cannot_tell_is_said_so():
    cells, judged = judged_cells({("none", "bi"): GOOD, ("none", "cross"): GOOD})
    headline, details = verdict_of(cells, judged)
    assert headline == "The data cannot tell the two encoders apart."
    assert "the data cannot tell the best bi-encoder" in details and "ahead of" not in details


def test_the_best_are_chosen_on_dev_and_compared_on_test():
    noises = {
        ("none", "bi"): (3.0, 0.1), ("sup", "bi"): (0.5, 0.5),
        ("none", "cross"): (0.6, 3.0), ("sup", "cross"): (3.0, 3.0),
    }  # fmt: skip
    told = paragraph(*judged_cells(noises))
    assert (
        "the best bi-encoder (with sup SimCSE) is ahead of the best cross-encoder (without" in told
    )
    # Setting by setting it may be otherwise.
    assert "; like with like, the bi-encoder is ahead without and with sup SimCSE." in told
    assert "best is by the dev split" in told


def test_a_grid_of_stages_and_tunings_is_told_in_few_words():
    noises = {}
    for stage in ("none", "unsup", "sup"):
        noises |= {(stage, "bi", "frozen"): GOOD, (stage, "cross", "frozen"): BAD}
        noises |= {(stage, kind, "full"): (0.3, 0.3) for kind in ("bi", "cross")}
    told = paragraph(*judged_cells(noises))
    assert ", both fully tuned with" in told
    assert "the bi-encoder is ahead (frozen without, with unsup and with sup SimCSE) and" in told
    assert "it is undecided (fully tuned" in told and len(told) < 650


def test_without_test_labels_dev_is_told_of():
    told = paragraph(*judged_cells({("none", "bi"): GOOD, ("none", "cross"): BAD}, ("dev",)))
    assert f"On {N} dev rows of sts;" in told and "best is by" not in told


def test_one_encoder_is_compared_with_itself_only():
    cells, judged = judged_cells({("none", "bi"): BAD, ("sup", "bi"): GOOD, ("ct", "bi"): GOOD})
    headline, details = verdict_of(cells, judged)
    assert headline == "" and "the bi-encoder alone, best with " in details
    assert "the data cannot tell it from the one with " in details
    assert "the one without SimCSE" not in details


def test_one_seed_is_less_than_several():
    noises = {("none", "bi"): GOOD, ("none", "cross"): BAD}
    assert "One seed: this tells of these trained systems" in paragraph(*judged_cells(noises))
    assert "means over 3 seeds" in paragraph(*judged_cells(noises, seeds=(1, 2, 3)))


def test_tasks_are_told_apart():
    sts = judged_cells({("none", "bi"): GOOD, ("none", "cross"): BAD})
    para = judged_cells({("none", "bi"): BAD, ("none", "cross"): (0.2, 0.2)}, task="para")
    headline, details = verdict_of(*(a + b for a, b in zip(sts, para, strict=True)))
    assert headline == "The bi-encoder on sts; the cross-encoder on para."
    assert details.index("Similarity") < details.index("Paraphrase yes/no (para): ")


def test_a_distilled_encoder_is_no_side_of_the_verdict():
    noises = {("none", "bi"): GOOD, ("none", "cross"): BAD, ("none", "distilled"): (0.1, 0.1)}
    headline, details = verdict_of(*judged_cells(noises))
    assert headline == "The bi-encoder on sts." and "distilled" not in details


def test_nothing_judged_is_nothing_told():
    assert paragraph([cell()], []) == "" and paragraph([], []) == ""


def test_a_metric_without_a_value_is_not_compared():
    cells, _ = judged_cells({("none", "bi"): GOOD, ("none", "cross"): GOOD})
    constant = judge({("sts", "test"): {c.system: {1: np.ones(N)} for c in cells}},
                     {("sts", "test"): np.arange(N) % 6.0})  # fmt: skip
    told = paragraph(cells, constant)
    assert "cannot be compared" in told and "nan" not in told and "None" not in told

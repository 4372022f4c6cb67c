"""The verdict: a few sentences, filled only from comparisons.json.

It has a headline, a paragraph on each task, the effect of each contrastive stage, and the basis of
all numbers.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from data.tasks import EVERY_ROW, TASKS
from evaluation.intervals import LEVEL, Interval
from evaluation.metrics import COSINE, SHOWN
from evaluation.significance import SIGNIFICANT, Comparison, percent, shown, turned, unknown
from heads.config import READERS
from report.floors import ALWAYS, COSINE_ROW, in_words, is_floor
from report.judging import Judged

TASK_NAMES = {
    "sst": "SST",
    "para": "paraphrase detection",
    "sts": "STS",
    "paraphrase": "paraphrase detection",
    "classes": "classification",
}
METRIC_NAMES = SHOWN | {COSINE: "Spearman"}
STAGES = {"none": "no SimCSE", "unsup": "unsupervised SimCSE", "sup": "supervised SimCSE"}
TUNING = {
    "frozen": "frozen encoder",
    "full": "fully fine-tuned",
    "none": "published weights",
}

AMONG = "among trained heads, "  # if none is better than what needs none

# Similarities without a head.
BARE = {"bi": "cosine similarity", "late": "MaxSim"}
# The table of costs has the number of pairs.
CHEAPER = "cheaper once a text occurs in several pairs"
# Why a reader is cheaper than the more expensive ones.
WHY_CHEAPER = {
    "bi": "It encodes each text once and compares two vectors.",
    "late": "It encodes each text once, but a cross-encoder reads every pair.",
}

Names = Mapping[str, str]  # system -> its setting in words
# Why a correlation is undefined.
CONSTANT = "all labels, or all its predictions, are equal"


class Verdict(NamedTuple):
    """The headline; which reader to use, and what is unknown; the details.

    Headline and advice may be "". A paragraph with several lines must not be wrapped.
    """

    headline: str
    advice: str
    paragraphs: list[str]


def verdict_of(judged: Sequence[Judged]) -> Verdict:
    """Return the verdict on the tasks of a run."""
    asked = [place for place in judged if place.question.best]
    if not asked:
        return Verdict("", "", [])
    systems = {name: system for place in asked for name, system in place.question.systems.items()}
    several = len({system.tune for system in systems.values()}) > 1
    names = {
        name: setting(system.pretrain, system.tune if several else "")
        for name, system in systems.items()
    }
    paragraphs = []
    for place in asked:
        paragraphs += [_task(place, names), *_effects(place)]
    return Verdict(*_headline(asked), [*paragraphs, _basis(asked)])


def task_name(task: str) -> str:
    return TASK_NAMES.get(task, task)


def metric_name(metric: str) -> str:
    return METRIC_NAMES.get(metric, metric)


def setting(pretrain: str, tune: str = "") -> str:
    """Return a setting in words: `supervised SimCSE`, or `supervised SimCSE, frozen encoder`.

    In a run of several encoders `pretrain` is `mini+sup`, which is `mini, supervised SimCSE`.
    """
    model, _, pretrain = pretrain.rpartition("+")
    stage = STAGES.get(pretrain, pretrain)
    if model:
        stage = model if pretrain == "none" else f"{model}, {stage}"
    jointly = f"jointly fine-tuned ({tune.removeprefix('joint-')})"
    return f"{stage}, {TUNING.get(tune, jointly)}" if tune else stage


def sentence_case(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def listed(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


# The answer.


def _headline(asked: Sequence[Judged]) -> tuple[str, str]:
    """Return headline and advice."""
    words = _floor_in_short(asked) + _encoders_in_short(asked)
    outcomes: dict[str, list[str]] = {}  # a sentence up to its tasks -> these
    uses: dict[str, list[str]] = {}  # advice -> tasks
    unknowns = []
    several = len(asked) > 1
    for place in asked:
        best, task = place.question.best, task_name(place.task)
        if len(best) == 1:
            continue
        decided, winner = _decided(place, best), _winner(place, best)
        compared = [
            place.between(best[a], best[b], place.main_metric) for a, b in combinations(best, 2)
        ]
        the = listed([f"the {READERS[reader]}" for reader in best])
        among = "" if any(not floors for floors in _not_above(place).values()) else AMONG
        if winner:
            others = [f"the {READERS[reader]}" for reader in best if reader != winner]
            said = f"{among}the {READERS[winner]} is significantly better than {listed(others)}"
            said = sentence_case(said)
            outcomes.setdefault(said, []).append(task)
        for a, b in [] if winner else decided:
            said = f"{among}the {READERS[a]} is significantly better than the {READERS[b]}"
            said = sentence_case(said)
            outcomes.setdefault(said, []).append(task)
        margin = place.question.margin
        if not decided and all(versus and versus.within(margin) for versus in compared):
            said = f"{sentence_case(the)} are equivalent, within ±{margin:g}"
            outcomes.setdefault(said, []).append(task)
        elif not decided:
            outcomes.setdefault(f"Undecided between {the}", []).append(task)
            found = [versus for versus in compared if versus and versus.findable]
            if found:
                of = f"{task}: " if several else ""
                unknowns.append(of + unknown(found[0], _noun(place.task)))
        if any(not floors for floors in _not_above(place).values()):
            uses.setdefault(_advice(best, decided, winner), []).append(task)
    for said, tasks in outcomes.items():
        words.append(f"{said}{f' on {listed(tasks)}' if several or len(outcomes) > 1 else ''}.")
    advice = [
        said.replace("{on}", f" on {listed(tasks)}" if len(uses) > 1 or len(outcomes) > 1 else "")
        for said, tasks in uses.items()
    ]
    return " ".join(words), " ".join([*advice, *unknowns])


def _advice(best: Mapping[str, str], decided: Sequence[tuple[str, str]], winner: str) -> str:
    """Return which reader to use: the better one, or the cheapest that no other beats."""
    beaten = {worse for _, worse in decided}
    use = winner or next(reader for reader in best if reader not in beaten)
    words = f"Use the {READERS[use]}{{on}}"
    dearer = [name for name in READERS if name in best][-1]
    if use == dearer:
        cheaper = next(reader for reader in READERS if reader in best)
        return f"{words} if you can afford to read every pair, otherwise the {READERS[cheaper]}."
    if winner:
        return f"{words}, which is also {CHEAPER}. {WHY_CHEAPER[use]}"
    others = listed([f"the {READERS[name]}" for name in best if name != use])
    return (
        f"{words}: {others} did not score significantly higher, and it is {CHEAPER}. "
        + (WHY_CHEAPER[use])
    )


def _noun(task: str) -> str:
    """Return what a task's rows are; classes are those of pairs or of single texts."""
    if task == "classes":
        return "examples"
    return "pairs" if TASKS[task].is_pair else "sentences"


def _task(place: Judged, names: Names) -> str:
    """Return the paragraph on a task."""
    best, metric = place.question.best, place.main_metric
    about = f"{sentence_case(task_name(place.task))} ({TASKS[place.task].about}): "
    if len(best) == 1:
        return about + " ".join([_only(place, names), *_encoders(place)])
    same = len({names[system] for system in best.values()}) == 1
    best_of = "best " if place.question.chosen_on else ""  # of several systems
    the = {
        reader: f"the {best_of}{READERS[reader]}" + ("" if same else f" ({names[system]})")
        for reader, system in best.items()
    }
    compared = [(a, b, place.between(best[a], best[b], metric)) for a, b in combinations(best, 2)]
    # Significant differences come first.
    compared.sort(key=lambda pair: pair[2] is None or not pair[2].decided)
    outcomes = [_outcome(place, versus, the[a], the[b], metric) for a, b, versus in compared]
    sentences = [outcomes[0], *map(sentence_case, outcomes[1:])]
    if same:
        sentences.append(_all_use(names[next(iter(best.values()))], len(best)))
    sentences += [*_same_settings(place, names), *_without_heads(place, names)]
    sentences += _encoders(place)
    return about + " ".join(sentences)


def _all_use(setting_in_words: str, count: int) -> str:
    """Return `Neither uses SimCSE.`, or what all use."""
    if setting_in_words == STAGES["none"]:
        return f"{'Neither' if count == 2 else 'None'} uses SimCSE."
    return f"{'Both' if count == 2 else 'All'} use {setting_in_words}."


def _outcome(place: Judged, versus: Comparison | None, a: str, b: str, metric: str) -> str:
    """Return a sentence on which of a and b is better, and by how much."""
    metric = metric_name(metric)
    cannot = f"{a} and {b} cannot be compared"
    if versus is None:
        return f"{cannot}: they have no seed in common."
    if versus.difference is None:
        return f"{cannot}: {metric} is undefined for one of them: {CONSTANT}."
    if versus.p is None:
        return f"{cannot}: fewer than three examples share no text."
    if versus.decided and versus.difference < 0:
        a, b, versus = b, a, turned(versus)
    interval = _interval(versus.interval, versus.level)
    if versus.decided:
        details = ", ".join([*interval, _p(versus)])
        return f"{a} beats {b} by {abs(versus.difference or 0.0):.3f} {metric} ({details})."
    margin = place.question.margin
    known = f"equivalent within ±{margin:g}" if versus.within(margin) else "undecided"
    details = "; ".join([*interval, f"{known}, {_p(versus)}"])
    return f"{a} and {b} differ by {_signed(versus)} {metric} ({details})."


def _without_heads(place: Judged, names: Names) -> list[str]:
    """Return a sentence that compares MaxSim with cosine similarity, both without a head."""
    frozen = {
        (system.pretrain, system.reader): name
        for name, system in place.question.systems.items()
        if system.tune == "frozen"
    }
    sentences = []
    for (pretrain, reader), name in frozen.items():
        cosine = frozen.get((pretrain, "bi"))
        if reader == "late" and cosine:
            versus = place.between(name, cosine, COSINE)
            if versus is not None:
                words = _outcome(place, versus, BARE["late"], BARE["bi"], COSINE)
                sentences.append(f"Without a head ({names[name]}): {words}")
    return sentences


def _encoders(place: Judged) -> list[str]:
    """Return a sentence on each encoder other than the best one: their best systems compared."""
    models, metric = place.question.models, place.main_metric
    best, *others = _best_first(place)
    return [
        _outcome(place, place.between(models[best], models[other], metric), best, other, metric)
        for other in others
    ]


def _best_first(place: Judged) -> list[str]:
    """Return the encoders of a run by the score of their best systems; [""] if it has one."""
    models, scores = place.question.models, place.scores(place.main_metric)
    return sorted(models, key=lambda name: -(scores[models[name]].mean or -2.0)) or [""]


def _encoders_in_short(asked: Sequence[Judged]) -> list[str]:
    """Return a sentence per best encoder: on which tasks it is better than all others."""
    tasks: dict[str, list[str]] = {}
    for place in asked:
        best, *others = _best_first(place)
        beaten = [name for _, name in _decided(place, place.question.models)]
        if others:
            is_best = set(others) <= set(beaten)
            tasks.setdefault(best if is_best else "", []).append(task_name(place.task))
    return [
        f"{name} is significantly better than every other encoder on {listed(of_name)}."
        if name
        else f"No encoder is significantly better than all others on {listed(of_name)}."
        for name, of_name in tasks.items()
    ]


def _not_above(place: Judged) -> dict[str, list[str]]:
    """Return for each reader the rows of `report.floors` that it is not significantly better than.

    The best of these rows comes first.
    """
    not_above = {}
    for reader, system in place.question.best.items():
        compared = {name: place.between(system, name, place.main_metric) for name in place.floors}
        not_above[reader] = [
            name
            for name, versus in compared.items()
            if versus and not (versus.decided and (versus.difference or 0.0) > 0)
        ]
    return not_above


def _floor_in_short(asked: Sequence[Judged]) -> list[str]:
    """Return for each task which readers beat the best of what needs no trained head."""
    sentences = []
    for place in asked:
        scores = place.scores(place.main_metric)
        best = place.question.best.values()
        if place.floors and all(scores[system].mean is not None for system in best):
            where = f" on {task_name(place.task)}" if len(asked) > 1 else ""
            sentences += _above_floor(place, place.floors[0], where)
    return sentences


def _above_floor(place: Judged, floor: str, where: str) -> list[str]:
    """Return sentences on the readers and a row of `report.floors`, the best one of a task."""
    metric, not_above = place.main_metric, _not_above(place)
    scores, name = place.scores(metric), metric_name(metric)
    readers = [f"the {READERS[reader]}" for reader in not_above]
    above = [f"the {READERS[reader]}" for reader, floors in not_above.items() if not floors]
    than = f"significantly better than {in_words(floor)}{where} ({scores[floor].mean:.3f} {name})"
    if above and len(readers) == 1:
        (system,) = place.question.best.values()
        return [f"{sentence_case(readers[0])}, at {scores[system].mean:.3f}, is {than}."]
    if len(above) == len(readers):
        return [f"{'Both' if len(readers) == 2 else 'All'} readers are {than}."]
    if above:
        others = [reader for reader in readers if reader not in above]
        verbs = ["is" if len(names) == 1 else "are" for names in (above, others)]
        return [
            f"{sentence_case(listed(above))} {verbs[0]} {than}, {listed(others)} {verbs[1]} not."
        ]
    floor = max({floors[0] for floors in not_above.values()}, key=lambda n: scores[n].mean or 0.0)
    who = {1: f"{sentence_case(readers[0])} is not", 2: "Neither reader is"}
    than = f"significantly better than {in_words(floor)}{where} ({scores[floor].mean:.3f} {name})"
    trivial = next((other for other in scores if other.startswith(ALWAYS)), floor)
    versus = place.between(floor, trivial, metric) if trivial != floor else None
    better = versus is None or (versus.decided and (versus.difference or 0.0) > 0)
    remedy = "label more, or compare another encoder."
    if floor.startswith(COSINE_ROW) and better:
        remedy = "use the cosine. More labels or another encoder may do better."
    sentences = [f"{who.get(len(readers), 'No reader is')} {than}: {remedy}"]
    if versus is not None:
        sentences.append(
            f"{sentence_case(in_words(floor))} is {'' if better else 'not '}significantly better "
            f"than {in_words(trivial)} ({scores[trivial].mean:.3f})."
        )
    return sentences


def _same_settings(place: Judged, names: Names) -> list[str]:
    """Return the better reader with the same setting for all, unless that is the question."""
    best = place.question.best
    two = len(best) == 2
    nobody = "no significant difference" if two else "no reader is better than all others"
    settings: dict[str, dict[str, str]] = {}
    for name, system in place.question.systems.items():
        settings.setdefault(names[name], {})[system.reader] = name
    answers: dict[str, list[str]] = {}
    for words, systems in settings.items():
        if len(systems) == len(best) and systems != best:
            winner = _winner(place, systems)
            answer = f"the {READERS[winner]} is better" if winner else nobody
            answers.setdefault(answer, []).append(words)
    outcomes = [f"{answer} ({'; '.join(words)})" for answer, words in answers.items()]
    return [f"With the same setting for every reader: {'; '.join(outcomes)}."] if outcomes else []


def _only(place: Judged, names: Names) -> str:
    """Return a sentence on the only reader: its best system, and those that may be as good."""
    ((reader, best),) = place.question.best.items()
    metric, score = metric_name(place.main_metric), place.scores(place.main_metric)[best]
    if score.mean is None:
        return f"{metric} is undefined for the {READERS[reader]}: {CONSTANT}."
    what = "best setting" if len(place.question.systems) > 1 else "setting"
    interval = "".join(f" ({words})" for words in _interval(score.interval))
    words = (
        f"only the {READERS[reader]} was run; {what}: {names[best]}, {metric} {score.mean:.3f}"
        f"{interval}."
    )
    rivals = [
        names[versus.b if versus.a == best else versus.a]
        for versus in place.comparisons
        if versus.metric == place.main_metric
        if best in (versus.a, versus.b) and not is_floor(versus.b) and not versus.decided
    ]
    return f"{words} Not significantly different from: {'; '.join(rivals)}." if rivals else words


def _effects(place: Judged) -> list[str]:
    """Return the effect of each contrastive stage on frozen encoders, in aligned lines.

    The lines are on the bi-encoder's similarity and head, and on late interaction's similarity.
    """
    late = {
        system.pretrain: name
        for name, system in place.question.systems.items()
        if (system.reader, system.tune) == ("late", "frozen")
    }
    paragraphs = []
    for before, after in place.question.changes:
        pretrain = place.question.systems[after].pretrain
        compared = [(BARE["bi"], COSINE, before, after)]
        if {"none", pretrain} <= late.keys():
            compared.append((BARE["late"], COSINE, late["none"], late[pretrain]))
        compared.append(("bi-encoder head", place.main_metric, before, after))
        rows = []
        for what, metric, old, new in compared:
            versus, scores = place.between(new, old, metric), place.scores(metric)
            ends = [scores[name].mean for name in (old, new) if name in scores]
            if versus is None or versus.difference is None or None in ends:
                continue
            first, last = ends
            size = ", ".join([_signed(versus), *_interval(versus.interval, versus.level)])
            size += "" if versus.decided else "; not significant"
            rows.append((what, f"{first:.3f} -> {last:.3f} {metric_name(metric)}", size))
        if rows:
            width = max(len(change) for _, change, _ in rows)
            lines = [f"  {what:17}   {change:{width}}   ({size})" for what, change, size in rows]
            about = f"Effect of {setting(pretrain)} on {task_name(place.task)}:"
            paragraphs.append("\n".join([about, *lines]))
    return paragraphs


def _basis(asked: Sequence[Judged]) -> str:
    """Return the basis of the numbers and their limits."""
    examples = []
    for place in asked:
        noun = _noun(place.task)
        of = f" of {task_name(place.task)}" if len(asked) > 1 else ""
        n = f"{place.estimates[0].n:,}"
        if place.split == EVERY_ROW:  # a table is one task
            saw_none = "each was scored by a head that saw none of its texts"
            examples.append(f"all {n} {noun}; {saw_none}")
        else:
            examples.append(f"{n} {place.split} {noun}{of}")
    sentences = [f"Based on {listed(examples)}."]
    chosen = [place for place in asked if place.question.chosen_on]
    if chosen:
        splits = {place.question.chosen_on for place in chosen}
        same = all(place.split == place.question.chosen_on for place in chosen)
        where = "the same examples" if same else "the dev split"
        if splits == {"train"}:
            where = "a held-out part of the training examples"
        sentences.append(f"The best system of each type was selected on {where}.")

    duels = [place for place in asked if len(place.question.best) == 2]
    unadjusted = [place for place in duels if place.question.chosen_on != place.split]
    if unadjusted and chosen:
        names = " vs. ".join(READERS[reader] for reader in unadjusted[0].question.best)
        sentences.append(
            f"The {names} test is unadjusted; all other p-values and confidence intervals are "
            f"Holm-corrected (alpha = {SIGNIFICANT})."
        )
    elif unadjusted:
        sentences.append(f'"Significant" means p < {SIGNIFICANT}.')
    elif any(place.comparisons for place in asked):
        sentences.append(
            f'"Significant" means p < {SIGNIFICANT} after Holm correction. Each confidence '
            "interval has the level at which Holm decided."
        )
    return " ".join([*sentences, _seeds(asked, duels)])


def _seeds(asked: Sequence[Judged], duels: Sequence[Judged]) -> str:
    """Return the limits that follow from the number of seeds."""
    seeds = {seed for place in asked for estimate in place.estimates for seed in estimate.seeds}
    if len(seeds) == 1:
        return (
            "Only one seed was run, so this result is about these trained models, not about the "
            "methods in general. Use --seeds 5 to include variation between seeds."
        )
    shares = []
    for place in duels:
        a, b = place.question.best.values()
        versus = place.between(a, b, place.main_metric)
        if versus is not None and versus.seeds_share is not None:
            of = f" ({task_name(place.task)})" if len(asked) > 1 else ""
            shares.append(f"{versus.seeds_share:.0%}{of}")
    share = f"; seeds account for {listed(shares)} of the variance of the main comparison"
    return (
        f"Scores are means over {len(seeds)} seeds. Intervals cover both examples and seeds"
        f"{share if shares else ''}."
    )


# The better reader, and numbers in words.


def _decided(place: Judged, systems: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs of readers (better, worse) with a significant difference."""
    pairs = []
    for a, b in combinations(systems, 2):
        versus = place.between(systems[a], systems[b], place.main_metric)
        if versus is not None and versus.decided and versus.difference:
            pairs.append((a, b) if versus.difference > 0 else (b, a))
    return pairs


def _winner(place: Judged, systems: Mapping[str, str]) -> str:
    """Return the reader whose system is significantly better than all others, "" for none."""
    winners = [winner for winner, _ in _decided(place, systems)]
    return next((w for w in winners if winners.count(w) == len(systems) - 1), "")


def _signed(versus: Comparison) -> str:
    # Rounded first: the format would leave a sign on zero.
    return f"{round(versus.difference or 0.0, 3) + 0.0:+.3f}"


def _interval(interval: Interval | None, level: float = LEVEL) -> list[str]:
    return [f"{percent(level)} CI {shown(interval)}"] if interval else []


def _p(versus: Comparison) -> str:
    p = versus.p if versus.p_holm is None else versus.p_holm
    return "p < 0.001" if p is not None and p < 0.001 else f"p = {p:.3f}"

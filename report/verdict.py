"""The verdict: a few sentences, filled from comparisons.json alone.

A headline, a paragraph on each task, what each contrastive stage changed, and what all of it is
based on.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from data.tasks import TASKS
from evaluation.intervals import POWER
from evaluation.metrics import SHOWN
from evaluation.significance import SIGNIFICANT, Comparison, Estimate, shown, turned
from heads.config import READERS
from report.cell import COSINE
from report.judging import MAIN, Judged

TASK_NAMES = {
    "sst": "SST",
    "para": "paraphrase detection",
    "sts": "STS",
    "paraphrase": "paraphrase detection",
    "classes": "text classification",
}
METRIC_NAMES = SHOWN | {COSINE: "Spearman"}
STAGES = {"none": "no SimCSE", "unsup": "unsupervised SimCSE", "sup": "supervised SimCSE"}
TUNING = {
    "frozen": "frozen encoder",
    "last1": "last layer fine-tuned",
    "last2": "last 2 layers fine-tuned",
    "last4": "last 4 layers fine-tuned",
    "full": "fully fine-tuned",
    "none": "published weights",
}

Names = Mapping[str, str]  # system -> its setting in words
# Why a correlation is undefined.
CONSTANT = "all labels, or all its predictions, are equal"


def verdict_of(judged: Sequence[Judged]) -> tuple[str, list[str]]:
    """Return the answer in a few words, "" where no task has several readers, and the paragraphs.

    A paragraph of several lines is to be set as it is.
    """
    asked = [place for place in judged if place.question.best]
    if not asked:
        return "", []
    systems = {name: system for place in asked for name, system in place.question.systems.items()}
    several = len({system.tune for system in systems.values()}) > 1
    names = {
        name: setting(system.pretrain, system.tune if several else "")
        for name, system in systems.items()
    }
    paragraphs = []
    for place in asked:
        same_split = [other for other in judged if other.split == place.split]
        adjusted = sum(p.family(versus) == MAIN for p in same_split for versus in p.comparisons)
        paragraphs += [_task(place, names, adjusted), *_effects(place)]
    return _headline(asked), [*paragraphs, _basis(asked)]


def task_name(task: str) -> str:
    return TASK_NAMES.get(task, task)


def metric_name(metric: str) -> str:
    return METRIC_NAMES.get(metric, metric)


def setting(pretrain: str, tune: str = "") -> str:
    """Return a setting in words: `supervised SimCSE`, or `supervised SimCSE, frozen encoder`."""
    stage = STAGES.get(pretrain, pretrain)
    jointly = f"jointly fine-tuned ({tune.removeprefix('joint-')})"
    return f"{stage}, {TUNING.get(tune, jointly)}" if tune else stage


def sentence_case(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def listed(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


# The answer.


def _headline(asked: Sequence[Judged]) -> str:
    """Return who is better on which task, "" where no task has several readers."""
    winners: dict[str, list[str]] = {}  # reader, "" for none -> tasks
    pairs: dict[tuple[str, str], list[str]] = {}  # better, worse -> tasks that nobody wins
    readers: dict[str, str] = {}
    for place in asked:
        best, task = place.question.best, task_name(place.task)
        if len(best) > 1:
            readers |= best
            winner = _winner(place, best)
            winners.setdefault(winner, []).append(task)
            for pair in [] if winner else _decided(place, best):
                pairs.setdefault(pair, []).append(task)
    words = [
        f"The {name} is significantly better on {listed(winners[reader])}."
        for reader, name in READERS.items()
        if reader in winners
    ]
    if "" in winners:
        where = f" on {listed(winners[''])}" if words else ""
        if len(readers) == 2:
            a, b = (READERS[reader] for reader in readers)
            words.append(f"No significant difference{where or f' between the {a} and the {b}'}.")
        else:
            words.append(f"No single encoder is significantly better than all others{where}.")
        for (winner, loser), tasks in pairs.items():
            better = f"The {READERS[winner]} is better than the {READERS[loser]}"
            words.append(f"{better} on {listed(tasks)}.")
    return " ".join(words)


def _task(place: Judged, names: Names, adjusted: int) -> str:
    """Return the paragraph on a task; `adjusted` comparisons are corrected together."""
    best, metric = place.question.best, place.main_metric
    about = f"{sentence_case(task_name(place.task))} ({TASKS[place.task].about}): "
    if len(best) == 1:
        return about + _only(place, names)
    same = len({names[system] for system in best.values()}) == 1
    the = {
        reader: f"the best {READERS[reader]}" + ("" if same else f" ({names[system]})")
        for reader, system in best.items()
    }
    sentences: list[str] = []
    for a, b in combinations(best, 2):
        words = _outcome(place.between(best[a], best[b], metric), the[a], the[b], metric, adjusted)
        sentences.append(sentence_case(words) if sentences else words)
    if same:
        both = "Both" if len(best) == 2 else "All"
        sentences.append(f"{both} use {names[next(iter(best.values()))]}.")
    return about + " ".join([*sentences, *_same_settings(place, names)])


def _outcome(versus: Comparison | None, a: str, b: str, metric: str, adjusted: int) -> str:
    """Return who is better, a or b, and by how much."""
    metric = metric_name(metric)
    cannot = f"{a} and {b} cannot be compared"
    if versus is None:
        return f"{cannot}: they have no seed in common."
    if versus.difference is None:
        return f"{cannot}: {metric} is undefined for one of them: {CONSTANT}."
    if versus.p is None:
        return f"{cannot}: fewer than three examples share no text."
    size = f"{abs(versus.difference):.3f} {metric}"
    excludes_0 = versus.interval is not None and versus.interval.low * versus.interval.high > 0
    if versus.difference < 0 and (versus.decided or excludes_0):
        a, b, versus = b, a, turned(versus)
    if versus.decided:
        return f"{a} beats {b} by {size} ({', '.join([*_interval(versus), _p(versus)])})."
    reach = ""
    if versus.findable:
        detected = f"{versus.findable:.3f} with {POWER:.0%} power"
        reach = f" This test set can detect a difference of {detected}."
    if excludes_0:
        holm = "" if versus.p_holm is None else f" after Holm correction for {adjusted} comparisons"
        return (
            f"{a} scored {size} higher than {b} ({_interval(versus)[0]}), but this is not "
            f"significant{holm} ({_p(versus)}).{reach}"
        )
    details = "; ".join([*_interval(versus), f"not significant, {_p(versus)}"])
    return f"{a} and {b} differ by {_signed(versus)} {metric} ({details}).{reach}"


def _same_settings(place: Judged, names: Names) -> list[str]:
    """Return who is better where all readers have one setting, unless that is the question."""
    best = place.question.best
    two = len(best) == 2
    nobody = "no significant difference" if two else "no encoder is better than all others"
    settings: dict[str, dict[str, str]] = {}
    for name, system in place.question.systems.items():
        settings.setdefault(names[name], {})[system.encoder] = name
    answers: dict[str, list[str]] = {}
    for words, systems in settings.items():
        if len(systems) == len(best) and systems != best:
            winner = _winner(place, systems)
            answer = f"the {READERS[winner]} is better" if winner else nobody
            answers.setdefault(answer, []).append(words)
    outcomes = [f"{answer} ({'; '.join(words)})" for answer, words in answers.items()]
    return [f"With the same setting for every encoder: {'; '.join(outcomes)}."] if outcomes else []


def _only(place: Judged, names: Names) -> str:
    """Return how the only reader did: its best system, and those that may be as good."""
    ((reader, best),) = place.question.best.items()
    metric, score = metric_name(place.main_metric), place.scores(place.main_metric)[best]
    if score.mean is None:
        return f"{metric} is undefined for the {READERS[reader]}: {CONSTANT}."
    what = "best setting" if len(place.question.systems) > 1 else "setting"
    interval = "".join(f" ({words})" for words in _interval(score))
    words = (
        f"only the {READERS[reader]} was run; {what}: {names[best]}, {metric} {score.mean:.3f}"
        f"{interval}."
    )
    rivals = [
        names[versus.b if versus.a == best else versus.a]
        for versus in place.comparisons
        if versus.metric == place.main_metric
        if best in (versus.a, versus.b) and not versus.decided
    ]
    return f"{words} Not significantly different from: {'; '.join(rivals)}." if rivals else words


def _effects(place: Judged) -> list[str]:
    """Return what each contrastive stage changed in the frozen bi-encoder, in aligned lines."""
    paragraphs = []
    compared = (("cosine similarity", COSINE), ("bi-encoder head", place.main_metric))
    for before, after in place.question.changes:
        rows = []
        for what, metric in compared:
            versus, scores = place.between(after, before, metric), place.scores(metric)
            ends = [scores[name].mean for name in (before, after) if name in scores]
            if versus is None or versus.difference is None or None in ends:
                continue
            first, last = ends
            size = ", ".join([_signed(versus), *_interval(versus)])
            size += "" if versus.decided else "; not significant"
            rows.append((what, f"{first:.3f} -> {last:.3f} {metric_name(metric)}", size))
        if rows:
            width = max(len(change) for _, change, _ in rows)
            stage = setting(place.question.systems[after].pretrain)
            lines = [f"  {what:17}   {change:{width}}   ({size})" for what, change, size in rows]
            paragraphs.append("\n".join([f"Effect of {stage} on {task_name(place.task)}:", *lines]))
    return paragraphs


def _basis(asked: Sequence[Judged]) -> str:
    """Return what the numbers are based on, and how far they carry."""
    examples = []
    for place in asked:
        noun = "pairs" if TASKS[place.task].is_pair else "sentences"
        of = f" of {task_name(place.task)}" if len(asked) > 1 else ""
        examples.append(f"{place.estimates[0].n:,} {place.split} {noun}{of}")
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
    if duels and chosen:
        names = " vs. ".join(READERS[reader] for reader in duels[0].question.best)
        sentences.append(
            f"The {names} test is unadjusted; all other p-values are Holm-corrected "
            f"(alpha = {SIGNIFICANT})."
        )
    elif duels:
        sentences.append(f'"Significant" means p < {SIGNIFICANT}.')
    elif any(place.comparisons for place in asked):
        sentences.append(
            f'"Significant" means p < {SIGNIFICANT} after Holm correction. Confidence intervals '
            "are not adjusted."
        )
    return " ".join([*sentences, _seeds(asked, duels)])


def _seeds(asked: Sequence[Judged], duels: Sequence[Judged]) -> str:
    """Return what the number of seeds allows to say."""
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


# Who is better, and numbers in words.


def _decided(place: Judged, systems: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return which reader's system is significantly better than which other's."""
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


def _interval(measured: Comparison | Estimate) -> list[str]:
    return [f"95% CI {shown(measured.interval)}"] if measured.interval else []


def _p(versus: Comparison) -> str:
    p = versus.p if versus.p_holm is None else versus.p_holm
    return "p < 0.001" if p is not None and p < 0.001 else f"p = {p:.3f}"

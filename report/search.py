"""The verdict on a search: what re-ranking gains and costs, and which encoder finds best.

Its sentences are filled from the comparisons of a run and the times of its cells.
"""

from collections.abc import Sequence

from evaluation.significance import Comparison, percent, shown
from report.cell import Cell
from report.floors import BM25_ROW
from report.judging import Judged, System
from report.verdict import Verdict, metric_name, sentence_case, setting

UNTESTED = "without a test (fewer than three groups of queries share no answer)"


def search_verdict(place: Judged, cells: Sequence[Cell]) -> Verdict:
    """Return the verdict on the rankings of one split.

    Args:
        place: their measures and comparisons.
        cells: of the run, with the milliseconds per query.
    """
    systems = place.question.systems
    times = {
        cell.system: float(cell.search["milliseconds"])
        for cell in cells
        if cell.split == place.split
    }
    names = {name: system_name(system, systems) for name, system in systems.items()}
    bis = [name for name, system in systems.items() if system.reader == "bi"]
    again = [_again(place, names, times, bi) for bi in bis]
    paragraphs = [_found(place, names, bi) for bi in bis]
    paragraphs += [_pair(place, names, a, b) for k, a in enumerate(bis) for b in bis[k + 1 :]]
    paragraphs += [words for of_bi in again for words in of_bi[1:]]
    paragraphs.append(_basis(place))
    return Verdict(" ".join(of_bi[0] for of_bi in again), "", list(filter(None, paragraphs)))


def system_name(system: System, systems: dict[str, System]) -> str:
    """Return a system in words: `the bi-encoder`, or `the cross-encoder (fully fine-tuned)`."""
    alike = [other for other in systems.values() if other.reader == system.reader]
    stages = {other.pretrain for other in alike}
    several = len({other.tune for other in alike}) > 1
    reader = {"bi": "the bi-encoder", "late": "late interaction", "cross": "the cross-encoder"}
    name = reader[system.reader]
    if len(stages) > 1 or several:
        words = setting(system.pretrain, system.tune if several else "")
        # The encoder is not named if all have the same.
        name += f" ({words if len(stages) > 1 else words.rpartition(', ')[2]})"
    return name


def _again(place: Judged, names: dict[str, str], times: dict[str, float], bi: str) -> list[str]:
    """Return the sentences on ranking a bi-encoder's texts again; the first is the headline."""
    systems, scores = place.question.systems, place.scores(place.main_metric)
    metric = metric_name(place.main_metric)
    groups: dict[tuple[str, str], list[str]] = {}  # readers of several depths
    for name, system in systems.items():
        if system.finds == bi and name != bi:
            groups.setdefault((system.reader, f"{system.pretrain} {system.tune}"), []).append(name)
    before, sentences = scores[bi].mean or 0.0, []
    if not any(reader == "cross" for reader, _ in groups):
        reaches = f"{sentence_case(names[bi])} reaches {before:.3f} {metric}"
        sentences.append(f"{reaches} ({times[bi]:.2g} ms per query).")
    for (reader, _), of_group in sorted(groups.items()):  # cross before late
        if reader == "late":
            versus = place.between(of_group[0], bi, place.main_metric)
            sentences.append(_differs(names[of_group[0]], names[bi], metric, versus))
            continue
        of_group.sort(key=lambda name: systems[name].depth)
        best = _best_depth(place, of_group, bi)
        versus = place.between(best or of_group[-1], bi, place.main_metric)
        if versus is None or versus.difference is None:
            continue
        who = names[of_group[0]]
        if best is None:
            tried = [place.between(name, bi, place.main_metric) for name in of_group]
            worse = [v for v in tried if v and v.decided and (v.difference or 0) < 0]
            if worse:
                first = worse[0]
                sentences.append(
                    f"Re-ranking by {who} lowers {metric}: already with the "
                    f"{systems[first.a].depth} best texts from {before:.3f} to "
                    f"{scores[first.a].mean:.3f} ({_change(first)}). Use {names[bi]} alone "
                    f"({times[bi]:.2g} ms per query)."
                )
            else:
                by_how_much = "by no significant amount at any depth" if versus.p else UNTESTED
                sentences.append(
                    f"Re-ranking by {who} changes {metric} {by_how_much} "
                    f"(at {systems[versus.a].depth} texts {_change(versus)}), and takes up to "
                    f"{times[versus.a]:.3g} instead of {times[bi]:.2g} ms per query."
                )
            continue
        depth, after = systems[best].depth, scores[best].mean or 0.0
        sentences.append(
            f"Re-ranking the {depth} best texts by {who} raises {metric} from {before:.3f} to "
            f"{after:.3f} ({_change(versus)}) and takes {times[best]:.3g} instead of "
            f"{times[bi]:.2g} ms per query"
            + (f"; more than {depth} brings nothing significant." if best != of_group[-1] else ".")
        )
    return sentences


def _best_depth(place: Judged, of_group: Sequence[str], bi: str) -> str | None:
    """Return the reader at the depth to use: better than no re-ranking; None if no depth is.

    It is the smallest such depth, unless a larger one is significantly better than the one before.
    """
    best = None
    for at, name in enumerate(of_group):
        versus = place.between(name, bi, place.main_metric)
        if not (versus and versus.decided and (versus.difference or 0) > 0):
            continue
        step = place.between(name, of_group[at - 1], place.main_metric) if at else None
        if best is None or (step and step.decided and (step.difference or 0) > 0):
            best = name
    return best


def _found(place: Judged, names: dict[str, str], bi: str) -> str:
    """Return how a bi-encoder compares with BM25."""
    versus = place.between(bi, BM25_ROW, place.main_metric)
    return _differs(names[bi], BM25_ROW, metric_name(place.main_metric), versus)


def _pair(place: Judged, names: dict[str, str], a: str, b: str) -> str:
    versus = place.between(a, b, place.main_metric)
    return _differs(names[a], names[b], metric_name(place.main_metric), versus)


def _differs(subject: str, other: str, metric: str, versus: Comparison | None) -> str:
    if versus is None or versus.difference is None or versus.p is None:
        return ""
    subject = sentence_case(subject)
    if versus.decided:
        verb = "higher" if versus.difference > 0 else "lower"
        return f"{subject} has a {verb} {metric} than {other}: {_change(versus)}."
    return f"{subject} and {other}: no significant difference in {metric} ({_change(versus)})."


def _change(versus: Comparison) -> str:
    """Return `+0.060, CI [0.040, 0.080]`."""
    words = f"{round(versus.difference or 0.0, 3) + 0.0:+.3f}"
    if versus.interval is None:
        return words
    return f"{words}, {percent(versus.level)} CI {shown(versus.interval)}"


def _basis(place: Judged) -> str:
    n = place.estimates[0].n if place.estimates else 0
    intervals = (
        "Intervals are over queries, which are drawn together where they share an answer; Holm's "
        "correction covers the comparisons of a family. "
    )
    tested = any(versus.p is not None for versus in place.comparisons)
    return (
        f"{n} queries ({place.split}). {intervals if tested else ''}Texts with equal scores are in "
        "the order of the corpus. Times are of this machine, for queries that are read in batches."
    )

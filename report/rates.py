"""What another rate would have changed: the scores that tuned encoders' rates were chosen by."""

from collections.abc import Sequence
from statistics import mean

from data.tasks import TASKS
from report.cell import Cell
from runtime.options import shown_value


def chosen_rates(cells: Sequence[Cell]) -> str:
    """Return the encoder rates of a system's seeds, `5e-5 5e-4`; a dash where none was chosen."""
    rates = sorted({cell.rates["rate"] for cell in cells if cell.rates})
    return " ".join(map(shown_value, rates)) or "-"


def scores_by_rate(cells: Sequence[Cell]) -> dict[float, float]:
    """Return the mean score of a system's seeds at each rate, on the rows it was chosen by."""
    scores: dict[float, list[float]] = {}
    for cell in cells:
        for tried in cell.rates.get("tried", []):
            if tried["score"] is not None:
                scores.setdefault(tried["rate"], []).append(tried["score"])
    return {rate: mean(own) for rate, own in scores.items()}


def at_one_rate(cells: Sequence[Cell]) -> list[str]:
    """Return, for each setting in which encoders chose rates, who leads at each and at the best.

    The scores are those of the candidates, on what they were chosen by: no row of dev or test.
    """
    settings: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    for cell in {cell.name: cell for cell in cells}.values():  # its splits share the choice
        if cell.rates:
            place = cell.task, f"{cell.setting}{cell.few}"
            settings.setdefault(place, {}).setdefault(cell.encoder, []).append(cell)
    sentences = []
    for (task, setting), encoders in settings.items():
        by_encoder = {name: scores_by_rate(own) for name, own in encoders.items()}
        rates = sorted(set.intersection(*(set(scores) for scores in by_encoder.values())))
        if len(by_encoder) > 1 and rates:
            leads = [
                f"at {shown_value(rate)} {_lead({n: s[rate] for n, s in by_encoder.items()})}"
                for rate in rates
            ]
            best = _lead({name: max(scores.values()) for name, scores in by_encoder.items()})
            sentences.append(
                f"{task}, {setting}, {TASKS[task].main_metric} of the candidates: "
                f"{', '.join(leads)}; each at its best {best}"
            )
    return sentences


def _lead(scores: dict[str, float]) -> str:
    """Return who leads, and how far before the next: `bi +0.014`."""
    first, second = sorted(scores, key=lambda name: scores[name], reverse=True)[:2]
    return f"{first} +{scores[first] - scores[second]:.3f}"

"""What can be seen of a wrong answer without knowing its cause; each sentence is true as it stands.

Where a known mistake gives the same answers it says more (`compare`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
# What may have been done to a right number, or left undone.
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "the square of": np.square,
    "the root of": np.sqrt,
    "the exponential of": np.exp,
    "the logarithm of": np.log,
    "the reciprocal of": np.reciprocal,
    "the absolute value of": np.abs,
    "the sigmoid of": lambda x: 1 / (1 + np.exp(-x)),
    "the tanh of": np.tanh,
    "the positive part (ReLU) of": lambda x: np.maximum(x, 0),
    "the rounded value of": np.round,
    "1 minus": lambda x: 1 - x,
}


def seen(expected: Arrays, found: Arrays, names: Collection[str] | None = None) -> str:
    """Return how wrong answers relate to the expected ones, "" if in no way that is known here.

    Args:
        expected, found: name -> array, of one case.
        names: of the arrays to tell of; None: all that are wrong.
    """
    # A wrong answer may hold numbers whose squares are infinite; then no relation holds.
    with np.errstate(all="ignore"):
        return "; ".join([*_relations(expected, found, names)][:4])


def _relations(
    expected: Arrays, found: Arrays, names: Collection[str] | None = None
) -> Iterator[str]:
    both = {name: (array, found[name]) for name, array in expected.items() if name in found}
    wrong = {name: pair for name, pair in both.items() if not _close(*pair)}
    pairs = {name: pair for name, pair in wrong.items() if names is None or name in names}
    shared = [*_of_all(pairs)]
    yield from shared
    yield from _of_each(pairs, expected, not shared)
    yield from _right(both, wrong)


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    # Twice as exact as what passes: a relation is not told where it holds by chance.
    return one.shape == other.shape and bool(np.allclose(other, one, 5e-5, 5e-6, equal_nan=True))


def _of_all(pairs: dict[str, tuple[np.ndarray, np.ndarray]]) -> Iterator[str]:
    """Yield a factor that all wrong arrays share; of one number, any would do."""
    if any(wanted.shape != got.shape for wanted, got in pairs.values()):
        return
    wanted, got = (
        np.concatenate([np.ravel(pair[k]).astype(float) for pair in pairs.values()] or [np.ones(0)])
        for k in (0, 1)
    )
    if len(wanted) > 1 and wanted.std() > 0 and np.isfinite(got).all():
        factor = float(wanted @ got / (wanted @ wanted))
        if not got.any():
            yield "all wrong numbers are 0"
        elif _close(wanted * factor, got):
            yield "the sign is turned" if _close(wanted, -got) else f"{factor:.4g} times as large"
        elif len(wanted) > 2 and _close(wanted + (got - wanted).mean(), got):
            yield f"larger by {(got - wanted).mean():.4g} everywhere"


def _of_each(
    pairs: dict[str, tuple[np.ndarray, np.ndarray]], expected: Arrays, alone: bool
) -> Iterator[str]:
    for name, (wanted, got) in pairs.items():
        other = [n for n in expected if n != name and _close(expected[n], got) and got.size > 1]
        if other:
            yield f'"{name}" is what "{other[0]}" should be'
        elif alone and (words := next(_of_all({name: (wanted, got)}), "")):
            yield f'"{name}": {words}'
        elif alone and (words := next(_of_one(wanted.astype(float), got.astype(float)), "")):
            yield f'"{name}" {words}'


def _of_one(wanted: np.ndarray, got: np.ndarray) -> Iterator[str]:
    if wanted.size == got.size == 1:
        yield from _of_number(wanted.item(), got.item())
    if wanted.ndim == 2 and _close(wanted.T, got):
        yield "is transposed"
    if wanted.shape != got.shape:
        yield from _of_other_shape(wanted, got)
    elif np.isnan(got).all():
        yield "is NaN throughout"
    elif wanted.ndim and len(wanted) > 1 and np.isfinite(got).all():
        yield from _of_same_shape(wanted, got)


def _of_other_shape(wanted: np.ndarray, got: np.ndarray) -> Iterator[str]:
    if _close(wanted.ravel(), got.ravel()):
        yield "holds the right numbers in another shape"
    elif wanted.ndim == got.ndim + 1:
        for axis in range(wanted.ndim):
            for word, reduced in (("sum", wanted.sum(axis)), ("mean", wanted.mean(axis))):
                if _close(reduced, got):
                    yield f"is the {word} of the right numbers over axis {axis}"
    elif wanted.ndim == got.ndim > 0 and 0 < len(got) < len(wanted):
        if _close(wanted[: len(got)], got):
            yield "lacks its end; the rest is right"
        elif _close(wanted[-len(got) :], got):
            yield "lacks its beginning; the rest is right"
    elif wanted.ndim == got.ndim > 0 and _close(wanted, got[: len(wanted)]):
        yield "goes on where it should end; what comes before is right"


def _of_same_shape(wanted: np.ndarray, got: np.ndarray) -> Iterator[str]:
    if _close(wanted[:-1], got[1:]):
        yield "comes one row too late"
    if _close(wanted[1:], got[:-1]):
        yield "comes one row too early"
    if _close(wanted[::-1], got):
        yield "is in reverse order"
    for words, function in FUNCTIONS.items():
        if _close(function(wanted), got):
            yield f"is {words} what it should be"
    if wanted.ndim == 2:
        yield from _of_rows(wanted, got, "row")
        yield from _of_rows(wanted.T, got.T, "column")
    names = ("rows", "columns") if wanted.ndim < 3 else map("slices of axis {}".format, range(9))
    for axis, words in zip(range(wanted.ndim), names, strict=False):
        yield from _of_lines(np.moveaxis(wanted, axis, 0), np.moveaxis(got, axis, 0), words)
    if _close(np.sort(wanted, axis=None), np.sort(got, axis=None)):
        yield "holds the right numbers in another order"
    if wanted.ndim == 2 and wanted.shape[1] > 2 and _close(_unit(wanted), _unit(got)):
        yield "has rows of the right direction and of other lengths"


def _of_number(wanted: float, got: float) -> Iterator[str]:
    """Yield a factor that is a whole number, or one over it: a sum for a mean, or the reverse."""
    for over, under, words in ((got, wanted, "{} times"), (wanted, got, "a {}th of")):
        factor = over / under if under else 0.0
        if 1.5 < factor < 64 and abs(factor - round(factor)) < 1e-4 * factor:
            yield f"is {words.format(round(factor))} what it should be"


def _of_rows(wanted: np.ndarray, got: np.ndarray, word: str) -> Iterator[str]:
    """Yield a factor, or a constant, that each row has of its own."""
    if wanted.shape[1] < 3 or len(wanted) > 16:
        return
    shift = (got - wanted).mean(axis=1, keepdims=True)
    factor = (wanted * got).sum(axis=1, keepdims=True) / np.square(wanted).sum(
        axis=1, keepdims=True
    )
    if _close(wanted + shift, got):
        yield f"is off by a constant in each {word}: {_numbers(shift)}"
    elif np.isfinite(factor).all() and _close(wanted * factor, got):
        yield f"has a factor in each {word}: {_numbers(factor)}"


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values.ravel())


def _of_lines(wanted: np.ndarray, got: np.ndarray, words: str) -> Iterator[str]:
    # Of single numbers this would say little.
    if wanted.ndim > 1 and all(
        any(_close(line, other) for other in others)
        for lines, others in ((got, wanted), (wanted, got))
        for line in lines
    ):
        yield f"holds the right {words} in another place"
    good = [_close(*pair) for pair in zip(wanted, got, strict=True)]
    if any(good):
        yield f"is right in the {words} {_runs(good)} only"


def _unit(rows: np.ndarray) -> np.ndarray:
    length: np.ndarray = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def _runs(good: list[bool]) -> str:
    """Return where a list is true: "0 to 3, 7"."""
    edges = np.flatnonzero(np.diff([False, *good, False])).reshape(-1, 2)
    return ", ".join(f"{a}" if b - a == 1 else f"{a} to {b - 1}" for a, b in edges.tolist())


def _right(both: Collection[str], pairs: Collection[str]) -> Iterator[str]:
    right = [f'"{name}"' for name in both if name not in pairs]
    if right and len(both) > 1:
        yield f"right: {', '.join(right[:4])}"

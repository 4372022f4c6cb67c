"""What can be seen of a wrong answer without knowing its cause; each sentence is true as it stands.

Where a known mistake gives the same answers it says more (`compare`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
# What is said, and the two arrays that are equal if it is true.
Relation = tuple[str, np.ndarray, np.ndarray]
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
        return "; ".join([*_sentences(expected, found, names)][:4])


def _sentences(expected: Arrays, found: Arrays, names: Collection[str] | None) -> Iterator[str]:
    both = {name: (array, found[name]) for name, array in expected.items() if name in found}
    wrong = {name: pair for name, pair in both.items() if not _close(*pair)}
    pairs = {name: pair for name, pair in wrong.items() if names is None or name in names}
    shared = _of_all(pairs)
    if shared:
        yield shared
    for name, (wanted, got) in pairs.items():
        other = [n for n in expected if n != name and _close(expected[n], got) and got.size > 1]
        if other:
            yield f'"{name}" is what "{other[0]}" should be'
        elif not shared and (words := _of_all({name: (wanted, got)})):
            yield f'"{name}": {words}'
        elif not shared and (words := _of_one(wanted.astype(float), got.astype(float))):
            yield f'"{name}" {words}'
    right = [f'"{name}"' for name in both if name not in wrong]
    if right and len(both) > 1:
        yield f"right: {', '.join(right[:4])}"


def _close(left: np.ndarray, right: np.ndarray) -> bool:
    # Twice as exact as what passes: a relation is not told where it holds by chance.
    return left.shape == right.shape and bool(np.allclose(right, left, 5e-5, 5e-6, equal_nan=True))


def _of_all(pairs: dict[str, tuple[np.ndarray, np.ndarray]]) -> str:
    """Return a factor or a constant that all wrong arrays share; of one number, any would do."""
    if not pairs or any(wanted.shape != got.shape for wanted, got in pairs.values()):
        return ""
    wanted, got = (
        np.concatenate([np.ravel(pair[side]).astype(float) for pair in pairs.values()])
        for side in (0, 1)
    )
    if len(wanted) < 2 or wanted.std() == 0 or not np.isfinite(got).all():
        return ""
    factor = float(wanted @ got / (wanted @ wanted))
    shift = (got - wanted).mean()
    if not got.any():
        return "all wrong numbers are 0"
    if _close(wanted * factor, got):
        return "the sign is turned" if _close(wanted, -got) else f"{factor:.4g} times as large"
    return (
        f"larger by {shift:.4g} everywhere"
        if len(wanted) > 2 and _close(wanted + shift, got)
        else ""
    )


def _of_one(wanted: np.ndarray, got: np.ndarray) -> str:
    """Return the first relation of two arrays that holds, "" if none does."""
    if wanted.shape != got.shape:
        relations = _of_other_shape(wanted, got)
    elif wanted.size == 1:
        return _of_number(wanted.item(), got.item())
    elif np.isnan(got).all():
        return "is NaN throughout"
    elif wanted.ndim == 0 or len(wanted) == 1 or not np.isfinite(got).all():
        return ""
    else:
        relations = _of_same_shape(wanted, got)
    return next((words for words, left, right in relations if _close(left, right)), "")


def _of_number(wanted: float, got: float) -> str:
    """Return a factor that is a whole number, or one over it: a sum for a mean, or the reverse."""
    for over, under, words in ((got, wanted, "{} times"), (wanted, got, "a {}th of")):
        factor = over / under if under else 0.0
        if 1.5 < factor < 64 and abs(factor - round(factor)) < 1e-4 * factor:
            return f"is {words.format(round(factor))} what it should be"
    return ""


def _of_other_shape(wanted: np.ndarray, got: np.ndarray) -> Iterator[Relation]:
    yield "is transposed", wanted.T, got
    yield "holds the right numbers in another shape", wanted.ravel(), got.ravel()
    for axis in range(wanted.ndim):
        yield f"is the sum of the right numbers over axis {axis}", wanted.sum(axis), got
        yield f"is the mean of the right numbers over axis {axis}", wanted.mean(axis), got
    if wanted.ndim == got.ndim > 0 and len(got):
        yield "lacks its end; the rest is right", wanted[: len(got)], got
        yield "lacks its beginning; the rest is right", wanted[-len(got) :], got
        yield "goes on where it should end; what comes before is right", wanted, got[: len(wanted)]


def _of_same_shape(wanted: np.ndarray, got: np.ndarray) -> Iterator[Relation]:
    """Yield relations of arrays of several rows, finite numbers."""
    if wanted.ndim == 2:
        yield "is transposed", wanted.T, got
    yield "comes one row too late", wanted[:-1], got[1:]
    yield "comes one row too early", wanted[1:], got[:-1]
    yield "is in reverse order", wanted[::-1], got
    for words, function in FUNCTIONS.items():
        yield f"is {words} what it should be", function(wanted), got
    if wanted.ndim == 2:
        yield from _of_each_line(wanted, got, "row")
        yield from _of_each_line(wanted.T, got.T, "column")
    names = ("rows", "columns") if wanted.ndim < 3 else map("slices of axis {}".format, range(9))
    for axis, words in zip(range(wanted.ndim), names, strict=False):
        yield from _of_lines(np.moveaxis(wanted, axis, 0), np.moveaxis(got, axis, 0), words)
    order = "holds the right numbers in another order"
    yield order, np.sort(wanted, axis=None), np.sort(got, axis=None)
    if wanted.ndim == 2 and wanted.shape[1] > 2:
        words = "has rows of the right direction and of other lengths"
        yield words, _unit(wanted), _unit(got)


def _of_each_line(wanted: np.ndarray, got: np.ndarray, word: str) -> Iterator[Relation]:
    """Yield a constant, or a factor, that each row has of its own."""
    if wanted.shape[1] < 3 or len(wanted) > 16:
        return
    shift = (got - wanted).mean(axis=1, keepdims=True)
    yield f"is off by a constant in each {word}: {_numbers(shift)}", wanted + shift, got
    squares = np.square(wanted).sum(axis=1, keepdims=True)
    factor = (wanted * got).sum(axis=1, keepdims=True) / squares
    if np.isfinite(factor).all():
        yield f"has a factor in each {word}: {_numbers(factor)}", wanted * factor, got


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values.ravel())


def _of_lines(wanted: np.ndarray, got: np.ndarray, words: str) -> Iterator[Relation]:
    # Of single numbers the first would say little.
    moved = wanted.ndim > 1 and all(
        any(_close(line, other) for other in others)
        for lines, others in ((got, wanted), (wanted, got))
        for line in lines
    )
    if moved:
        yield f"holds the right {words} in another place", wanted, wanted
    good = np.array([_close(*pair) for pair in zip(wanted, got, strict=True)])
    if good.any():
        yield f"is right in the {words} {_runs(good)} only", wanted[good], got[good]


def _unit(rows: np.ndarray) -> np.ndarray:
    length: np.ndarray = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def _runs(good: np.ndarray) -> str:
    """Return where an array is true: "0 to 3, 7"."""
    edges = np.flatnonzero(np.diff([False, *good, False])).reshape(-1, 2)
    return ", ".join(f"{a}" if b - a == 1 else f"{a} to {b - 1}" for a, b in edges.tolist())

"""A student's arrays beside the expected ones: which differs first, where, by how much, and why.

Reads arrays that anybody may have written: plain npz files of bounded size, and nothing that runs.
"""

import json
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assignment.seen import seen
from assignment.walk import open_plain
from runtime.streams import printable

Arrays = dict[str, np.ndarray]

# Float32 sums taken in another order differ by less; every known mistake changes more.
RELATIVE, ABSOLUTE = 1e-4, 1e-5
MOST_BYTES, MOST_ARRAYS = 8 * 2**20, 256
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MOST_WORDS = 2000
NO_ANSWER = "no answer"
# In mistakes.npz, in place of an array: the case raises, or has no array of this name.
RAISES, LACKS = "raises", "without "


@dataclass(frozen=True)
class CaseResult:
    """What became of one case.

    Attributes:
        case, part: names.
        passed: whether all arrays are as expected.
        reason: "" or the first thing that is wrong.
        mistakes: the known mistakes that give the same answers.
        remarks: lines of what costs no points.
    """

    case: str
    part: str
    passed: bool
    reason: str
    mistakes: tuple[str, ...] = ()
    remarks: str = ""


@dataclass(frozen=True)
class Suite:
    """A suite folder as read by `read_suite`.

    Attributes:
        about: the content of suite.json.
        answers: case -> its expected arrays.
        mistakes: mistake -> case -> the arrays that it gives.
    """

    about: dict[str, Any]
    answers: dict[str, Arrays]
    mistakes: dict[str, dict[str, Arrays]]

    @cached_property
    def changed(self) -> dict[str, set[tuple[str, str]]]:
        """Return mistake -> what it changes, as (case, name of an array)."""
        return {
            mistake: {
                (case, name)
                for case, arrays in cases.items()
                for name in differing(self.answers[case], arrays)
            }
            for mistake, cases in self.mistakes.items()
        }


def read_suite(folder: Path) -> Suite:
    """Read a suite folder, but for its inputs."""
    about = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
    answers: dict[str, Arrays] = {case["name"]: {} for case in about["cases"]}
    with np.load(folder / "answers.npz", allow_pickle=False) as stored:
        for key in stored.files:
            case, _, name = key.partition("/")
            answers[case][name] = stored[key]
    # A mistake's answers are the right ones but for what is stored.
    mistakes = {
        one["name"]: {
            case["name"]: dict(answers[case["name"]])
            for case in about["cases"]
            if case["part"] == one["part"]
        }
        for one in about["mistakes"]
    }
    with np.load(folder / "mistakes.npz", allow_pickle=False) as stored:
        for key in stored.files:
            mistake, case, name = key.split("/", 2)
            if name == RAISES:
                del mistakes[mistake][case]
            elif name.startswith(LACKS):
                del mistakes[mistake][case][name.removeprefix(LACKS)]
            else:
                mistakes[mistake][case][name] = stored[key]
    return Suite(about, answers, mistakes)


def changes(answers: Arrays, mistaken: Arrays | None) -> Arrays:
    """Return what `read_suite` needs to know of a mistake's answers to a case; None: it raises."""
    if mistaken is None:
        return {RAISES: np.zeros(0)}
    changed = differing(answers, mistaken)
    lacking = {f"{LACKS}{name}": np.zeros(0) for name in changed - mistaken.keys()}
    return {name: mistaken[name] for name in mistaken if name in changed} | lacking


def judge(suite: Suite, out_dir: Path) -> list[CaseResult]:
    """Return what became of every case of a suite, in its order.

    Args:
        suite: as `read_suite` returns it.
        out_dir: what the driver wrote; nothing in it is trusted.
    """
    found: dict[str, Arrays] = {}
    reasons: dict[str, str] = {}
    for case in suite.about["cases"]:
        name = case["name"]
        try:
            found[name] = read_arrays(out_dir / f"{name}.npz")
        except ValueError as error:
            reasons[name] = _what_raised(out_dir / f"{name}.error.txt") or str(error)
    return judge_arrays(suite, found, reasons)


def judge_arrays(
    suite: Suite, found: dict[str, Arrays], unanswered: dict[str, str] | None = None
) -> list[CaseResult]:
    """Return what became of every case of a suite, in its order.

    Args:
        suite: as `read_suite` returns it.
        found: case -> what was answered.
        unanswered: case -> why there is no answer, if it is known.
    """
    reasons = dict.fromkeys(suite.answers, NO_ANSWER) | (unanswered or {})
    reasons |= {name: difference(suite.answers[name], arrays) for name, arrays in found.items()}
    wrong = {
        (case, name)
        for case, arrays in found.items()
        for name in differing(suite.answers[case], arrays)
    }
    causes = dict(_causes(suite, found, wrong))
    right = {name for name, reason in reasons.items() if not reason}
    results = []
    for case in suite.about["cases"]:
        name = case["name"]
        unknown = {array for of, array in wrong - causes.keys() if of == name}
        told: list[str] = []
        if unknown:
            told.append(seen(suite.answers[name], found[name], unknown))
        if unknown or (reasons[name] and name not in found):
            # The same function, asked with less, may be right: the error comes with the more.
            less = case.get("beyond", {})
            told += [f"{other} passes, without {less[other]}" for other in less if other in right]
        reason = reasons[name] + "".join(f"; {words}" for words in told if words)
        own = [causes[unit] for unit in sorted(causes) if unit[0] == name]
        mistakes = tuple(dict.fromkeys(own))
        results.append(CaseResult(name, case["part"], not reason, reason, mistakes))
    return results


def _causes(
    suite: Suite, found: dict[str, Arrays], wrong: set[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((case, array), mistake) for wrong arrays that are those of a known mistake."""
    parts = {case["part"] for case in suite.about["cases"] if case["name"] in found}
    explained = {
        mistake["name"]: arrays
        for mistake in suite.about["mistakes"]
        if mistake["part"] in parts and (arrays := _explained(suite, mistake, found))
    }
    for unit in wrong:
        fitting = {one: len(arrays) for one, arrays in explained.items() if unit in arrays}
        most = [one for one, count in fitting.items() if count == max(fitting.values())]
        # Of two that would explain as much, neither is named.
        if len(most) == 1:
            yield unit, most[0]


def _explained(
    suite: Suite, mistake: dict[str, Any], found: dict[str, Arrays]
) -> set[tuple[str, str]]:
    """Return what a mistake changes, if the student's arrays are its own in all of that.

    A case that gave no answer says nothing for or against it.
    """
    own = suite.mistakes[mistake["name"]]
    asked = {case["name"] for case in suite.about["cases"] if case["part"] == mistake["part"]}
    if (asked & found.keys()) - own.keys():  # it raises there, and the student's code did not
        return set()
    changed = {unit for unit in suite.changed[mistake["name"]] if unit[0] in found}
    return changed if all(_alike(own[case], found[case], name) for case, name in changed) else set()


def differing(expected: Arrays, found: Arrays) -> set[str]:
    """Return the names of arrays that differ, or are in one of the two sets only."""
    names = expected.keys() | found.keys()
    return {name for name in names if not _alike(expected, found, name)}


def _alike(expected: Arrays, found: Arrays, name: str) -> bool:
    if name not in expected or name not in found:
        return name not in expected and name not in found
    return not array_difference(expected[name], found[name])


def difference(expected: Arrays, found: Arrays) -> str:
    """Return the first difference between two sets of arrays in words, "" if there is none."""
    for name, wanted in expected.items():
        if name not in found:
            return f'"{name}" is missing'
        if reason := array_difference(wanted, found[name]):
            return f'"{name}" {reason}'
    surplus = [name for name in found if name not in expected]
    return f'"{printable(surplus[0][:80])}" is not expected' if surplus else ""


def array_difference(expected: np.ndarray, found: np.ndarray) -> str:
    """Return how an array differs, "" if it is equal up to rounding."""
    if found.shape != expected.shape:
        return f"has shape {found.shape}, expected {expected.shape}"
    wanted, got = np.atleast_1d(expected.astype(np.float64)), np.atleast_1d(found.astype(float))
    strange = ~np.isfinite(got) & ~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    if strange.any():
        place = tuple(np.argwhere(strange)[0].tolist())
        return f"is {got[place]} at {list(place)}, expected {wanted[place]:.6g}"
    with np.errstate(invalid="ignore"):
        distance = np.abs(got - wanted)
    wrong = distance > ABSOLUTE + RELATIVE * np.abs(wanted)
    wrong |= np.isfinite(got) != np.isfinite(wanted)
    if not wrong.any():
        return ""
    if expected.ndim == 0:
        return f"is {got[0]:.6g}, expected {wanted[0]:.6g}"
    place = tuple(np.argwhere(wrong)[0].tolist())
    return (
        f"of shape {expected.shape} differs in {wrong.sum()} of {wrong.size} numbers, first at "
        f"{list(place)}: {got[place]:.6g}, expected {wanted[place]:.6g}; "
        f"the largest difference is {np.nanmax(distance, initial=0):.3g}"
    )


def read_arrays(path: Path) -> Arrays:
    """Return the arrays of an npz file that anybody may have written.

    Raises:
        ValueError: no such file, a link, too large, or anything but plain numbers.
    """
    try:
        with open_plain(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > MOST_ARRAYS or sum(m.file_size for m in members) > MOST_BYTES:
                raise ValueError(f"the answers are larger than {MOST_BYTES >> 20} MB")
            if any(member.compress_type not in METHODS for member in members):
                raise ValueError("the answers are packed as NumPy does not")
            return {m.filename.removesuffix(".npy"): _read_member(archive, m) for m in members}
    except FileNotFoundError:
        raise ValueError(NO_ANSWER) from None
    except ValueError:
        raise
    # Bytes that were made to break a reader raise what its authors never thought of.
    except Exception as error:
        raise ValueError(f"the answers cannot be read ({type(error).__name__})") from None


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{printable(member.filename[:80])}: not an array as NumPy writes it")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        # The header's promise is checked before memory is taken for it.
        if dtype.kind not in "fiub" or dtype.itemsize * math.prod(shape) > member.file_size:
            raise ValueError(f"{printable(member.filename[:80])}: not an array of plain numbers")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _what_raised(path: Path) -> str:
    try:
        with open_plain(path) as file:
            text = file.read(MOST_WORDS).decode("utf-8", errors="replace")
    except OSError:
        return ""
    plain = "".join(c if c.isprintable() or c == "\n" else " " for c in text).splitlines()
    # What is not written yet needs no place.
    told = plain[:1] if text.startswith("NotImplementedError") else plain
    return "raised " + " ".join(" ".join(told).split())

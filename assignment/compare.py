"""A student's arrays beside the expected ones: which differs first, where, by how much, and why.

Reads arrays that anybody may have written: plain npz files of bounded size, and nothing that runs.
"""

import json
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assignment.walk import open_plain
from runtime.streams import printable

Arrays = dict[str, np.ndarray]
# An array of a case: the names of both. ALL stands for every array of a case that raises.
Unit = tuple[str, str]
ALL = ""
# The arrays that are not as expected; None: one that is not there.
Changes = dict[Unit, np.ndarray | None]

# Float32 sums taken in another order differ by less; every known mistake changes more.
RELATIVE, ABSOLUTE = 1e-4, 1e-5
MOST_BYTES, MOST_ARRAYS = 8 * 2**20, 256
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MOST_WORDS = 2000
NO_ANSWER = "no answer"
# In a file, where a mistake gives no array.
NO_ARRAY = np.array("none")


@dataclass(frozen=True)
class CaseResult:
    """What became of one case."""

    case: str
    part: str
    passed: bool
    reason: str  # "" or the first thing that is wrong
    mistakes: tuple[str, ...] = ()  # the known mistakes that give the same answers
    remarks: str = ""  # lines of what costs no points


@dataclass(frozen=True)
class Suite:
    """A suite folder as read by `read_suite`."""

    about: dict[str, Any]  # the content of suite.json
    answers: dict[str, Arrays]  # case -> its expected arrays
    mistakes: dict[str, Changes]  # mistake -> what it changes

    def cases_of(self, part: str) -> list[str]:
        return [case["name"] for case in self.about["cases"] if case["part"] == part]

    def answers_of(self, mistake: dict[str, Any]) -> dict[str, Arrays]:
        """Return case -> all that a mistake answers, of the cases at which it does not raise."""
        changed = self.mistakes[mistake["name"]]
        answers = {}
        for case in self.cases_of(mistake["part"]):
            if (case, ALL) not in changed:
                arrays = self.answers[case] | {n: a for (c, n), a in changed.items() if c == case}
                answers[case] = {name: array for name, array in arrays.items() if array is not None}
        return answers


def read_suite(folder: Path) -> Suite:
    """Read a suite folder, but for its inputs."""
    about = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
    answers: dict[str, Arrays] = {case["name"]: {} for case in about["cases"]}
    mistakes: dict[str, Changes] = {mistake["name"]: {} for mistake in about["mistakes"]}
    with np.load(folder / "answers.npz", allow_pickle=False) as stored:
        for key in stored.files:
            case, name = key.split("/", 1)
            answers[case][name] = stored[key]
    with np.load(folder / "mistakes.npz", allow_pickle=False) as stored:
        for key in stored.files:
            mistake, case, name = key.split("/", 2)
            array = stored[key]
            mistakes[mistake][case, name] = None if array.dtype == NO_ARRAY.dtype else array
    return Suite(about, answers, mistakes)


def write_suite(folder: Path, suite: Suite, inputs: dict[str, Arrays]) -> None:
    """Write a suite, and the inputs of its cases, into a new folder."""
    folder.mkdir(parents=True)
    about = json.dumps(suite.about, indent=1) + "\n"
    (folder / "suite.json").write_text(about, encoding="utf-8")
    tables: dict[str, Arrays] = {
        name: {
            f"{case}/{key}": array for case, table in cases.items() for key, array in table.items()
        }
        for name, cases in (("inputs", inputs), ("answers", suite.answers))
    }
    tables["mistakes"] = {
        f"{mistake}/{case}/{name}": NO_ARRAY if array is None else array
        for mistake, changed in suite.mistakes.items()
        for (case, name), array in changed.items()
    }
    for name, arrays in tables.items():
        # The names are chosen by us; to mypy one of them could be `allow_pickle`.
        np.savez_compressed(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]


def judge(suite: Suite, out_dir: Path) -> list[CaseResult]:
    """Return what became of each case, by what the driver wrote; nothing of that is trusted."""
    answered: dict[str, Arrays] = {}
    reasons: dict[str, str] = {}
    for case in suite.about["cases"]:
        name = case["name"]
        try:
            answered[name] = read_arrays(out_dir / f"{name}.npz")
        except ValueError as error:
            reasons[name] = _what_raised(out_dir / f"{name}.error.txt") or str(error)
    return judge_arrays(suite, answered, reasons)


def judge_arrays(
    suite: Suite, answered: dict[str, Arrays], unanswered: dict[str, str] | None = None
) -> list[CaseResult]:
    """Return what became of every case of a suite, in its order.

    Args:
        answered: case -> what was answered.
        unanswered: case -> why there is no answer, if it is known.
    """
    reasons = dict.fromkeys(suite.answers, NO_ANSWER) | (unanswered or {})
    reasons |= {case: difference(suite.answers[case], arrays) for case, arrays in answered.items()}
    causes = sorted(_causes(suite, answered))
    results = []
    for case in suite.about["cases"]:
        name, reason = case["name"], reasons[case["name"]]
        mistakes = dict.fromkeys(mistake for unit, mistake in causes if unit[0] == name)
        results.append(CaseResult(name, case["part"], not reason, reason, tuple(mistakes)))
    return results


def _causes(suite: Suite, answered: dict[str, Arrays]) -> Iterator[tuple[Unit, str]]:
    """Yield wrong arrays that are those of a known mistake, and its name."""
    parts = {case["part"] for case in suite.about["cases"] if case["name"] in answered}
    explained = {
        mistake["name"]: units
        for mistake in suite.about["mistakes"]
        if mistake["part"] in parts
        and (units := _explained(suite.mistakes[mistake["name"]], answered))
    }
    for unit in changes({case: suite.answers[case] for case in answered}, answered):
        fitting = {name: len(units) for name, units in explained.items() if unit in units}
        most = [name for name, count in fitting.items() if count == max(fitting.values())]
        # Of two that would explain as much, neither is named.
        if len(most) == 1:
            yield unit, most[0]


def _explained(changed: Changes, answered: dict[str, Arrays]) -> set[Unit]:
    """Return what a mistake changes, if the student's arrays are its own in all of that.

    A case that gave no answer says nothing for or against it.
    """
    asked = {unit: array for unit, array in changed.items() if unit[0] in answered}
    # Where it raises, and the student's code did not, the array ALL is not alike.
    alike = all(
        name and _alike(array, answered[case].get(name)) for (case, name), array in asked.items()
    )
    return {*asked} if alike else set()


def changes(expected: dict[str, Arrays], answered: dict[str, Arrays]) -> Changes:
    """Return what is not as expected of some cases' arrays; a case that is not answered raised."""
    changed: Changes = {}
    for case, wanted in expected.items():
        if case not in answered:
            changed[case, ALL] = None
            continue
        for name in [*answered[case], *(name for name in wanted if name not in answered[case])]:
            if not _alike(wanted.get(name), answered[case].get(name)):
                changed[case, name] = answered[case].get(name)
    return changed


def _alike(wanted: np.ndarray | None, got: np.ndarray | None) -> bool:
    if wanted is None or got is None:
        return wanted is got
    return not array_difference(wanted, got)


def difference(expected: Arrays, answered: Arrays) -> str:
    """Return the first difference between two sets of arrays in words, "" if there is none."""
    for name, wanted in expected.items():
        if name not in answered:
            return f'"{name}" is missing'
        if reason := array_difference(wanted, answered[name]):
            return f'"{name}" {reason}'
    surplus = [name for name in answered if name not in expected]
    return f'"{printable(surplus[0][:80])}" is not expected' if surplus else ""


def array_difference(expected: np.ndarray, answered: np.ndarray) -> str:
    """Return how an array differs, "" if it is equal up to rounding."""
    if answered.shape != expected.shape:
        return f"has shape {answered.shape}, expected {expected.shape}"
    wanted, got = np.atleast_1d(expected.astype(np.float64)), np.atleast_1d(answered.astype(float))
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
    shown = plain[:1] if text.startswith("NotImplementedError") else plain
    return "raised " + " ".join(" ".join(shown).split())

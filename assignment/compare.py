"""A student's arrays beside the expected ones: which differs first, where, by how much, and why.

Reads arrays that anybody may have written: plain npz files of bounded size, and nothing that runs.
"""

import json
import math
import zipfile
from collections import Counter
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
GRADIENTS = "gradient"  # how the names of arrays begin that are gradients, or say whether they are
NO_ANSWER = "no answer"
PLACE = "\nat "  # in what the driver writes of a case that raised: where, in the student's code
# In a file, where a mistake gives no array.
NO_ARRAY = np.array("none")


@dataclass(frozen=True)
class CaseResult:
    """What became of one case."""

    case: str
    part: str
    passed: bool
    computed: str = ""  # the first thing that is wrong, in words
    expected: str = ""  # what should stand there
    look: str = ""  # where to look
    mistakes: tuple[str, ...] = ()  # the known mistakes that give the same answers
    remarks: str = ""  # lines of what costs no points
    half: bool = False  # of its points: all values are right, and only gradients are wrong

    @property
    def share(self) -> float:
        """Return the share of the case's points."""
        return 1.0 if self.passed else 0.5 if self.half else 0.0

    @property
    def lines(self) -> list[str]:
        """Return what is wrong, as students and instructors are told it of every case."""
        words = {"computed": self.computed, "expected": self.expected, "look at": self.look}
        return [f"{word + ':':9} {printable(text)}" for word, text in words.items() if text]


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
        unanswered: case -> why there is no answer, if it is known; after a line end, where.
    """
    wrong = changes({case: suite.answers[case] for case in answered}, answered)
    causes = sorted(_causes(suite, answered, wrong))
    results = []
    for case in suite.about["cases"]:
        name, look, half = case["name"], "", False
        if name in answered:
            array, computed, expected = difference(suite.answers[name], answered[name])
            half = all(a.startswith(GRADIENTS) for c, a in wrong if c == name)
        else:
            computed, _, look = (unanswered or {}).get(name, NO_ANSWER).partition("\n")
            array, expected = ALL, "an answer"
        if not computed:
            results.append(CaseResult(name, case["part"], True))
            continue
        mistakes = tuple(dict.fromkeys(mistake for unit, mistake in causes if unit[0] == name))
        look = look or _places(suite, (name, array), mistakes, answered, wrong)
        words = computed, expected, look, mistakes
        results.append(CaseResult(name, case["part"], False, *words, half=half))
    return results


def _places(
    suite: Suite,
    unit: Unit,
    mistakes: tuple[str, ...],
    answered: dict[str, Arrays],
    wrong: Changes,
) -> str:
    """Return where to look: at most two functions whose known mistakes change an array.

    They are those whose mistakes would explain most of what is wrong. A mistake that also changes
    an array that the student has right explains nothing; or, if that leaves no function, a mistake
    that also changes a case that the student has right.
    """
    case, array = unit
    wrong_cases = {case for case, _ in wrong}

    def is_right(other: Unit, whole: bool) -> bool:
        if other[0] not in answered:
            return False
        return other[0] not in wrong_cases if whole or other[1] == ALL else other not in wrong

    known = [m for m in suite.about["mistakes"] if "place" in m]  # 1.0 wrote suites without
    explained = Counter({m["place"]: 1 for m in known if m["name"] in mistakes})
    for whole in (False, True):
        for mistake in () if explained else known:
            changed, place = suite.mistakes[mistake["name"]], mistake["place"]
            of_case = (array == ALL or whole) and any(other[0] == case for other in changed)
            if (unit in changed or of_case) and not any(
                is_right(other, whole) for other in changed
            ):
                explained[place] = max(explained[place], len(changed))
    likeliest = [place.split(":") for place, _ in explained.most_common(2)]
    return ", or ".join(f"{name} in {file}" for file, name in likeliest)


def _causes(
    suite: Suite, answered: dict[str, Arrays], wrong: Changes
) -> Iterator[tuple[Unit, str]]:
    """Yield wrong arrays that are those of a known mistake, and its name."""
    parts = {case["part"] for case in suite.about["cases"] if case["name"] in answered}
    explained = {
        mistake["name"]: units
        for mistake in suite.about["mistakes"]
        if mistake["part"] in parts
        and (units := _explained(suite.mistakes[mistake["name"]], answered))
    }
    for unit in wrong:
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
    return not array_difference(wanted, got)[0]


def difference(expected: Arrays, answered: Arrays) -> tuple[str, str, str]:
    """Return the first array that differs, what was computed, and what was expected, in words.

    All are "" if none differs.
    """
    for name, wanted in expected.items():
        if name not in answered:
            return name, f'no "{name}"', f"an array of shape {wanted.shape}"
        computed, instead = array_difference(wanted, answered[name])
        if computed:
            return name, f'"{name}" {computed}', instead
    surplus = [printable(name[:80]) for name in answered if name not in expected]
    return (surplus[0], f'"{surplus[0]}"', "no such array") if surplus else ("", "", "")


def array_difference(expected: np.ndarray, answered: np.ndarray) -> tuple[str, str]:
    """Return how an array differs and what was expected, in words; "" if equal up to rounding."""
    if answered.shape != expected.shape:
        return f"has shape {answered.shape}", f"shape {expected.shape}"
    with np.errstate(all="ignore"):
        wanted = np.atleast_1d(expected.astype(np.float64))
        got = np.atleast_1d(answered.astype(np.float64))
        distance = np.abs(got - wanted)
    wrong = distance > ABSOLUTE + RELATIVE * np.abs(wanted)
    wrong |= ~np.isfinite(got) & ~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    wrong |= np.isfinite(got) != np.isfinite(wanted)
    if not wrong.any():
        return "", ""
    place = tuple(np.argwhere(wrong)[0].tolist())
    at = f" at {list(place)}" if expected.ndim else ""
    if expected.dtype == bool:
        return f"is {bool(got[place])}{at}", str(bool(wanted[place]))
    more = ""
    if expected.ndim:
        most = np.nanmax(distance, initial=0)
        more = f"; {wrong.sum()} of {wrong.size} numbers of shape {expected.shape} differ"
        more += f", by up to {most:.3g}" if np.isfinite(most) else ""
    return f"is {got[place]:.6g}{at}{more}", f"{wanted[place]:.6g}"


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
                raise ValueError("the answers are not packed in NumPy format")
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
            raise ValueError(f"{printable(member.filename[:80])}: not an array in NumPy format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        # The header's promise is checked before memory is taken for it.
        if dtype.kind not in "fiub" or dtype.itemsize * math.prod(shape) > member.file_size:
            raise ValueError(f"{printable(member.filename[:80])}: not an array of plain numbers")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _what_raised(path: Path) -> str:
    """Return what a case raised, and on a second line where, as the driver wrote them."""
    try:
        with open_plain(path) as file:
            text = file.read(MOST_WORDS).decode("utf-8", errors="replace")
    except OSError:
        return ""
    plain = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    words, _, place = plain.partition(PLACE)
    raised, place = (" ".join(part.split()) for part in (words, place))
    # What is not written yet needs no place.
    return f"raised {raised}" + ("" if raised.startswith("NotImplementedError") else f"\n{place}")

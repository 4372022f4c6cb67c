"""Suites: inputs drawn from a seed, the reference's answers, and those of every known mistake.

`compare` describes the folder by reading it. Feeds: make.
"""

import hashlib
import importlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assignment.answering import Job, answer
from assignment.compare import judge, read_arrays, read_suite
from assignment.drawing import Arrays, Draw
from assignment.mistakes import MISTAKES
from assignment.parts import Part
from assignment.trees import write_mutant, write_tree
from runtime.errors import UserError

# A few terms in a hundred draw twice; five bad draws in a row are no accident.
MOST_DRAWS = 5


def seed_of(term_seed: int, purpose: str) -> int:
    """Return a seed for one purpose; the term's, or another's, cannot be computed from it."""
    return int(hashlib.sha256(f"{term_seed} {purpose}".encode()).hexdigest()[:15], 16)


def write_suites(
    folders: dict[str, Path], parts: Sequence[Part], term_seed: int, work: Path
) -> None:
    """Write the public and the hidden suite, in both of which every known mistake shows.

    By chance a mistake can give the right answers, or those of another one: then everything is
    drawn again, by the next of a row of seeds that follows from the term's.

    Args:
        folders: "public" and "hidden" -> where.
        parts: those of the assignment.
        term_seed: of everything that is drawn.
        work: an empty folder for the trees that are run.

    Raises:
        UserError: the reference fails at one of its own cases, or no draw shows all mistakes.
    """
    names = [mistake.name for part in parts for mistake in MISTAKES.get(part.name, ())]
    jobs = _write_trees(folders, parts, work)
    for number in range(MOST_DRAWS):
        unclear = []
        for visibility, folder in folders.items():
            write_inputs(folder, parts, term_seed, visibility, number)
        answer(jobs, work)
        for visibility, folder in folders.items():
            _collect(folder, work / visibility, names)
            unclear += unrecognised(folder, work / visibility, names)
            shutil.rmtree(work / visibility)
        if not unclear:
            return
    raise UserError(
        f"term seed {term_seed}: the mistake {unclear[0]!r} does not show in {MOST_DRAWS} draws; "
        "take another seed"
    )


def _write_trees(folders: dict[str, Path], parts: Sequence[Part], work: Path) -> list[Job]:
    """Write the reference and its mutants; return what to ask of them."""

    def outs(name: str) -> dict[str, str]:
        return {str(folder): str(work / kind / name) for kind, folder in folders.items()}

    reference = work / "reference"
    write_tree(reference, parts, solved=True)
    jobs = [Job(str(reference), outs("reference"), tuple(part.name for part in parts))]
    for part in parts:
        for mistake in MISTAKES.get(part.name, ()):
            mutant = work / "mutants" / mistake.name
            write_mutant(mutant, reference, mistake)
            jobs.append(Job(str(mutant), outs(mistake.name), (part.name,)))
    return jobs


def unrecognised(folder: Path, out: Path, names: Sequence[str]) -> list[str]:
    """Return the mistakes that the check would not recognise in their own answers.

    Args:
        folder: of a suite with its answers.
        out: holds a folder of each mistake's name, as the driver wrote it.
        names: of the mistakes.
    """
    suite = read_suite(folder)
    unclear = []
    for name in names:
        # Where a mistake raises, Python's message tells the cause.
        answered = {path.stem for path in (out / name).glob("*.npz")}
        results = [result for result in judge(suite, out / name) if result.case in answered]
        if {result.mistake for result in results if not result.passed} != {name}:
            unclear.append(name)
    return unclear


def write_inputs(
    folder: Path, parts: Sequence[Part], term_seed: int, visibility: str, number: int = 0
) -> None:
    """Write suite.json and inputs.npz: each case with its own sizes, weights and, hidden, name.

    Args:
        folder: where to; made if it is not there.
        parts: those of the assignment.
        term_seed: of everything that is drawn.
        visibility: "public" or "hidden".
        number: of the draw; each is another.
    """
    folder.mkdir(parents=True, exist_ok=True)
    hidden = visibility == "hidden"
    seed = seed_of(term_seed, f"{visibility} {number}" if number else visibility)
    cases: list[dict[str, Any]] = []
    inputs: Arrays = {}
    for part in parts:
        for function, points in part.cases.items():
            drawn = seed_of(seed, f"{part.name} {function}")
            name = f"{part.name}-{function.replace('_', '-')}" + (
                f"-{drawn:x}"[:7] if hidden else ""
            )
            about = {"name": name, "part": part.name, "points": points}
            cases.append({**about, "function": f"{part.name}.{function}"})
            drawer = importlib.import_module(f"assignment.inputs.{part.name}")
            for key, array in getattr(drawer, function)(Draw(drawn)).items():
                inputs[f"{name}/{key}"] = np.asarray(array)
    # Students are not told the term's seed, by which the hidden tests could be drawn again.
    told = {"term_seed": term_seed if hidden else seed, **_described(parts, hidden), "cases": cases}
    (folder / "suite.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    # The names are chosen by us; to mypy one of them could be `allow_pickle`.
    np.savez_compressed(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]


def _described(parts: Sequence[Part], hidden: bool) -> dict[str, Any]:
    """Return what suite.json says of the parts and of their known mistakes."""
    shown = "after_published" if hidden else "visible"
    return {
        "parts": [
            {"name": p.name, "title": p.title, "points": p.points, "visibility": shown}
            for p in parts
        ],
        "mistakes": [
            {"name": mistake.name, "part": part.name, "says": mistake.says}
            for part in parts
            for mistake in MISTAKES.get(part.name, ())
        ],
    }


def _collect(folder: Path, out: Path, mistakes: Sequence[str]) -> None:
    """Gather what the trees answered into answers.npz and mistakes.npz."""
    about = json.loads((folder / "suite.json").read_text(encoding="utf-8"))
    answers: Arrays = {}
    mistaken: Arrays = {}
    for case in about["cases"]:
        name = case["name"]
        try:
            arrays = read_arrays(out / "reference" / f"{name}.npz")
        except ValueError as error:
            told = out / "reference" / f"{name}.error.txt"
            why = told.read_text("utf-8") if told.is_file() else str(error)
            raise UserError(f"the reference fails at case {name}: {why}") from None
        answers |= {f"{name}/{key}": array for key, array in arrays.items()}
        for mistake in mistakes:
            path = out / mistake / f"{name}.npz"
            if path.is_file():  # of this mistake's part, and the mutant did not raise
                for key, array in read_arrays(path).items():
                    mistaken[f"{mistake}/{name}/{key}"] = array
    # As above: the names are chosen by us; to mypy one of them could be `allow_pickle`.
    np.savez_compressed(folder / "answers.npz", **answers)  # type: ignore[arg-type]
    np.savez_compressed(folder / "mistakes.npz", **mistaken)  # type: ignore[arg-type]

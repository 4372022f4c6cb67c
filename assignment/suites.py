"""Suites: inputs drawn from a seed, the reference's answers, and those of every known mistake.

`compare` describes the folder by reading it. Feeds: make.
"""

import hashlib
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assignment.answering import Job, answer
from assignment.compare import read_arrays
from assignment.drawing import Arrays, Draw
from assignment.mistakes import MISTAKES
from assignment.mistakes.mistake import Mistake
from assignment.parts import Part
from assignment.trees import write_mutant, write_tree
from runtime.errors import UserError


def seed_of(term_seed: int, purpose: str) -> int:
    """Return a seed for one purpose; the term's, or another's, cannot be computed from it."""
    return int(hashlib.sha256(f"{term_seed} {purpose}".encode()).hexdigest()[:15], 16)


def write_suites(
    folders: dict[str, Path], parts: Sequence[Part], term_seed: int, work: Path
) -> None:
    """Write the public and the hidden suite.

    Args:
        folders: "public" and "hidden" -> where.
        parts: those of the assignment.
        term_seed: of everything that is drawn.
        work: an empty folder for the trees that are run.

    Raises:
        UserError: the reference fails at one of its own cases.
    """
    for visibility, folder in folders.items():
        write_inputs(folder, parts, term_seed, visibility)
    reference = work / "reference"
    write_tree(reference, parts, solved=True)
    mistakes = [(part.name, mistake) for part in parts for mistake in MISTAKES.get(part.name, ())]
    for _, mistake in mistakes:
        write_mutant(work / "mutants" / mistake.name, reference, mistake)

    def outs(name: str) -> dict[str, str]:
        return {str(folder): str(work / kind / name) for kind, folder in folders.items()}

    asked = tuple(part.name for part in parts)
    jobs = [Job(str(reference), outs("reference"), asked)]
    for part, mistake in mistakes:
        jobs.append(Job(str(work / "mutants" / mistake.name), outs(mistake.name), (part,)))
    answer(jobs, work)
    for visibility, folder in folders.items():
        _collect(folder, work / visibility, [mistake for _, mistake in mistakes])


def write_inputs(folder: Path, parts: Sequence[Part], term_seed: int, visibility: str) -> None:
    """Write suite.json and inputs.npz: each case with its own sizes, weights and, hidden, name."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden, seed = visibility == "hidden", seed_of(term_seed, visibility)
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


def _collect(folder: Path, out: Path, mistakes: Sequence[Mistake]) -> None:
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
            path = out / mistake.name / f"{name}.npz"
            if path.is_file():  # of this mistake's part, and the mutant did not raise
                for key, array in read_arrays(path).items():
                    mistaken[f"{mistake.name}/{name}/{key}"] = array
    np.savez_compressed(folder / "answers.npz", **answers)  # type: ignore[arg-type]
    np.savez_compressed(folder / "mistakes.npz", **mistaken)  # type: ignore[arg-type]

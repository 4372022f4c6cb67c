"""Suites: inputs drawn from a seed, the reference's answers, and those of every known mistake.

`compare` describes the folder by reading it.
"""

import compileall
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from assignment.compare import Arrays, Suite, changes, judge_arrays, write_suite
from assignment.driver import PACKAGES, answer, import_from, in_words
from assignment.parts import Part, seed_of
from assignment.trees import mistaken, write_tree
from minbert.config import BertConfig
from runtime.errors import UserError

# A few terms in a hundred draw twice; five bad draws in a row are no accident.
MOST_DRAWS = 5
# The content of suite.json, and case -> its inputs.
Drawn = tuple[dict[str, Any], dict[str, Arrays]]
# Case -> what was answered, and case -> what was raised.
Asked = tuple[dict[str, Arrays], dict[str, str]]


class Draw:
    """What the inputs of a case are drawn from: the same seed draws the same sizes and weights.

    Both bounds of a size are included; `sizes` are different numbers.
    """

    config = BertConfig  # of an encoder of some sizes

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def size(self, least: int, most: int) -> int:
        return int(self.random.integers(least, most + 1))

    def sizes(self, count: int, least: int, most: int) -> np.ndarray:
        return self.random.choice(np.arange(least, most + 1), count, replace=False)

    def floats(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * self.random.standard_normal(shape)).astype(np.float32)

    def ints(self, below: int, *shape: int) -> np.ndarray:
        return self.random.integers(0, below, shape)

    def weights(self, module: nn.Module) -> Arrays:
        """Return new values for all of a module's state, named as there after "weights.".

        They are far from 0 and 1, so that each of them matters.
        """
        return {
            f"weights.{name}": (0.4 * self.random.standard_normal(tensor.shape) + 0.1).astype("f4")
            for name, tensor in module.state_dict().items()
        }


def write_suites(
    folders: dict[str, Path], parts: Sequence[Part], keys: dict[str, int], work: Path
) -> None:
    """Write the public and the hidden suite, in both of which every known mistake shows.

    By chance a mistake can give the right answers, or those of another one: then everything is
    drawn again, by the next of a row of seeds that follows from its key. Folders and keys are those
    of "public" and "hidden"; `work` is an empty folder.
    """
    write_tree(work / "tree", parts, solved=True)
    compileall.compile_dir(work / "tree", quiet=1)  # once, and not again for every mistake
    for number in range(MOST_DRAWS):
        drawn = [draw(parts, keys[kind], kind, number) for kind in folders]
        suites = answered(work / "tree", parts, drawn)
        unclear = [name for suite in suites for name in unrecognised(suite)]
        if not unclear:
            for folder, suite, (_, inputs) in zip(folders.values(), suites, drawn, strict=True):
                write_suite(folder, suite, inputs)
            return
    raise UserError(
        f"the mistake {unclear[0]!r} was not detected in {MOST_DRAWS} draws; run make again, "
        "without --term-seed or with another"
    )


def draw(parts: Sequence[Part], key: int, visibility: str, number: int = 0) -> Drawn:
    """Return what is asked: each case with its own sizes, weights and, hidden, name.

    Args:
        visibility: "public" or "hidden".
        number: of the draw; each is another.
    """
    hidden = visibility == "hidden"
    seed = seed_of(key, f"{visibility} {number}" if number else visibility)
    cases: list[dict[str, Any]] = []
    inputs: dict[str, Arrays] = {}
    for part in parts:
        module = importlib.import_module(f"assignment.cases.{part.file}") if part.cases else None
        for function, points in part.cases.items():
            own_seed = seed_of(seed, f"{part.name} {function}")
            name = f"{part.name}-{function.replace('_', '-')}"
            if hidden:
                name += f"-{own_seed:x}"[:7]
            about = {"name": name, "part": part.name, "points": points}
            cases.append({**about, "function": f"{part.file}.{function}"})
            values = getattr(module, f"draw_{function}")(Draw(own_seed))
            inputs[name] = {key: np.asarray(value) for key, value in values.items()}
    about = {
        "parts": [
            {
                "name": part.name,
                "title": part.title,
                "points": part.points,
                "places": part.places,
                "visibility": "after_published" if hidden else "visible",
            }
            for part in parts
        ],
        "mistakes": [
            {"name": mistake.name, "part": part.name, "place": mistake.place, "says": mistake.says}
            for part in parts
            for mistake in part.mistakes
        ],
        "cases": cases,
    }
    return about, inputs


def answered(tree: Path, parts: Sequence[Part], drawn: Sequence[Drawn]) -> list[Suite]:
    """Return suites: what a tree answers as it is, and with each mistake in turn."""
    suites = []
    for (about, _), (answers, raised) in zip(drawn, ask(tree, drawn), strict=True):
        for name, why in raised.items():
            raise UserError(f"the reference fails at case {name}: {why}")
        suites.append(Suite(about, answers, {}))
    for part in parts:
        for mistake in part.mistakes:
            # Some divide by 0.
            with mistaken(tree, mistake), np.errstate(all="ignore"):
                # Where a mistake raises, Python's own message tells the cause.
                for suite, (answers, _) in zip(suites, ask(tree, drawn, part.name), strict=True):
                    expected = {case: suite.answers[case] for case in suite.cases_of(part.name)}
                    suite.mistakes[mistake.name] = changes(expected, answers)
    return suites


def ask(tree: Path, drawn: Sequence[Drawn], part: str = "") -> list[Asked]:
    """Ask a tree of our own code, never a student's, the cases of a part, of all if none is named.

    What was imported before is there afterwards, and the tree's modules are not.
    """
    modules, path = dict(sys.modules), list(sys.path)
    try:
        import_from(tree)
        return [_ask(about, inputs, part) for about, inputs in drawn]
    finally:
        for name in list(sys.modules):
            if name.partition(".")[0] in PACKAGES:
                del sys.modules[name]
        sys.modules.update(modules)
        sys.path[:] = path


def _ask(about: dict[str, Any], inputs: dict[str, Arrays], part: str) -> Asked:
    answers: dict[str, Arrays] = {}
    raised: dict[str, str] = {}
    for case in about["cases"]:
        if part in ("", case["part"]):
            name = case["name"]
            try:
                answers[name], _ = answer(case["function"], inputs[name])
            except (Exception, SystemExit) as error:
                raised[name] = in_words(error)
    return answers, raised


def unrecognised(suite: Suite) -> list[str]:
    """Return the mistakes that the check would not recognise in their own answers."""
    unclear = []
    for mistake in suite.about["mistakes"]:
        answers = suite.answers_of(mistake)
        wrong = [r for r in judge_arrays(suite, answers) if r.case in answers and not r.passed]
        if not wrong or any(result.mistakes != (mistake["name"],) for result in wrong):
            unclear.append(mistake["name"])
    return unclear

"""Trees of code: the student's with holes, the reference without, and mutants of the reference.

All hold the plain model only, so `minbert/fast` cannot give a solution away. Feeds: make.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from assignment.markers import MarkerError, regions, solution_lines, with_holes, without_markers
from assignment.mistakes.mistake import Mistake
from assignment.parts import PARTS, Part

ROOT = Path(__file__).parents[1]
# What is in every tree, under the same path as here ...
FILES = (
    *(f"minbert/{name}.py" for name in ("__init__", "activations", "attention", "backend")),
    *(f"minbert/{name}.py" for name in ("checkpoint", "config", "hub", "model", "packing")),
    *(f"minbert/{name}.py" for name in ("byte_pairs", "pooling", "tokenizer")),
    *(f"minbert/{name}.py" for name in ("tokenizer_settings", "truncation", "weight_checks")),
    "minbert/word_pieces.py",
    "simcse/__init__.py",
    "simcse/loss.py",
    *(f"heads/{name}.py" for name in ("__init__", "features", "heads")),
    *(f"assignment/{name}.py" for name in ("__init__", "check", "compare", "driver")),
    "assignment/cases/__init__.py",
    *(f"assignment/starter/{name}.py" for name in ("__init__", "adamw", "contrastive", "metrics")),
    *(f"runtime/{name}.py" for name in ("__init__", "commands", "device", "digests", "disk")),
    *(f"runtime/{name}.py" for name in ("errors", "files", "interrupt", "json_file", "lines")),
    *(f"runtime/{name}.py" for name in ("options", "processes", "progress", "sealed")),
    *(f"runtime/{name}.py" for name in ("shortage", "streams", "terminal")),
    *(f"data/{name}.py" for name in ("__init__", "examples", "tasks")),
    *(f"data/readers/{name}.py" for name in ("__init__", "fields", "quora", "sentences", "sst")),
    *(f"data/readers/{name}.py" for name in ("sts", "tables", "triplets")),
    "minbert/encoder.py",
    "train.py",
    "LICENSE",
)
# ... and what lies elsewhere here: an encoder without the fast forms, the student's own program.
ELSEWHERE = {
    "minbert/encoder.py": "assignment/starter/encoder.py",
    "train.py": "assignment/starter/train.py",
}


def write_tree(folder: Path, parts: Sequence[Part], solved: bool) -> None:
    """Write a tree of code.

    Args:
        folder: where to; made if it is not there.
        parts: those of the assignment; what belongs to others stays solved.
        solved: keep these parts' solutions, too, as the reference does.
    """
    cases = [f"assignment/cases/{part.name}.py" for part in parts if part.cases]
    for name in (*FILES, *cases):
        source = (ROOT / ELSEWHERE.get(name, name)).read_text(encoding="utf-8")
        if name.endswith(".py"):
            source = without_markers(source) if solved else _with_holes(name, source, parts)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


def write_mutant(folder: Path, reference: Path, mistake: Mistake) -> None:
    """Write the reference with one mistake; the files that are alike are links."""
    shutil.copytree(reference, folder, copy_function=os.link)
    path = folder / mistake.file
    mutated = mistake.patch(path.read_text(encoding="utf-8"))
    path.unlink()  # before writing, which would change the reference
    path.write_text(mutated, encoding="utf-8")


def solutions(parts: Iterable[Part]) -> set[str]:
    """Return the stripped lines of the parts' solutions: none may be in the student's tree."""
    found: set[str] = set()
    for place in (place for part in parts for place in part.places):
        file, _, name = place.partition(":")
        found |= solution_lines((ROOT / file).read_text("utf-8"), name.__eq__)
    return found


def check_places() -> None:
    """Check that parts name all marked functions, and none that is not marked.

    Raises:
        MarkerError: they do not.
    """
    named = {place for part in PARTS.values() for place in part.places}
    files = {place.partition(":")[0] for place in named} | set(FILES)
    marked = {
        f"{file}:{region.name}"
        for file in files
        if file.endswith(".py")
        for region in regions((ROOT / ELSEWHERE.get(file, file)).read_text("utf-8"), file)
    }
    if strange := named ^ marked:
        raise MarkerError(f"{sorted(strange)[0]}: marked in no part, or in a part but not marked")


def _with_holes(file: str, source: str, parts: Sequence[Part]) -> str:
    texts = {}
    for part in parts:
        places = part.text().places
        for place in part.places:
            where, _, name = place.partition(":")
            if where == file:
                texts[name] = (f"{part.name}: {name} is yours to write", places[place])
    return with_holes(source, texts.get)

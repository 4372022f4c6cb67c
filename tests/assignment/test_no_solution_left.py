"""No line of a solution is left in what students get, wherever one might look."""

import io
import zipfile
from pathlib import Path

import pytest

from assignment.make import make
from assignment.parts import PARTS, chosen_parts
from assignment.trees import solutions

# Lines that say nothing: a bracket, or a word and a half that any code may hold.
TRIVIAL = 14
# Nor do these, which code around the solutions holds, too; looked at one by one.
COMMON = {"with torch.no_grad():", "raise CheckpointError(", "optimizer.step()"}


def revealing(names=()) -> set[str]:
    lines = solutions(chosen_parts(names))
    return {line for line in lines if len(line) > TRIVIAL} - COMMON


def contents(folder: Path) -> dict[str, str]:
    """Return all that a folder holds as text, archives' members included, hidden files too."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            found[str(path.relative_to(folder))] = raw.decode("utf-8", errors="ignore")
            if zipfile.is_zipfile(io.BytesIO(raw)):
                with zipfile.ZipFile(path) as archive:
                    for name in archive.namelist():
                        found[f"{path.name}/{name}"] = archive.read(name).decode(errors="ignore")
    return found


def test_no_line_of_a_solution_is_in_the_students_tree(made):
    lines = revealing()
    assert len(lines) > 100
    for name, text in contents(made / "student").items():
        inside = {line.strip() for line in text.splitlines()}
        left = {line for line in lines if line in inside or (len(line) > 30 and line in text)}
        assert not left, (name, left)


def test_the_reference_holds_them_all(made):
    text = "\n".join(contents(made / "instructor" / "reference").values())
    assert not {line for line in revealing() if line not in text}


def test_no_compiled_files_history_or_fast_forms_are_left(made):
    for folder in (made / "student", made / "instructor" / "reference"):
        names = [path.name for path in folder.rglob("*")]
        assert not {"__pycache__", ".git", "fast", "mistakes", "inputs"} & set(names)
        assert not [name for name in names if name.endswith((".pyc", ".pyo", ".so"))]


def test_every_place_is_a_hole_with_its_task_above(made):
    for part in PARTS.values():
        for place in part.places:
            file, _, name = place.partition(":")
            source = (made / "student" / file).read_text(encoding="utf-8")
            hole = f'raise NotImplementedError("{part.name}: {name} is yours to write")'
            assert source.count(hole) == 1
            above = source.split(hole)[0].rstrip().splitlines()[-1].strip()
            assert above.startswith("# ") or above == "#"


@pytest.mark.parametrize("name", ["attention"])
def test_parts_that_are_not_given_stay_solved(name, tmp_path, toy_data):
    make(tmp_path / "term", [name], term_seed=3, data=toy_data)
    texts = contents(tmp_path / "term" / "student")
    assert "raise NotImplementedError" not in texts["heads/heads.py"]
    assert "raise NotImplementedError" in texts["minbert/attention.py"]
    everything = "\n".join(texts.values())
    assert not {line for line in revealing([name]) if line in everything and len(line) > 30}

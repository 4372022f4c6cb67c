"""What is handed out: code without a line of a solution, the sheet, data; and the rubric."""

import csv
import io
import re
import shutil
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest
import yaml
from made_submissions import course_repository

from assignment.__main__ import main
from assignment.course_data import TASKS_GIVEN, write_data
from assignment.handout import write_handout
from assignment.intake import asked_files, submissions
from assignment.make import make, secrets_of
from assignment.parts import PARTS, chosen_parts
from assignment.trees import ROOT, body_of, write_tree
from data.tasks import TASKS, read_task
from runtime.errors import UserError

# Lines that say nothing: a bracket, or a word and a half that any code may hold.
TRIVIAL = 14
# Nor do these, which code around the solutions holds, too; looked at one by one.
COMMON = {"with torch.no_grad():", "raise CheckpointError(", "optimizer.step()"}


def revealing(names=()) -> set[str]:
    """Return the stripped lines of the parts' solutions."""
    lines = set()
    for place in (place for part in chosen_parts(names) for place in part.places):
        file, _, name = place.partition(":")
        source = (ROOT / file).read_text(encoding="utf-8")
        first, end = body_of(source, name)
        lines |= {line.strip() for line in source.splitlines()[first:end]}
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
    texts = contents(made / "student")
    del texts["kit/minbert/mini/model.safetensors"]
    for name, text in texts.items():
        inside = {line.strip() for line in text.splitlines()}
        left = {line for line in lines if line in inside or (len(line) > 30 and line in text)}
        assert not left, (name, left)
    reference = "\n".join(contents(made / "instructor" / "reference").values())
    assert not {line for line in lines if line not in reference}
    for folder in (made / "student", made / "instructor" / "reference"):
        names = [path.name for path in folder.rglob("*")]
        assert not {"__pycache__", ".git", "fast", "mistakes"} & set(names)
        assert not [name for name in names if name.endswith((".pyc", ".pyo", ".so", ".toml"))]


def test_every_place_is_a_hole_with_its_task_above_and_nowhere_else(made):
    places = [(part.name, *place.split(":")) for part in PARTS.values() for place in part.places]
    assert len(places) == 40
    for part, file, name in places:
        task = " ".join(PARTS[part].tasks[f"{file}:{name}"].split()[:8])
        source = (made / "student" / file).read_text(encoding="utf-8")
        assert " ".join(source.split()).count(task) == 1, task
        above, _ = source.split(f'raise NotImplementedError("{part}: {name} is yours to write")')
        assert above.rstrip().endswith('"""')


def test_parts_that_are_not_given_stay_solved(tmp_path):
    write_tree(tmp_path, chosen_parts(["attention"]), solved=False)
    texts = contents(tmp_path)
    assert "raise NotImplementedError" not in texts["kit/heads/heads.py"]
    assert "raise NotImplementedError" in texts["minbert/attention.py"]
    everything = "\n".join(texts.values())
    assert not {line for line in revealing(["attention"]) if line in everything and len(line) > 30}


def test_sheet_and_rubric_name_every_part_place_and_its_points(made):
    sheet = (made / "student" / "handout.md").read_text("utf-8")
    for part in PARTS.values():
        assert f"{part.title} ({part.points} points, week {part.week})" in sheet
        assert all(place.partition(":")[2] in sheet for place in part.places)
    figures = re.findall(r"\]\((figures/[^)]+)\)", sheet)
    assert len(figures) == 4
    for figure in figures:
        ElementTree.parse(made / "student" / figure)
    rubric = (made / "instructor" / "rubric.md").read_text("utf-8")
    cases = sum(int(n) for n in re.findall(r"^\| \w+ \| (\d+) \|", rubric, re.MULTILINE))
    by_hand = sum(int(n) for n in re.findall(r"\((\d+)\)", rubric))
    assert cases + by_hand == sum(part.points for part in PARTS.values()) == 100


def test_a_page_on_the_use_of_ai_is_handed_out_if_asked_for(tmp_path):
    for asked in (False, True):
        student, instructor = tmp_path / f"{asked}/student", tmp_path / f"{asked}/instructor"
        student.mkdir(parents=True)
        instructor.mkdir()
        write_handout(student, instructor, chosen_parts(["pooling"]), asked)
        assert (student / "ai-usage.md").exists() == asked
        assert ("ai-usage.md" in (student / "handout.md").read_text("utf-8")) == asked


def columns(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file, delimiter="\t"))


def test_students_get_all_texts_and_test_labels_stay_with_the_instructor(made, tmp_path, toy_data):
    source = shutil.copytree(toy_data, tmp_path / "labelled")
    for name in TASKS_GIVEN:
        task = TASKS[name]
        given, original = read_task(made / "student/datasets", name), read_task(toy_data, name)
        assert (given.train, given.dev) == (original.train, original.dev) and given.test
        # A labelled test file, with a column that gives the label away.
        lines = (source / task.files[1]).read_text("utf-8").splitlines()
        more = [f"{line}\t{'phenomenon' if n == 0 else 'x'}" for n, line in enumerate(lines)]
        (source / task.files[2]).write_text("\n".join(more) + "\n", encoding="utf-8")
    write_data(source, tmp_path / "student", tmp_path / "gold", 0)
    for task in (TASKS[name] for name in TASKS_GIVEN):
        assert columns(tmp_path / "student" / task.files[2]) == ["", "id", *task.texts]
        assert task.label in columns(tmp_path / "gold" / task.files[2])


@pytest.mark.parametrize("test", ["test-student", "test"])
def test_the_course_in_goettingen_keeps_its_names_and_commas(test, tmp_path):
    source = course_repository(tmp_path / "course") / "data"
    for name in TASKS_GIVEN:
        begin = f"{source}/{TASKS[name].elsewhere[0]}"
        shutil.copy(f"{begin}-dev.csv", f"{begin}-train.csv")
        if test == "test":  # the instructor's file has the labels
            Path(f"{begin}-test-student.csv").unlink()
            shutil.copy(f"{begin}-dev.csv", f"{begin}-test.csv")
    student, gold = tmp_path / "student", tmp_path / "gold"
    write_data(source, student, gold, 0)
    for name in TASKS_GIVEN:
        given, original = read_task(student, name), read_task(source, name)
        assert (given.train, given.dev) == (original.train, original.dev)
        assert [e.texts for e in given.test] == [e.texts for e in original.test]
        assert {e.label for e in given.test} == {None}
        path = gold / f"{TASKS[name].elsewhere[0]}-test-student.csv"
        assert path.exists() == (test == "test")
        header = (student / path.name).read_text().splitlines()[0]
        assert header == ",".join(["id", *TASKS[name].texts])


def test_the_requirements_cover_what_the_tree_imports(made):
    wanted = (made / "student" / "requirements.txt").read_text("utf-8")
    names = set(re.findall(r"^(\w+)", wanted, re.MULTILINE))
    assert names == {"torch", "numpy", "tokenizers", "safetensors", "tqdm", "huggingface_hub"}
    imported = set()
    for path in (made / "student").rglob("*.py"):
        imported |= set(re.findall(r"^ *(?:from|import) (\w+)", path.read_text("utf-8"), re.M))
    assert not imported & {"scipy", "sklearn", "jinja2", "matplotlib", "transformers"}


def test_a_folder_of_other_things_is_not_replaced(tmp_path, toy_data):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="exists and is not an assignment"):
        make(tmp_path, ["attention"], secrets_of(2), data=toy_data)


def test_an_assignment_that_is_there_is_replaced_only_by_force(tmp_path, toy_data, capsys):
    secrets = tmp_path / "instructor" / "secrets.json"
    secrets.parent.mkdir()
    secrets.write_text("{}")
    words = ["make", "--out", str(tmp_path), "--parts", "model", "--data", str(toy_data)]
    assert main(words) == 2
    assert "give --force" in capsys.readouterr().err and secrets.read_text() == "{}"
    assert main([*words, "--force"]) == 0 and secrets.read_text() != "{}"


def test_the_workflow_for_github_classroom_runs_each_parts_public_tests(made):
    text = (made / "student" / ".github" / "workflows" / "classroom.yml").read_text("utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    tested = [part for part in PARTS.values() if part.cases]
    *_, report = job["steps"]
    graders = {step["id"]: step["with"] for step in job["steps"] if "id" in step}
    assert {name: step["max-score"] for name, step in graders.items()} == {
        part.name: part.points for part in tested
    }
    assert graders["attention"]["command"] == "python check.py attention"
    assert report["with"]["runners"].split(",") == [*graders]
    assert report["env"]["ADAMW_RESULTS"] == "${{ steps.adamw.outputs.result }}"


def test_the_hand_out_says_what_is_learnt_how_long_it_takes_and_how_to_hand_in(made):
    page = (made / "student" / "handout.md").read_text(encoding="utf-8")
    assert all(f"- {part.goal}" in page for part in PARTS.values())
    assert f"about {sum(part.hours for part in PARTS.values())} hours" in page
    assert "python check.py --zip" in page and "## Rules" in page and "Two points each" in page
    readme = (made / "instructor" / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"^\| `(\S+?)/?` \|", readme, re.MULTILINE):
        assert (made / "instructor" / name).exists()
    # Students write PyTorch in each file but the metrics'.
    for name in asked_files(PARTS):
        if "metrics" not in name:
            assert "\nimport torch\n" in (made / "student" / name).read_text(encoding="utf-8")


def test_check_writes_the_zip_to_hand_in(made, tmp_path, capsys):
    student = shutil.copytree(made / "student", tmp_path / "student")
    for name in ("report.pdf", "predictions/sst-test-output.csv", "simcse/extra.py"):
        (student / name).parent.mkdir(exist_ok=True)
        (student / name).write_text("mine")
    for name in (".venv/pyvenv.cfg", ".venv/lib/x.py", "env/pyvenv.cfg", "env/lib/y.py"):
        (student / name).parent.mkdir(parents=True, exist_ok=True)
        (student / name).write_text("not mine")
    assert main(["check", "--zip", "--tree", str(student)]) == 0
    assert "hand-in.zip: " in capsys.readouterr().out
    with zipfile.ZipFile(student / "hand-in.zip") as archive:
        names = set(archive.namelist())
    more = {"report.pdf", "predictions/sst-test-output.csv", "simcse/extra.py", "train.py"}
    assert names == {*asked_files(PARTS), *more}
    # It is a submission.
    work = tmp_path / "work"
    work.mkdir()
    (found,) = submissions([student / "hand-in.zip"], asked_files(PARTS), True, work)
    assert not found.fault and not found.notes
    (student / "simcse" / "loss.py").unlink()
    assert main(["check", "--zip", "--tree", str(student)]) == 2
    assert "loss.py: missing; the assignment asks for it" in capsys.readouterr().err

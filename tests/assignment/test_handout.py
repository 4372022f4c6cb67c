"""What is handed out besides code: the sheet, the data, the requirements; and the rubric."""

import csv
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

from assignment.compare import read_suite
from assignment.course_data import TASKS_GIVEN, write_data
from assignment.handout import FIGURES
from assignment.parts import PARTS
from data.tasks import TASKS, read_task


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


def test_the_sheet_names_every_part_place_and_its_points(made):
    pages = [(made / "student" / f"handout.{kind}").read_text("utf-8") for kind in ("md", "html")]
    for page in pages:
        for part in PARTS.values():
            assert f"{part.title} ({part.points} points, week {part.week})" in page
            for place in part.places:
                assert place.partition(":")[2] in page
    for figure in re.findall(r"\]\((figures/[^)]+)\)", pages[0]):
        ElementTree.parse(made / "student" / figure)
    assert pages[1].count("<svg") == pages[0].count("](figures/") == len(FIGURES)
    for words in ("Gao et al. 2021, SimCSE", "python train.py --task sts"):
        assert all(words in page for page in pages)


def test_the_page_is_closed_html_and_refers_to_nothing_outside(made):
    page = (made / "student" / "handout.html").read_text("utf-8")
    opened: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link", "br"):
                opened.append(tag)
            assert not [value for name, value in attrs if name == "src"]

        def handle_endtag(self, tag):
            assert opened.pop() == tag

        def handle_startendtag(self, tag, attrs):
            pass

    Tags().feed(page)
    assert not opened


def test_the_rubric_adds_up(made):
    rubric = (made / "instructor" / "rubric.md").read_text("utf-8")
    cases = sum(int(n) for n in re.findall(r"^\| \w+ \| (\d+) \|", rubric, re.MULTILINE))
    by_hand = sum(int(n) for n in re.findall(r"\((\d+)\)", rubric))
    assert cases + by_hand == sum(part.points for part in PARTS.values()) == 100


def test_students_get_all_texts_and_no_test_labels(made, toy_data):
    for name in TASKS_GIVEN:
        task = TASKS[name]
        given, original = read_task(made / "student/datasets", name), read_task(toy_data, name)
        assert (given.train, given.dev) == (original.train, original.dev)
        columns = rows(made / "student/datasets" / task.files[2])[0]
        assert columns == ["", "id", *task.texts]
        assert len(given.test) == len(original.test) > 0


def test_test_labels_stay_with_the_instructor(tmp_path, toy_data):
    source = shutil.copytree(toy_data, tmp_path / "labelled")
    for name in TASKS_GIVEN:  # a labelled test file, and a column that tells the label
        _, dev, test = (source / file for file in TASKS[name].files)
        lines = dev.read_text("utf-8").splitlines()
        told = [f"{line}\t{'phenomenon' if n == 0 else 'x'}" for n, line in enumerate(lines)]
        test.write_text("\n".join(told) + "\n", encoding="utf-8")
    write_data(source, tmp_path / "student", tmp_path / "gold", 0)
    for name in TASKS_GIVEN:
        task = TASKS[name]
        assert rows(tmp_path / "student" / task.files[2])[0] == ["", "id", *task.texts]
        assert task.label in rows(tmp_path / "gold" / task.files[2])[0]


def test_the_requirements_cover_what_the_tree_imports(made):
    wanted = (made / "student" / "requirements.txt").read_text("utf-8")
    names = set(re.findall(r"^(\w+)", wanted, re.MULTILINE))
    assert names == {"torch", "numpy", "tokenizers", "safetensors", "tqdm", "huggingface_hub"}
    imported = set()
    for path in (made / "student").rglob("*.py"):
        imported |= set(re.findall(r"^ *(?:from|import) (\w+)", path.read_text("utf-8"), re.M))
    assert not imported & {"scipy", "sklearn", "jinja2", "matplotlib", "transformers"}


def test_the_autograders_folder_grades_by_itself(made):
    folder = made / "instructor" / "autograder"
    assert {path.name for path in folder.iterdir()} == {
        *("assignment", "runtime", "data", "evaluation", "report", "baselines"),
        *("student", "hidden"),
        *("requirements.txt", "setup.sh", "run_autograder"),
    }
    command = [sys.executable, "-B", "-m", "assignment", "grade", "--help"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--suite" in done.stdout
    assert read_suite(folder / "hidden").answers


def test_the_students_program_trains_without_a_test_file_and_from_any_folder(made, tmp_path):
    tree = shutil.copytree(made / "student", tmp_path / "mon étude")
    shutil.copytree(made / "instructor" / "reference", tree, dirs_exist_ok=True)
    (tree / "datasets" / TASKS["sts"].files[2]).unlink()
    words = ("--task", "sts", "--rows", "4", "--epochs", "1")
    command = [sys.executable, "-B", str(tree / "train.py"), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "dev pearson" in done.stdout, done.stderr
    assert [path.name for path in (tmp_path / "predictions").iterdir()] == ["sts-dev-output.csv"]

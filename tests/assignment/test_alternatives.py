"""Five correct solutions written differently raise no alarm."""

import shutil
from pathlib import Path

import pytest

from assignment.answering import Job, answer
from assignment.compare import judge, read_suite
from assignment.parts import PARTS
from assignment.trees import with_body

ALTERNATIVES = sorted((Path(__file__).parent / "alternatives").glob("*.txt"))
SUITES = ("student/checks", "instructor/hidden")


def bodies(path: Path) -> dict[str, str]:
    """Return place -> body from a file of sections, `## file:name`."""
    sections = path.read_text(encoding="utf-8").split("\n## ")[1:]
    return dict(section.split("\n", 1) for section in sections)


@pytest.fixture(scope="module")
def answered(made, tmp_path_factory) -> Path:
    """A folder with what each alternative answers to each suite, all from one subprocess."""
    folder = tmp_path_factory.mktemp("alternatives")
    jobs = []
    for path in ALTERNATIVES:
        tree = folder / "trees" / path.stem
        shutil.copytree(made / "instructor" / "reference", tree)
        for place, body in bodies(path).items():
            file, _, name = place.partition(":")
            source = (tree / file).read_text(encoding="utf-8")
            (tree / file).write_text(with_body(source, name, body.splitlines()), encoding="utf-8")
        outs = {str(made / suite): str(folder / suite / path.stem) for suite in SUITES}
        jobs.append(Job(str(tree), outs, tuple(PARTS)))
    answer(jobs, folder)
    return folder


def test_there_are_five_and_they_write_at_marked_places():
    assert len(ALTERNATIVES) == 5
    places = {place for part in PARTS.values() for place in part.places}
    for path in ALTERNATIVES:
        assert len(bodies(path)) >= 5 and bodies(path).keys() <= places


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("name", [path.stem for path in ALTERNATIVES])
def test_a_correct_solution_written_differently_raises_no_alarm(made, answered, suite, name):
    results = judge(read_suite(made / suite), answered / suite / name)
    assert [(result.case, result.reason) for result in results if not result.passed] == []

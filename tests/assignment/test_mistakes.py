"""Every known mistake is recognised under its own name, by both suites, and nothing else is."""

import pytest
from made_assignment import write_answers

from assignment.compare import judge, read_suite
from assignment.mistakes import MISTAKES

NAMES = [mistake.name for part in MISTAKES.values() for mistake in part]


def test_there_are_many_and_their_names_differ():
    assert len(NAMES) >= 40
    assert len(set(NAMES)) == len(NAMES)


SUITES = ("student/checks", "instructor/hidden")


@pytest.fixture(scope="module")
def suites(made):
    """Both suites, read once."""
    return {folder: read_suite(made / folder) for folder in SUITES}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("folder", SUITES)
def test_a_mistake_is_recognised_under_its_own_name(suites, tmp_path, folder, name):
    write_answers(tmp_path / "out", suites[folder], name)
    results = judge(suites[folder], tmp_path / "out")
    # Other parts were not asked; and where a mistake raised, Python's own message is the answer.
    wrong = [result for result in results if not result.passed and result.reason != "no answer"]
    assert wrong and {result.mistake for result in wrong} == {name}

"""Marks: what is earned, what a missing answer scores, and that two runs agree."""

from pathlib import Path

import pytest
from small_suite import HONEST, POINTS, graded, material, passed, submission, write_suite

from assignment.grading import MOST_RUNS, grade_class


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    return write_suite(tmp_path_factory.mktemp("instructor") / "hidden")


def test_honest_code_earns_everything(tmp_path, suite):
    mark = graded(tmp_path / "ada", suite, HONEST)
    assert passed(mark) == set(POINTS) and not mark.stops and not mark.left
    assert mark.name == "ada" and mark.seconds > 0

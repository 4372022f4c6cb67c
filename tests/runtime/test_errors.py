"""What the user can mend has one base, so that command lines need to know no other."""

import ast
from pathlib import Path

import pytest

from data.download import DownloadError
from data.examples import DataError
from data.locate import MissingSet
from minbert.config import CheckpointError
from minbert.pretraining.corpus import CorpusError
from runtime.errors import (
    DiskError,
    MachineError,
    ProcessError,
    StateError,
    TrainingError,
    UserError,
)

ROOT = Path(__file__).parents[2]
PACKAGES = "baselines data evaluation experiment heads minbert report runtime search simcse".split()
USER_ERRORS = [
    DataError,
    DownloadError,
    MissingSet,
    CheckpointError,
    CorpusError,
    MachineError,
    DiskError,
    ProcessError,
    TrainingError,
    StateError,
]


@pytest.mark.parametrize("error", USER_ERRORS, ids=lambda error: error.__name__)
def test_errors_of_the_user_are_user_errors_and_value_errors(error):
    assert issubclass(error, UserError) and issubclass(error, ValueError)
    more = ("x",) if error is MissingSet else ()
    assert str(error("file:3: found x; expected y", *more)) == "file:3: found x; expected y"


def test_a_user_error_is_not_what_a_mistake_of_ours_raises():
    for mistake in (ValueError, TypeError, KeyError, AssertionError, RuntimeError, OSError):
        assert not issubclass(mistake, UserError)


def error_classes() -> set[str]:
    """Return the names of all exception classes of the project that leave their module."""
    found = set()
    for path in (file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            bases = [ast.unparse(base) for base in getattr(node, "bases", ())]
            if any(base.endswith(("Error", "Exception")) for base in bases):
                found.add(node.name)
    return {name for name in found if not name.startswith("_")}


def test_there_is_no_other_error_class_in_the_project():
    assert error_classes() == {"UserError", *(error.__name__ for error in USER_ERRORS)}

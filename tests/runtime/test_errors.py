"""What the user can mend has one base, so that command lines need to know no other."""

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

"""One made assignment for all tests of a process."""

from pathlib import Path

import pytest

from assignment.make import make


@pytest.fixture(scope="session")
def made(tmp_path_factory, toy_data) -> Path:
    """The folder of an assignment of all parts."""
    folder = tmp_path_factory.mktemp("assignment") / "term"
    make(folder, (), term_seed=20260901, data=toy_data)
    return folder

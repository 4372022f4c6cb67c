"""What the tests of submitted predictions share."""

import pytest
from made_submissions import TASKS, write_data


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty working folder but for `data`: all tasks' dev and test rows, with labels."""
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data", (*TASKS, "cfimdb"))
    return tmp_path

"""The command line that writes the bundled data: one line for each fault, nothing half written."""

import pytest

from data.synthetic import write
from data.synthetic.__main__ import main

pytestmark = pytest.mark.synthetic


def test_the_command_writes_and_says_where(monkeypatch, tmp_path, capsys):
    calls = []
    monkeypatch.setattr("data.synthetic.__main__.write", lambda *said: calls.append(said))
    said = ["--out", str(tmp_path), "--seed", "3", "--pairs", "9000", "--order-pairs", "50"]
    assert main(said) == 0
    assert calls == [(tmp_path, 3, 9000, 50)]
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"files are in {tmp_path}")


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("here already")
    assert main(["--out", str(blocked)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and str(blocked) in error and "--out" in error
    assert blocked.read_text() == "here already"


def test_an_interrupted_run_leaves_nothing(monkeypatch, tmp_path):
    def breaks(folder, seed, pairs, order_pairs):
        (folder / "half.txt").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("data.synthetic.generate._write_all", breaks)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []

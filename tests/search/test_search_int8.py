"""An index in int8 is asked in int8; one in floating point is not."""

import json

import pytest
import torch
from indexing import write_lines

from minbert.fast.int8 import check_int8
from runtime.errors import MachineError
from search.__main__ import main
from search.options import parse_options

try:
    check_int8(torch.device("cpu"))
except MachineError as error:
    pytest.skip(str(error), allow_module_level=True)


def command(precision, *words) -> int:
    """Run a command line of `python -m search` in a precision; return its exit code."""
    machine = ["--device", "cpu", "--precision", precision]
    return main(parse_options([*map(str, words), *machine]))


def test_a_text_finds_itself_and_another_precision_is_refused(tmp_path, tiny_checkpoint, capsys):
    texts = write_lines(tmp_path / "t.txt", 12)
    source = [tmp_path / "t.txt", "--backbone", tiny_checkpoint]
    for precision in ("int8", "float32"):
        assert command(precision, "index", *source, "--out", tmp_path / precision) == 0
    capsys.readouterr()
    assert command("int8", "query", tmp_path / "int8", texts[4], "--json") == 0
    best = json.loads(capsys.readouterr().out)["hits"][0]
    assert best["text"] == texts[4] and best["cosine"] == pytest.approx(1, abs=1e-6)
    for made, asked, advice in (
        ("int8", "bfloat16", "give --precision int8"),
        ("float32", "int8", "give --precision float32 or bfloat16, not int8"),
    ):
        assert command(asked, "query", tmp_path / made, texts[4]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and advice in said


def test_a_machine_that_cannot_is_told_in_one_line(tmp_path, tiny_checkpoint, capsys, monkeypatch):
    write_lines(tmp_path / "t.txt", 3)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    words = ["index", tmp_path / "t.txt", "--out", tmp_path / "i", "--backbone", tiny_checkpoint]
    assert command("int8", *words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "neither VNNI nor AMX; use --precision auto" in said

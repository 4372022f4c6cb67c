"""Texts longer than the encoder reads: their number is said once, at the end of each command."""

import subprocess
import sys
from pathlib import Path

import pytest

from heads.__main__ import main as heads
from minbert.encode.__main__ import main as encode
from runtime.commands import exit_code
from runtime.cut import MOST, CutTexts

LONG = "the old cat sees a red boat " * 40
LENGTH = 64  # tokens that the tiny checkpoint reads


def notes_of(caplog) -> list[str]:
    """Return what was said of texts that were cut."""
    found = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return [note for note in found if note.endswith("cut there")]


@pytest.fixture
def texts(tmp_path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text(f"{LONG}\nthe cat\n{LONG} .\n{LONG}\n")
    return path


TWO = f"2 texts were longer than {LENGTH} word pieces and cut there"
ONE = f"1 text was longer than {LENGTH} word pieces and cut there"


def test_encode(tiny_checkpoint, texts, tmp_path, caplog):
    words = ["--backbone", str(tiny_checkpoint), "--device", "cpu"]
    assert encode([str(texts), "--out", str(tmp_path / "vectors"), *words]) == 0
    assert notes_of(caplog) == [TWO]  # the third is the first


def test_pairs_of_a_cross_encoder(toy_grid, tmp_path, caplog):
    pairs = tmp_path / "pairs.tsv"
    rows = [("the cat", LONG), (f"{LONG} .", "the cat"), ("the cat", "the dog"), ("the cat", LONG)]
    pairs.write_text("sentence1\tsentence2\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
    cells = {path.stem for path in (toy_grid / "heads").glob("*sts*.safetensors")}
    for reader, noun in (("bi", "texts"), ("cross", "pairs")):
        cell = next(name for name in sorted(cells) if f"-{reader}-" in name)
        assert heads(["predict", str(toy_grid), str(pairs), "--cell", cell]) == 0
        assert notes_of(caplog) == [TWO.replace("texts", noun)]


def test_the_note_is_one_line_on_standard_error(tiny_checkpoint, texts, tmp_path):
    command = [sys.executable, "-m", "minbert.encode", texts, "--out", tmp_path / "vectors"]
    done = subprocess.run(
        [*command, "--backbone", tiny_checkpoint],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, f"note: {TWO}\n")


def test_a_text_of_just_the_length_is_not_cut(tiny_encoder, caplog):
    for words, expected in ((LENGTH - 2, []), (LENGTH - 1, [ONE])):
        assert exit_code(lambda n=words: tiny_encoder.encode(["cat " * n]) is None) == 0
        assert notes_of(caplog) == expected


def test_what_came_before_the_command_is_not_counted(tiny_encoder, caplog):
    tiny_encoder.encode([LONG])
    assert exit_code(lambda: None) == 0
    assert notes_of(caplog) == []


def test_what_is_remembered_has_an_end(monkeypatch):
    monkeypatch.setattr("runtime.cut.MOST", 2)
    cut = CutTexts()
    for number in range(10):
        cut.add((f"text {number}",), 8)
    assert sum(map(len, cut.remembered.values())) == 3
    assert cut.note() == "more than 2 texts were longer than 8 word pieces and cut there"
    assert MOST > 2 and cut.note() == ""


def test_of_other_processes_each_text_counts_once():
    cut, other = CutTexts(), CutTexts()
    cut.add(("a",), 8), other.add(("a",), 8), other.add(("b", "c"), 8)
    cut.join(other.take())
    assert cut.note() == (
        "1 text was longer than 8 word pieces and cut there; "
        "1 pair was longer than 8 word pieces and cut there"
    )

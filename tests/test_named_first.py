"""What a command line names is looked at before any costly work, and nothing is written."""

from importlib import import_module

import pytest

# The program, its words, and the costly work that must not have begun.
COMMANDS = [
    ("assignment", "leaderboard nosuch", "assignment.submission.validate.Gold.labels"),
    ("assignment", "score nosuch", "assignment.submission.validate.Gold._read"),
    ("assignment", "make --data nosuch --out o", "assignment.suites.write_suites"),
    ("evaluation.leaks", "--trained-on nosuch", "evaluation.leaks.scored_sets"),
    ("minbert.encode", "nosuch --out o", "minbert.encoder.SentenceEncoder.from_pretrained"),
]


@pytest.mark.parametrize(("program", "words", "work"), COMMANDS)
def test_a_wrong_path_is_told_first(program, words, work, tmp_path, monkeypatch, capsys):
    (tmp_path / "text").write_text("a paragraph\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work, lambda *more, **about: pytest.fail(f"{work} was called"))
    try:
        module = import_module(f"{program}.__main__")
    except ModuleNotFoundError:
        module = import_module(program)
    assert module.main(words.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and "nosuch" in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["text"]

"""How command lines end."""

import pytest

from runtime.commands import exit_code, run_command
from runtime.errors import UserError


def ends(error) -> int:
    def work():
        raise error

    return exit_code(work, "\nkept")


def test_what_the_work_returns_is_the_exit_code():
    assert [exit_code(lambda code=code: code) for code in (None, 0, 1)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UserError("a.csv: empty"), 2, "error: a.csv: empty\n"),
        (PermissionError(13, "denied", "runs"), 2, "error: runs: denied\n"),
        (KeyboardInterrupt(), 130, "\nkept\n"),
    ],
)
def test_a_fault_is_one_line(error, code, told, capsys):
    assert ends(error) == code
    assert capsys.readouterr().err == told


def test_a_bug_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 // 0)


def test_a_program_runs_the_command_that_is_named(capsys):
    heard = []
    commands = {"list": heard.append, "show": lambda words: 1}
    assert run_command("python -m x", commands, ["list", "a", "--b"]) == 0
    assert heard == [["a", "--b"]]
    assert run_command("python -m x", commands, ["show"]) == 1
    usage = "usage: python -m x list|show ... (--help after it explains)\n"
    for words, code, told in (
        ([], 2, ("", usage)),
        (["--help"], 0, (usage, "")),
        (["no"], 2, ("", usage)),
    ):
        assert run_command("python -m x", commands, words) == code
        assert tuple(capsys.readouterr()) == told

"""How command lines end."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.commands import SPINS, exit_code, run_command
from runtime.errors import UserError
from runtime.progress import progress
from runtime.torchrun import VARIABLES
from runtime.version import VERSION


def ends(error) -> int:
    def work():
        raise error

    return exit_code(work, "\nkept")


def test_what_the_work_returns_is_the_exit_code():
    assert [exit_code(lambda code=code: code) for code in (None, 0, 1)] == [0, 0, 1]


ALLOW = "allow reading and writing it, or name another"


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UserError("a.csv: empty"), 2, "error: a.csv: empty\n"),
        (PermissionError(13, "denied", "runs"), 2, f"error: runs: denied; {ALLOW}\n"),
        (UserError("a.json: " + 9999 * "x"), 2, "error: a.json: " + 1992 * "x" + " ...\n"),
        (KeyboardInterrupt(), 130, "\nkept\n"),
    ],
)
def test_a_fault_is_one_line(error, code, told, capsys):
    assert ends(error) == code
    assert capsys.readouterr().err == told


def test_an_error_stands_below_earlier_output():
    """In a pipe as in a terminal, although only standard output is buffered."""
    code = """
from runtime.commands import exit_code
from runtime.errors import UserError
def work():
    print("three faults")
    raise UserError("listed above")
exit_code(work)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.stdout == "three faults\nerror: listed above\n"


def test_a_folder_that_is_gone_is_one_line(tmp_path):
    gone = tmp_path / "gone"
    code = "import os; os.rmdir(os.getcwd()); from runtime.commands import begin; begin()"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=gone, capture_output=True, text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "error: the current folder no longer exists; change to another\n"


@pytest.mark.parametrize(
    ("own", "spins"),
    [({}, SPINS), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "PASSIVE"}, None)],
)
def test_threads_spin_briefly_unless_the_user_has_set_how(own, spins):
    code = "import os; from runtime.commands import begin; begin()"
    code += "; print(os.environ.get('GOMP_SPINCOUNT'))"
    env = {"PYTHONPATH": str(Path(__file__).parents[2]), **own}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.stdout == f"{spins}\n"


def test_a_note_is_told_once(capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's

    def work():
        for text in ("a.csv: 1 row dropped", "b.csv: 1 row dropped", "a.csv: 1 row dropped"):
            logging.getLogger("data").warning("%s", text)

    assert exit_code(work) == 0
    assert capsys.readouterr().err == "note: a.csv: 1 row dropped\nnote: b.csv: 1 row dropped\n"


def test_a_stray_rank_is_not_torchruns(monkeypatch, capsys):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert not progress("bar", 3, "row", show=True).disable
    assert ends(UserError("no")) == 2 and capsys.readouterr().err.endswith("error: no\n")
    for name in VARIABLES:
        monkeypatch.setenv(name, "1")
    assert progress("bar", 3, "row", show=True).disable
    assert ends(UserError("no")) == 2
    assert capsys.readouterr().err.endswith("process 1 stopped: no\n")


def test_every_program_tells_its_version():
    for program in (["run_multitask.py"], ["-m", "heads"], ["-m", "evaluation"]):
        told = subprocess.run(
            [sys.executable, *program, "--version"], cwd=ROOT, capture_output=True, text=True
        )
        assert (told.returncode, told.stdout) == (0, f"{VERSION}\n")


def test_a_library_that_is_missing_is_one_line(capsys):
    def work() -> None:
        import not_installed_at_all  # noqa: F401

    assert exit_code(work) == 2
    assert capsys.readouterr().err == (
        "error: not_installed_at_all is not installed: activate the environment, or pip install "
        "-r requirements.txt\n"
    )


def test_a_bug_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        exit_code(lambda: 1 // 0)


def test_a_program_runs_the_command_that_is_named(capsys):
    heard = []
    commands = {"list": heard.append, "show": lambda words: 1}
    assert run_command("python -m x", commands, ["list", "a", "--b"]) == 0
    assert heard == [["a", "--b"]]
    assert run_command("python -m x", commands, ["show"]) == 1
    usage = "usage: python -m x list|show ...\nEach command has its own --help.\n"
    helped = (
        "usage: python -m x list|show ...\n\nwhat they do\n\nEach command has its own --help.\n"
    )
    for words, code, told in (
        ([], 2, ("", usage)),
        (["--help"], 0, (helped, "")),
        (["no"], 2, ("", f"{usage}error: no command 'no'\n")),
        (["shwo"], 2, ("", f"{usage}error: no command 'shwo'; did you mean show?\n")),
    ):
        assert run_command("python -m x", commands, words, overview="what they do\n") == code
        assert tuple(capsys.readouterr()) == told


ROOT = Path(__file__).parents[2]
PACKAGES = [init.parent for init in ROOT.glob("*/__init__.py")]
ENTRIES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [
        *ROOT.glob("*.py"),
        *(path for package in PACKAGES for path in package.rglob("*.py")),
    ]
    if "\n    sys.exit(" in path.read_text("utf-8")
)
# What students start, and what the sandbox does.
OTHERS = ("assignment/starter", "assignment/make", "assignment/driver", "assignment/isolation")


# What measures for minutes.
MEASURING = ("benchmarks", "data/synthetic/probes")


def test_there_are_entries():
    assert {"run_multitask.py", "heads/__main__.py", "data/download.py"} < set(ENTRIES)


def test_no_command_loads_a_heavy_library_before_it_knows_its_flags():
    """--help and Ctrl-C answer at once: torch is imported by the functions that compute."""
    named = [name for name in ENTRIES if not name.startswith((*OTHERS, *MEASURING))]
    modules = [name.removesuffix(".py").replace("/", ".") for name in named]
    code = f"import importlib, sys\n[importlib.import_module(name) for name in {modules}]\n"
    code += "print([name for name in ('torch', 'scipy', 'sklearn') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", (done.stdout, done.stderr)

"""Command lines made of dataclasses: what a field says, its flag takes, tells and refuses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import UserError
from runtime.options import check, option, parse, shown_value

COLOURS = ["red", "green"]


@dataclass(frozen=True)
class Recipe:
    """Settings of a stage: flags without a default of their own."""

    steps: int = option(5, "steps of it", flag="--recipe-steps", least=1, most=100)
    rate: float = option(1e-4, "its rate", least=0, most=1)
    fast: bool = option(False, "hurry")
    untold: int = 3  # no flag


@dataclass(frozen=True)
class Settings:
    """One field of every kind."""

    out: Path = option(help="where to", metavar="DIR", required=True)
    inputs: tuple[Path, ...] = option((), "what from", metavar="FILE")
    seeds: int = option(1, "how often", least=1, most=1000, unit="runs", source="the report")
    share: float = option(0.25, "how much", least=0, most=1, group="amounts")
    tiny: float = option(3e-5, "how little, 5 % at most", least=0, most=0.05)
    limit: int | None = option(None, "at most so many", least=1, most=10)
    device: str = option("auto", "which machine", choices=("auto", "cpu"), group="machine")
    mode: str | None = option(None, "in what way", choices=("slow", "quick"))
    colours: tuple[str, ...] = option(("red",), "in which", choices=lambda: COLOURS)
    note: str = option("", "anything")
    resume: bool = option(False, "go on")
    recipe: dict[str, Any] = option({}, nested=Recipe, show_defaults=True)
    inner: str = "no flag"

    def __post_init__(self) -> None:
        """Hold the fields to their options and to one another."""
        check(self)
        if self.resume and self.seeds > 1:
            raise UserError("--resume goes on with one seed; leave --seeds out")


def settings_of(*argv: str) -> Settings:
    return parse(Settings, ["--out", "here", *argv], prog="prog")


def refused(capsys, *argv: str) -> str:
    """Return the one line that a refused command line ends with, after the usage."""
    with pytest.raises(SystemExit) as ended:
        settings_of(*argv)
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert not printed.out
    *usage, line = printed.err.splitlines()
    assert usage[0].startswith("usage: prog") and all(more.startswith(" ") for more in usage[1:])
    assert line.startswith("prog: error: ")
    return line.removeprefix("prog: error: ")


def help_of(capsys, settings: type = Settings) -> str:
    """Return the whole help in one line."""
    with pytest.raises(SystemExit) as ended:
        parse(settings, ["--help"], prog="prog", description="What it does.")
    assert ended.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_flags_arrive_with_the_types_of_their_fields():
    given = {
        "seeds": 3,
        "share": 1e-3,
        "limit": 10,
        "device": "cpu",
        "colours": ("green", "red"),
        "inputs": (Path("a"), Path("b/c")),
        "note": "two words",
        "resume": False,
    }
    words = "--seeds 3 --share 1e-3 --limit 10 --device cpu --colours green red --inputs a b/c"
    found = settings_of(*words.split(), "--note", "two words")
    assert found == Settings(out=Path("here"), **given)
    assert all(type(getattr(found, name)) is type(value) for name, value in given.items())
    assert settings_of() == Settings(out=Path("here"))  # what is not given
    assert settings_of("--resume", "--note", "") == Settings(out=Path("here"), resume=True)


def test_the_programs_own_words_are_read_where_none_are_given(monkeypatch):
    monkeypatch.setattr("sys.argv", ["prog", "--out", "there", "--seeds", "2"])
    assert parse(Settings) == Settings(out=Path("there"), seeds=2)


def test_of_nested_settings_only_what_was_given_arrives():
    assert settings_of().recipe == {}
    found = settings_of("--recipe-steps", "7", "--rate", "0.5").recipe
    assert found == {"steps": 7, "rate": 0.5}
    assert Recipe(**found).untold == 3


@dataclass(frozen=True)
class Positional:
    """Words without a flag."""

    names: tuple[str, ...] = option((), "which", flag="names", metavar="NAME")
    force: bool = option(False, "anyway")


@dataclass(frozen=True)
class WithRare:
    """A flag that most runs need, and two that they do not."""

    seeds: int = option(1, "how often")
    spin: int = option(2, "how fast", rare=True, group="seldom")
    recipe: dict[str, Any] = option({}, nested=Recipe, rare=True)


def test_rare_flags_work_and_stand_in_help_all_only(capsys):
    assert parse(WithRare, ["--spin", "3", "--rate", "0.5"]) == WithRare(1, 3, {"rate": 0.5})
    short = help_of(capsys, WithRare)
    with pytest.raises(SystemExit) as ended:
        parse(WithRare, ["--help-all"], prog="prog")
    whole = capsys.readouterr().out
    assert ended.value.code == 0 and "--seeds" in short and "--seeds" in whole
    for hidden in ("--spin", "--rate", "seldom"):
        assert hidden not in short and hidden in whole
    assert "--help-all" in short


def test_a_flag_without_dashes_is_a_positional_argument(capsys):
    assert parse(Positional, ["red", "green", "--force"]) == Positional(("red", "green"), True)
    assert parse(Positional, []) == Positional(())
    assert "usage: prog [NAME ...] [options] What" in help_of(capsys, Positional)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--seeds", "0"], "argument --seeds: '0': expected a whole number from 1 to 1000"),
        (["--seeds", "2.5"], "argument --seeds: '2.5': expected a whole number from 1 to 1000"),
        (["--share", "nan"], "argument --share: 'nan': expected a number from 0 to 1"),
        (["--recipe-steps", "0"], "argument --recipe-steps: '0': expected a whole number from 1"),
        (["--colours", "red", "blue"], "argument --colours: 'blue': expected one of red, green"),
        (["--inner", "x"], "unknown flag --inner"),  # fields without an option
        (["--untold", "1"], "unknown flag --untold"),
        (["\x1b[2J\na"], r"unrecognized arguments: \x1b[2J\na"),
        (["--\x1b[2J", "a"], r"unknown flag --\x1b[2J"),
        (["--seed", "5"], "unknown flag --seed; did you mean --seeds?"),  # nothing is guessed
        (["--colurs=red"], "unknown flag --colurs; did you mean --colours?"),
        (["--recip", "7"], "unknown flag --recip; did you mean --recipe-steps?"),
        (["--colours", "gren"], "argument --colours: 'gren': expected one of red, green; did you"),
        (["--out", ""], "argument --out: '': expected a path"),
    ],
)
def test_a_wrong_value_is_one_clear_line_and_exit_2(argv, told, capsys):
    assert refused(capsys, *argv).startswith(told)


def test_what_the_dataclass_refuses_is_the_parsers_error(capsys):
    told = "--resume goes on with one seed; leave --seeds out"
    assert refused(capsys, "--resume", "--seeds", "2") == told
    with pytest.raises(UserError, match=told):
        Settings(out=Path("here"), resume=True, seeds=2)


def test_choices_may_be_known_only_when_they_are_needed(capsys, monkeypatch):
    assert "blue" in refused(capsys, "--colours", "blue")
    monkeypatch.setattr("test_options.COLOURS", ["red", "blue"])
    assert settings_of("--colours", "blue").colours == ("blue",)
    assert "green" in refused(capsys, "--colours", "green")
    assert "{red,blue}" in help_of(capsys)


def test_the_help_tells_unit_default_and_source_under_the_headings(capsys):
    found = help_of(capsys)
    places = [
        found.index(told)
        for told in (
            "What it does.",
            "--out DIR where to --inputs FILE [FILE ...] what from --seeds",
            "--seeds N how often, in runs (default: 1; the report)",
            "amounts:",
            "--share X how much (default: 0.25)",
            "--tiny X how little, 5 % at most (default: 3e-5)",
            "--limit N at most so many machine:",  # no default to tell
            "--device {auto,cpu} which machine (default: auto)",
            "--colours {red,green} [{red,green} ...] in which (default: red)",
            "--resume go on --recipe-steps N steps of it (default: 5)",
            "--rate X its rate (default: 1e-4)",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3e-5, "3e-5"),
        (0.0015, "1.5e-3"),
        (-1e-4, "-1e-4"),
        (0.01, "0.01"),
        (0.0, "0"),
        (512, "512"),
        ("auto", "auto"),
    ],
)
def test_a_value_is_shown_as_a_user_would_type_it(value, shown):
    assert shown_value(value) == shown
    if not isinstance(value, str):
        assert type(value)(shown) == value


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"seeds": 0}, "--seeds 0: expected a whole number from 1 to 1000"),
        ({"share": float("nan")}, "--share nan: expected a number from 0 to 1"),
        ({"device": "tpu"}, "--device tpu: expected one of auto, cpu"),
        ({"mode": ""}, "--mode : expected one of slow, quick"),
        ({"seeds": True}, "--seeds True: expected a whole number from 1 to 1000"),
        ({"share": None}, "--share None: expected a number from 0 to 1"),
        ({"resume": 1}, "--resume 1: expected True or False"),
        ({"note": 3}, "--note 3: expected text"),
        ({"recipe": {"stops": 3}}, "recipe: unknown setting 'stops'; one of steps, rate, fast"),
        ({"recipe": {"rate": 2}}, "--rate 2: expected a number from 0 to 1"),
    ],
)
def test_python_callers_are_held_to_the_same_choices_and_bounds(given, told):
    with pytest.raises(UserError) as error:
        Settings(out=Path("here"), **given)
    assert str(error.value) == told
    # What is in bounds or absent passes.
    check(Settings(out=Path("here"), limit=None, inputs=(Path("a"),), colours=(), share=1))

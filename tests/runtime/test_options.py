"""Command lines made of dataclasses: what a field says, its flag takes, tells and refuses."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import UserError
from runtime.options import build_parser, check, option, options_of, parse, shown_value

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


def test_what_is_not_given_is_as_in_the_dataclass():
    assert settings_of() == Settings(out=Path("here"))


@pytest.mark.parametrize(
    ("argv", "name", "value"),
    [
        (["--seeds", "3"], "seeds", 3),
        (["--share", "1e-3"], "share", 1e-3),
        (["--limit", "10"], "limit", 10),
        (["--device", "cpu"], "device", "cpu"),
        (["--colours", "green", "red"], "colours", ("green", "red")),
        (["--inputs", "a", "b/c"], "inputs", (Path("a"), Path("b/c"))),
        (["--note", "two words"], "note", "two words"),
        (["--note", ""], "note", ""),
        (["--resume"], "resume", True),
    ],
)
def test_a_flag_arrives_with_the_type_of_its_field(argv, name, value):
    found = settings_of(*argv)
    assert getattr(found, name) == value and type(getattr(found, name)) is type(value)
    assert replace(found, **{name: getattr(settings_of(), name)}) == settings_of()


def test_the_programs_own_words_are_read_where_none_are_given(monkeypatch):
    monkeypatch.setattr("sys.argv", ["prog", "--out", "there", "--seeds", "2"])
    assert parse(Settings) == Settings(out=Path("there"), seeds=2)


def test_of_nested_settings_only_what_was_given_arrives():
    assert settings_of().recipe == {}
    found = settings_of("--recipe-steps", "7", "--rate", "0.5").recipe
    assert found == {"steps": 7, "rate": 0.5}
    assert Recipe(**found).untold == 3


def test_fields_without_an_option_are_no_flags(capsys):
    assert "--inner" in refused(capsys, "--inner", "x")
    assert "--untold" in refused(capsys, "--untold", "1")
    assert [field.name for field, _ in options_of(Recipe)] == ["steps", "rate", "fast"]


def test_two_settings_never_share_a_default():
    first, second = (Settings(out=Path("here")) for _ in range(2))
    first.recipe["steps"] = 9
    assert second.recipe == {} and settings_of().recipe == {}


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
    assert "usage: prog [NAME ...] [flags] What" in help_of(capsys, Positional)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--seeds", "0"], "argument --seeds: '0': expected a whole number from 1 to 1000"),
        (["--seeds", "2.5"], "argument --seeds: '2.5': expected a whole number from 1 to 1000"),
        (["--seeds", "few"], "argument --seeds: 'few': expected a whole number from 1 to 1000"),
        (["--share", "1.5"], "argument --share: '1.5': expected a number from 0 to 1"),
        (["--share", "nan"], "argument --share: 'nan': expected a number from 0 to 1"),
        (["--limit", "11"], "argument --limit: '11': expected a whole number from 1 to 10"),
        (["--recipe-steps", "0"], "argument --recipe-steps: '0': expected a whole number from 1"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
        (["--colours", "red", "blue"], "argument --colours: invalid choice: 'blue'"),
    ],
)
def test_a_wrong_value_is_one_clear_line_and_exit_2(argv, told, capsys):
    assert refused(capsys, *argv).startswith(told)


def test_a_flag_that_must_be_given_is_named(capsys):
    with pytest.raises(SystemExit) as ended:
        parse(Settings, [], prog="prog")
    assert ended.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "prog: error: the following arguments are required: --out"


def test_what_the_dataclass_refuses_is_the_parsers_error(capsys):
    told = "--resume goes on with one seed; leave --seeds out"
    assert refused(capsys, "--resume", "--seeds", "2") == told
    with pytest.raises(UserError, match=told):
        Settings(out=Path("here"), resume=True, seeds=2)


def test_a_mistake_of_ours_is_no_users_error():
    @dataclass(frozen=True)
    class Broken:
        seeds: int = option(1, "how often")

        def __post_init__(self) -> None:
            raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        parse(Broken, [])


def test_choices_may_be_known_only_when_they_are_needed(capsys, monkeypatch):
    assert "blue" in refused(capsys, "--colours", "blue")
    monkeypatch.setattr("test_options.COLOURS", ["red", "blue"])
    assert settings_of("--colours", "blue").colours == ("blue",)
    assert "green" in refused(capsys, "--colours", "green")
    assert "{red,blue}" in help_of(capsys)


@pytest.mark.parametrize(
    "told",
    [
        "What it does.",
        "--seeds N how often, in runs (1; the report)",
        "--share X how much (0.25)",
        "--tiny X how little, 5 % at most (3e-5)",
        "--limit N at most so many",  # no default to tell
        "--out DIR where to",
        "--inputs FILE [FILE ...] what from",
        "--device {auto,cpu} which machine (auto)",
        "--mode {slow,quick} in what way",
        "--colours {red,green} [{red,green} ...] in which (red)",
        "--resume go on",
        "--recipe-steps N steps of it (5)",
        "--rate X its rate (1e-4)",
        "--fast hurry",
    ],
)
def test_the_help_tells_unit_default_and_source(told, capsys):
    assert re.search(re.escape(told) + r"(?! \()", help_of(capsys))


def test_groups_have_their_headings_and_hold_what_follows(capsys):
    told = help_of(capsys)
    places = [told.rindex(part) for part in ("--seeds N", "amounts:", "--share X", "--tiny X")]
    places += [told.rindex(part) for part in ("machine:", "--device {", "--resume", "--rate X")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-4, "1e-4"),
        (3e-5, "3e-5"),
        (0.0015, "1.5e-3"),
        (-1e-4, "-1e-4"),
        (0.01, "0.01"),
        (0.05, "0.05"),
        (0.0, "0"),
        (1.0, "1"),
        (512, "512"),
        (200_000_000, "200000000"),
        ("auto", "auto"),
    ],
)
def test_a_value_is_shown_as_a_user_would_type_it(value, shown):
    assert shown_value(value) == shown
    if not isinstance(value, str):
        assert type(value)(shown) == value


def test_a_parser_is_made_without_parsing_anything():
    parser = build_parser(Settings, prog="prog", epilog="Examples:\n  prog --out x")
    assert parser.format_help().endswith("Examples:\n  prog --out x\n")  # lines as written


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"seeds": 0}, "--seeds 0: expected a whole number from 1 to 1000"),
        ({"share": float("nan")}, "--share nan: expected a number from 0 to 1"),
        ({"limit": 11}, "--limit 11: expected a whole number from 1 to 10"),
        ({"device": "tpu"}, "--device tpu: expected one of auto, cpu"),
        ({"mode": ""}, "--mode : expected one of slow, quick"),
        ({"colours": ("red", "blue")}, "--colours blue: expected one of red, green"),
        ({"seeds": 2.5}, "--seeds 2.5: expected a whole number from 1 to 1000"),
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


def test_flags_of_their_own_name_are_told_to_python_callers():
    with pytest.raises(UserError, match=r"^--recipe-steps 0: expected a whole number from"):
        check(Recipe(steps=0))


def test_what_is_in_bounds_or_absent_passes():
    check(Settings(out=Path("here"), limit=None, inputs=(Path("a"),), colours=(), share=1))
    check(Recipe(untold=-5))

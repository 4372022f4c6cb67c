"""Odd command lines: flags of every command's options, with values that nobody means.

Each is done in a forked child, in a folder of files of every bad kind. Nothing is trained: paths
are bad, or `always` says so.
"""

import os
import random
import re
import shutil
import tempfile
import types
import typing
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from conftest import toy_sentences, write_data

from campaigns import forked
from campaigns.outcomes import Trial
from runtime.options import Option, flag_of, options_of

LONGEST = 60.0  # seconds until a command hangs


class Program(NamedTuple):
    """A command: where its `main` and its options are, the words that name it, and those last."""

    main: str
    options: str
    command: str = ""
    always: str = ""


PROGRAMS = [
    Program("run_multitask", "experiment.settings.Settings", "", "--data data --dry-run"),
    Program("run_multitask", "experiment.settings.Settings", "", "--dry-run"),
    Program("experiment.reproduce", "experiment.reproduce.Options", "", "--list"),
    Program("evaluation.__main__", "evaluation.options.EvaluationOptions", "", "--data nosuch"),
    Program("evaluation.leaks", "evaluation.leaks.LeakOptions", "", "--data data"),
    Program("minbert.encode.__main__", "minbert.encode.options.EncodeOptions"),
    Program(
        "minbert.pretrain", "minbert.pretraining.options.PretrainOptions", "", "--valid nosuch"
    ),
    Program("search.__main__", "search.options.IndexOptions", "index"),
    Program("search.__main__", "search.options.QueryOptions", "query"),
    Program("search.__main__", "search.options.PairsOptions", "pairs"),
    Program("search.__main__", "search.options.MineOptions", "mine"),
    Program("heads.__main__", "heads.__main__.PredictOptions", "predict"),
    Program("heads.__main__", "heads.__main__.ExportOptions", "export"),
    Program("report.__main__", "report.__main__.CompareOptions", "compare"),
    Program("report.__main__", "report.__main__.CostOptions", "cost"),
    Program("report.__main__", "report.__main__.PageOptions", "html"),
    Program("data.triplets", "data.triplets.Options"),
    Program("data.sentences", "data.sentences.Options"),
    Program("assignment.__main__", "assignment.make.MakeOptions", "make", "--data nosuch"),
    Program("assignment.__main__", "assignment.check.CheckOptions", "check", "--suite nosuch"),
    Program("assignment.__main__", "assignment.grade.GradeOptions", "grade", "--suite nosuch"),
    *(
        Program("assignment.__main__", f"assignment.submission.{name}.{name.title()}Options", name)
        for name in ("validate", "score")
    ),
]
NUMBERS = "0 -1 1 2 0.5 1e400 -1e400 nan inf ٣ 1_0 0x10 2147483649 99999999999999999999 abc".split()
NUMBERS += ["", " ", "1 2", "1e-400"]
# Names of what `_place` makes, and of nothing. Hub names that do not exist are looked up offline.
PATHS = "nosuch . folder empty binary lines pipe dangling data lines/inside no/such -x %s".split()
PATHS += ["", " ", "a\nb", "\x1b[2J", "\udcff", "x" * 300, "x/" * 3000, "跑"]


def commands(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield trials of command lines that are drawn, of all commands in turn, or of `only` some."""
    (folder / "sound").mkdir()
    write_data(folder / "sound")
    chosen = [one for one in PROGRAMS if not only or one.options.rpartition(".")[2] in only]
    for number in range(count):
        program = chosen[number % len(chosen)]
        words = draw(program, random.Random(f"{seed} {number}"))
        with tempfile.TemporaryDirectory(dir=folder) as place:
            _place(Path(place), folder / "sound")
            before = _names(Path(place))
            ended = forked.run(partial(_work, program, words, place), folder, kill_after=LONGEST)
            left = sorted(_names(Path(place)) - before)
        name = " ".join(filter(None, (program.main.removesuffix(".__main__"), program.command)))
        yield Trial("commands", name, repr(words)[:1000], *_judged(ended, left))


def draw(program: Program, rng: random.Random) -> list[str]:
    """Return the words of a command line."""
    module, _, name = program.options.rpartition(".")
    settings = getattr(import_module(module), name)
    words = program.command.split()
    # Many odd flags end at the first; one gets further.
    share = rng.choice((0.02, 0.15))
    for field, option in options_of(settings):
        if option.nested is None:
            words += _flag(settings, field.name, option, share, rng)
        else:
            for inner, own in options_of(option.nested):
                words += _flag(option.nested, inner.name, own, share, rng)
    if rng.random() < 0.05:
        words.insert(rng.randrange(len(words) + 1), rng.choice(["--nosuch", "--", "-", "surplus"]))
    return words + program.always.split()


def _flag(settings: type, name: str, option: Option, share: float, rng: random.Random) -> list[str]:
    """Return a flag with values, or nothing; what is required is nearly always given."""
    flag = flag_of(name, option)
    positional = not flag.startswith("-")
    if rng.random() > (0.97 if positional or option.required else share):
        return []
    kind = typing.get_type_hints(settings)[name]
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    several = typing.get_origin(kinds[0]) is tuple
    kind = typing.get_args(kinds[0])[0] if several else kinds[0]
    values = [_value(kind, option, rng) for _ in range(rng.choice((1, 1, 2)) if several else 1)]
    if kind is bool:
        values = []
    return values if positional else [flag, *values]


def _value(kind: Any, option: Option, rng: random.Random) -> str:
    choices = option.allowed()
    if choices and rng.random() < 0.8:
        return rng.choice(choices)
    numbers = kind in (int, float)
    if numbers and option.least is not None and rng.random() < 0.4:  # at its bound, or beyond
        return f"{option.least - rng.choice((0, 0, 1)):g}"
    return rng.choice(NUMBERS if numbers or rng.random() < 0.1 else PATHS)


def _place(folder: Path, data: Path) -> None:
    """Make files of every kind."""
    (folder / "folder").mkdir()
    (folder / "empty").write_bytes(b"")
    (folder / "binary").write_bytes(random.Random(0).randbytes(3000))
    (folder / "lines").write_text("".join(f"{text}\n" for text in toy_sentences(5)))
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("gone")
    shutil.copytree(data, folder / "data")


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _work(program: Program, words: list[str], place: str) -> int:
    os.chdir(place)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code: int = import_module(program.main).main(words) or 0
    return code


def _judged(ended: forked.Ended, left: list[str]) -> tuple[str, str]:
    """Return the outcome, and what was said where that is wrong."""
    said = ended.said[-1500:]
    if "Traceback" in ended.said:
        return "traceback", said
    if ended.code < 0:
        return "hang", said
    if ended.code in (0, 130):
        return "read", ""
    if ended.code != 2:
        return f"exit code {ended.code}", said
    lines = ended.said.rstrip("\n").split("\n")
    told = [line for line in lines if re.match(r"(\S+ )*?(\S+: )?error: ", line)]
    # Usage may come before, and notes; of a program without its command it is all that is said.
    one = told == lines[-1:] or (not told and lines[0].startswith("usage: "))
    if not one or "\x1b" in ended.said:
        return "not one line", said
    return ("half-written", f"{left} {said}") if left else ("refused", "")

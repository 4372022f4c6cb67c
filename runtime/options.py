"""Command lines made from dataclasses: a field is a flag, its metadata are its help and bounds.

    @dataclass(frozen=True)
    class Settings:
        seeds: int = option(1, "repeat with N seeds", least=1, most=1000)

    settings = parse(Settings, argv, prog="...", description="...")

A field whose option names a class (`nested`) represents the fields of that class: each is a flag
without a default, and the given values are collected in a dictionary. `--help` shows the common
flags; flags that are `rare` are only in `--help-all`.
"""

import argparse
import dataclasses
import difflib
import math
import numbers
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field
from functools import cache, partial
from itertools import chain, takewhile
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn, TypeVar

from runtime.errors import UserError
from runtime.streams import printable

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """The help of a flag and the requirements on its value."""

    help: str
    flag: str = ""  # made from the field's name if empty; without dashes: a positional argument
    earlier: str = ""  # a flag's earlier name, which is still read
    choices: Sequence[str] | Callable[[], Sequence[str]] = ()  # called on first use
    least: float | None = None
    most: float | None = None
    unit: str = ""
    source: str = ""  # where the value was published
    metavar: str | None = None
    group: str = ""  # the heading in --help above this and the next fields
    required: bool = False
    rare: bool = False  # only shown by --help-all
    nested: type | None = None
    show_defaults: bool = False  # of the fields of `nested`, if no preset changes them

    def allowed(self) -> list[str]:
        """Return the values to choose from, [] if any value is allowed."""
        return list(self.choices() if callable(self.choices) else self.choices)


def option(default: Any = MISSING, help: str = "", **more: Any) -> Any:
    """Return a dataclass field that is also a flag; the other arguments are those of Option."""
    metadata = {"option": Option(help, **more)}
    if isinstance(default, (dict, list)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def options_of(settings: type) -> list[tuple[dataclasses.Field[Any], Option]]:
    """Return the fields of a dataclass that are flags, with their options."""
    fields = dataclasses.fields(settings)
    return [(entry, entry.metadata["option"]) for entry in fields if "option" in entry.metadata]


def parse(settings: type[T], argv: Sequence[str] | None = None, **about: Any) -> T:
    """Return the settings of a command line; `--help` and wrong flags end the program.

    Args:
        settings: a dataclass whose fields were made by `option`.
        argv: the words of the command line; None takes the program's own.
        about: prog, description, epilog.
    """
    words = sys.argv[1:] if argv is None else argv
    parser = build_parser(settings, "--help-all" in words, **about)
    _check_flags(parser, words)
    given = vars(parser.parse_args(words))
    values: dict[str, Any] = {}
    for name, value in given.items():
        outer, _, inner = name.partition(".")
        if not inner:
            values[name] = tuple(value) if isinstance(value, list) else value
        else:
            nested = values.setdefault(outer, {})
            if value is not None:
                nested[inner] = value
    try:
        return settings(**values)
    except UserError as error:
        parser.error(str(error))
    except OSError as error:  # settings check their paths
        parser.error(f"{error.filename}: {error.strerror}; check the path")


def _check_flags(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """End the program at the first unknown flag, with the nearest known one.

    Argparse would report missing arguments first.
    """
    # The last name of each: an earlier one is read, but not proposed.
    named = {action.dest: action.option_strings[-1:] for action in parser._actions}
    for word in takewhile(lambda word: word != "--", words):
        flag, _, _ = word.partition("=")
        if flag.startswith("--") and flag not in parser._option_string_actions:
            parser.error(f"unknown flag {flag}{did_you_mean(flag, chain(*named.values()))}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean X?" with the most similar known word, "" if none is similar."""
    names = list(known)
    begins = [name for name in names if name.startswith(word)] if word else []
    like = begins if len(begins) == 1 else difflib.get_close_matches(word, names, 1, 0.7)
    return f"; did you mean {like[0]}?" if like else ""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(printable(message))  # words of the command line may have control characters


WIDTH = 80  # columns of a help


def _filled(text: str) -> str:
    """Return a text with its paragraphs filled to WIDTH, except those with an indented line."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        words if re.search(r"(?m)^\s", words.strip("\n")) else fill(words, WIDTH)
        for words in paragraphs
    )


def build_parser(settings: type, show_rare: bool = False, **about: Any) -> argparse.ArgumentParser:
    """Return the parser of a dataclass; `about` holds prog, description and epilog."""
    texts: dict[str, Any] = {name: _filled(text) for name, text in about.items()}
    parser = _Parser(
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=26),
        add_help=False,
        allow_abbrev=False,  # --seed is not --seeds
        **texts,
    )
    target: Any = parser
    shown: Any = parser  # the last group that --help shows
    rare = []  # the flags that only --help-all shows
    for entry, settled in options_of(settings):
        if settled.group:
            target = parser.add_argument_group(settled.group)
        if settled.nested is None:
            default = entry.default
            if entry.default_factory is not MISSING:
                default = entry.default_factory()
            kind = _type_of(settings, entry.name)
            added = [_add(target, entry.name, kind, settled, default)]
        else:
            added = [
                _add(
                    target,
                    f"{entry.name}.{inner.name}",
                    _type_of(settled.nested, inner.name),
                    nested,
                    None,
                    _shown(inner.default) if settled.show_defaults else "",
                )
                for inner, nested in options_of(settled.nested)
            ]
        if settled.rare:
            rare += added
        else:
            shown = target
    _add_help(parser, shown, rare, show_rare)
    return parser


def _add_help(
    parser: argparse.ArgumentParser, target: Any, rare: list[Any], show_rare: bool
) -> None:
    """Add --help, and --help-all if some flags are rare; reduce the usage to required arguments."""
    if rare:
        target.add_argument(
            "--help-all", action="help", help="show all options, including advanced ones"
        )
    target.add_argument("-h", "--help", action="help", help="show this message")
    if not show_rare:
        for action in rare:
            action.help = argparse.SUPPRESS
    needed = [a for a in parser._actions if a.required or not a.option_strings]
    words = ["%(prog)s"]
    for action in needed:
        metavar = str(action.metavar or action.dest)
        name = f"{action.option_strings[0]} {metavar}" if action.option_strings else metavar
        words.append(name if action.required else f"[{name} ...]")
    parser.usage = " ".join([*words, "[options]"])


def check(settings: Any) -> None:
    """Check the values of a dataclass, nested ones too, against its options' types and bounds.

    Raises:
        UserError: a wrong value; the message names the flag, the value and what was expected.
    """
    for entry, settled in options_of(type(settings)):
        value = getattr(settings, entry.name)
        if settled.nested is not None:
            _check_nested(entry.name, value, settled.nested)
            continue
        kind = _type_of(type(settings), entry.name)
        if value is None and kind != _types_of(settings.__class__)[entry.name]:
            continue  # the field may be None
        several = typing.get_origin(kind) is tuple
        for item in value if several else (value,):
            if wrong := _wrong(item, settled, typing.get_args(kind)[0] if several else kind):
                raise UserError(f"{flag_of(entry.name, settled)} {item}: {wrong}")


def _check_nested(name: str, given: dict[str, Any], nested: type) -> None:
    known = [entry.name for entry, _ in options_of(nested)]
    for field_name in given.keys() - set(known):
        raise UserError(f"{name}: unknown setting {field_name!r}; one of {', '.join(known)}")
    check(nested(**given))


def flag_of(name: str, settled: Option) -> str:
    """Return the flag of a field."""
    return settled.flag or "--" + name.rpartition(".")[2].replace("_", "-")


def _add(
    target: Any, name: str, kind: type, settled: Option, default: Any, shown: str | None = None
) -> argparse.Action:
    """Add one flag to a parser or to one of its groups, and return it."""
    flag = flag_of(name, settled)
    several = typing.get_origin(kind) in (tuple, list)
    text = settled.help + (f", in {settled.unit}" if settled.unit else "")
    initial = _shown(default) if shown is None else shown
    if known := "; ".join(filter(None, (initial and f"default: {initial}", settled.source))):
        text += f" ({known})"
    more: dict[str, Any] = {"help": text.replace("%", "%%"), "default": default}
    if flag.startswith("-"):
        more["dest"] = name
        more["required"] = settled.required
    if kind is bool:
        return target.add_argument(flag, action="store_true", **more)
    if several:
        kind = typing.get_args(kind)[0]
        more["nargs"] = "+" if settled.required or flag.startswith("-") else "*"
    # Choices are checked by the parsing function, and by `check` for callers in Python.
    shown_choices = f"{{{','.join(choices)}}}" if (choices := settled.allowed()) else ""
    more["metavar"] = settled.metavar or shown_choices or ("N" if kind is int else "X")
    more["type"] = _reader(kind, settled)
    if settled.earlier:
        target.add_argument(settled.earlier, **more | {"help": argparse.SUPPRESS})
    return target.add_argument(flag, **more)


@cache
def _types_of(settings: type) -> dict[str, Any]:
    return typing.get_type_hints(settings)


def _type_of(settings: type, name: str) -> Any:
    """Return a field's type, without None if it is optional."""
    kind = _types_of(settings)[name]
    if isinstance(kind, types.UnionType):
        (kind,) = (part for part in typing.get_args(kind) if part is not type(None))
    return kind


def _reader(kind: type, settled: Option) -> Callable[[str], Any]:
    """Return the function that parses a flag's text: a number within bounds, a path, a word."""
    if kind is Path:
        return _read_path

    def read(text: str) -> Any:
        value: Any = text
        if kind in (int, float):
            try:
                value = kind(text)
            except ValueError:
                value = math.nan
        if wrong := _wrong(value, settled, kind):
            raise argparse.ArgumentTypeError(f"{text!r}: {wrong}")
        return value

    return read


def _read_path(text: str) -> Path:
    # Path("") would be the current folder, which is not the intention of --run-dir "$UNSET".
    if not text:
        raise argparse.ArgumentTypeError("'': expected a path")
    return Path(text)


def _wrong(value: Any, settled: Option, kind: type) -> str:
    """Return the expected kind of value, "" if the value is valid."""
    if choices := settled.allowed():
        if value in choices:
            return ""
        return f"expected one of {', '.join(choices)}{did_you_mean(str(value), choices)}"
    if kind in (int, float):
        # In Python, True and False are integers too; NaN is within no bounds.
        wanted = numbers.Integral if kind is int else numbers.Real
        least = -math.inf if settled.least is None else settled.least
        most = math.inf if settled.most is None else settled.most
        number = isinstance(value, wanted) and not isinstance(value, bool)
        if number and least <= value <= most:
            return ""
        return f"expected {'a whole number' if kind is int else 'a number'}{_range(settled)}"
    kinds: dict[type, tuple[Any, str]] = {
        bool: (bool, "True or False"),
        Path: ((str, Path), "a path"),
    }
    accepted, words = kinds.get(kind, (str, "text"))
    return "" if isinstance(value, accepted) else f"expected {words}"


def _range(settled: Option) -> str:
    """Return the bounds of a number in words."""
    if settled.least is None:
        return "" if settled.most is None else f" of at most {settled.most:g}"
    if settled.most is None:
        return f" of at least {settled.least:g}"
    return f" from {settled.least:g} to {settled.most:g}"


def _shown(value: Any) -> str:
    """Return a default as shown in the help, "" for None, MISSING, an empty value or a switch."""
    if value is MISSING or value is None or isinstance(value, bool) or value in ("", (), {}):
        return ""
    if isinstance(value, tuple):
        return " ".join(map(shown_value, value))
    return shown_value(value)


def shown_value(value: Any) -> str:
    """Return a value as a user would type it: 1e-4, not 0.0001."""
    if isinstance(value, float) and 0 < abs(value) < 0.01:
        mantissa, _, exponent = f"{value:e}".partition("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:g}" if isinstance(value, float) else str(value)

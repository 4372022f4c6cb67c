"""Little indexes of toy sentences, made by the command or by hand."""

from pathlib import Path

from conftest import toy_sentences

from search import building
from search import index as format_of_index
from search.__main__ import main
from search.options import parse_options

__all__ = ["command", "small_parts", "write_lines"]


def command(*words) -> int:
    """Run a command line of `python -m search` in this process; return its exit code."""
    on_cpu = [] if words[0] == "pairs" else ["--device", "cpu", "--precision", "float32"]
    return main(parse_options([*map(str, words), *on_cpu]))


def write_lines(path: Path, count: int, seed: int = 0) -> list[str]:
    """Write toy sentences, one per line; return them."""
    texts = toy_sentences(count, seed)
    path.write_text("".join(f"{text}\n" for text in texts))
    return texts


def small_parts(monkeypatch, count: int) -> None:
    """Let parts of an index hold fewer texts."""
    for module in (building, format_of_index):
        monkeypatch.setattr(module, "PART", count)

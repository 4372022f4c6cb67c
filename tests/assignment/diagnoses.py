"""What the classroom kit says of mistakes that were written before anybody saw what it knows.

    python -m tests.assignment.diagnoses [--part PART ...] [--seed N]

Each mistake and each correct alternative of `fair_*.toml` stands in the solution for a while, and
is asked everything that a public and a hidden suite ask. `wrong` in those files names the functions
that are wrong. `known`, which was added after the first measurement, lists the known mistakes that
a reader held to be right. A cause or a place to look at that is neither is misleading.
"""

import argparse
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assignment.check import report
from assignment.compare import CaseResult, Suite, judge_arrays
from assignment.parts import Part, chosen_parts
from assignment.suites import Drawn, answered, ask, draw
from assignment.trees import with_body, write_tree

HERE = Path(__file__).parent
KINDS = ("public", "hidden")
# The worst comes first: of two suites the worse answer counts.
WORDS = ("wrong ", "look at", "likely cause")
VERDICTS = ("missed", "misleading", "unnamed", "named")


def entries(kind: str, parts: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the fair mistakes ("mistake") or alternatives of some parts; none: of all."""
    found = tomllib.loads((HERE / f"fair_{kind}s.toml").read_text(encoding="utf-8"))[kind]
    return [entry for entry in found if not parts or entry["part"] in parts]


def whole_alternatives() -> dict[str, dict[str, str]]:
    """Return name -> code of solutions that are written in other words throughout."""
    text = (HERE / "whole_alternatives.toml").read_text(encoding="utf-8")
    return {entry["name"]: entry["code"] for entry in tomllib.loads(text)["alternative"]}


@contextmanager
def written(tree: Path, code: Mapping[str, str]) -> Iterator[None]:
    """Let a solved tree hold a student's code for a while: bodies, ends of files, new files."""
    before: dict[Path, str | None] = {}
    for key in sorted(code, key=lambda key: ":" not in key):  # ends of files come last
        file, _, name = key.partition(":")
        path = tree / file
        source = path.read_text(encoding="utf-8") if path.is_file() else None
        before.setdefault(path, source)
        lines = code[key].strip("\n").splitlines()
        source = with_body(source or "", name, lines) if name else (source or "") + code[key]
        path.write_text(source, encoding="utf-8")
    try:
        yield
    finally:
        for path, source in before.items():
            path.unlink() if source is None else path.write_text(source, encoding="utf-8")


class Exams:
    """A public and a hidden suite, and the solution to write into.

    Args:
        tree: an empty folder.
        parts: what is asked.
        seed: of all inputs.
    """

    def __init__(self, tree: Path, parts: Sequence[Part], seed: int):
        self.tree = tree
        write_tree(tree, parts, solved=True)
        self.drawn: list[Drawn] = [draw(parts, seed, kind) for kind in KINDS]
        self.suites = answered(tree, parts, self.drawn)

    def results(self, code: Mapping[str, str]) -> Iterator[tuple[Suite, list[CaseResult]]]:
        """Yield, of each suite, what becomes of a student's code."""
        with written(self.tree, code):
            asked = ask(self.tree, self.drawn)
        for suite, (found, raised) in zip(self.suites, asked, strict=True):
            why = {case: "raised " + " ".join(words.split()) for case, words in raised.items()}
            yield suite, judge_arrays(suite, found, why)


def verdict(entry: Mapping[str, Any], results: Sequence[CaseResult]) -> str:
    """Return one of VERDICTS on what was said of a mistake."""
    if all(result.passed for result in results):
        return "missed"
    named = {name for result in results for name in result.mistakes}
    wrong = {f"{name} in {file}" for file, name in (w.split(":") for w in entry.get("wrong", ()))}
    looks = [set(r.look.split(", or ")) for r in results if " in " in r.look]
    if not named <= set(entry.get("known", ())) or any(not look & wrong for look in looks):
        return "misleading"
    return "named" if named else "unnamed"


def main() -> None:
    """Print what is said of each, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", nargs="+", default=[])
    parser.add_argument("--seed", type=int, default=37)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        parts = [part for part in chosen_parts() if part.cases]
        exams = Exams(Path(folder) / "tree", parts, options.seed)
        for kind in ("mistake", "alternative"):
            for entry in entries(kind, options.part):
                verdicts, wrong = [], []
                for suite, results in exams.results(entry["code"]):
                    verdicts.append(verdict(entry, results))
                    lines = [line.strip() for line in report(suite, results)]
                    wrong += [line for line in lines if line.startswith(WORDS)]
                worst = min(verdicts, key=VERDICTS.index)
                if kind == "alternative":
                    worst = "false alarm" if wrong else "right"
                counts[worst] += 1
                print(f"{entry['part']}: {entry['name']}: {worst}", flush=True)
                for line in dict.fromkeys(wrong):
                    print(f"    {line[:600]}")
    print(", ".join(f"{count} {word}" for word, count in counts.items()))


if __name__ == "__main__":
    main()

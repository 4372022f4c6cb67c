"""`check`: what is right, what is wrong and the likely cause, on a laptop and in seconds.

Reads: a student's tree and its public suite. The student's code runs in a process of its own.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from assignment.compare import NO_ANSWER, CaseResult, Suite, judge, read_suite
from assignment.hand_in import ZIP, write_zip
from runtime.commands import exit_code
from runtime.errors import UserError
from runtime.options import option, parse
from runtime.streams import harmless

DRIVER = Path(__file__).parent / "driver.py"
UNWRITTEN = "raised NotImplementedError: "
COLOURS = {"ok": 32, "to do": 33, "wrong": 31}  # green, yellow, red
ABOUT = """\
Run the public tests of one or more parts. For each failed case, the report shows the
computed answer, the expected answer and where to look. If the answers match a known
mistake, it names the likely cause. Output of your code appears before the report."""
EPILOG = """\
examples:
  python check.py                 everything
  python check.py attention       one part
  python check.py attention --seconds 0       with breakpoint() in your code
  python check.py --zip                       hand-in.zip, to hand in

Exit codes: 0 all tests passed, 1 a test failed or code is missing, 2 invalid input."""


@dataclass(frozen=True)
class CheckOptions:
    """The options of `check`."""

    parts: tuple[str, ...] = option(
        (), "parts to check (default: all)", flag="parts", metavar="PART"
    )
    tree: Path | None = option(None, "the student's folder (default: this one)", metavar="DIR")
    suite: Path | None = option(None, "the tests (default: checks/ in that folder)", metavar="DIR")
    seconds: int = option(60, "time limit for each case; 0: no limit", least=0)
    zip: bool = option(False, f"run no tests; write {ZIP}, which you hand in")


def main(
    argv: Sequence[str] | None = None,
    prog: str = "python -m assignment check",
    here: Path = Path("."),
) -> int:
    """Check what a command line names; return 0 if all cases pass, 1 if not, 2 for a wrong one."""
    options = parse(CheckOptions, argv, prog=prog, description=ABOUT, epilog=EPILOG)
    return exit_code(lambda: _check(options, options.tree or here))


def _check(options: CheckOptions, tree: Path) -> int:
    folder = options.suite or tree / "checks"
    if not (folder / "suite.json").is_file():
        raise UserError(f"{folder}: contains no tests; give the handed-out folder with --tree")
    suite = read_suite(folder)
    if options.zip:
        places = [place for part in suite.about["parts"] for place in part["places"]]
        taken = write_zip(tree, list(dict.fromkeys(place.partition(":")[0] for place in places)))
        print(f"{tree / ZIP}: {len(taken)} files: {', '.join(taken)}")
        return 0
    results = check(folder, tree, suite, options.parts, options.seconds)
    show(report(suite, results))
    return 0 if all(result.passed for result in results) else 1


def check(
    folder: Path, tree: Path, suite: Suite, parts: Sequence[str] = (), seconds: int = 0
) -> list[CaseResult]:
    """Return what becomes of the cases of some parts of a suite, of all if none is named.

    A case that ends Python, or takes longer than `seconds`, is told as wrong; those after it are
    not run.
    """
    known = [part["name"] for part in suite.about["parts"]]
    for name in parts:
        if name not in known:
            raise UserError(f"part {name!r}: unknown; one of {', '.join(known)}")
    cases = [c["name"] for c in suite.about["cases"] if not parts or c["part"] in parts]
    with tempfile.TemporaryDirectory() as out:
        spec: dict[str, Any] = {"tree": str(tree), "suite": str(folder), "out": out}
        spec |= {"names": cases, "seconds": seconds}
        done = subprocess.run([sys.executable, str(DRIVER), json.dumps(spec)], check=False)
        results = [result for result in judge(suite, Path(out)) if result.case in cases]
        for number, result in enumerate(results):
            if (path := Path(out, f"{result.case}.remarks.txt")).is_file():
                results[number] = replace(result, remarks=path.read_text("utf-8"))
    if not done.returncode:
        return results
    limit = f", or took more than {seconds} s" if seconds else ""
    # The first case without an answer ended Python.
    reasons = chain([f"ended Python (exit code {done.returncode}){limit}"], repeat("not run"))
    return [replace(r, computed=next(reasons)) if r.computed == NO_ANSWER else r for r in results]


def show(lines: Sequence[str]) -> None:
    """Print a report, in colours where a terminal shows it."""
    text = "".join(f"{harmless(line)}\n" for line in lines)
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        for word, colour in COLOURS.items():
            text = re.sub(f"^  {word}", f"  \x1b[{colour}m{word}\x1b[0m", text, flags=re.MULTILINE)
        sys.stdout.flush()
        # Past `sys.stdout`, which writes what a terminal obeys as escapes.
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding, "backslashreplace"))
        sys.stdout.buffer.flush()
    else:
        print(text, end="")


def report(suite: Suite, results: Sequence[CaseResult]) -> list[str]:
    """Return the lines that tell a student what came of the cases."""
    says = {mistake["name"]: mistake["says"] for mistake in suite.about["mistakes"]}
    lines: list[str] = []
    for part in suite.about["parts"]:
        of_part = [result for result in results if result.part == part["name"]]
        if not of_part:
            continue
        passed = sum(result.passed for result in of_part)
        lines.append(f"{part['name']}: {part['title']}: {passed} of {len(of_part)} cases pass")
        for result in of_part:
            unwritten = result.computed.startswith(UNWRITTEN)
            word = "ok" if result.passed else "to do" if unwritten else "wrong"
            more = f": {result.computed.removeprefix(UNWRITTEN)}" if unwritten else ""
            lines.append(f"  {word:5}  {result.case}{more}")
            lines += [f"         {line}" for line in result.lines if not unwritten]
        remarks = dict.fromkeys(line for r in of_part for line in r.remarks.splitlines())
        lines += [f"  by the way, and at no cost: {remark}" for remark in remarks]
        causes = dict.fromkeys(says[name] for result in of_part for name in result.mistakes)
        lines += [f"  likely cause: {cause}" for cause in causes]
    return lines

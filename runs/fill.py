"""Put the numbers of docs/results/ into the pages: `python -m runs.fill`; compare: `--check`.

`<!-- verdict: NAME -->` stands above a block with the verdict in NAME.txt, and
`<!-- results: FILE ... -->` above a table whose numbers are in these files.

A cell of the table is the mean of some of their lines, with the standard deviation over seeds. The
words of the mark, of the row's first cells and of the column's title say which lines: each word
stands in one of a line's KEYS, or names the column that is shown. Without a word that names one, it
is the task's main metric. In the mark, `; TITLE: FILE ...` gives a column files of its own, and
`; TITLE: none` leaves it as it is.
"""

import argparse
import re
import sys
from functools import cache
from pathlib import Path

from data.tasks import TASKS
from runs.read import RESULTS, ROOT, read, spread
from runtime.commands import exit_code
from runtime.errors import UserError
from runtime.files import write_text

VERDICT = re.compile(r"<!-- verdict: (\S+) -->\n```\n.*?```\n", re.DOTALL)
TABLE = re.compile(r"<!-- results: ([^>]+) -->\n((?:\|.*\n)+)")

# Titles of the columns that name a row, and the columns of files in which words select lines.
NAMING = ("", *"depth encoder labels model pretrain reader row side system task tune work".split())
KEYS = (*NAMING, *"backbone measure name set suite train_rows".split())
# What is selected where no word does; tau is the same for all systems.
DEFAULTS = {"pretrain": "none", "reader": "bi", "tune": "frozen", "train_rows": "all"}
DEFAULTS |= {"set": "CS224N dev", "system": "mini"}
# Words of the pages that files do not have.
WORDS = {
    **{word: ["cosine_spearman"] for word in ("cosine", "no head", "[CLS]")},
    "head": ["pearson"],
    "sts head": ["sts"],
    "tuned": ["full"],
    "τ": ["tau"],
    "linear model over words of both": ["words, linear"],
    "duplicates among pairs with the same words / among others": [
        "mean label of the 1.4% with the same words",
        "value/chance",
    ],
}


def main() -> int:
    """Fill or check all pages; return the exit code."""
    parser = argparse.ArgumentParser("python -m runs.fill", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only name pages that differ; exit 1")
    check = parser.parse_args().check
    new = {path: filled(path.read_text("utf-8")) for path in pages()}
    changed = [path for path in new if new[path] != path.read_text("utf-8")]
    for path in changed:
        print(f"{'differs from docs/results/' if check else 'filled'}: {path.relative_to(ROOT)}")
        if not check:
            write_text(path, new[path])
    return int(check and bool(changed))


def pages() -> list[Path]:
    """Return the files that may hold marks: README, docs/ and the cards."""
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *ROOT.glob("*/*/README.md")]


def filled(page: str) -> str:
    """Return a page with the numbers of the result files.

    Raises:
        UserError, OSError: a word or a file of a mark does not exist.
    """
    return TABLE.sub(_table, VERDICT.sub(_verdict, page))


def _verdict(mark: re.Match[str]) -> str:
    text = (RESULTS / f"{mark[1]}.txt").read_text("utf-8").partition("Based on ")[0].rstrip()
    return f"<!-- verdict: {mark[1]} -->\n```\n{text}\n```\n"


def _table(mark: re.Match[str]) -> str:
    head, rule, *rows = mark[2].splitlines()
    titles = cells_of(head)
    for place, row in enumerate(rows):
        named = dict(zip(titles, cells_of(row), strict=True))
        names = [cell for title, cell in named.items() if title in NAMING]
        for title in titles:
            if title not in NAMING:
                named[title] = number(mark[1], title, names) or named[title]
        cells = zip(named.values(), row.split("|")[1:], strict=False)
        rows[place] = "|" + "".join(f"{f' {cell} ':{len(old)}}|" for cell, old in cells)
    return "\n".join([f"<!-- results: {mark[1]} -->", head, rule, *rows]) + "\n"


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.split("|")[1:-1]]


def number(mark: str, title: str, names: list[str]) -> str:
    """Return a cell, "" if it is not filled; `names` are the first cells of its row."""
    first, special, columns, known = sources(mark)
    ours = [special[part] for part in (title, *title.split(", ")) if part in special]
    about = (ours or [first])[0].split()
    if about == ["none"]:
        return ""

    def words_of(cell: str) -> list[str]:
        """Return a cell as words of the files: itself, or its parts."""
        cell = cell.replace(",", "") if re.fullmatch(r"[\d,]+", cell) else cell
        parts = re.split(r", | \+ ", cell)
        if cell in known or columns.issuperset(cell.split("/")):
            return [cell]
        if cell in WORDS or len(parts) == 1:
            return WORDS.get(cell, [] if cell in special else [cell])
        return [word for part in parts for word in words_of(part)]

    cells = [title, *names, *(word for word in about if "." not in word)]
    words = [word for cell in cells for word in words_of(cell)]
    if unknown := [x for x in words if x not in known and not columns.issuperset(x.split("/"))]:
        raise UserError(f"{mark}: not in these files: {', '.join(unknown)}")
    selecting = known.intersection(words)
    lines = [line for name in about if "." in name for line in read(name)]
    for column, default in DEFAULTS.items():
        if not selecting & {line.get(column) for line in lines}:
            lines = [line for line in lines if line.get(column, default) == default]
    lines = [line for line in lines if selecting <= {line.get(key) for key in KEYS}]
    if not lines:
        return "-"
    shown = [word for word in words if word not in known] or [TASKS[lines[0]["task"]].main_metric]
    return " / ".join(spread(lines, column) for column in shown[0].split("/"))


@cache
def sources(mark: str) -> tuple[str, dict[str, str], set[str], set[str]]:
    """Return the files of a mark, those by title, and all columns and words of their lines."""
    first, *others = mark.split("; ")
    lines = [line for name in re.findall(r"[\w-]+\.(?:csv|json|txt)", mark) for line in read(name)]
    known = {line[key] for line in lines for key in KEYS if key in line}
    return first, dict(part.split(": ") for part in others), set().union(*lines), known


if __name__ == "__main__":
    sys.exit(exit_code(main))

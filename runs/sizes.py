"""Write the lines and files of each package into docs/architecture.md: `python -m runs.sizes`."""

import re

from runs.read import ROOT
from runtime.files import write_text

PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^(\| `([\w./]+)` \|.*\|) *[\d,]+ \| *\d+ \|$", re.MULTILINE)


def size(package: str) -> tuple[int, int]:
    """Return the lines and files of Python in a folder, or of one file."""
    path = ROOT / package
    files = list(path.rglob("*.py")) if path.is_dir() else [path]
    return sum(len(file.read_text("utf-8").splitlines()) for file in files), len(files)


def filled(page: str) -> str:
    """Return the page with the sizes of now."""

    def row(old: re.Match[str]) -> str:
        lines, files = size(old[2])
        return f"{old[1]} {lines:,} | {files} |"

    return ROW.sub(row, page)


if __name__ == "__main__":
    write_text(PAGE, filled(PAGE.read_text("utf-8")))

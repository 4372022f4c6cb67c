"""`check.py --zip`: what a student hands in, as one zip.

Reads: a student's tree. Its own code, predictions and reports are taken, and nothing that was
handed out but is not to be written.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from assignment.walk import files_below
from runtime.errors import UserError
from runtime.files import whole_file

ZIP = "hand-in.zip"
GIVEN = {"kit", "checks", "datasets", "figures", "__pycache__", "node_modules"}
GIVEN_FILES = {"handout.md", "requirements.txt", "check.py"}
SUFFIXES = {".py", ".md", ".pdf", ".csv", ".ipynb", ".txt"}
MOST_BYTES = 2**24  # of a file, and of the zip, as platforms take them


def write_zip(tree: Path, files: Sequence[str]) -> list[str]:
    """Write hand-in.zip into a student's tree; return the names of what is in it.

    Raises:
        UserError: a file that the assignment asks for is missing, or one is too large.
    """
    if missing := [name for name in files if not (tree / name).is_file()]:
        raise UserError(f"{tree / missing[0]}: missing; the assignment asks for it")

    def is_left_out(name: str) -> bool:
        return name in GIVEN or name.startswith(".") or name in environments

    environments = {path.parent.name for path in tree.glob("*/pyvenv.cfg")}
    paths = [Path(entry.path) for entry in files_below(tree, is_left_out)]
    taken = [p for p in paths if p.suffix in SUFFIXES and p.name not in GIVEN_FILES]
    for path in taken:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path}: more than {MOST_BYTES >> 20} MB; move it to another folder")
    with (
        whole_file(tree / ZIP) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for path in taken:
            archive.write(path, path.relative_to(tree).as_posix())
    return [path.relative_to(tree).as_posix() for path in taken]

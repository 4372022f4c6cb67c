"""Libraries that do what students are to write: out of the reach of students' code.

    python -m assignment.isolation.image      # as root, where an image of a machine is built

In a container or bubblewrap, what students may not import is not mounted, and `isolation.Job` puts
the files that `write_refusing` writes in the place of PyTorch's. The sandbox `user` mounts nothing.
So this command changes the machine: only root opens the other libraries, and the same files
overwrite PyTorch's.
"""

import ast
import os
import shutil
import sys
from pathlib import Path

from assignment.isolation import LIBRARY_ADAM, optim, other_libraries

REFUSAL = 'raise RuntimeError("PyTorch\'s Adam is not allowed: write this part yourself")'


def refusing(source: str) -> str:
    """Return a module in which each function refuses; names and arguments stay."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = ast.parse(REFUSAL).body
    return ast.unparse(tree)


def write_refusing(folder: Path) -> None:
    """Write PyTorch's LIBRARY_ADAM into a folder, refusing."""
    folder.mkdir(exist_ok=True)
    for name in LIBRARY_ADAM:
        source = (optim() / name).read_text(encoding="utf-8")
        (folder / name).write_text(refusing(source), encoding="utf-8")


def main() -> None:
    """Change this machine."""
    if os.geteuid() != 0:
        sys.exit("error: only root can keep other users from libraries; run as root")
    for path in other_libraries():
        path.chmod(0o700)
    write_refusing(optim())
    shutil.rmtree(optim() / "__pycache__", ignore_errors=True)
    print(f"{len(other_libraries())} folders of libraries: for root alone; {optim()}: refuses Adam")


if __name__ == "__main__":
    main()

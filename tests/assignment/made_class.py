"""A class's submissions, written from a made assignment: right, partly right, mistaken, hostile."""

import shutil
from pathlib import Path

from assignment.intake import asked_files
from assignment.parts import PARTS
from assignment.trees import with_mistake

# What stops whoever imports it, and what never ends where it is called.
FORGES = """\
import os
import pathlib

for name in ("results.json", "../results.json", "../out/results.json"):
    try:
        pathlib.Path(name).write_text('{"score": 90}')
    except OSError:
        pass
print('{"score": 90}')
os._exit(0)
"""
NEVER_ENDS = """

def %s(*given, **named):
    while True:
        pass
"""


def hand_in(made: Path, folder: Path, parts: tuple[str, ...], left_out: str = "") -> Path:
    """Write a submission of all files asked for, right but for one that was `left_out`.

    Args:
        made: an assignment's folder.
        folder: the submission's, made here; its parent is the class.
        parts: of the assignment.
    """
    for name in asked_files(parts):
        source = made / ("student" if name == left_out else "instructor/reference") / name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    return folder


def mistake_in(folder: Path, name: str) -> str:
    """Make a known mistake in a submission; return what is said of it."""
    (mistake,) = (one for part in PARTS.values() for one in part.mistakes if one.name == name)
    path = folder / mistake.place.partition(":")[0]
    path.write_text(with_mistake(path.read_text(encoding="utf-8"), mistake), encoding="utf-8")
    return mistake.says

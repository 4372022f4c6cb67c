"""`make`: writes a term's assignment, the student's folder and the instructor's."""

import json
import re
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from assignment.parts import chosen_parts, seed_of
from assignment.trees import KIT, ROOT, write_tree
from runtime.commands import exit_code
from runtime.errors import UserError
from runtime.files import whole_folder
from runtime.options import option, parse

LIBRARIES = ("torch", "numpy", "tokenizers", "safetensors", "tqdm", "huggingface_hub")
# The small BERT that `train.py` begins with.
CHECKPOINT = ("config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json")
# What grades, and scores predictions: it needs no reference, no mistakes and no data.
GRADING = ("assignment", "runtime", "data", "evaluation")
NOT_FOR_GRADING = shutil.ignore_patterns(
    "__pycache__", "starter", "mistakes", "bundled", "synthetic"
)


@dataclass(frozen=True)
class MakeOptions:
    """The options of `make`."""

    out: Path = option(help="output folder", required=True, metavar="DIR")
    parts: tuple[str, ...] = option((), "parts to include (default: all)", metavar="PART")
    term_seed: int | None = option(
        None,
        "for tests only: seed of the secrets; anyone who guesses it can reproduce them",
        least=0,
    )
    data: Path | None = option(
        None,
        "folder with CS224N's files (default: synthetic data drawn for this term)",
        metavar="DIR",
    )
    ai_usage: bool = option(False, "also hand out a form on the use of AI")
    force: bool = option(
        False, "replace the assignment in DIR, including its secrets and hidden tests"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Make what a command line names; return the exit code."""
    options = parse(
        MakeOptions,
        argv,
        prog="python -m assignment make",
        description="""\
Write a term's assignment: DIR/student to hand out, DIR/instructor to keep.""",
        epilog="""\
example:
  python -m assignment make --out fall --parts attention layer simcse

Exit codes: 0 success, 2 invalid input.""",
    )
    return exit_code(lambda: _make(options))


def _make(options: MakeOptions) -> None:
    if (options.out / "instructor").is_dir() and not options.force:
        raise UserError(
            f"{options.out}: already contains an assignment; a new one would have other "
            "secrets and hidden tests; name another folder, or give --force"
        )
    make(options.out, options.parts, secrets_of(options.term_seed), options.data, options.ai_usage)
    print(f"{options.out}/student: to hand out; {options.out}/instructor: to keep")
    if options.term_seed is not None:
        print(f"drawn with --term-seed {options.term_seed}: for tests only, not for a class")


def secrets_of(term_seed: int | None = None) -> dict[str, int]:
    """Return what each part of an assignment is drawn from, 128 bits that tell of no other.

    For tests all of them follow from a term's seed.
    """
    names = ("public", "hidden", "data")
    if term_seed is None:
        return {name: secrets.randbits(128) for name in names}
    return {name: seed_of(term_seed, name) for name in names}


def make(
    out: Path,
    names: Sequence[str],
    keys: dict[str, int],
    data: Path | None = None,
    ai_usage: bool = False,
) -> None:
    """Write an assignment of some parts, or of all; the folder appears whole or not at all."""
    # What draws, runs and renders imports slow libraries.
    from assignment.course_data import task_folders, write_data
    from assignment.handout import write_handout
    from assignment.suites import write_suites

    parts = chosen_parts(names)
    if out.exists() and any(out.iterdir()) and not (out / "instructor").is_dir():
        raise UserError(f"{out}: exists and is not an assignment; name another folder")
    if data is not None:
        task_folders(data)  # told now, not after the suites
    with (
        whole_folder(out) as folder,
        tempfile.TemporaryDirectory() as work,
        ProcessPoolExecutor(1, get_context("spawn")) as other_core,
    ):
        student, instructor = folder / "student", folder / "instructor"
        instructor.mkdir(mode=0o700)
        places = student / "datasets", instructor / "gold"
        data_written = other_core.submit(write_data, data, *places, keys["data"])
        write_tree(student, parts, solved=False)
        write_tree(instructor / "reference", parts, solved=True)
        mini = student / KIT / "minbert" / "mini"
        mini.mkdir()
        suites = {"public": student / "checks", "hidden": instructor / "hidden"}
        write_suites(suites, parts, keys, Path(work))
        (student / "requirements.txt").write_text(_requirements(), encoding="utf-8")
        for name in CHECKPOINT:
            shutil.copyfile(ROOT / "minbert" / "mini" / name, mini / name)
        write_handout(student, instructor, parts, ai_usage)
        data_written.result()
        _write_autograder(instructor, student)
        (instructor / "secrets.json").write_text(json.dumps(keys, indent=1) + "\n", "utf-8")
        for path in instructor.rglob("*"):
            path.chmod(0o700 if path.is_dir() or path.stat().st_mode & 0o100 else 0o600)


def _write_autograder(instructor: Path, student: Path) -> None:
    """Write what Gradescope builds its image from; what is in the folder is to be zipped."""
    folder = instructor / "autograder"
    for package in GRADING:
        shutil.copytree(ROOT / package, folder / package, ignore=NOT_FOR_GRADING)
    # Files that students do not hand in come from what was handed out.
    shutil.copytree(student, folder / "student", ignore=shutil.ignore_patterns("mini", "datasets"))
    for name in ("hidden", "reference"):
        shutil.copytree(instructor / name, folder / name)
    if any((instructor / "gold").iterdir()):
        shutil.copytree(instructor / "gold", folder / "gold")
    shutil.copyfile(ROOT / "requirements.txt", folder / "requirements.txt")
    for script in (ROOT / "assignment" / "templates" / "autograder").iterdir():
        shutil.copyfile(script, folder / script.name)
        (folder / script.name).chmod(0o755)


def _requirements() -> str:
    """Return the lines of our own requirements that the student's tree imports."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return "".join(f"{line}\n" for line in lines if re.match("|".join(LIBRARIES), line))

"""The commands that campaigns disturb, each a matter of a second, and what they must leave behind.

A scene works in a folder of its own; its inputs lie beside that.
"""

import csv
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from conftest import toy_sentences, write_checkpoint, write_data
from kites import DATA, archive
from safetensors import safe_open

import run_multitask
from data import download
from data.sources import RemoteFile
from minbert import pretrain
from minbert.encode import __main__ as encode
from runtime.files import SUMS, digest, fault_of, file_digest
from search import __main__ as search
from search import index

HOW = ("resume", "run_dir", "command", "commit")  # of a command, not of its numbers
TINY = "--device cpu --precision float32 --cost-seconds 0 --simcse-steps 4 --eval-steps 2".split()
TINY += ["--simcse-batch-size", "8", "--head-epochs", "2"]
CORPUS = "--length 16 --batch-size 8 --tokens 1536 --eval-steps 4 --warmup-steps 2 --layers 1"
CORPUS += " --hidden-size 64 --device cpu --precision float32"


@dataclass(frozen=True)
class Material:
    """What the scenes read: a checkpoint, data in the course's formats, a text, a server."""

    checkpoint: Path
    data: Path
    text: Path
    url: str = ""


def write_material(folder: Path) -> None:
    """Write it; `material` says where it is."""
    for name in ("checkpoint", "data"):
        (folder / name).mkdir()
    write_checkpoint(folder / "checkpoint")
    write_data(folder / "data")
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in toy_sentences(60, 5)))


def material(folder: Path, url: str = "") -> Material:
    """Return the material that `write_material` wrote into a folder."""
    return Material(folder / "checkpoint" / "tiny", folder / "data", folder / "text.txt", url)


@dataclass(frozen=True)
class Scene:
    """A command: `work(material, folder, again)` returns its exit code; `again` resumes."""

    name: str
    work: Callable[[Material, Path, bool], int]
    ranks: int = 1


def grid(words: str) -> Callable[[Material, Path, bool], int]:
    def work(given: Material, folder: Path, again: bool) -> int:
        argv = ["--backbone", str(given.checkpoint), "--data", str(given.data), *TINY]
        argv += ["--run-dir", str(folder / "run"), *words.split()]
        return run_multitask.main([*argv, *["--resume"][: int(again)]])

    return work


def _pretraining(given: Material, folder: Path, again: bool) -> int:
    argv = ["--corpus", str(given.text), "--valid", str(given.text), "--out", str(folder / "new")]
    # A vocabulary of one's own: the library that learns one breaks ties at random.
    argv += ["--vocab", str(given.checkpoint.with_name("vocab.txt")), *CORPUS.split()]
    return pretrain.main([*argv, *["--resume"][: int(again)]])


def _indexing(given: Material, folder: Path, again: bool) -> int:
    index.PART = 16  # four parts
    argv = ["index", str(given.text), "--out", str(folder / "index")]
    argv += ["--backbone", str(given.checkpoint), "--device", "cpu", "--precision", "float32"]
    return search.main(argv)


def _encoding(given: Material, folder: Path, again: bool) -> int:
    argv = [str(given.text), "--out", str(folder / "vectors"), "--shard-rows", "16"]  # four shards
    argv += ["--format", "npz", "--backbone", str(given.checkpoint)]
    return encode.main([*argv, *"--device cpu --precision float32".split()])


def _downloading(given: Material, folder: Path, again: bool) -> int:
    download.RETRY_PAUSE, download.BLOCK = 0.0, 1 << 13
    tar = archive({"kites/a.csv": DATA, "kites/b.csv": DATA[:999]})
    kites = RemoteFile("kites.csv", f"{given.url}/kites.csv", len(DATA))
    unknown = RemoteFile("unknown.csv", f"{given.url}/unknown.csv")
    folded = RemoteFile("kites.tar", f"{given.url}/kites.tar", len(tar), members=("kites",))
    download.SOURCES["cs224n"] = (kites, unknown, folded)
    return download.main(["cs224n", "--out", str(folder / "kites")])


SCENES = {
    scene.name: scene
    for scene in (
        Scene("grid", grid("--pretrain unsup --task sst sts --encoder bi cross")),
        Scene("frozen", grid("--pretrain sup --task para --encoder bi --no-baseline")),
        Scene("full", grid("--task sts --encoder cross --tune full")),
        Scene("joint", grid("--task sst sts --encoder bi --tune joint")),
        Scene("pretrain", _pretraining),
        Scene("search", _indexing),
        Scene("encode", _encoding),
        Scene("download", _downloading),
        Scene("two", grid("--pretrain unsup --task sts --encoder bi --no-baseline"), ranks=2),
    )
}


def left_in(folder: Path) -> dict[str, str]:
    """Return every file below a folder with the digest of what a repetition must give again."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_dir():
            found[f"{name}/"] = ""
        else:
            found[name] = _content(path)
    return found


def _content(path: Path) -> str:
    """Return the digest of a file without what is measured: seconds, and what follows from them."""
    if path.name == SUMS:
        return fault_of(path.parent) or "intact"
    if path.suffix == ".json":
        return digest(_lasting(json.loads(path.read_text("utf-8"))))
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        # Curve by curve: one that is written again moves to the end.
        return digest(_lasting(sorted(rows, key=lambda row: row["curve"])))
    if path.suffix == ".csv" and path.name == "results.csv":
        return digest([_lasting(row) for row in csv.DictReader(io.StringIO(path.read_text()))])
    if path.suffix == ".safetensors":
        with safe_open(path, "pt") as file:
            tensors = {name: _bits(file.get_tensor(name)) for name in sorted(file.keys())}
            about = {key: _lasting_text(text) for key, text in (file.metadata() or {}).items()}
            return digest([tensors, about])
    if path.suffix == ".pt":
        return digest(_lasting(torch.load(path, weights_only=True)))
    if path.name == "report.html":  # says when and how long; its numbers are those of the others
        return ""
    return file_digest(path)


def _bits(tensor: torch.Tensor) -> Any:
    return [str(tensor.dtype), list(tensor.shape), tensor.detach().view(-1).tolist()]


def _lasting_text(text: str) -> Any:
    try:
        return _lasting(json.loads(text))
    except ValueError:
        return text


def _lasting(value: Any) -> Any:
    """Return a value in JSON's kinds, without seconds, and whether the command resumed."""
    if isinstance(value, dict):
        kept = {str(k): v for k, v in value.items() if k not in HOW and "second" not in str(k)}
        return {key: _lasting(item) for key, item in kept.items()}
    if isinstance(value, list | tuple):
        return [_lasting(item) for item in value]
    return _bits(value) if isinstance(value, torch.Tensor) else value

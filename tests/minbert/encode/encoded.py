"""What the tests of `python -m minbert.encode` share: the command, and its folder read again."""

import json
from pathlib import Path

import numpy as np
from conftest import toy_sentences

from minbert.encode.__main__ import main


def command(out: Path, *words) -> int:
    """Run a command line in this process, on 20 texts per shard; return its exit code."""
    line = [*words, "--out", out, "--device", "cpu", "--precision", "float32"]
    return main([*map(str, line), "--shard-rows", "20"])


def write_lines(path: Path, count: int = 50) -> list[str]:
    """Write toy sentences, one per line; return them."""
    texts = toy_sentences(count, 3)
    path.write_text("".join(f"{text}\n" for text in texts))
    return texts


def manifest(out: Path) -> dict:
    """Return the manifest of a folder."""
    return json.loads((out / "manifest.json").read_text())


def columns(out: Path) -> tuple[list[str], np.ndarray]:
    """Return the ids and vectors of a folder of .npz files, shard by shard."""
    shards = [np.load(out / "vectors" / shard["file"]) for shard in manifest(out)["shards"]]
    ids = [id for shard in shards for id in shard["id"].tolist()]
    return ids, np.concatenate([shard["vector"] for shard in shards])


def files_of(out: Path) -> dict[str, bytes]:
    """Return the content of all shards' files, by folder and name; hidden ones are on their way."""
    paths = out.glob("vectors/[!.]*/vectors.*")
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}

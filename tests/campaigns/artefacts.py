"""Mutated artefacts: whoever reads them finds the same numbers, makes them again, or refuses.

What carries a digest (`sealed`) must never give other numbers. A user's own files, a checkpoint
from elsewhere or a run's JSON, may say something else than before; no file may end in a traceback.
"""

import json
import random
import resource
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from baselines.isbert import load_tuned
from campaigns import forked
from campaigns.kinds import TEXTS
from campaigns.mutations import mutated
from campaigns.outcomes import Trial, one_line
from campaigns.scenes import SCENES, Material, material, search, write_material
from heads.features import BiFeatures
from heads.inputs import frozen_embeddings
from heads.saved import load_head
from minbert.encoder import SentenceEncoder
from report.__main__ import main as report
from runtime.errors import UserError
from runtime.files import digest
from runtime.training import adamw, load_training, save_training
from simcse.stage import read_notes

MEMORY = 6 << 30  # bytes of address space: a header may promise any size


@dataclass(frozen=True)
class Artefact:
    """Files that a command leaves, and a way to ask for what is in them.

    Attributes:
        name: as in the table.
        pattern: which files below the folder of everything.
        ask: returns what is found, from the folder; or an exit code.
        sealed: whether a digest guards it.
    """

    name: str
    pattern: str
    ask: Callable[[Material, Path], str | int]
    sealed: bool = True


def _vectors(encoder: SentenceEncoder) -> str:
    return digest(encoder.encode(TEXTS).tolist())


def _encoder(folder: Path) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(folder), None, "cpu", "float32")


def _cached(given: Material, whole: Path) -> str:
    encoder = _encoder(given.checkpoint)
    items = [(text,) for text in TEXTS]
    features = BiFeatures("interaction")
    found = frozen_embeddings(encoder, encoder.fingerprint(), features, items, whole / "cache")
    return digest(np.asarray(found).tolist())


def _parts() -> dict[str, Any]:
    torch.manual_seed(0)
    layer = torch.nn.Linear(8, 8)
    return {"layer": layer, "optimizer": adamw([(layer, 1e-3)], 0.01)}


def _state(given: Material, whole: Path) -> str:
    parts = _parts()
    progress = load_training(whole / "state" / "one.state.pt", parts)
    weights = parts["layer"].weight.tolist()
    return digest([weights, repr(parts["optimizer"].state_dict()), progress])


def _tuned(given: Material, whole: Path) -> str:
    (folder,) = (whole / "backbones").glob("unsup-*")
    return _vectors(load_tuned(folder, "cpu", "float32")) + repr(read_notes(folder))


def _head(given: Material, whole: Path) -> str:
    path = whole / "run" / "heads" / "unsup-sts-cross-frozen-interaction-42.safetensors"
    opened = load_head(path, "cpu", "float32")
    return digest(opened.soft(list(zip(TEXTS[:6], TEXTS[6:], strict=True))).tolist())


def _query(given: Material, whole: Path) -> int:
    argv = ["query", str(whole / "index"), *TEXTS[:3], "--json", "--device", "cpu"]
    return search.main([*argv, "--precision", "float32"])


def _checkpoint(given: Material, whole: Path) -> str:
    return _vectors(_encoder(whole / "checkpoint"))


def _report(command: str) -> Callable[[Material, Path], int]:
    return lambda given, whole: report([command, str(whole / "run")])


def _compare(given: Material, whole: Path) -> int:
    sound = whole.with_name("whole") / "run"
    return report(["compare", str(whole / "run"), str(sound), "--data", str(given.data)])


def _again(given: Material, whole: Path) -> int:
    return SCENES["grid"].work(given, whole, True)


ARTEFACTS = [
    Artefact("cache", "cache/**/*", _cached),
    Artefact("state", "state/*.pt", _state),
    Artefact("tuned encoder", "backbones/unsup-*/**/*", _tuned),
    Artefact("head", "run/heads/*sts-cross*", _head),
    Artefact("index", "index/**/*", _query),
    Artefact("checkpoint", "checkpoint/**/*", _checkpoint, sealed=False),
    Artefact("run, report compare", "run/**/*[vzn]", _compare, sealed=False),
    Artefact("run, report html", "run/**/*[vznl]", _report("html"), sealed=False),
    Artefact("run, same command", "run/**/*[vznls]", _again, sealed=False),
]


def artefacts(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield `count` trials, in turn of each kind of artefact, or of `only` some."""
    draw = random.Random(seed)
    given = material(folder)
    kinds = [kind for kind in ARTEFACTS if not only or kind.name in only]
    tuned = any(kind.pattern.startswith(("run", "backbones")) for kind in kinds)
    ended = forked.run(lambda: _make(folder, given, tuned), folder)
    assert ended.code == 0, ended.said
    sound = {}
    for kind in kinds:
        _copied(folder)
        sound[kind.name] = _asked(kind, given, folder)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield _trial(kind, given, folder, sound[kind.name], draw)


def _make(folder: Path, given: Material, tuned: bool) -> int:
    """Leave one of everything in folder/whole; a run and its encoders only if they are needed."""
    whole = folder / "whole"
    whole.mkdir()
    write_material(folder)
    code = SCENES["search"].work(given, whole, False)
    if tuned:
        code = code or SCENES["grid"].work(given, whole, False)
        shutil.rmtree(whole / "cache")
    shutil.copytree(given.checkpoint, whole / "checkpoint")
    save_training(whole / "state" / "one.state.pt", _parts(), {"step": 3, "history": [0.5, 0.25]})
    return code or not _cached(given, whole)


def _asked(kind: Artefact, given: Material, folder: Path) -> forked.Ended:
    def work() -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            found = kind.ask(given, folder / "place")
        except (UserError, OSError) as error:  # as command lines do
            print(f"error: {error}")
            return 2
        if isinstance(found, int):
            return found
        print(found)
        return 0

    return forked.run(work, folder / "place")


def _copied(folder: Path) -> Path:
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    return Path(shutil.copytree(folder / "whole", place, symlinks=True))


def _trial(kind: Artefact, given: Material, folder: Path, sound: forked.Ended, draw: Any) -> Trial:
    assert sound.code == 0, f"{kind.name}: {sound.said}"
    place = _copied(folder)
    path = draw.choice(sorted(path for path in place.glob(kind.pattern) if path.is_file()))
    accident = f"{path.relative_to(place).as_posix()}: {_befall(path, path.read_bytes(), draw)}"
    ended = _asked(kind, given, folder)
    return Trial("artefacts", kind.name, accident, *_judged(kind, ended, sound))


def _befall(path: Path, content: bytes, draw: random.Random) -> str:
    """Do something to a file; return what."""
    if path.suffix in (".json", ".jsonl") and draw.random() < 0.5:
        what, content = "a value", _other_value(content, draw)
    elif draw.random() < 0.12:
        what = draw.choice(["gone", "a folder", "a link to nothing", "a block of zeros"])
        start = draw.randrange(len(content))
        content = content[:start] + bytes(len(content[start : start + 64])) + content[start + 64 :]
    else:
        what, content = mutated(content, draw)
    path.write_bytes(content)
    if what in ("gone", "a folder", "a link to nothing"):
        path.unlink()
    if what == "a folder":
        path.mkdir()
    if what == "a link to nothing":
        path.symlink_to("nothing")
    return what


def _other_value(content: bytes, draw: random.Random) -> bytes:
    """Put a value of another kind, or none, at some place of a JSON file."""
    first, _, rest = content.partition(b"\n") if content[:2] == b'{"' else (content, b"", b"")
    found = json.loads(first)
    place, key = found, None
    while isinstance(place, dict | list) and place:
        outer, keys = place, list(place) if isinstance(place, dict) else range(len(place))
        key = draw.choice(keys)
        place = outer[key]
        if draw.random() < 0.3:
            break
    if key is None:
        return b"null"
    values: list[Any] = [None, True, -1, 0, 1e308, float("nan"), "", "x" * 9999, [], {}, [[[]]]]
    values += [10**400, "\x1b[31m", "../../etc", ["a", 1], {"a": None}, 3.7, "\ud800"]
    outer[key] = draw.choice(values)
    if draw.random() < 0.2:
        del outer[key]
    return json.dumps(found).encode() + b"\n" + rest


def _judged(kind: Artefact, ended: forked.Ended, sound: forked.Ended) -> tuple[str, str]:
    if ended.code < 0:
        return ("hang" if ended.seconds >= forked.LONGEST else "crash"), ended.said[-500:]
    if "Traceback" in ended.said or ended.code not in (0, 2):
        return "traceback", ended.said[-1500:]
    if ended.code == 2:
        line = one_line(ended.said)
        return ("refused", line) if line else ("several lines", ended.said[-500:])
    if ended.said == sound.said:
        return "equal", ""
    return ("other numbers", ended.said[-300:]) if kind.sealed else ("read", "")

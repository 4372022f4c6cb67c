"""The contrastive stage as one call: a backbone in, a tuned and content-addressed folder out.

Reads: a checkpoint, sentences or triplets. Feeds: heads, through the folder it leaves.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import minbert
from data.simcse import iter_sentences, iter_triplets
from minbert.checkpoint import check_target
from minbert.config import CheckpointError
from minbert.distributed import barrier, is_main, main_decides, world_size
from minbert.encoder import SentenceEncoder
from minbert.mlm import head_digest
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import ContrastiveData, supervised, unsupervised

DevScore = Callable[[SentenceEncoder], float]


def stage_key(backbone: SentenceEncoder, config: SimCSEConfig, hashes: dict[str, str]) -> str:
    """Return the name of the tuned backbone: a hash of all that decides its weights.

    Args:
        backbone: as loaded, before tuning.
        config: the stage's settings.
        hashes: SHA-256 of the training data and of the selection set.
    """
    made_of = {
        "backbone": backbone.fingerprint(),
        "model": asdict(backbone.model.config),  # its dropout makes the views of unsup
        "config": asdict(config),
        "data": hashes,
        "version": minbert.__version__,
        "processes": world_size(),  # each draws its own dropout
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]


def loading_pooling(chosen: str | None) -> str | None:
    """Return what to load a backbone with that is to be tuned for the pooling `chosen`, if any.

    That one replaces the backbone's own, whether ours or not, and SimCSE's [CLS] brings a pooler.
    """
    return "cls_before_pooler" if chosen else None


def resolve_pooling(backbone: SentenceEncoder, config: SimCSEConfig) -> SimCSEConfig:
    """Fill in a pooling of None: an average that the backbone states, else SimCSE's [CLS]."""
    stated = backbone.stated_pooling or "cls"
    own = "cls" if stated.startswith("cls") else stated
    return replace(config, pooling=config.pooling or own)


def read_views(pretrain: str, path: Path, encoder: SentenceEncoder, length: int) -> ContrastiveData:
    """Tokenize the training file of `unsup` (sentences) or `sup` (triplets), as a stream."""
    if pretrain == "unsup":
        return unsupervised(iter_sentences(path), encoder.tokenizer, length)
    return supervised(iter_triplets(path), encoder.tokenizer, length)


def tuned_backbone(
    pretrain: str,
    backbone: Path,
    data_path: Path,
    config: SimCSEConfig,
    root: Path,
    dev_score: DevScore | None,
    hashes: dict[str, str],
    device: str = "auto",
    precision: str = "auto",
    resume: bool = False,
) -> Path:
    """Return the folder of the tuned backbone, tuning it unless an earlier run did.

    Args:
        pretrain: `unsup` or `sup`.
        backbone: the folder of the untuned weights.
        data_path: sentences or triplets.
        config: the stage's settings; its pooling gives way to one that the backbone states.
        root: the folder of all tuned backbones.
        dev_score: scores the encoder for checkpoint selection; None keeps the last state.
        hashes: SHA-256 of the training data and of the selection set.
        device, precision: as SentenceEncoder.
        resume: go on from the state of an interrupted run.
    """
    encoder = SentenceEncoder.from_pretrained(
        str(backbone), loading_pooling(config.pooling), device, precision
    )
    config = resolve_pooling(encoder, config)
    if config.mlm_weight:
        hashes = hashes | {"mlm head": head_digest(backbone)}
    folder = root / f"{pretrain}-{stage_key(encoder, config, hashes)}"
    if not main_decides((folder / "config.json").is_file()):
        tune(pretrain, encoder, data_path, config, folder, dev_score, backbone, resume)
    return folder


def tune(
    pretrain: str,
    encoder: SentenceEncoder,
    data_path: Path,
    config: SimCSEConfig,
    folder: Path,
    dev_score: DevScore | None,
    source: Path,
    resume: bool = False,
) -> None:
    """Tune `encoder` in place and save it in `folder`, whole or not at all.

    The resumable state lies beside the folder meanwhile; the curve goes into its training.json.
    """
    started = time.perf_counter()
    check_target(folder)
    views = read_views(pretrain, data_path, encoder, config.max_length)
    state_path = folder.with_name(folder.name + ".state.pt")
    score = None if dev_score is None else lambda: dev_score(encoder)
    trainer = SimCSETrainer(encoder, views, config, score, state_path, source)
    history = trainer.run(resume)
    notes: dict[str, Any] = {
        "pretrain": pretrain,
        "backbone": str(source),
        "data": data_path.name,
        "examples": len(views),
        "negatives_per_anchor": num_negatives(views.rows.shape[1], len(views), config),
        "config": asdict(config),
        "best_score": trainer.best_score,
        "seconds": time.perf_counter() - started,  # of the last leg, if it was resumed
        "history": history,
    }
    barrier()  # nobody reads the state any more
    if is_main():
        encoder.save(folder, notes)
        state_path.unlink(missing_ok=True)
    barrier()


def num_negatives(num_views: int, num_examples: int, config: SimCSEConfig) -> int:
    """Return how many texts a text is told apart from, in a full batch."""
    candidates = (num_views - 1) * min(config.batch_size, num_examples)
    if config.symmetric:  # those of its own view as well, but itself
        candidates += min(config.batch_size, num_examples) - 1
    return candidates - 1  # its partner


def read_notes(folder: Path) -> dict[str, Any]:
    """Return what `tune` noted beside its weights.

    Raises:
        CheckpointError: the file was damaged or taken away.
    """
    path = folder / "training.json"
    try:
        notes = json.loads(path.read_text(encoding="utf-8"))
        return {key: notes[key] for key in ("history", "best_score", "seconds")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path}: not a tuned backbone's notes ({error!r}); delete the folder to tune again"
        ) from None

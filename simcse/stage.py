"""The contrastive stage as one call: a backbone in, a tuned and content-addressed folder out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from data.examples import SentencePair
from data.overlap import Seen
from data.tables import content_digest
from minbert.checkpoint import tensors_digest
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.mlm import head_digest
from minbert.tokenizer import BertTokenizer
from runtime.errors import TrainingError
from runtime.files import digest, read_object
from runtime.processes import is_main, world_size
from runtime.store import Work, kept
from simcse.config import SimCSEConfig
from simcse.objectives import Objective, check_settings
from simcse.positives import iter_pairs, substitute
from simcse.train import SimCSETrainer
from simcse.views import ContrastiveData, supervised, unsupervised

FIRST = 2  # examples that show whether a batch of these settings can be learnt from

DevScore = Callable[[SentenceEncoder], float]
Geometry = Callable[[SentenceEncoder], dict[str, Any]]


@dataclass(frozen=True)
class Backbone:
    """An encoder as loaded, before any tuning."""

    folder: Path
    encoder: SentenceEncoder

    @cached_property
    def weights(self) -> str:
        """Return the SHA-256 of the weights; computed once, as hashing takes a moment."""
        return tensors_digest(self.encoder.model.state_dict())


@dataclass(frozen=True)
class TrainingTexts:
    """What a contrastive stage trains on."""

    name: str  # of the file
    data: ContrastiveData
    digests: dict[str, str]  # SHA-256 of the file and of the selection set
    # The training file ("trained_on") and the folder of the selection set ("selected_by"): an
    # evaluation reads them again, to tell what the tuned encoder has seen.
    sources: dict[str, str] = field(default_factory=dict)


def read_texts(
    objective: Objective,
    path: Path,
    backbone: Backbone,
    config: SimCSEConfig,
    selection: Sequence[SentencePair],
    folder: Path,
    seen: Seen | None = None,
) -> TrainingTexts:
    """Return a training file as token ids, read once.

    Args:
        objective, path, backbone, config: which texts belong together, the file, what will be tuned
            and how.
        selection: the pairs that checkpoints are selected by, [] for none.
        folder: the data folder that they come from.
        seen: where to note all these texts, for the leak audit.

    Raises:
        TrainingError: settings that cannot work.
    """
    check_settings(backbone.encoder.model.config, config)
    tokenizer = backbone.encoder.tokenizer
    data = _views(objective, path, tokenizer, config, seen)
    objective.check(config, data)
    if config.positive == "mlm":
        data = substitute(data, backbone.encoder, backbone.folder, config.positive_share)
    elif config.positive == "crop+mlm":
        data = substitute(data, backbone.encoder, backbone.folder)
    if seen is not None:
        seen.add_examples(selection)
    digests = {
        objective.name: content_digest(path),
        "selection": digest([asdict(pair) for pair in selection]),
    }
    sources = {"trained_on": str(path.absolute())}
    if selection:
        sources["selected_by"] = str(folder.absolute())
    return TrainingTexts(path.name, data, digests, sources)


def check_first(
    objective: Objective, path: Path, tokenizer: BertTokenizer, config: SimCSEConfig
) -> None:
    """Raise TrainingError where the first examples of a file show that nothing can be learnt.

    So --dry-run refuses what `read_texts` would, without reading a million sentences.
    """
    objective.check(config, _views(objective, path, tokenizer, config, None, most=FIRST))


def _views(
    objective: Objective,
    path: Path,
    tokenizer: BertTokenizer,
    config: SimCSEConfig,
    seen: Seen | None,
    most: int | None = None,
) -> ContrastiveData:
    """Return the examples of a file, or the first of them, with the positives that are asked for.

    What `mlm` is to replace in a positive is yet as it was.
    """
    if config.positive == "same":
        examples = objective.read(path)
        return objective.views(islice(examples, most), tokenizer, config.max_length, seen)
    if objective.views is not unsupervised:
        raise TrainingError(
            f"--positive is for unsup and dual, not for {objective.name}; leave one out"
        )
    pairs = iter_pairs(path, config.positive, config.positive_share)
    return supervised(islice(pairs, most), tokenizer, config.max_length, seen)


def decisive(
    backbone: Backbone, objective: Objective, config: SimCSEConfig, digests: dict[str, str]
) -> dict[str, Any]:
    """Return everything that decides the weights of a tuned backbone, by its name."""
    if config.mlm_weight or "mlm" in config.positive:
        digests = digests | {"mlm head": head_digest(backbone.folder)}
    if objective.teacher:
        digests = digests | {"teacher": objective.teacher.fingerprint}
    return {
        "objective": objective.name,
        "backbone": backbone.encoder.fingerprint(backbone.weights),
        # Its dropout makes the two views of unsupervised SimCSE.
        "model": asdict(backbone.encoder.model.config),
        "stated pooling": backbone.encoder.stated_pooling,
        "config": asdict(config),
        "data": digests,
        "processes": world_size(),  # each draws its own dropout
    }


def tuned_backbone(
    objective: Objective,
    backbone: Backbone,
    texts: TrainingTexts,
    config: SimCSEConfig,
    root: Path,
    *,
    dev_score: DevScore | None = None,
    geometry: Geometry | None = None,
    resume: bool = False,
) -> Path:
    """Return the folder of the tuned backbone, tuning it unless an earlier run did.

    Args:
        objective, backbone, texts, config: what is tuned, and how; the backbone is not changed.
        root: the folder of all tuned backbones.
        dev_score: scores the encoder for checkpoint selection; None keeps the last state.
        geometry: measures the encoder every `config.geometry_steps`, for the curves.
        resume: continue from the state of an interrupted run.

    Raises:
        KeptError: the folder is damaged.
        TrainingError: settings that cannot work.
    """

    def make(work: Work) -> None:
        started = time.perf_counter()
        encoder, data = backbone.encoder.clone(), texts.data
        if objective.teacher:
            embeddings = objective.teacher.embeddings(Path(texts.sources["trained_on"]))
            data = replace(data, labels=embeddings)
        trainer: SimCSETrainer
        # What is scored is what is saved: a form may put something on top of the encoder.
        score = None if dev_score is None else lambda: dev_score(trainer.form.reader)
        points = None if geometry is None else lambda: geometry(trainer.form.reader)
        trainer = SimCSETrainer(
            encoder, data, config, score, work.state, backbone.folder, objective.form, points
        )
        history = trainer.run(resume)
        negatives = num_negatives(data.rows.shape[1], len(data), config)
        notes: dict[str, Any] = {
            "pretrain": objective.name,
            "backbone": str(backbone.folder),
            "data": texts.name,
            **texts.sources,
            "examples": len(data),
            "negatives_per_anchor": negatives if trainer.form.in_batch else None,
            "config": asdict(config),
            "pooling": encoder.pooling,
            "best_score": trainer.best_score,
            "threads": torch.get_num_threads(),  # sums in another order differ in their last digits
            "seconds": time.perf_counter() - started,  # since the last resumption, if there was one
            "history": history,
        }
        if is_main():
            trainer.form.reader.save(work.folder, notes)

    made_of = decisive(backbone, objective, config, texts.digests)
    return kept("backbone", made_of, make, root, name=objective.name, together=True)


def num_negatives(num_views: int, num_examples: int, config: SimCSEConfig) -> int:
    """Return the number of negatives per anchor in a full batch."""
    candidates = (num_views - 1) * min(config.batch_size, num_examples)
    if config.symmetric:  # also those of its own view, except itself
        candidates += min(config.batch_size, num_examples) - 1
    return candidates - 1  # minus its partner


def read_notes(folder: Path) -> dict[str, Any]:
    """Return what `tuned_backbone` noted beside its weights."""
    path = folder / "training.json"
    notes = read_object(path, CheckpointError)
    for name in ("history", "best_score", "seconds"):
        if name not in notes:
            raise CheckpointError(f"{path}: {name} is missing; delete the folder to tune again")
    return {"threads": None} | notes  # earlier versions did not note them

"""BERT's own head on [CLS], as published classifiers and cross-encoders have it, in and out.

transformers reads such a folder as `BertForSequenceClassification` (`Roberta...`, `XLMRoberta...`),
sentence-transformers as a `CrossEncoder`, which applies an activation to the logits.
Legend: B examples, H hidden_size, C logits of an example, which are called labels.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from minbert.checkpoint import Tensors, load_module, write_tensors
from minbert.config import BertConfig, CheckpointError
from minbert.model import BertModel
from runtime.files import read_object

MOST_LABELS = 10_000


class BertClassifier(nn.Module):
    """BERT's pooler (dense and tanh) and a linear layer.

    Args:
        hidden_size: H.
        num_labels: C.
        activation: the class of torch.nn that makes scores of logits, such as `Sigmoid`.
    """

    def __init__(self, hidden_size: int, num_labels: int, activation: str):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, num_labels)
        self.activation = activation

    def forward(self, cls_states: Tensor) -> Tensor:
        """Return logits (B, C) of the last [CLS] states (B, H)."""
        # (B, H) -> (B, H) -> (B, C). Without BERT's dropout between the two, which is for training.
        logits: Tensor = self.out(torch.tanh(self.dense(cls_states)))
        return logits


def stated_labels(folder: Path) -> int | None:
    """Return how many labels a checkpoint's own head has, None if it has no such head.

    Raises:
        CheckpointError: config.json is damaged or states no number.
    """
    path = folder / "config.json"
    raw = read_object(path, CheckpointError) if path.is_file() else {}
    names = raw.get("architectures")
    if not isinstance(names, list) or not str(names[:1]).endswith("ForSequenceClassification']"):
        return None
    # transformers writes names of the labels, unless there are two without a name.
    named = raw.get("id2label") or raw.get("num_labels", 2)
    labels = len(named) if isinstance(named, dict) else named
    if not isinstance(labels, int) or not 1 <= labels <= MOST_LABELS:
        raise CheckpointError(f"{path}: num_labels is {labels!r:.60}; expected 1 or more")
    return labels


def read_classifier(folder: Path, config: BertConfig, tensors: Tensors) -> BertClassifier | None:
    """Return a checkpoint's own head, None if it has none.

    Args:
        folder: the checkpoint's.
        config: of its encoder.
        tensors: its weights, as `read_tensors` returns them.

    Raises:
        CheckpointError: a tensor of the head is missing or has another shape.
    """
    labels = stated_labels(folder)
    if labels is None:
        return None
    classifier = BertClassifier(config.hidden_size, labels, _activation(folder, labels))
    # bert.pooler.dense.weight was read as pooler.dense.weight: the encoder's prefix is gone.
    parts = zip(("dense.", "out."), config.architecture.classifier, strict=True)
    names = {ours: theirs.removeprefix(config.architecture.prefix) for ours, theirs in parts}
    own = {
        ours + kind: tensors[theirs + kind]
        for ours, theirs in names.items()
        for kind in ("weight", "bias")
        if theirs + kind in tensors
    }
    load_module(classifier, own, folder)
    # It only scores; what is trained from it is a copy.
    return classifier.requires_grad_(False)


def _activation(folder: Path, labels: int) -> str:
    """Return the activation of torch.nn that sentence-transformers would apply to the logits.

    Raises:
        CheckpointError: one of torch's that cannot be made by its name alone.
    """
    # Its places: in a folder that it saved itself, since version 4, and before.
    settings, saved = folder / "config_sentence_transformers.json", folder / "modules.json"
    newest = {}
    if settings.is_file() and saved.is_file():
        newest = read_object(settings, CheckpointError)
    raw = read_object(folder / "config.json", CheckpointError)
    newer = raw.get("sentence_transformers")
    stated = newest.get("activation_fn") or (
        newer.get("activation_fn")
        if isinstance(newer, dict)
        else raw.get("sbert_ce_default_activation_function")
    )
    # It runs no code of a model's author unless told to, and neither do we.
    if not str(stated).startswith("torch."):
        return "Sigmoid" if labels == 1 else "Identity"
    name = str(stated).rpartition(".")[2]
    # Not everything in torch.nn is an activation, and some of them need arguments: it is tried.
    try:
        getattr(nn, name)()(torch.zeros(1))
    except Exception:
        raise CheckpointError(f"{folder}: unknown activation {stated!r:.60}") from None
    return name


def write_classifier(folder: Path, model: BertModel, classifier: BertClassifier) -> None:
    """Write config.json and weights of an encoder with such a head; `read_classifier` reads it."""
    architecture, labels = model.config.architecture, classifier.out.out_features
    # transformers counts the labels by their names.
    config: dict[str, Any] = model.config.to_dict() | {
        "architectures": [f"{architecture.class_name}ForSequenceClassification"],
        "id2label": {str(label): f"LABEL_{label}" for label in range(labels)},
        "label2id": {f"LABEL_{label}": label for label in range(labels)},
    }
    places = {"Identity": "linear"}  # all other activations are in one file of PyTorch
    path = f"torch.nn.modules.{places.get(classifier.activation, 'activation')}"
    config["sentence_transformers"] = {"activation_fn": f"{path}.{classifier.activation}"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    dense, out = architecture.classifier
    tensors = {
        architecture.prefix + key: tensor
        for key, tensor in model.state_dict().items()
        # The head has a pooler of its own: BERT's name for it, and RoBERTa's model has no other.
        if not key.startswith("pooler.")
    }
    for name, layer in ((dense, classifier.dense), (out, classifier.out)):
        tensors |= {name + kind: tensor for kind, tensor in layer.state_dict().items()}
    write_tensors(tensors, folder / "model.safetensors")

"""Read and write BERT's classification head on [CLS], as in published cross-encoders.

transformers reads such a folder as `BertForSequenceClassification` (`Roberta...`, `XLMRoberta...`),
sentence-transformers as a `CrossEncoder`, which applies an activation to the logits.
Legend: B examples, H hidden_size, C logits of an example, which are called labels.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from minbert.checkpoint import Tensors, load_module, write_tensors
from minbert.config import CheckpointError
from minbert.folder import CheckpointFolder, write_json
from minbert.model import BertModel

MOST_LABELS = 10_000


class BertClassifier(nn.Module):
    """BERT's pooler (dense and tanh) and a linear layer.

    `activation` is the class of torch.nn that turns logits into scores, such as `Sigmoid`;
    `labels` are the names of the logits in the checkpoint, () for none.
    """

    labels: tuple[str, ...] = ()

    def __init__(self, hidden_size: int, num_labels: int, activation: str):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, num_labels)
        self.activation = activation

    def forward(self, cls_states: Tensor) -> Tensor:
        """Return logits (B, C) of the last [CLS] states (B, H)."""
        # (B, H) -> (B, H) -> (B, C). BERT's dropout between the two is only used in training.
        logits: Tensor = self.out(torch.tanh(self.dense(cls_states)))
        return logits


def stated_labels(folder: CheckpointFolder) -> int | None:
    """Return the number of labels of a checkpoint's head, None if it has no such head."""
    raw = folder.encoder.config
    names = raw.get("architectures")
    if not isinstance(names, list) or not str(names[:1]).endswith("ForSequenceClassification']"):
        return None
    # transformers writes the label names, unless there are two labels without names.
    named = raw.get("id2label") or raw.get("num_labels", 2)
    labels = len(named) if isinstance(named, dict) else named
    if not isinstance(labels, int) or not 1 <= labels <= MOST_LABELS:
        raise CheckpointError(
            f"{folder}/config.json: num_labels is {labels!r:.60}; expected 1 or more"
        )
    return labels


def read_classifier(folder: CheckpointFolder, tensors: Tensors) -> BertClassifier | None:
    """Return a checkpoint's head, None if it has none; `tensors` come from `read_tensors`."""
    labels, config = stated_labels(folder), folder.bert_config
    if labels is None:
        return None
    classifier = BertClassifier(config.hidden_size, labels, _activation(folder, labels)).float()
    if isinstance(named := folder.encoder.config.get("id2label"), dict):
        classifier.labels = tuple(str(named.get(str(label))) for label in range(labels))
    head = {}
    for ours, theirs in zip(("dense.", "out."), config.architecture.classifier, strict=True):
        # bert.pooler.dense.weight was read as pooler.dense.weight: the encoder's prefix is gone.
        name = theirs.removeprefix(config.architecture.prefix)
        for part in ("weight", "bias"):
            if name + part in tensors:
                head[ours + part] = tensors[name + part]
    load_module(classifier, head, folder.path)
    # It is only used for scoring; training works on a copy.
    return classifier.requires_grad_(False)


def _activation(folder: CheckpointFolder, labels: int) -> str:
    """Return the activation of torch.nn that sentence-transformers would apply to the logits."""
    # Its three places: in a folder of sentence-transformers, since version 4, and before.
    stated = None
    if folder.has("modules.json"):
        stated = folder.config_sentence_transformers.get("activation_fn")
    raw = folder.encoder.config
    newer = raw.get("sentence_transformers")
    if not stated and isinstance(newer, dict):
        stated = newer.get("activation_fn")
    elif not stated:
        stated = raw.get("sbert_ce_default_activation_function")
    # sentence-transformers runs a model author's code only on request; we never do.
    if not str(stated).startswith("torch."):
        return "Sigmoid" if labels == 1 else "Identity"
    name = str(stated).rpartition(".")[2]
    # Some classes of torch.nn are not activations, and some need arguments, so it is tried.
    try:
        getattr(nn, name)()(torch.zeros(1))
    except Exception:
        raise CheckpointError(f"{folder}: unknown activation {stated!r:.60}") from None
    return name


def write_classifier(
    folder: Path, model: BertModel, classifier: BertClassifier, labels: Sequence[str] = ()
) -> None:
    """Write config.json and weights of an encoder with such a head; `read_classifier` reads it.

    `labels` are the names of its logits, () for those of transformers.
    """
    architecture = model.config.architecture
    # transformers counts the labels by their names.
    labels = labels or [f"LABEL_{label}" for label in range(classifier.out.out_features)]
    config: dict[str, Any] = model.config.to_dict() | {
        "architectures": [f"{architecture.class_name}ForSequenceClassification"],
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
    }
    places = {"Identity": "linear"}  # all other activations are in one file of PyTorch
    path = f"torch.nn.modules.{places.get(classifier.activation, 'activation')}"
    config["sentence_transformers"] = {"activation_fn": f"{path}.{classifier.activation}"}
    write_json(folder / "config.json", config)
    dense, out = architecture.classifier
    tensors = {
        architecture.prefix + key: tensor
        for key, tensor in model.state_dict().items()
        # The pooler is written below with the head; RoBERTa's classifiers have no other pooler.
        if not key.startswith("pooler.")
    }
    for name, layer in ((dense, classifier.dense), (out, classifier.out)):
        tensors |= {name + part: tensor for part, tensor in layer.state_dict().items()}
    write_tensors(tensors, folder / "model.safetensors")

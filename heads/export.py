"""A cell as a folder that others load: encoder, head and model card.

A bi-encoder leaves as a `SentenceTransformer` with its head's weights beside it, a cross-encoder
whose head is BERT's own classifier (`--features cls`) as a `CrossEncoder`, whole.
"""

import copy
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.tasks import Task
from heads.heads import reads_cls
from heads.published import to_classifier
from heads.saved import FinishedCell, SavedHead
from minbert.checkpoint import whole_checkpoint
from minbert.classifier import write_classifier
from minbert.encoder import SentenceEncoder
from runtime.files import read_object

HEAD = "head.safetensors"


def export_folder(cell: FinishedCell, head: SavedHead, out: Path) -> None:
    """Write a cell as a folder that `SentenceTransformer` or `CrossEncoder` loads, with a card.

    Raises:
        DataError: sentence-transformers has no form of its encoder or of its head.
        CheckpointError: `out` holds something other than a checkpoint.
    """
    if head.reader == "late":
        raise DataError(f"{cell.name}: of late interaction others have no such head; use predict")
    as_classifier = reads_cls(head.task, head.reader, head.features.form)
    if head.reader != "bi" and not as_classifier:
        raise DataError(
            f"{cell.name}: CrossEncoder has no head on {head.features.form} features; train with "
            "--features cls, or give --onnx FILE"
        )
    if type(head.encoder) is not SentenceEncoder:
        raise DataError(f"{cell.name}: sentence-transformers has no form of IS-BERT's convolutions")
    if as_classifier and head.reader == "bi" and head.encoder.pooling != "cls_before_pooler":
        raise DataError(
            f"{cell.name}: a classifier reads [CLS] itself, not pooling {head.encoder.pooling}; "
            "train with --pooling cls_before_pooler, or give --onnx FILE"
        )
    # The card reads the run's files: what is damaged is told before anything is written.
    card = model_card(cell, head, out, as_classifier)
    # A shallow copy: another flag, the same weights.
    encoder = copy.copy(head.encoder)
    # Embeddings side by side are read with their lengths; other features do without.
    encoder.normalize = encoder.normalize and head.features.form != "concat"
    with whole_checkpoint(out) as folder:
        if as_classifier:
            write_classifier(folder, encoder.model, to_classifier(head.head))
            # A CrossEncoder cuts pairs where its tokenizer does.
            encoder.tokenizer.save(folder, encoder.max_length)
        else:
            encoder.save(folder)
            shutil.copyfile(cell.path, folder / HEAD)
        (folder / "README.md").write_text(card, encoding="utf-8")


def model_card(cell: FinishedCell, head: SavedHead, out: Path, as_classifier: bool) -> str:
    """Return README.md: what it is, how it scored, which command made it, how it is used."""
    if as_classifier:
        name = "cross-encoder" if head.reader == "cross" else "classifier"
        reads = "both texts are read at once" if head.task.is_pair else "a text is read"
        reads += ", and BERT's pooler and classifier score its [CLS]"
        use = _classifier_use(head, out)
    else:
        name = "bi-encoder"
        reads = "every text is encoded alone, and a small head reads the embeddings"
        use = _embeddings_use(head, out)
    task, entry = head.task, cell.scores[0]
    # RUN/heads/CELL.safetensors: the run's settings are two folders up.
    config = read_object(cell.path.parent.parent / "config.json", DataError)
    stage = "as loaded" if entry["pretrain"] == "none" else f"SimCSE, `{entry['pretrain']}`"
    return f"""\
---
library_name: sentence-transformers
pipeline_tag: {"sentence-similarity" if task.is_pair else "text-classification"}
tags: [simcse, {name}]
---

# {cell.name}

A {name} for {task.about}: {reads}.

| | |
|---|---|
| backbone | {entry["backbone"]} |
| contrastive stage | {stage} |
| tuning | {entry["tune"]} |
| head's features | {entry["features"]} |
| pooling | {head.encoder.pooling} |
| data | {entry["data"]}, task {task.name} |
| training rows | {entry.get("train_rows", "all")} |
| seed | {entry["seed"]} |
| made by | `{_command(config)}` |

## Scores

| split | rows | with texts seen in training | {" | ".join(task.metrics)} |
|---|---|---|{"---|" * len(task.metrics)}
{chr(10).join(_score_rows(cell, task))}

In brackets: 95 % intervals over the rows. The best epoch was chosen on dev.

## Use

{use}
"""


def _embeddings_use(head: SavedHead, out: Path) -> str:
    return f"""\
Embeddings:

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer({str(out)!r})
embeddings = model.encode(["a man plays the guitar", "someone makes music"])
```

With the head:

```python
{_program(head, out)}
```"""


def _classifier_use(head: SavedHead, out: Path) -> str:
    """Return programs that score with sentence-transformers, or a single text with transformers."""
    if not head.task.is_pair:
        return f"""\
```python
from transformers import AutoModelForSequenceClassification, AutoTokenizer

model = AutoModelForSequenceClassification.from_pretrained({str(out)!r}).eval()
tokenizer = AutoTokenizer.from_pretrained({str(out)!r})
tokens = tokenizer("a first text", truncation=True, return_tensors="pt")
prediction = model(**tokens).logits.argmax(dim=-1)
```"""
    what = "a probability each" if head.task.label_kind == "binary" else "a score each"
    if head.task.label_kind == "classes":
        what = "the logits of the classes"
    return f"""\
```python
from sentence_transformers import CrossEncoder

model = CrossEncoder({str(out)!r})
scores = model.predict([("a first text", "a second one")])  # {what}
```"""


def _command(config: dict[str, Any]) -> str:
    """Return the command line of a run; the program by its name, wherever it stood."""
    words = [str(word) for word in config.get("command", [])]
    return shlex.join(["python", Path(words[0]).name, *words[1:]]) if words else "not known"


def _score_rows(cell: FinishedCell, task: Task) -> Iterator[str]:
    for entry in cell.scores:
        seen = entry.get("overlap", {}).get("sentences")
        fields = [entry["split"], f"{entry['n']:,}", "not known" if seen is None else f"{seen:.1%}"]
        for metric in task.metrics:
            value, interval = entry["metrics"].get(metric), entry.get("interval", {}).get(metric)
            field = "not defined" if value is None else f"{value:.3f}"
            if interval:
                field += f" [{interval['low']:.3f}, {interval['high']:.3f}]"
            fields.append(field)
        yield f"| {' | '.join(fields)} |"


def _program(head: SavedHead, out: Path) -> str:
    """Return a program that predicts with what the folder holds, without this project."""
    task, concat = head.task, head.features.form == "concat"
    names = ["u", "v"][: task.num_texts]
    texts = ['"a first text"', '"a second one"'][: task.num_texts]
    lines = [
        "import torch",
        "import torch.nn.functional as F",
        "from safetensors.torch import load_file",
        "",
    ]
    lines.append(f"weights = load_file({str(out / HEAD)!r})")
    # As BiFeatures.combine: the embeddings side by side, or at unit size with |u - v| and u * v.
    for name, text in zip(names, texts, strict=True):
        lines.append(f"{name} = torch.from_numpy(model.encode([{text}]))")
        if not concat:
            lines.append(f"{name} = F.normalize({name}, dim=-1) * {name}.shape[-1] ** 0.5")
    if task.is_pair:
        more = "" if concat else ", (u - v).abs(), u * v"
        lines.append(f"x = torch.cat([u, v{more}], dim=-1)")
    else:
        lines.append("x = u")
    # Which of the head's layers have weights: those between them are ReLU and dropout.
    *hidden, last = (n for n, layer in enumerate(head.head.layers) if hasattr(layer, "weight"))
    lines.append(f"for n in {hidden}:")
    layer = "F.linear(x, weights[f'layers.{n}.weight'], weights[f'layers.{n}.bias'])"
    lines.append(f"    x = {layer}.relu()")
    lines.append(f"logits = {layer.replace('{n}', str(last)).replace('[f', '[')}")
    # As Head.predict: argmax, the logit's sign, or a sigmoid that spans the scale of the labels.
    ends = {
        "classes": "prediction = logits.argmax(dim=-1)  # probabilities: logits.softmax(dim=-1)",
        "binary": "prediction = (logits[:, 0] > 0).long()  # probability: logits.sigmoid()",
        "score": f"prediction = {task.largest} * logits[:, 0].sigmoid()",
    }
    return "\n".join([*lines, ends[task.label_kind]])

"""Export a cell as a folder for other libraries: encoder, head and model card.

A bi-encoder is exported as a `SentenceTransformer`, with its head's weights in a separate file. A
cross-encoder whose head is BERT's classifier (`--features cls`) is exported as a `CrossEncoder`.
"""

import copy
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data.examples import DataError
from data.tasks import Task
from heads.heads import reads_cls
from heads.published import to_classifier
from heads.saved import FinishedCell, SavedHead
from heads.temperature import FEWEST
from minbert.checkpoint import whole_checkpoint
from minbert.classifier import write_classifier
from minbert.encoder import SentenceEncoder
from runtime.files import read_object

HEAD = "head.safetensors"
# By label kind, the predictions of a CrossEncoder.
GIVES = {
    "classes": "the logits of the classes",
    "binary": "a probability each",
    "score": "a score each",
    "ranking": "a cosine each",
}


def export_folder(cell: FinishedCell, head: SavedHead, out: Path) -> None:
    """Write a cell as a folder that `SentenceTransformer` or `CrossEncoder` loads, with a card.

    Raises:
        DataError: sentence-transformers has no form of its encoder or of its head.
        CheckpointError: `out` holds something other than a checkpoint.
    """
    if problem := why_no_folder(head):
        raise DataError(f"{cell.name}: {problem}")
    as_classifier = reads_cls(head.task, head.reader, head.features.form)
    # The card reads the run's files, so damaged files are reported before anything is written.
    card = model_card(cell, head, out, as_classifier)
    # A shallow copy with another flag and the same weights.
    encoder = copy.copy(head.encoder)
    # `concat` uses the lengths of embeddings; other features do not.
    encoder.normalize = encoder.normalize and head.features.form != "concat"
    with whole_checkpoint(out) as folder:
        if as_classifier:
            words = head.task.words if head.task.label_kind == "classes" else ()
            write_classifier(folder, encoder.model, to_classifier(head.head), words)
            # A CrossEncoder cuts pairs at the length of its tokenizer.
            encoder.tokenizer.save(folder, encoder.max_length)
        else:
            encoder.save(folder)
            shutil.copyfile(cell.path, folder / HEAD)
        (folder / "README.md").write_text(card, encoding="utf-8")


def why_no_folder(head: SavedHead) -> str:
    """Return why sentence-transformers cannot represent a head and encoder, "" if it can."""
    as_classifier = reads_cls(head.task, head.reader, head.features.form)
    if head.reader == "late":
        return "of late interaction others have no such head; use predict"
    if head.reader != "bi" and not as_classifier:
        return (
            f"CrossEncoder has no head on {head.features.form} features; train with "
            "--features cls, or give --onnx FILE"
        )
    if type(head.encoder) is not SentenceEncoder:
        return "sentence-transformers has no form of IS-BERT's convolutions"
    if as_classifier and head.reader == "bi" and len(head.encoder.steps):
        return "a classifier reads [CLS] directly, without a Dense layer; give --onnx FILE"
    if as_classifier and head.reader == "bi" and head.encoder.pooling != "cls_before_pooler":
        return (
            f"a classifier reads [CLS], not pooling {head.encoder.pooling}; "
            "train with --pooling cls_before_pooler, or give --onnx FILE"
        )
    return ""


def how_chosen(scores: Mapping[str, Any], task: Task) -> str:
    """Return how the epochs of a head were chosen, from its entry in results.json, or ""."""
    select, choice = scores.get("select"), scores.get("choice") or {}
    if task.label_kind == "ranking" or not select or scores["tune"] == "none":
        return ""
    words = ["Nothing was chosen: all epochs were trained."]
    if select == "dev":
        words = ["The best epoch was chosen on dev."]
    if choice:
        by = f"chosen on {choice['chosen_by']:,} held-out training rows."
        if select != "dev":
            words = [f"The number of epochs, {choice['epochs']}, was {by}"]
        if len(choice["tried"]) > 1:
            words.append(f"The encoder's learning rate, {choice['rate']:g}, was {by}")
        if task.label_kind in ("binary", "classes") and choice["chosen_by"] >= FEWEST:
            words.append("These rows calibrated the probabilities, too.")
    return " ".join(words)


def _shareable(path: str) -> str:
    """Return a path without the folders of this machine: of an absolute one the last part."""
    return Path(path).name if Path(path).is_absolute() else path


def model_card(cell: FinishedCell, head: SavedHead, out: Path, as_classifier: bool) -> str:
    """Return README.md: description, scores, the command of the run, and usage."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    task = head.task
    kind, reads = (
        "bi-encoder",
        "each text is encoded separately, and a small head reads the embeddings",
    )
    if as_classifier:
        kind = "cross-encoder" if head.reader == "cross" else "classifier"
        reads = "both texts are read at once" if task.is_pair else "a text is read"
        reads += ", and BERT's pooler and classifier score its [CLS]"
    # RUN/heads/CELL.safetensors: the run's settings are two folders up.
    config = read_object(cell.path.parent.parent / "config.json", DataError)
    # The program by its name, without its folder.
    words = [_shareable(str(word)) for word in config.get("command", [])]
    command = shlex.join(["python", Path(words[0]).name, *words[1:]]) if words else "not known"
    # The layers of the head with weights; those between are activations and dropout.
    layers = enumerate(getattr(head.head, "layers", ()))  # a cosine has none
    *hidden, last = [n for n, layer in layers if hasattr(layer, "weight")] or [0]
    first = cell.scores[0] | {key: _shareable(cell.scores[0][key]) for key in ("backbone", "data")}
    place = Path(_shareable(str(out)))
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("card.md.j2").render(
        cell=cell,
        first=first,
        chosen=how_chosen(first, head.task),
        task=task,
        kind=kind,
        reads=reads,
        pooling=head.encoder.pooling,
        command=command,
        as_classifier=as_classifier,
        concat=head.features.form == "concat",
        folder=repr(str(place)),
        weights=repr(str(place / HEAD)),
        hidden=hidden,
        last=last,
        gives=GIVES[task.label_kind],
    )

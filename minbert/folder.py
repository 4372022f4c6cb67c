"""A checkpoint's folder, opened once: the content of its JSON files, and its other files.

Every JSON file is read once, on first access. modules.json lists the steps of a
sentence-transformers model. They are in subfolders, each with a config.json and weights. The first
step is the encoder, which is usually in this folder itself.
"""

import json
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from minbert.config import BertConfig, CheckpointError
from minbert.hub import INDEX, find_checkpoint
from runtime.files import read_json, read_object

# The names of an encoder's step; the first releases had one for each architecture.
ENCODERS = ("Transformer", "BERT", "RoBERTa", "XLMRoBERTa")
# Where sentence-transformers looks for the length of an encoder and its case, in this order.
SENTENCE_CONFIGS = tuple(
    f"sentence_{name}_config.json"
    for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)


def _content(name: str) -> "cached_property[dict[str, Any]]":
    """Return a property: the content of a JSON file of the folder, {} if it has no such file."""

    def read(folder: "CheckpointFolder") -> dict[str, Any]:
        return read_object(folder.path / name, CheckpointError) if folder.has(name) else {}

    return cached_property(read)


class CheckpointFolder:
    """The content of a checkpoint's folder.

    A file that cannot be used raises a CheckpointError of one line that names it.

    Attributes:
        path: where the folder is.
    """

    weight_index = _content(INDEX)  # {"weight_map": {tensor: file}} of weights in several files
    tokenizer_config = _content("tokenizer_config.json")
    special_tokens_map = _content("special_tokens_map.json")
    added_tokens = _content("added_tokens.json")
    config_sentence_transformers = _content("config_sentence_transformers.json")
    training = _content("training.json")  # our notes on how the weights were made

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def find(cls, path_or_name: "str | Path | CheckpointFolder") -> "CheckpointFolder":
        """Open a folder, or a checkpoint of the local Hugging Face cache or the hub by its name.

        Raises:
            CheckpointError: it is in none of the three; the message lists the places.
        """
        if isinstance(path_or_name, CheckpointFolder):
            return path_or_name
        return cls(find_checkpoint(path_or_name))

    def __str__(self) -> str:
        return str(self.path)

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json, which every checkpoint and every step with settings has."""
        return read_object(self.path / "config.json", CheckpointError)

    @cached_property
    def encoder(self) -> "CheckpointFolder":
        """The folder with the encoder and its tokenizer: this one, or that of the first step."""
        first = self.steps[0] if self.steps else None
        if first is None or first.name not in ENCODERS or first.folder.path == self.path:
            return self
        return first.folder

    @cached_property
    def bert_config(self) -> BertConfig:
        """The sizes of the encoder, of its config.json."""
        folder = self.encoder
        self._refuse_other_kinds()
        path = folder.path / "config.json"
        if not folder.has("config.json"):
            raise CheckpointError(f"{path}: no such file; a BERT checkpoint folder has one")
        changed = self.sentence_arguments("config_kwargs", "config_args")
        return BertConfig.from_dict(folder.config | changed, path)

    def _refuse_other_kinds(self) -> None:
        """Raise CheckpointError for a folder that is no encoder by itself, with a remedy."""
        for folder in (self, self.encoder):
            if folder.has("adapter_config.json"):
                raise CheckpointError(
                    f"{folder}: an adapter (adapter_config.json), which changes the weights of "
                    "another checkpoint; merge it with peft's merge_and_unload(), save the result "
                    "in a new folder, and give that folder"
                )
        first = self.steps[0].name if self.steps else ENCODERS[0]
        if first not in ENCODERS:  # a static model, a router
            raise CheckpointError(f"{self}: the step {first!r:.80} is not supported{self._instead}")
        kind = self.config_sentence_transformers.get("model_type") or "SentenceTransformer"
        if kind != "SentenceTransformer" and len(self.steps) > 1:
            names = " and ".join(step.name for step in self.steps[1:])
            raise CheckpointError(
                f"{self}: a {kind} with {names} after the encoder is not supported; its head has "
                f"to be that of a ...ForSequenceClassification{self._instead}"
            )

    @property
    def _instead(self) -> str:
        """Return which subfolders can be loaded, for messages."""
        inside = []
        for path in sorted(self.path.glob("*/config.json")):
            with suppress(CheckpointError):
                if "hidden_size" in CheckpointFolder(path.parent).config:
                    inside.append(path.parent.name)
        return f"; give one of its encoders: {', '.join(inside)}" if inside else ""

    @cached_property
    def sentence_config(self) -> tuple[str, dict[str, Any]]:
        """sentence-transformers' settings for reading texts: their file and its content.

        It looks for the file only where there is a modules.json.
        """
        folder = self.encoder
        for name in SENTENCE_CONFIGS if self.steps else ():
            path = folder.path / name
            if folder.has(name) and (content := read_object(path, CheckpointError)):
                return str(path), content
        return "", {}

    def sentence_arguments(self, *names: str) -> dict[str, Any]:
        """Return arguments that `sentence_config` hands on, by the new or the old name of them."""
        path, content = self.sentence_config
        for name in names:
            if arguments := content.get(name):
                if not isinstance(arguments, dict):
                    raise CheckpointError(
                        f"{path}: {name} is {arguments!r:.60}; expected an object"
                    )
                return arguments
        return {}

    @cached_property
    def tokenizer_settings(self) -> dict[str, Any]:
        """The content of tokenizer_config.json, overridden by sentence-transformers' file."""
        arguments = self.sentence_arguments("processor_kwargs", "tokenizer_args")
        return self.encoder.tokenizer_config | arguments

    @cached_property
    def steps(self) -> "list[Step]":
        """The steps that modules.json lists, in its order; none if there is no such file."""
        if not self.has("modules.json"):
            return []
        path = self.path / "modules.json"
        modules = read_json(path, CheckpointError)
        steps = []
        for module in modules if isinstance(modules, list) else [None]:
            stated = module if isinstance(module, dict) else {}
            name, place = stated.get("type"), stated.get("path")
            if not isinstance(name, str) or not isinstance(place, str):
                raise CheckpointError(
                    f"{path}: not a list of sentence-transformers' steps with their type and path"
                )
            steps.append(Step(_step_name(name), CheckpointFolder(self.path / _inside(place, path))))
        return steps


def _step_name(type_name: str) -> str:
    """Return the class of a step; of other packages than sentence-transformers, with its module."""
    package, _, rest = type_name.partition(".")
    return rest.rpartition(".")[2] if package == "sentence_transformers" else type_name


def _inside(place: str, path: Path) -> str:
    """Return the path of a step's folder; CheckpointError if it leads out of the checkpoint's."""
    windows = PureWindowsPath(place)
    if PurePosixPath(place).is_absolute() or windows.anchor or ".." in windows.parts:
        raise CheckpointError(f"{path}: path {place!r:.60} leads out of the checkpoint's folder")
    return place


class Step(NamedTuple):
    """One step of a sentence-transformers model."""

    name: str  # Transformer, Pooling, Dense, Normalize, ...
    folder: CheckpointFolder


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

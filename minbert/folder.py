"""A checkpoint's folder, opened once: what its JSON files say, and which other files it has.

Every JSON file is read when it is first asked for, and only then. The steps of a
sentence-transformers model, which modules.json lists, lie in folders of their own inside this one,
with a config.json and weights again.
"""

import json
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from minbert.config import BertConfig, CheckpointError
from minbert.hub import INDEX, find_checkpoint
from runtime.files import read_json, read_object


def _content(name: str) -> "cached_property[dict[str, Any]]":
    """Return a property: the content of a JSON file of the folder, {} if it has no such file."""

    def read(folder: "CheckpointFolder") -> dict[str, Any]:
        return read_object(folder.path / name, CheckpointError) if folder.has(name) else {}

    return cached_property(read)


class CheckpointFolder:
    """What a checkpoint's folder holds.

    A file that cannot be used raises a CheckpointError of one line that names it.

    Attributes:
        path: where the folder is.
    """

    weight_index = _content(INDEX)  # {"weight_map": {tensor: file}} of weights in several files
    tokenizer_config = _content("tokenizer_config.json")
    special_tokens_map = _content("special_tokens_map.json")
    added_tokens = _content("added_tokens.json")
    sentence_bert_config = _content("sentence_bert_config.json")
    config_sentence_transformers = _content("config_sentence_transformers.json")
    training = _content("training.json")  # our notes on how the weights were made

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def find(cls, path_or_name: "str | Path | CheckpointFolder") -> "CheckpointFolder":
        """Open a folder, or what the local Hugging Face cache or the hub has under a name.

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
    def bert_config(self) -> BertConfig:
        """The sizes of the encoder, of config.json."""
        path = self.path / "config.json"
        if not self.has("config.json"):
            raise CheckpointError(f"{path}: no such file; a BERT checkpoint folder has one")
        return BertConfig.from_dict(self.config, path)

    @cached_property
    def steps(self) -> "list[Step]":
        """The steps that modules.json lists, in its order."""
        modules = read_json(self.path / "modules.json", CheckpointError)
        return [
            Step(
                module["type"].rpartition(".")[2],
                CheckpointFolder(self.path / str(module["path"])),
            )
            for module in modules
        ]


class Step(NamedTuple):
    """One step of a sentence-transformers model."""

    name: str  # Transformer, Pooling, Dense, Normalize, ...
    folder: CheckpointFolder


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

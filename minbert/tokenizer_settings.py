"""What stands beside a vocabulary: truncation and length, added tokens. Feeds: tokenizer.

Newer checkpoints keep added tokens in tokenizer.json, older ones in files of their own.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer

from minbert.config import CheckpointError
from runtime.json_file import read_object

SIDES = ("right", "left")


@dataclass(frozen=True)
class TokenizerSettings:
    """The settings in tokenizer_config.json that change the ids of a text.

    Attributes:
        raw: the whole file; casing and special tokens are looked up in it.
        truncation_side: which end of a long text is cut off; None if it is not said.
        max_length: the most tokens of a text, special ones included; None if it is not said.
    """

    raw: dict[str, Any] = field(default_factory=dict)
    truncation_side: str | None = None
    max_length: int | None = None

    @classmethod
    def read(cls, folder: Path) -> "TokenizerSettings":
        """Read the file of a checkpoint folder, which may lack it.

        Raises:
            CheckpointError: not a JSON object, or values of another kind.
        """
        path = folder / "tokenizer_config.json"
        raw = read_object(path, CheckpointError) if path.is_file() else {}
        for name in ("do_lower_case", "strip_accents", "tokenize_chinese_chars"):
            if not isinstance(raw.get(name), bool | None):
                raise CheckpointError(
                    f"{path}: {name} is {raw[name]!r:.60}; expected true or false"
                )
        side = raw.get("truncation_side")
        if side not in (None, *SIDES):
            raise CheckpointError(
                f"{path}: truncation_side is {side!r:.60}; expected right or left"
            )
        return cls(raw, side, _length(raw.get("model_max_length"), path))


def _length(value: Any, path: Path) -> int | None:
    """Return model_max_length; transformers writes 10^30 for "not known"."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 3:
        raise CheckpointError(f"{path}: model_max_length is {value!r:.60}; expected 3 or more")
    return int(value) if value < 1e9 else None


def add_tokens(backend: Tokenizer, folder: Path, settings: TokenizerSettings) -> None:
    """Add the tokens that are listed in added_tokens.json or in tokenizer_config.json.

    Raises:
        CheckpointError: a list of another form, or ids other than those after the vocabulary's.
    """
    for index, token in sorted(_listed(folder, settings).items(), key=lambda item: item[0]):
        # A piece of the vocabulary keeps its id, and is found as a whole from now on.
        (backend.add_special_tokens if token.special else backend.add_tokens)([token])
        found = backend.token_to_id(token.content)
        if found != index:
            raise CheckpointError(
                f"{folder}: the added token {token.content!r:.60} should have the id {index}, but "
                f"is piece {found} of this vocabulary"
            )


def _listed(folder: Path, settings: TokenizerSettings) -> dict[int, AddedToken]:
    """Return the added tokens by their ids."""
    path = folder / "added_tokens.json"
    try:
        listed = {
            int(index): _token(entry)
            for index, entry in (settings.raw.get("added_tokens_decoder") or {}).items()
        }
        if path.is_file() and not listed:
            ids = read_object(path, CheckpointError)
            listed = {int(index): AddedToken(token) for token, index in ids.items()}
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{folder}: added tokens of another form ({error!r:.200})") from None
    return listed


def _token(entry: dict[str, Any]) -> AddedToken:
    if not isinstance(entry["content"], str):
        raise TypeError(f"content is {entry['content']!r}")
    names = ("lstrip", "rstrip", "normalized", "single_word", "special")
    return AddedToken(entry["content"], **{name: entry[name] for name in names if name in entry})

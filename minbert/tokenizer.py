"""Texts (or pairs of texts) to token ids, on the `tokenizers` library.

Reads: tokenizer.json; or vocab.txt (BERT), or vocab.json and merges.txt (RoBERTa), with their
settings in tokenizer_config.json. Feeds: packing.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from minbert.backend import encode, read_template, refusing
from minbert.byte_pairs import byte_level_bpe
from minbert.config import CheckpointError
from minbert.hub import find_checkpoint
from minbert.packing import TokenSequences
from minbert.tokenizer_settings import TokenizerSettings, add_tokens
from minbert.truncation import longest_first
from minbert.word_pieces import casing_of, vocabulary_lines, word_pieces
from runtime.errors import UserError
from runtime.json_file import read_object
from runtime.progress import progress

# What begins a sequence, ends it, hides a token, fills up: by BERT's names or RoBERTa's.
BERT_NAMES, ROBERTA_NAMES = (
    ("[CLS]", "[SEP]", "[MASK]", "[PAD]"),
    ("<s>", "</s>", "<mask>", "<pad>"),
)
# Texts, or characters, that are tokenized at a time: enough for all threads, little memory.
CHUNK, CHUNK_CHARACTERS = 4096, 2**19
NOTHING_STATED = TokenizerSettings()


class BertTokenizer:
    """The tokenizer of a checkpoint: a `tokenizers` backend, and the ids of its special tokens.

    BERT's is WordPiece, uncased or cased (Devlin et al. 2019, section 3), RoBERTa's BPE on bytes,
    XLM-R's Unigram.

    Attributes:
        truncation_side: `right` or `left`, the end of a long text that is cut off.
        stated_length: the most tokens that the checkpoint's tokenizer_config.json states, or None.
    """

    def __init__(
        self,
        backend: Tokenizer,
        source: str = "tokenizer",
        settings: TokenizerSettings = NOTHING_STATED,
    ):
        truncation = backend.truncation or {}
        self.truncation_side = settings.truncation_side or truncation.get("direction", "right")
        self.stated_length = settings.max_length
        backend.no_padding()
        backend.no_truncation()
        self.backend = backend
        # Not how many pieces there are: one that stands on two lines leaves an id without a piece.
        self.vocab_size = max(backend.get_vocab().values(), default=-1) + 1
        # Two bytes hold every id of a usual vocabulary.
        self.dtype = np.dtype(np.uint16 if self.vocab_size <= 2**16 else np.int32)
        self.cls_id, self.sep_id, self.mask_id, self.pad_id = (
            self._special_id(token, source) for token in self._names()
        )
        # The token type of a pair's second text: 1, or 0 where only separators mark the border.
        self.separators, self.second_type = read_template(backend, self.cls_id, self.sep_id, source)
        self.special_ids = (self.cls_id, self.sep_id, self.pad_id)  # never masked to be predicted

    @classmethod
    def from_pretrained(cls, path_or_name: str | Path) -> "BertTokenizer":
        """Load the tokenizer of a checkpoint (a folder, the Hugging Face cache, or the hub).

        Raises:
            CheckpointError: no tokenizer files there, or files of a tokenizer of another kind.
        """
        return cls.from_folder(find_checkpoint(path_or_name))

    @classmethod
    def from_folder(cls, folder: Path) -> "BertTokenizer":
        """Load the tokenizer in a checkpoint's folder."""
        fast, vocab = folder / "tokenizer.json", folder / "vocab.txt"
        pairs, merges = folder / "vocab.json", folder / "merges.txt"
        settings = TokenizerSettings.read(folder)
        if fast.is_file():
            with refusing(str(fast)):
                backend = Tokenizer.from_str(fast.read_text(encoding="utf-8"))
            return cls(backend, str(fast), settings)
        if vocab.is_file():
            backend = word_pieces(vocab, settings.raw)
            add_tokens(backend, folder, settings)
            return cls(backend, str(vocab), settings)
        if pairs.is_file() and merges.is_file():
            more = folder / "special_tokens_map.json"
            specials = read_object(more, CheckpointError) if more.is_file() else {}
            backend = byte_level_bpe(pairs, merges, settings.raw | specials)
            add_tokens(backend, folder, settings)
            return cls(backend, str(pairs), settings)
        raise CheckpointError(
            f"{folder}: no tokenizer; expected tokenizer.json, vocab.txt, or vocab.json with "
            "merges.txt (a sentencepiece model alone is not read)"
        )

    @classmethod
    def from_vocab(cls, vocab: Path, casing: dict[str, Any] | None = None) -> "BertTokenizer":
        """Build the tokenizer from `vocab.txt` alone; arguments and errors as of `word_pieces`."""
        return cls(word_pieces(vocab, casing or {}), str(vocab))

    def __call__(
        self,
        texts: Iterable[str],
        text_pairs: Iterable[str] | None = None,
        max_length: int = 512,
    ) -> TokenSequences:
        """Tokenize texts or pairs, in constant memory plus the result.

        A pair is `[CLS] a [SEP] b [SEP]`, in RoBERTa's vocabulary `<s> a </s></s> b </s>`.

        Args:
            texts: N texts, or any iterable of them, which is read as a stream.
            text_pairs: the N second sentences.
            max_length: tokens kept, special ones included; of a pair, the longer text is cut first.

        Raises:
            UserError: something that is no text, or no room for the special tokens.
        """
        paired = text_pairs is not None
        room = max_length - (2 + self.separators * paired)
        if room < 0:
            raise UserError(f"max_length is {max_length}; the special tokens need {-room} more")
        inputs = zip(texts) if text_pairs is None else zip(texts, text_pairs, strict=True)
        empty = np.empty(0, np.int32)
        ids, offsets = empty.astype(self.dtype), np.zeros(1, np.int64)
        parts = [TokenSequences(ids, offsets, empty, self.second_type)]
        done = 0
        with progress("tokenize", None, "text", delay=2) as bar:
            for chunk in _chunks(inputs):
                parts.append(self._sequences(chunk, room, done))
                done += len(chunk)
                bar.update(len(chunk))
        return TokenSequences.join(parts)

    def _sequences(self, chunk: list[tuple[str, ...]], room: int, before: int) -> TokenSequences:
        """Tokenize N texts or pairs, of which `room` tokens are kept besides the special ones."""
        sides = [encode(self.backend, side, before) for side in zip(*chunk, strict=True)]
        ids: list[int] = []
        lengths, firsts = [0], []
        for first, *others in zip(*sides, strict=True):
            start = len(ids)
            kept, rest = longest_first(len(first), len(others[0]) if others else 0, room)
            ids += [self.cls_id, *self._cut(first, kept), self.sep_id]
            firsts.append(len(ids) - start)
            for second in others:
                ids += [self.sep_id] * (self.separators - 1)
                ids += [*self._cut(second, rest), self.sep_id]
            lengths.append(len(ids) - start)
        return TokenSequences(
            np.array(ids, self.dtype),
            np.cumsum(lengths),
            np.array(firsts, np.int32),
            self.second_type,
        )

    def _cut(self, ids: list[int], kept: int) -> list[int]:
        return ids[:kept] if self.truncation_side == "right" else ids[len(ids) - kept :]

    def save(self, folder: Path, max_length: int) -> None:
        """Write tokenizer.json, tokenizer_config.json and, of BERT's own, vocab.txt into `folder`.

        Args:
            folder: the checkpoint's.
            max_length: the most tokens that its model takes.
        """
        (folder / "tokenizer.json").write_text(self.backend.to_str(pretty=True), "utf-8")
        casing = casing_of(self.backend)
        if casing is None:
            config = self._generic()
        else:
            (folder / "vocab.txt").write_text(vocabulary_lines(self.backend), "utf-8")
            config = {"tokenizer_class": "BertTokenizer", **casing}
        config["model_max_length"] = max_length
        if self.truncation_side != "right":
            config["truncation_side"] = self.truncation_side
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), "utf-8")

    def _generic(self) -> dict[str, Any]:
        """Return settings under which transformers reads tokenizer.json as it is.

        Its own classes of BERT, RoBERTa and XLM-R build another backend from parts of the file.
        """
        cls, sep, mask, pad = self._names()
        types = ["token_type_ids"] if self.second_type else []
        ends = {"bos_token": cls, "eos_token": sep, "cls_token": cls, "sep_token": sep}
        return {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": ["input_ids", *types, "attention_mask"],
            **ends,
            "mask_token": mask,
            "pad_token": pad,
        }

    def fingerprint(self) -> str:
        """Return the SHA-256 of everything that determines the ids of a text."""
        side = "" if self.truncation_side == "right" else self.truncation_side
        return hashlib.sha256((self.backend.to_str() + side).encode()).hexdigest()

    def _names(self) -> tuple[str, ...]:
        """Return the names of this vocabulary's special tokens: those of which it has most."""

        def known(names: tuple[str, ...]) -> int:
            return sum(self.backend.token_to_id(name) is not None for name in names)

        return max(BERT_NAMES, ROBERTA_NAMES, key=known)

    def _special_id(self, token: str, source: str) -> int:
        index = self.backend.token_to_id(token)
        if index is None:
            raise CheckpointError(
                f"{source}: the vocabulary has no {token}; not a BERT or RoBERTa tokenizer"
            )
        return int(index)


def _chunks(items: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the items in lists of at most CHUNK, or of about CHUNK_CHARACTERS in long texts."""
    chunk: list[tuple[Any, ...]] = []
    characters = 0
    for item in items:
        chunk.append(item)
        characters += sum(len(text) for text in item if isinstance(text, str))
        if len(chunk) == CHUNK or characters > CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk

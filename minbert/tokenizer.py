"""Texts (or pairs of texts) to token ids, on the `tokenizers` library.

Reads: tokenizer.json, or vocab.txt and the casing in tokenizer_config.json. Feeds: packing.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from minbert.config import CheckpointError
from minbert.hub import find_checkpoint
from minbert.packing import TokenSequences
from runtime.progress import progress

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CHUNK = 4096  # texts tokenized at a time: enough for all threads, little memory


class BertTokenizer:
    """BERT's uncased or cased WordPiece tokenizer (Devlin et al. 2019, section 3)."""

    def __init__(self, backend: Tokenizer, source: str = "tokenizer"):
        backend.no_padding()
        backend.no_truncation()
        self.backend = backend
        self.vocab_size = backend.get_vocab_size()
        # Two bytes hold every id of a usual vocabulary.
        self.dtype = np.dtype(np.uint16 if self.vocab_size <= 2**16 else np.int32)
        self.cls_id, self.sep_id, self.mask_id, self.pad_id = (
            self._special_id(token, source) for token in ("[CLS]", "[SEP]", "[MASK]", "[PAD]")
        )
        self.special_ids = (self.cls_id, self.sep_id, self.pad_id)  # never masked to be predicted

    @classmethod
    def from_pretrained(cls, path_or_name: str | Path) -> "BertTokenizer":
        """Load the tokenizer of a checkpoint (a folder, the Hugging Face cache, or the hub).

        Raises:
            CheckpointError: no tokenizer files there, or files that are not a BERT tokenizer's.
        """
        folder = find_checkpoint(path_or_name)
        fast, vocab = folder / "tokenizer.json", folder / "vocab.txt"
        if fast.is_file():
            try:
                return cls(Tokenizer.from_str(fast.read_text(encoding="utf-8")), str(fast))
            # The library raises a bare Exception for a file that it cannot parse.
            except Exception as error:
                raise CheckpointError(f"{fast}: not a tokenizer file ({error})") from None
        if vocab.is_file():
            return cls.from_vocab(vocab, _read_json(folder / "tokenizer_config.json"))
        raise CheckpointError(f"{folder}: no tokenizer; expected tokenizer.json or vocab.txt")

    @classmethod
    def from_vocab(cls, vocab: Path, casing: dict[str, Any] | None = None) -> "BertTokenizer":
        """Build the tokenizer from `vocab.txt`, one piece per line; the line number is the id.

        Args:
            vocab: the file.
            casing: `do_lower_case`, `strip_accents`, `tokenize_chinese_chars`, named as in
                tokenizer_config.json; if absent, lower-casing, as for bert-base-uncased.
        """
        casing = casing or {}
        try:
            pieces = vocab.read_text(encoding="utf-8").split("\n")
        except (UnicodeDecodeError, OSError) as error:
            raise CheckpointError(f"{vocab}: not a readable vocabulary ({error})") from None
        if pieces[-1] == "":
            pieces.pop()
        ids = {piece.removesuffix("\r"): index for index, piece in enumerate(pieces)}
        if "[UNK]" not in ids:
            raise CheckpointError(f"{vocab}: has no line [UNK]; not a BERT vocabulary")
        backend = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
        backend.normalizer = BertNormalizer(
            clean_text=True,
            handle_chinese_chars=casing.get("tokenize_chinese_chars", True),
            strip_accents=casing.get("strip_accents"),
            lowercase=casing.get("do_lower_case", True),
        )
        backend.pre_tokenizer = BertPreTokenizer()
        backend.add_special_tokens([token for token in SPECIAL_TOKENS if token in ids])
        tokenizer = cls(backend, str(vocab))
        backend.post_processor = TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", tokenizer.cls_id), ("[SEP]", tokenizer.sep_id)],
        )
        return tokenizer

    def __call__(
        self,
        texts: Iterable[str],
        text_pairs: Iterable[str] | None = None,
        max_length: int = 512,
    ) -> TokenSequences:
        """Tokenize texts, or pairs as `[CLS] a [SEP] b [SEP]`, in constant memory plus the result.

        Args:
            texts: N texts, or any iterable of them, which is read as a stream.
            text_pairs: the N second sentences.
            max_length: tokens kept, special ones included; of a pair, the longer text is cut first.
        """
        inputs = texts if text_pairs is None else zip(texts, text_pairs, strict=True)
        self.backend.enable_truncation(max_length, strategy="longest_first")
        empty = np.empty(0, np.int32)
        parts = [TokenSequences(empty.astype(self.dtype), np.zeros(1, np.int64), empty)]
        with progress("tokenize", None, "text", delay=2) as bar:
            for chunk in _chunks(inputs, CHUNK):
                parts.append(self._sequences(self.backend.encode_batch_fast(chunk)))
                bar.update(len(chunk))
        return TokenSequences.join(parts)

    def _sequences(self, encodings: list[Encoding]) -> TokenSequences:
        lengths = [len(encoding.ids) for encoding in encodings]
        # Token type ids are 0 in the first segment and 1 in the second.
        firsts = [len(encoding.ids) - sum(encoding.type_ids) for encoding in encodings]
        return TokenSequences(
            np.concatenate([np.array(encoding.ids, self.dtype) for encoding in encodings]),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.array(firsts, np.int32),
        )

    def save(self, folder: Path, max_length: int) -> None:
        """Write tokenizer.json, vocab.txt and tokenizer_config.json into `folder`.

        Args:
            folder: the checkpoint's.
            max_length: the most tokens that its model takes.
        """
        self.backend.no_truncation()
        self.backend.save(str(folder / "tokenizer.json"))
        pieces = sorted(self.backend.get_vocab().items(), key=lambda item: item[1])
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), "utf-8")
        normalizer = json.loads(self.backend.to_str())["normalizer"] or {}
        config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": normalizer.get("lowercase", True),
            "strip_accents": normalizer.get("strip_accents"),
            "tokenize_chinese_chars": normalizer.get("handle_chinese_chars", True),
            "model_max_length": max_length,
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), "utf-8")

    def fingerprint(self) -> str:
        """Return the SHA-256 of everything that determines the ids of a text."""
        self.backend.no_truncation()
        return hashlib.sha256(self.backend.to_str().encode()).hexdigest()

    def _special_id(self, token: str, source: str) -> int:
        index = self.backend.token_to_id(token)
        if index is None:
            raise CheckpointError(f"{source}: the vocabulary has no {token}; not a BERT tokenizer")
        return int(index)


def _chunks(items: Iterable[Any], size: int) -> Iterator[Sequence[Any]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, OSError) as error:
        raise CheckpointError(f"{path}: not a readable JSON file ({error})") from None

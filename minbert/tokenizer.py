"""Texts (or pairs of texts) to token ids, on the `tokenizers` library.

Reads: tokenizer.json; or vocab.txt (BERT), or vocab.json and merges.txt (RoBERTa), with their
settings in tokenizer_config.json. Feeds: packing.
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

from minbert.byte_pairs import byte_level_bpe
from minbert.config import CheckpointError
from minbert.hub import find_checkpoint
from minbert.packing import TokenSequences
from runtime.progress import progress

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# What begins a sequence, ends it, hides a token, fills up: by BERT's names or RoBERTa's.
BERT_NAMES, ROBERTA_NAMES = (
    ("[CLS]", "[SEP]", "[MASK]", "[PAD]"),
    ("<s>", "</s>", "<mask>", "<pad>"),
)
CHUNK = 4096  # texts tokenized at a time: enough for all threads, little memory


class BertTokenizer:
    """The tokenizer of a checkpoint: a `tokenizers` backend, and the ids of its special tokens.

    BERT's is WordPiece, uncased or cased (Devlin et al. 2019, section 3), RoBERTa's BPE on bytes,
    XLM-R's Unigram.
    """

    def __init__(self, backend: Tokenizer, source: str = "tokenizer"):
        backend.no_padding()
        backend.no_truncation()
        self.backend = backend
        self.vocab_size = backend.get_vocab_size()
        # Two bytes hold every id of a usual vocabulary.
        self.dtype = np.dtype(np.uint16 if self.vocab_size <= 2**16 else np.int32)
        self.cls_id, self.sep_id, self.mask_id, self.pad_id = (
            self._special_id(token, source) for token in self._names()
        )
        # The token type of a pair's second text: 1, or 0 where only separators mark the border.
        self.second_type = max(backend.encode("", "").type_ids, default=1)
        self.special_ids = (self.cls_id, self.sep_id, self.pad_id)  # never masked to be predicted

    @classmethod
    def from_pretrained(cls, path_or_name: str | Path) -> "BertTokenizer":
        """Load the tokenizer of a checkpoint (a folder, the Hugging Face cache, or the hub).

        Raises:
            CheckpointError: no tokenizer files there, or files of a tokenizer of another kind.
        """
        folder = find_checkpoint(path_or_name)
        fast, vocab = folder / "tokenizer.json", folder / "vocab.txt"
        pairs, merges = folder / "vocab.json", folder / "merges.txt"
        config = folder / "tokenizer_config.json"
        if fast.is_file():
            try:
                return cls(Tokenizer.from_str(fast.read_text(encoding="utf-8")), str(fast))
            # The library raises a bare Exception for a file that it cannot parse.
            except Exception as error:
                raise CheckpointError(f"{fast}: not a tokenizer file ({error})") from None
        if vocab.is_file():
            return cls.from_vocab(vocab, _read_json(config))
        if pairs.is_file() and merges.is_file():
            settings = _read_json(config) | _read_json(folder / "special_tokens_map.json")
            return cls(byte_level_bpe(pairs, merges, settings), str(pairs))
        raise CheckpointError(
            f"{folder}: no tokenizer; expected tokenizer.json, vocab.txt, or vocab.json with "
            "merges.txt (a sentencepiece model alone is not read)"
        )

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
        for token in ("[UNK]", *BERT_NAMES):
            if token not in ids:
                raise CheckpointError(f"{vocab}: has no line {token}; not a BERT vocabulary")
        backend = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
        backend.normalizer = BertNormalizer(
            clean_text=True,
            handle_chinese_chars=casing.get("tokenize_chinese_chars", True),
            strip_accents=casing.get("strip_accents"),
            lowercase=casing.get("do_lower_case", True),
        )
        backend.pre_tokenizer = BertPreTokenizer()
        backend.add_special_tokens(list(SPECIAL_TOKENS))
        backend.post_processor = TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[(token, ids[token]) for token in ("[CLS]", "[SEP]")],
        )
        return cls(backend, str(vocab))

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
        """
        inputs = texts if text_pairs is None else zip(texts, text_pairs, strict=True)
        self.backend.enable_truncation(max_length, strategy="longest_first")
        empty = np.empty(0, np.int32)
        ids, offsets = empty.astype(self.dtype), np.zeros(1, np.int64)
        parts = [TokenSequences(ids, offsets, empty, self.second_type)]
        with progress("tokenize", None, "text", delay=2) as bar:
            for chunk in _chunks(inputs, CHUNK):
                parts.append(self._sequences(self.backend.encode_batch_fast(chunk)))
                bar.update(len(chunk))
        return TokenSequences.join(parts)

    def _sequences(self, encodings: list[Encoding]) -> TokenSequences:
        lengths = [len(encoding.ids) for encoding in encodings]
        firsts = [self._first_length(encoding) for encoding in encodings]
        return TokenSequences(
            np.concatenate([np.array(encoding.ids, self.dtype) for encoding in encodings]),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.array(firsts, np.int32),
            self.second_type,
        )

    def _first_length(self, encoding: Encoding) -> int:
        # Token type ids are 0 in the first segment and 1 in the second ...
        if self.second_type or encoding.n_sequences < 2:
            return len(encoding.ids) - sum(encoding.type_ids)
        # ... or all 0: <s> a </s> is two tokens longer than a, which sequence ids name.
        return int(encoding.sequence_ids.count(0)) + 2

    def save(self, folder: Path, max_length: int) -> None:
        """Write tokenizer.json, tokenizer_config.json and, of WordPiece, vocab.txt into `folder`.

        Args:
            folder: the checkpoint's.
            max_length: the most tokens that its model takes.
        """
        self.backend.no_truncation()
        self.backend.save(str(folder / "tokenizer.json"))
        if isinstance(self.backend.model, WordPiece):
            pieces = sorted(self.backend.get_vocab().items(), key=lambda item: item[1])
            (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), "utf-8")
            config = self._casing()
        else:
            config = self._generic()
        config["model_max_length"] = max_length
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), "utf-8")

    def _casing(self) -> dict[str, Any]:
        normalizer = json.loads(self.backend.to_str())["normalizer"] or {}
        return {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": normalizer.get("lowercase", True),
            "strip_accents": normalizer.get("strip_accents"),
            "tokenize_chinese_chars": normalizer.get("handle_chinese_chars", True),
        }

    def _generic(self) -> dict[str, Any]:
        """Return settings under which transformers reads tokenizer.json as it is.

        Its own classes of RoBERTa and XLM-R would build another backend from parts of the file.
        """
        cls, sep, mask, pad = self._names()
        ends = {"bos_token": cls, "eos_token": sep, "cls_token": cls, "sep_token": sep}
        return {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_input_names": ["input_ids", "attention_mask"],
            **ends,
            "mask_token": mask,
            "pad_token": pad,
        }

    def fingerprint(self) -> str:
        """Return the SHA-256 of everything that determines the ids of a text."""
        self.backend.no_truncation()
        return hashlib.sha256(self.backend.to_str().encode()).hexdigest()

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


def _chunks(items: Iterable[Any], size: int) -> Iterator[Sequence[Any]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, OSError) as error:
        raise CheckpointError(f"{path}: not a readable JSON file ({error})") from None

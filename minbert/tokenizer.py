"""Texts (or pairs of texts) to token ids, on the `tokenizers` library.

Newer checkpoints have one tokenizer.json. Older ones have vocab.txt (BERT), or vocab.json and
merges.txt (RoBERTa), with settings in tokenizer_config.json and added tokens in further files.
"""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE, WordPiece
from tokenizers.normalizers import BertNormalizer, Lowercase
from tokenizers.normalizers import Sequence as NormalizerSequence
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel
from tokenizers.processors import RobertaProcessing, TemplateProcessing

from minbert.config import BertConfig, CheckpointError
from minbert.folder import CheckpointFolder
from minbert.packing import TokenSequences
from runtime.errors import UserError
from runtime.files import open_plain
from runtime.progress import progress
from runtime.streams import SURROGATE

logger = logging.getLogger(__name__)

# Special tokens to begin, end, mask and pad a sequence, under BERT's or RoBERTa's names.
BERT_NAMES = ("[CLS]", "[SEP]", "[MASK]", "[PAD]")
ROBERTA_NAMES = ("<s>", "</s>", "<mask>", "<pad>")
# The special tokens of the older files.
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# transformers' names of BERT's tokenizer; a checkpoint that names none has it.
BERT_CLASSES = (None, "BertTokenizer", "BertTokenizerFast")
# Further classes, without the suffix Fast, that are determined by their files: those of BERT, of
# RoBERTa, or tokenizer.json. Others split texts in ways that no file describes, such as MeCab.
OF_VOCAB = ("Bert", "DistilBert", "Electra", "MobileBert")
OF_MERGES = ("Roberta", "Bart")
OF_FILE = ("PreTrained", "XLMRoberta", "Camembert")
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|[^\w\s]")
TOKEN_SETTINGS = ("unk_token", "cls_token", "sep_token", "mask_token", "pad_token")
# Texts, or characters, that are tokenized at a time: enough for all threads, little memory.
CHUNK, CHUNK_CHARACTERS = 4096, 2**19
# An uncased vocabulary has hardly a piece with capital letters; a cased one more than a hundredth.
CASED_SHARE = 100


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
        truncation_side: str | None = None,
        stated_length: int | None = None,
    ):
        in_file = (backend.truncation or {}).get("direction", "right")
        self.truncation_side = truncation_side or in_file
        self.stated_length = stated_length
        backend.no_padding()
        backend.no_truncation()
        self.backend = backend
        # Not the number of pieces: a piece on two lines leaves an id without a piece.
        vocabulary = backend.get_vocab()
        self.vocab_size = max(vocabulary.values(), default=-1) + 1
        self.unknown_id = vocabulary.get("[UNK]", vocabulary.get("<unk>", -1))
        # Two bytes hold every id of a usual vocabulary.
        self.dtype = np.dtype(np.uint16 if self.vocab_size <= 2**16 else np.int32)
        # The special tokens of this vocabulary: the set of names of which it has most.
        self.names = max(
            (BERT_NAMES, ROBERTA_NAMES),
            key=lambda names: sum(name in vocabulary for name in names),
        )
        for name in self.names:
            if name not in vocabulary:
                raise CheckpointError(
                    f"{source}: the vocabulary has no {name}; not a BERT or RoBERTa tokenizer"
                )
        self.cls_id, self.sep_id, self.mask_id, self.pad_id = (
            vocabulary[name] for name in self.names
        )
        # The token type of a pair's second text: 1, or 0 where only separators mark the border.
        self.separators, self.second_type = _template(backend, self.cls_id, self.sep_id, source)
        self.special_ids = (self.cls_id, self.sep_id, self.pad_id)  # never masked to be predicted

    @classmethod
    def from_pretrained(cls, path_or_name: str | Path | CheckpointFolder) -> "BertTokenizer":
        """Load the tokenizer of a checkpoint (a folder, the Hugging Face cache, or the hub).

        Raises:
            CheckpointError: no tokenizer files there, or files of a tokenizer of another kind.
        """
        folder = CheckpointFolder.find(path_or_name)
        settings, home = folder.tokenizer_settings, folder.encoder
        _check_settings(settings, home.path / "tokenizer_config.json")
        source, backend = _read_backend(home, settings)
        _lower_first(backend, folder)
        length = settings.get("model_max_length")
        tokenizer = cls(
            backend,
            str(source),
            settings.get("truncation_side"),
            # transformers writes 10^30 for "not known".
            None if length is None or length >= 1e9 else int(length),
        )
        _check_special_tokens(tokenizer, home.special_tokens_map | settings, source)
        # Without token types transformers gives both texts of a pair the first one's.
        if "token_type_ids" not in (settings.get("model_input_names") or ["token_type_ids"]):
            tokenizer.second_type = 0
        sizes_known = home.has("config.json") and "vocab_size" in home.config
        if source.name == "vocab.txt" and sizes_known:
            tokenizer._check_fits(source, folder.bert_config)
        return tokenizer

    def _check_fits(self, vocab: Path, model: BertConfig) -> None:
        """Refuse a vocab.txt with missing lines; warn if lines may be missing.

        A missing line shifts all later ids, and nothing else in the file would show it.
        """
        pieces, rows = self.vocab_size, model.vocab_size
        if pieces < rows and rows % 8:  # a matrix padded for speed has a multiple of 8 rows
            raise CheckpointError(
                f"{vocab}: {pieces} pieces, the model has {rows}; lines are missing, restore it"
            )
        if pieces < rows:
            logger.warning(
                "%s: %d pieces, the model has %d; right only if its matrix was padded, wrong if "
                "lines are missing",
                *(vocab, pieces, rows),
            )
        if self.pad_id != model.pad_token_id:
            logger.warning(
                "%s: %s is piece %d, config.json says %d; wrong if lines are missing or moved",
                *(vocab, self.names[-1], self.pad_id, model.pad_token_id),
            )

    @classmethod
    def from_vocab(cls, vocab: Path) -> "BertTokenizer":
        """Build an uncased tokenizer from a vocab.txt alone."""
        return cls(_word_pieces(vocab, {}), str(vocab))

    def spelled(self, text: str) -> str:
        """Return a text as its pieces spell it: the same for all texts of equal pieces.

        Unknown words have one spelling; unknown signs without a letter are left out.
        """
        try:
            pieces = self.backend.encode(text, add_special_tokens=False)
        except TypeError:  # no valid Unicode, which is refused elsewhere
            return text
        if not isinstance(self.backend.model, WordPiece):
            return self.backend.decode(pieces.ids, skip_special_tokens=False)
        words: list[str] = []
        for piece, id_, (start, end) in zip(pieces.tokens, pieces.ids, pieces.offsets, strict=True):
            if piece.startswith("##") and words:
                words[-1] += piece[2:]
            elif id_ != self.unknown_id or any(map(str.isalnum, text[start:end])):
                words.append(piece)
        return " ".join(words)

    def vocabulary_fit(self, texts: Sequence[str]) -> tuple[float, float]:
        """Return the share of pieces that are unknown, and the pieces per word, of some texts.

        Chinese, Japanese and Korean signs, and marks such as commas, count as words.
        """
        pieces = [piece for ids in _encode(self.backend, list(texts), 0) for piece in ids]
        words = sum(len(WORD.findall(text)) for text in texts)
        return pieces.count(self.unknown_id) / max(1, len(pieces)), len(pieces) / max(1, words)

    def __call__(
        self,
        texts: Iterable[str],
        text_pairs: Iterable[str] | None = None,
        max_length: int = 512,
        when_cut: Callable[[tuple[str, ...]], None] = lambda texts: None,
    ) -> TokenSequences:
        """Tokenize texts or pairs, in constant memory plus the result.

        A pair is `[CLS] a [SEP] b [SEP]`, in RoBERTa's vocabulary `<s> a </s></s> b </s>`.

        Args:
            texts: N texts, or any iterable of them, which is read as a stream.
            text_pairs: the N second sentences.
            max_length: tokens kept, special ones included; of a pair, the longer text is cut first.
            when_cut: called with each text or pair that is cut.

        Raises:
            UserError: an item that is not a text, or no room for the special tokens.
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
                parts.append(self._sequences(chunk, room, done, when_cut))
                done += len(chunk)
                bar.update(len(chunk))
        return TokenSequences.join(parts)

    def _sequences(
        self,
        chunk: list[tuple[str, ...]],
        room: int,
        before: int,
        when_cut: Callable[[tuple[str, ...]], None],
    ) -> TokenSequences:
        """Tokenize N texts or pairs, of which `room` tokens are kept besides the special ones."""
        sides = [_encode(self.backend, side, before) for side in zip(*chunk, strict=True)]
        ids: list[int] = []
        lengths, firsts = [0], []
        for texts, first, *others in zip(chunk, *sides, strict=True):
            if sum(map(len, (first, *others))) > room:
                when_cut(texts)
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
        """Write tokenizer.json, tokenizer_config.json and, for BERT, vocab.txt into `folder`.

        Args:
            folder: the checkpoint's.
            max_length: the most tokens that its model takes.
        """
        (folder / "tokenizer.json").write_text(self.backend.to_str(pretty=True), "utf-8")
        casing = _casing(self.backend)
        if casing is not None:
            ids = self.backend.get_vocab()
            lines = (f"{piece}\n" for piece in sorted(ids, key=ids.__getitem__))
            (folder / "vocab.txt").write_text("".join(lines), "utf-8")
            config = {"tokenizer_class": "BertTokenizer", **casing}
            if not self.second_type:
                config["model_input_names"] = ["input_ids", "attention_mask"]
        else:
            # Under these settings transformers reads tokenizer.json as it is. Its own classes of
            # BERT, RoBERTa and XLM-R build another backend from parts of the file.
            cls, sep, mask, pad = self.names
            types = ["token_type_ids"] if self.second_type else []
            config = {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "model_input_names": ["input_ids", *types, "attention_mask"],
                "bos_token": cls,
                "eos_token": sep,
                "cls_token": cls,
                "sep_token": sep,
                "mask_token": mask,
                "pad_token": pad,
            }
        config["model_max_length"] = max_length
        if self.truncation_side != "right":
            config["truncation_side"] = self.truncation_side
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2), "utf-8")

    def fingerprint(self) -> str:
        """Return the SHA-256 of everything that determines the ids of a text."""
        side = "" if self.truncation_side == "right" else self.truncation_side
        return hashlib.sha256((self.backend.to_str() + side).encode()).hexdigest()


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Return how many of a pair's `first` and `second` tokens are kept, `room` in all.

    The longer text is cut first. If both are long, each keeps half. An odd token goes to the longer
    text, or to the second if both have equal length. The result is that of `tokenizers`'
    LongestFirst, which keeps every combination of the cut pieces of both texts in memory.
    """
    if first + second <= room:
        return first, second
    short = min(first, second, room // 2)
    return (room - short, short) if first > second else (short, room - short)


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


def check_texts(texts: Sequence[Any], before: int = 0) -> None:
    """Raise UserError if an item is not a text; its row is counted from `before`."""
    for row, text in enumerate(texts, before):
        if not isinstance(text, str):
            name = type(text).__name__
            raise UserError(f"text {row} is a {name}, {text!r:.60}; expected strings")


def _encode(backend: Tokenizer, texts: Sequence[Any], before: int) -> list[list[int]]:
    """Return all ids of N texts, without special tokens; rows are counted from `before`."""
    check_texts(texts, before)
    with refusing("tokenizer"):
        try:
            encodings = backend.encode_batch_fast(texts, add_special_tokens=False)
        except TypeError:  # the library takes no string that is not Unicode
            row = next(row for row, text in enumerate(texts) if SURROGATE.search(text))
            raise UserError(
                f"text {before + row} is no valid Unicode: {texts[row]!a:.60}"
            ) from None
    return [encoding.ids for encoding in encodings]


@contextmanager
def refusing(source: str) -> Iterator[None]:
    """Turn what the `tokenizers` library raises inside the block into one line about `source`.

    Files that it cannot use end in a bare Exception, or in a panic of its Rust side, which is not
    even an Exception.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError, UserError):
        raise
    except BaseException as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(f"{source}: not a usable tokenizer ({reason})") from None


def _template(backend: Tokenizer, cls_id: int, sep_id: int, source: str) -> tuple[int, int]:
    """Return how a pair is put together: separators between the texts, and the second's type.

    BERT's is `[CLS] a [SEP] b [SEP]` with types 0 and 1, RoBERTa's `<s> a </s></s> b </s>` with 0.
    """
    with refusing(source):
        single, pair = backend.encode(""), backend.encode("", "")
    separators = len(pair.ids) - 2
    if (
        single.ids != [cls_id, sep_id]
        or separators not in (1, 2)
        or pair.ids != [cls_id] + [sep_id] * (separators + 1)
    ):
        raise CheckpointError(
            f"{source}: its post-processor does not put the special tokens around a text and "
            "between two; save the tokenizer with one that does"
        )
    second = pair.type_ids[-1]
    if any(single.type_ids) or any(pair.type_ids[:-1]) or second not in (0, 1):
        raise CheckpointError(
            f"{source}: token types {pair.type_ids} of a pair's special tokens; expected 0, and 0 "
            "or 1 after the second text"
        )
    return separators, second


def _check_settings(settings: dict[str, Any], path: Path) -> None:
    """Refuse values of another type among those in tokenizer_config.json that are used."""

    def is_length(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value is None or (number and value >= 3)

    for name, fits, wanted in (
        ("do_lower_case", lambda value: isinstance(value, bool), "true or false"),
        ("tokenize_chinese_chars", lambda value: isinstance(value, bool), "true or false"),
        ("strip_accents", lambda value: isinstance(value, bool | None), "true, false or null"),
        ("truncation_side", lambda value: value in (None, "right", "left"), "right or left"),
        ("model_max_length", is_length, "3 or more"),
        ("model_input_names", lambda value: isinstance(value, list | None), "a list"),
        ("auto_map", lambda value: isinstance(value, dict | None), "an object"),
        ("additional_special_tokens", lambda value: isinstance(value, list | None), "a list"),
        (
            "extra_special_tokens",
            lambda value: isinstance(value, list | dict | None),
            "a list or an object",
        ),
    ):
        if name in settings and not fits(settings[name]):
            raise CheckpointError(f"{path}: {name} is {settings[name]!r:.60}; expected {wanted}")


def _read_backend(folder: CheckpointFolder, settings: dict[str, Any]) -> tuple[Path, Tokenizer]:
    """Return the file that holds a folder's vocabulary, and the tokenizer made of it."""
    fast, vocab = folder.path / "tokenizer.json", folder.path / "vocab.txt"
    files = ["tokenizer.json", "vocab.txt", *(["vocab.json"] if folder.has("merges.txt") else [])]
    _check_class(folder, settings, next((name for name in files if folder.has(name)), ""))
    if folder.has("tokenizer.json"):
        with refusing(str(fast)):
            content = fast.read_text(encoding="utf-8")
            _check_parts(json.loads(content))
            backend = Tokenizer.from_str(content)
        if settings.get("tokenizer_class") in BERT_CLASSES:
            _normalize_as_stated(backend, settings, fast)
        if folder.has("vocab.txt") and isinstance(backend.model, WordPiece):
            _compare(vocab, backend.get_vocab(with_added_tokens=False), fast)
        return fast, backend
    added = _added_tokens(folder)
    if folder.has("vocab.txt"):
        source, backend = vocab, _word_pieces(vocab, settings)
    elif folder.has("vocab.json") and folder.has("merges.txt"):
        source = folder.path / "vocab.json"
        backend = _byte_level_bpe(
            source, folder.path / "merges.txt", settings | folder.special_tokens_map
        )
    else:
        raise CheckpointError(
            f"{folder}: no tokenizer; expected tokenizer.json, vocab.txt, or vocab.json with "
            "merges.txt (a sentencepiece model is not supported)"
        )
    for index, token in sorted(added.items()):
        # A piece of the vocabulary keeps its id, and is found as a whole from now on.
        (backend.add_special_tokens if token.special else backend.add_tokens)([token])
        known = backend.token_to_id(token.content)
        if known != index:
            raise CheckpointError(
                f"{folder}: the added token {token.content!r:.60} should have the id {index}, but "
                f"is piece {known} of this vocabulary"
            )
    return source, backend


def _check_class(folder: CheckpointFolder, settings: dict[str, Any], file: str) -> None:
    """Refuse a tokenizer whose class does something else than its file says."""
    in_config = folder.config.get("tokenizer_class") if folder.has("config.json") else None
    name = settings.get("tokenizer_class") or in_config
    known = {"vocab.txt": OF_VOCAB, "vocab.json": OF_MERGES}.get(
        file, (*OF_VOCAB, *OF_MERGES, *OF_FILE)
    )
    written_by_5 = name == "TokenizersBackend" and file == "tokenizer.json"  # transformers 5
    if name is None and "AutoTokenizer" in (settings.get("auto_map") or {}):
        name = settings["auto_map"]["AutoTokenizer"]  # the author's own program
    stem = str(name).removesuffix("Fast").removesuffix("Tokenizer")
    if name is not None and file and stem not in known and not written_by_5:
        raise CheckpointError(
            f"{folder}: tokenizer_class is {name!r:.80}, which is more than {file} says; supported "
            f"with it are {', '.join(f'{known_name}Tokenizer' for known_name in known)}"
        )


def _check_parts(content: dict[str, Any]) -> None:
    """Raise ValueError for a tokenizer.json that makes the library panic, or fail much later."""
    model, processor = content["model"], content.get("post_processor") or {}
    unknown = model.get("unk_token")
    if unknown is not None and unknown not in model["vocab"]:
        raise ValueError(f"unk_token {unknown!r:.60} is not in its vocabulary")
    for part in processor.get("processors") or [processor]:
        if part.get("type") == "TemplateProcessing":
            pieces = [*part["single"], *part["pair"]]
            named = {piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece}
            for token in sorted(named):
                entry = part["special_tokens"].get(token) or {}
                if not entry.get("ids") or len(entry["ids"]) != len(entry["tokens"]):
                    raise ValueError(f"its post_processor does not say what {token!r:.60} is")


def _check_special_tokens(
    tokenizer: "BertTokenizer", settings: dict[str, Any], source: Path
) -> None:
    """Refuse special tokens that transformers would use in place of the vocabulary's usual ones.

    Further ones of the vocabulary are found as a whole in a text from now on, as in transformers.
    """

    def content(token: Any) -> Any:
        return token.get("content") if isinstance(token, dict) else token

    backend = tokenizer.backend
    cls, sep, mask, pad = tokenizer.names
    usual = dict(zip(TOKEN_SETTINGS[1:], (cls, sep, mask, pad), strict=True))
    usual["unk_token"] = "[UNK]" if tokenizer.names == BERT_NAMES else "<unk>"
    for name, token in usual.items():
        stated = content(settings.get(name))
        if stated not in (None, token):
            raise CheckpointError(
                f"{source}: {name} is {stated!r:.60} in tokenizer_config.json or "
                f"special_tokens_map.json; only {token} is supported"
            )
    more = settings.get("additional_special_tokens") or settings.get("extra_special_tokens") or []
    for token in map(content, more.values() if isinstance(more, dict) else more):
        if not isinstance(token, str) or backend.token_to_id(token) is None:
            raise CheckpointError(
                f"{source}: the additional special token {token!r:.60} is not in the vocabulary"
            )
        backend.add_special_tokens([token])


def _lower_first(backend: Tokenizer, folder: CheckpointFolder) -> None:
    """Lower-case texts first if sentence-transformers' file says so, as it does."""
    path, settings = folder.sentence_config
    lower = settings.get("do_lower_case", False)
    if not isinstance(lower, bool):
        raise CheckpointError(f"{path}: do_lower_case is {lower!r:.60}; expected true or false")
    held = backend.normalizer
    if lower and not (isinstance(held, BertNormalizer) and held.lowercase):
        backend.normalizer = NormalizerSequence([Lowercase(), *([held] if held else [])])


def _bert_normalizer(settings: dict[str, Any]) -> BertNormalizer:
    """Return the normalizer of texts, by default for an uncased model."""
    return BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )


def _normalize_as_stated(backend: Tokenizer, settings: dict[str, Any], source: Path) -> None:
    """Replace the normalizer of tokenizer.json by tokenizer_config.json's settings, with a warning.

    transformers' BertTokenizer does so, by its defaults where nothing is stated.
    """
    held, stated = backend.normalizer, _bert_normalizer(settings)
    if not isinstance(held, BertNormalizer):
        return
    for name in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"):
        if getattr(held, name) != getattr(stated, name):
            logger.warning(
                "%s: its %s is %s; tokenizer_config.json decides, which makes it %s, as in "
                "transformers",
                *(source, name, getattr(held, name), getattr(stated, name)),
            )
            backend.normalizer = stated


def _compare(vocab: Path, pieces: dict[str, int], source: Path) -> None:
    """Warn if vocab.txt holds other pieces than the tokenizer.json in the same folder."""
    try:
        other = _read_pieces(vocab)
    except CheckpointError as error:
        logger.warning("%s; %s is used", error, source.name)
        return
    if other != pieces:
        differ = len(dict(other.items() ^ pieces.items()))
        logger.warning("%s: %d pieces differ from %s, which is used", vocab, differ, source.name)


def _read_pieces(vocab: Path) -> dict[str, int]:
    """Return the pieces of a vocab.txt with their ids: the number of the last line with a piece."""
    try:
        with open_plain(vocab, "r", encoding="utf-8") as file:
            pieces = file.read().removesuffix("\n").split("\n")
    except (UnicodeDecodeError, OSError) as error:
        raise CheckpointError(f"{vocab}: not a readable vocabulary ({error})") from None
    # The library's own reader also strips spaces that are pieces, such as U+2028.
    ids = {piece.removesuffix("\r"): index for index, piece in enumerate(pieces)}
    if "" in ids:
        raise CheckpointError(
            f"{vocab}:{ids[''] + 1}: a blank line, which is no piece; restore the file"
        )
    return ids


def _word_pieces(vocab: Path, settings: dict[str, Any]) -> Tokenizer:
    """Build BERT's tokenizer from vocab.txt (Devlin et al. 2019, section 3).

    Each line has one piece; its id is the line number, for a repeated piece the last one. By
    default texts are lower-cased, as for bert-base-uncased.
    """
    ids = _read_pieces(vocab)
    for token in SPECIAL_TOKENS:
        if token not in ids:
            raise CheckpointError(f"{vocab}: has no line {token}; not a BERT vocabulary")
    _check_pieces(ids, settings, vocab)
    backend = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    backend.normalizer = _bert_normalizer(settings)
    backend.pre_tokenizer = BertPreTokenizer()
    backend.add_special_tokens(list(SPECIAL_TOKENS))
    backend.post_processor = TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, ids[token]) for token in ("[CLS]", "[SEP]")],
    )
    return backend


def _check_pieces(ids: dict[str, int], settings: dict[str, Any], vocab: Path) -> None:
    """Refuse sentencepiece's pieces; warn of cased ones if no file states the casing."""
    marked = sum(piece.startswith("\u2581") for piece in ids)
    if marked > sum(piece.startswith("##") for piece in ids):
        raise CheckpointError(
            f"{vocab}: {marked} pieces begin with \u2581, as sentencepiece's do; only BERT "
            "tokenizers are read from vocab.txt"
        )
    cased = sum(piece != piece.lower() and piece[0] not in "[<" for piece in ids)
    if cased > len(ids) / CASED_SHARE and "do_lower_case" not in settings:
        logger.warning(
            "%s: %d pieces have capital letters, and nothing says how texts are cased; they are "
            'lower-cased, as in transformers; for a cased model, write {"do_lower_case": false} '
            "into tokenizer_config.json",
            *(vocab, cased),
        )


def _byte_level_bpe(vocab: Path, merges: Path, settings: dict[str, Any]) -> Tokenizer:
    """Build RoBERTa's tokenizer (Liu et al. 2019, section 4.4; BPE on bytes is GPT-2's).

    Args:
        vocab: vocab.json, the id of every piece.
        merges: merges.txt, one merge of two pieces per line, in the order they were learnt.
        settings: tokenizer_config.json and special_tokens_map.json in one: `add_prefix_space`,
            and whether a `<mask>` in a text takes the space before it.
    """
    with refusing(f"{vocab}, {merges.name}"):
        backend = Tokenizer(BPE.from_file(str(vocab), str(merges)))
    ids = backend.get_vocab()
    for token in ROBERTA_SPECIAL_TOKENS:
        if token not in ids:
            raise CheckpointError(f"{vocab}: has no {token}; not a RoBERTa vocabulary")
    space = bool(settings.get("add_prefix_space", False))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=space)
    # <s> a </s>, and <s> a </s></s> b </s>, all of token type 0.
    ends = (("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    backend.post_processor = RobertaProcessing(*ends, add_prefix_space=space)
    # Newer files describe <mask> in added_tokens_decoder, older ones as mask_token.
    stated = [*(settings.get("added_tokens_decoder") or {}).values(), settings.get("mask_token")]
    described = [t for t in stated if isinstance(t, dict) and t.get("content") == "<mask>"]
    takes_space = bool(described and described[0].get("lstrip"))
    mask = AddedToken("<mask>", lstrip=takes_space, special=True)
    backend.add_special_tokens([*ROBERTA_SPECIAL_TOKENS[:-1], mask])
    return backend


def _added_tokens(folder: CheckpointFolder) -> dict[int, AddedToken]:
    """Return the tokens that tokenizer_config.json or added_tokens.json adds, by their ids."""
    stated = folder.tokenizer_config.get("added_tokens_decoder") or {}
    names = ("lstrip", "rstrip", "normalized", "single_word", "special")
    with refusing(f"{folder}: added tokens"):
        if not stated:
            return {int(index): AddedToken(token) for token, index in folder.added_tokens.items()}
        listed = {}
        for index, entry in stated.items():
            options = {name: entry[name] for name in names if name in entry}
            listed[int(index)] = AddedToken(entry["content"], **options)
        return listed


def _casing(backend: Tokenizer) -> dict[str, Any] | None:
    """Return the settings with which `_word_pieces` makes this tokenizer; None if none does."""
    parts = json.loads(backend.to_str())
    normalizer, cutter = parts["normalizer"] or {}, parts["pre_tokenizer"] or {}
    tokens = {token["content"] for token in parts["added_tokens"]}
    ids = backend.get_vocab().values()
    if (
        not isinstance(backend.model, WordPiece)
        or len(ids) <= max(ids)  # a piece on two lines
        or backend.model.unk_token != "[UNK]"
        or backend.model.continuing_subword_prefix != "##"
        or (normalizer.get("type"), cutter.get("type")) != ("BertNormalizer", "BertPreTokenizer")
        or not normalizer["clean_text"]
        or not tokens <= set(SPECIAL_TOKENS)
    ):
        return None
    return {
        "do_lower_case": normalizer["lowercase"],
        "strip_accents": normalizer["strip_accents"],
        "tokenize_chinese_chars": normalizer["handle_chinese_chars"],
    }

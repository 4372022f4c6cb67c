"""A text corpus: its vocabulary, and its rows of tokens.

Plain text, a paragraph per line, an empty line between documents; .xz, .gz and .bz2 are read
directly.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.trainers import WordPieceTrainer

from minbert.packing import TokenSequences
from minbert.tokenizer import SPECIAL_TOKENS, BertTokenizer
from runtime.errors import UserError
from runtime.files import (
    UNREADABLE,
    bounded_lines,
    file_digest,
    is_sealed,
    open_file,
    save_array,
    seal,
    whole_file,
)
from runtime.progress import progress

CHUNK = 2048  # paragraphs tokenized at a time


class CorpusError(UserError):
    """A corpus file cannot be used."""


def read_paragraphs(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the paragraphs of all files, and "" at the end of every document and file.

    Raises:
        CorpusError: a file is missing, damaged or not UTF-8, has a line that is too long, or there
            is no text at all.
    """
    has_text = False
    for path in paths:
        try:
            with open_file(path, "rt", encoding="utf-8-sig") as lines:
                for line in bounded_lines(lines, path, CorpusError):
                    has_text = has_text or bool(line.strip())
                    yield line.strip()
        except (*UNREADABLE, UnicodeDecodeError) as error:
            raise CorpusError(f"{path}: not a readable UTF-8 text file ({error})") from None
        yield ""
    if not has_text:
        raise CorpusError(f"{', '.join(map(str, paths))}: no text; expected a paragraph per line")


def train_vocabulary(paragraphs: Iterable[str], vocab_size: int, path: Path) -> None:
    """Train an uncased WordPiece vocabulary and write it as a vocab.txt, a piece per line.

    The library breaks ties between equally frequent pieces at random, so two runs may differ in
    a few pieces; to repeat a run exactly, use its vocab.txt.
    """
    backend = Tokenizer(WordPiece(unk_token="[UNK]"))
    backend.normalizer = BertNormalizer(lowercase=True)
    backend.pre_tokenizer = BertPreTokenizer()
    trainer = WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS), show_progress=False
    )
    backend.train_from_iterator(paragraphs, trainer)
    learned = sorted(backend.get_vocab().keys() - set(SPECIAL_TOKENS))
    with whole_file(path) as temporary:
        lines = (f"{piece}\n" for piece in (*SPECIAL_TOKENS, *learned))
        temporary.write_text("".join(lines), "utf-8")


def corpus_digest(paths: Sequence[Path], made_of: str = "") -> str:
    """Return twelve hex digits that depend on the texts and on their use (`made_of`)."""
    for path in paths:
        made_of += file_digest(path)
    return hashlib.sha256(made_of.encode()).hexdigest()[:12]


def tokenize_corpus(
    paths: Sequence[Path], tokenizer: BertTokenizer, length: int, folder: Path
) -> np.ndarray:
    """Return the corpus as `[CLS] ... [SEP]` rows of `length` tokens without padding.

    A document's paragraphs form one stream, cut every `length - 2` tokens. The rest at its end is
    dropped: padding would be wasted work, and mixing documents would give a wrong context.

    Returns:
        (n, length) uint16 or int32, mapped from a file in `folder`.
    """
    target = folder / f"rows-{length}-{corpus_digest(paths, tokenizer.fingerprint())}.npy"
    if not is_sealed(target):
        rows = list(_rows(read_paragraphs(paths), tokenizer, length))
        if not rows:
            raise CorpusError(f"{paths[0]}: no document has {length - 2} tokens to fill one row")
        with whole_file(target) as temporary:
            save_array(temporary, np.concatenate(rows))
            seal(temporary, target.name)
    return np.load(target, mmap_mode="r")


def _rows(paragraphs: Iterator[str], tokenizer: BertTokenizer, length: int) -> Iterator[np.ndarray]:
    """Yield arrays of rows, one per chunk of paragraphs."""
    body = length - 2
    rest: list[int] = []
    with progress("tokenize corpus", None, "paragraph") as bar:
        while chunk := list(islice(paragraphs, CHUNK)):
            cut: list[list[int]] = []
            for encoding in tokenizer.backend.encode_batch_fast(chunk, add_special_tokens=False):
                rest = [*rest, *encoding.ids] if encoding.ids else []  # "" ends a document
                whole = len(rest) // body * body
                for start in range(0, whole, body):
                    cut.append([tokenizer.cls_id, *rest[start : start + body], tokenizer.sep_id])
                rest = rest[whole:]
            bar.update(len(chunk))
            if cut:
                yield np.array(cut, dtype=tokenizer.dtype)


def as_sequences(rows: np.ndarray) -> TokenSequences:
    """View equal-length rows (n, length) as token sequences, without copying."""
    count, length = rows.shape
    offsets = np.arange(count + 1, dtype=np.int64) * length
    return TokenSequences(rows.reshape(-1), offsets, np.full(count, length, np.int32))

"""The edge of the `tokenizers` library: what it raises, and what its tokenizers must be.

Feeds: tokenizer, byte_pairs.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tokenizers import Tokenizer

from minbert.config import CheckpointError
from runtime.errors import UserError


@contextmanager
def refusing(source: str) -> Iterator[None]:
    """Turn what the library raises inside the block into a CheckpointError about `source`.

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


def read_template(backend: Tokenizer, cls_id: int, sep_id: int, source: str) -> tuple[int, int]:
    """Return how a pair is put together: separators between the texts, and the second's type.

    BERT's is `[CLS] a [SEP] b [SEP]` with types 0 and 1, RoBERTa's `<s> a </s></s> b </s>` with 0.

    Raises:
        CheckpointError: special tokens or token types that are neither of the two.
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


def encode(backend: Tokenizer, texts: Sequence[Any], before: int) -> list[list[int]]:
    """Return the ids of N texts, without special tokens and without an end to their number.

    Args:
        backend: the tokenizer.
        texts: N texts.
        before: how many texts there were before these, for messages.

    Raises:
        UserError: one of them is no text.
        CheckpointError: the tokenizer cannot read them.
    """
    for row, text in enumerate(texts, before):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise UserError(f"text {row} is a {kind}, {text!r:.60}; expected strings")
    with refusing("tokenizer"):
        try:
            found = backend.encode_batch_fast(texts, add_special_tokens=False)
        # Strings that are no Unicode, such as half of a surrogate pair, are not taken for strings.
        except TypeError:
            rows = (row for row, text in enumerate(texts, before) if not _is_unicode(text))
            row = next(rows, before)
            raise UserError(
                f"text {row} is no valid Unicode: {texts[row - before]!a:.60}"
            ) from None
    return [encoding.ids for encoding in found]


def _is_unicode(text: str) -> bool:
    try:
        return bool(text.encode("utf-8")) or not text
    except UnicodeEncodeError:
        return False

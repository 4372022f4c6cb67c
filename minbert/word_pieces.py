"""BERT's tokenizer from `vocab.txt`, and back: WordPiece. Feeds: tokenizer.

Newer checkpoints hold the same as one tokenizer.json, which needs none of this.
"""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from minbert.config import CheckpointError
from runtime.files import open_plain

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def word_pieces(vocab: Path, casing: dict[str, Any]) -> Tokenizer:
    """Build BERT's tokenizer (Devlin et al. 2019, section 3).

    Args:
        vocab: one piece per line; the line number is the id, of a repeated piece the last one.
        casing: `do_lower_case`, `strip_accents`, `tokenize_chinese_chars`, named as in
            tokenizer_config.json; if absent, lower-casing, as for bert-base-uncased.

    Raises:
        CheckpointError: no text, or no vocabulary with BERT's special tokens.
    """
    try:
        with open_plain(vocab, "r", encoding="utf-8") as file:
            pieces = file.read().split("\n")
    except (UnicodeDecodeError, OSError) as error:
        raise CheckpointError(f"{vocab}: not a readable vocabulary ({error})") from None
    if pieces[-1] == "":
        pieces.pop()
    ids = {piece.removesuffix("\r"): index for index, piece in enumerate(pieces)}
    for token in SPECIAL_TOKENS:
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
    return backend


def casing_of(backend: Tokenizer) -> dict[str, Any] | None:
    """Return the settings with which `word_pieces` makes this tokenizer; None if none does."""
    parts = json.loads(backend.to_str())
    normalizer, cutter = parts["normalizer"] or {}, parts["pre_tokenizer"] or {}
    tokens = {token["content"] for token in parts["added_tokens"]}
    if (
        not isinstance(backend.model, WordPiece)
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


def vocabulary_lines(backend: Tokenizer) -> str:
    """Return the content of vocab.txt.

    An id without a piece, the earlier line of a repeated one, takes the next id's piece: read
    again, the last of equal lines counts.
    """
    pieces = {index: piece for piece, index in backend.get_vocab().items()}
    lines, following = [], ""
    for index in range(max(pieces), -1, -1):
        following = pieces.get(index, following)
        lines.append(f"{following}\n")
    return "".join(reversed(lines))

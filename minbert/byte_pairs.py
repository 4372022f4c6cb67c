"""RoBERTa's tokenizer from `vocab.json` and `merges.txt`: byte-level BPE. Feeds: tokenizer.

Newer checkpoints hold the same as one tokenizer.json, which needs none of this.
"""

from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import RobertaProcessing

from minbert.backend import refusing
from minbert.config import CheckpointError
from runtime.files import utf8_name

SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def byte_level_bpe(vocab: Path, merges: Path, settings: dict[str, Any]) -> Tokenizer:
    """Build RoBERTa's tokenizer (Liu et al. 2019, section 4.4; BPE on bytes is GPT-2's).

    Args:
        vocab: vocab.json, the id of every piece.
        merges: merges.txt, one merge of two pieces per line, in the order they were learnt.
        settings: tokenizer_config.json and special_tokens_map.json in one: `add_prefix_space`,
            and whether a `<mask>` in a text takes the space before it.

    Raises:
        CheckpointError: files that are no byte-level vocabulary with RoBERTa's special tokens.
    """
    with refusing(f"{vocab}, {merges.name}"):
        with utf8_name(vocab) as pieces, utf8_name(merges) as pairs:
            backend = Tokenizer(BPE.from_file(pieces, pairs))
    ids = backend.get_vocab()
    for token in SPECIAL_TOKENS:
        if token not in ids:
            raise CheckpointError(f"{vocab}: has no {token}; not a RoBERTa vocabulary")
    space = bool(settings.get("add_prefix_space", False))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=space)
    # <s> a </s>, and <s> a </s></s> b </s>, all of token type 0.
    ends = (("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    backend.post_processor = RobertaProcessing(*ends, add_prefix_space=space)
    backend.add_special_tokens([*SPECIAL_TOKENS[:-1], _mask_token(settings)])
    return backend


def _mask_token(settings: dict[str, Any]) -> AddedToken:
    """Return `<mask>` as the settings describe it; newer files do so in added_tokens_decoder."""
    stated = [*(settings.get("added_tokens_decoder") or {}).values(), settings.get("mask_token")]
    for token in stated:
        if isinstance(token, dict) and token.get("content") == "<mask>":
            return AddedToken("<mask>", lstrip=bool(token.get("lstrip")), special=True)
    return AddedToken("<mask>", special=True)

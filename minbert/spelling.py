"""How the encoders of a run read texts; their tokenizers are loaded when a text needs them."""

from collections.abc import Callable, Iterable
from functools import cache


def spellings(checkpoints: str | Iterable[str]) -> list[Callable[[str], str]]:
    """Return `BertTokenizer.spelled` of checkpoints, given by their folders or names."""

    def of(checkpoint: str) -> Callable[[str], str]:
        @cache
        def spelled() -> Callable[[str], str]:
            from minbert.tokenizer import BertTokenizer  # imports PyTorch

            return BertTokenizer.from_pretrained(checkpoint).spelled

        return lambda text: spelled()(text)

    return list(map(of, [checkpoints] if isinstance(checkpoints, str) else checkpoints))

"""How the encoders of a run read texts; their tokenizers are loaded when a text needs them."""

import logging
from collections.abc import Callable, Iterable
from functools import cache

from minbert.config import CheckpointError
from runtime.files import as_given_in

logger = logging.getLogger(__name__)


def spellings(checkpoints: str | Iterable[str], directory: str = ".") -> list[Callable[[str], str]]:
    """Return `BertTokenizer.spelled` of checkpoints, given by names, or paths from a directory."""

    def of(checkpoint: str) -> Callable[[str], str]:
        @cache
        def spelled() -> Callable[[str], str]:
            from minbert.tokenizer import BertTokenizer  # imports PyTorch

            try:
                return BertTokenizer.from_pretrained(as_given_in(directory, checkpoint)).spelled
            except CheckpointError as error:  # of a finished run, moved or deleted since
                logger.warning("%s; texts are compared as they stand", error)
                return str

        return lambda text: spelled()(text)

    return list(map(of, [checkpoints] if isinstance(checkpoints, str) else checkpoints))

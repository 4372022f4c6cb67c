"""A minimal BERT: `BertModel`, `BertTokenizer` and `SentenceEncoder`.

The names are loaded on first use, so that `import minbert` costs nothing.
"""

from typing import TYPE_CHECKING, Any

from runtime.version import VERSION

__version__ = VERSION
__all__ = ["BertConfig", "BertModel", "BertTokenizer", "CheckpointError", "SentenceEncoder"]

if TYPE_CHECKING:
    from minbert.config import BertConfig, CheckpointError
    from minbert.encoder import SentenceEncoder
    from minbert.model import BertModel
    from minbert.tokenizer import BertTokenizer

_HOME = {
    "BertConfig": "config",
    "BertModel": "model",
    "BertTokenizer": "tokenizer",
    "CheckpointError": "config",
    "SentenceEncoder": "encoder",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'minbert' has no attribute {name!r}")
    return getattr(import_module(f"minbert.{_HOME[name]}"), name)

"""SentenceEncoder in its plain form: texts in, one embedding per text out.

The project's own adds fast forms of the layers, caches and other formats; this one is to be read.
In a student's tree it is `minbert/encoder.py`.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from minbert.model import BertModel
from minbert.packing import PackedBatch, TokenSequences
from minbert.pooling import pool
from minbert.tokenizer import BertTokenizer


class SentenceEncoder(nn.Module):
    """A BertModel with its tokenizer and pooling.

    Args:
        model, tokenizer: the two halves of a checkpoint.
        pooling: one of `minbert.config.POOLINGS`.
    """

    dtype = torch.float32
    prompts = SimpleNamespace(default="")  # what every text would begin with

    def __init__(
        self, model: BertModel, tokenizer: BertTokenizer, pooling: str = "cls_before_pooler"
    ):
        super().__init__()
        self.model, self.tokenizer, self.pooling = model, tokenizer, pooling
        self.max_length = model.config.num_positions

    @classmethod
    def from_pretrained(cls, folder: str, pooling: str = "cls_before_pooler") -> "SentenceEncoder":
        """Load a checkpoint folder in the Hugging Face format."""
        return cls(
            BertModel.from_pretrained(folder), BertTokenizer.from_pretrained(folder), pooling
        )

    @property
    def embedding_size(self) -> int:
        """Return the number of dimensions of an embedding."""
        return self.model.config.hidden_size

    @property
    def device(self) -> torch.device:
        """Return where the weights are."""
        return next(self.parameters()).device

    def tokenize(
        self, texts: Sequence[str], seconds: Sequence[str] | None = None
    ) -> TokenSequences:
        """Return texts, or pairs of texts, as token ids."""
        return self.tokenizer(texts, seconds, max_length=self.max_length)

    def forward(self, batch: PackedBatch) -> Tensor:
        """Return the pooled embeddings of a batch, (B, H), with gradient when training."""
        batch = batch.to(self.device)
        return pool(self.model.packed(batch), batch, self.pooling)

    embed = forward

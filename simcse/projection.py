"""SimCSE's MLP over [CLS]: a fresh dense + tanh (Gao et al. 2021, section 6.3, "pooler").

Supervised models keep it, so it *becomes* the encoder's pooler. Unsupervised models drop it after
training (`mlp_only_train`), so it stays outside the encoder, owned by the trainer.
"""

from torch import nn

from minbert.encoder import SentenceEncoder
from minbert.model import BertPooler
from simcse.config import SimCSEConfig


def attach_projection(encoder: SentenceEncoder, config: SimCSEConfig) -> nn.Module:
    """Set the encoder's pooling for training; return what the trainer puts on top of it.

    The MLP starts from random weights, not from BERT's next-sentence pooler.
    """
    encoder.pooling = config.pooling or "cls"
    if encoder.pooling != "cls":
        return nn.Identity()
    fresh = BertPooler(encoder.model.config.hidden_size)
    fresh.apply(encoder.model.init_weights)
    fresh.to(encoder.device)
    if config.mlp_only_train:
        encoder.pooling = "cls_before_pooler"
        return fresh
    encoder.model.pooler = fresh
    return nn.Identity()

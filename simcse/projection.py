"""SimCSE's MLP over [CLS]: a fresh dense + tanh (Gao et al. 2021, section 6.3, "pooler").

Supervised models keep it, so it *becomes* the encoder's pooler. Unsupervised models drop it after
training (`mlp` is "training"), so it stays outside the encoder, owned by the trainer.
"""

from torch import nn

from minbert.encoder import SentenceEncoder
from minbert.fast.switch import accelerate
from minbert.model import BertPooler
from minbert.pooling import choose_pooling
from simcse.config import SimCSEConfig


def attach_projection(encoder: SentenceEncoder, config: SimCSEConfig) -> nn.Module:
    """Set the encoder's pooling for training; return what the trainer puts on top of it.

    The MLP starts from random weights, not from BERT's next-sentence pooler.
    """
    pooling = choose_pooling(config.pooling, encoder.stated_pooling, tuning=True)
    # The MLP belongs to [CLS]; the averages go into the loss as they are (paper, section 6.3).
    if pooling != "cls":
        encoder.pool_by(pooling)
        return nn.Identity()
    if config.mlp == "never":
        encoder.pool_by("cls_before_pooler")
        return nn.Identity()
    # Dense (H, H) and tanh, as in BERT's pooler, from small random weights.
    fresh = BertPooler(encoder.model.config.hidden_size)
    fresh.apply(encoder.model.init_weights)
    fresh.to(encoder.device)
    if config.mlp == "training":
        # The encoder learns to give a good [CLS]; what is on top of it is discarded.
        encoder.pool_by("cls_before_pooler")
        return fresh
    # Here it stays, under its name in checkpoints.
    encoder.model.pooler = accelerate(fresh)
    encoder.pool_by("cls")
    return nn.Identity()

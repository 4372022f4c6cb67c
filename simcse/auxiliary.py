"""The auxiliary objective: masked-language modelling on the sentences of the batch.

Gao et al. 2021, section 5.1: l + lambda * l_mlm keeps token-level knowledge alive.
Legend: M masked positions of all chunks and processes. Feeds: train.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM, mask_tokens
from minbert.packing import PackedBatch
from runtime.device import autocast
from runtime.processes import sum_over_ranks
from simcse.config import SimCSEConfig


def mlm_backward(
    model: BertForMaskedLM,
    encoder: SentenceEncoder,
    chunks: Sequence[PackedBatch],
    config: SimCSEConfig,
) -> Tensor:
    """Add the gradients of the weighted mean loss over all M masked positions; return that loss.

    Chunk by chunk, as in `grad_cache`; here no chunk needs the others.
    """
    # The same sentences as in the contrastive loss, now with holes (paper, section 5.1).
    tokenizer = encoder.tokenizer
    special_ids, mask_id = tokenizer.special_ids, tokenizer.mask_id
    # Drawn again at every step, as in RoBERTa, not once for the whole training.
    masked = [
        mask_tokens(chunk, special_ids, mask_id, tokenizer.vocab_size, config.mlm_probability)
        for chunk in chunks
    ]
    # The mean over all M masked positions, wherever they are: each chunk is weighted by its share.
    counts = torch.stack([(labels != -100).sum() for _, labels in masked])
    shares = counts / sum_over_ranks(counts.sum()).clamp(min=1)  # of M, by chunk
    total = torch.zeros((), device=encoder.device)
    for (batch, labels), share in zip(masked, shares.tolist(), strict=True):
        # A chunk of short sentences may have no masked token at all.
        if share:
            with autocast(encoder.device, encoder.dtype):
                loss = model.loss(batch.to(encoder.device), labels.to(encoder.device))
            # l + lambda l_mlm: the weight enters with the gradient, chunk by chunk.
            loss = loss * (config.mlm_weight * share)
            loss.backward()
            total += loss.detach()
    return sum_over_ranks(total)

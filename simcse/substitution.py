"""Second views by a masked language model: tokens replaced by what it predicts in their place.

Gao et al. 2021, table 1, "MLM 15%". Legend: N sequences, M masked positions, V vocab_size.
Reads: views; the encoder with its own prediction head. Feeds: stage.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM
from minbert.packing import batches_by_tokens
from minbert.tokenizer import BertTokenizer
from runtime.device import autocast
from runtime.progress import progress
from simcse.positives import SEED
from simcse.views import ContrastiveData

# Of the tokens, as in BERT's own training; the paper's share, too.
SHARE = 0.15


def substitute(
    data: ContrastiveData, encoder: SentenceEncoder, folder: Path, share: float | None = None
) -> ContrastiveData:
    """Return the data with some tokens of every positive replaced by others that fit.

    A token is masked with the probability `share`, and becomes the model's best guess but the token
    itself, in evaluation mode. Special tokens stay.

    Args:
        data: anchors and positives, in sequences of their own.
        encoder: whose model guesses.
        folder: the encoder's checkpoint, which holds its prediction head.
        share: 0 to 1; None: the paper's.

    Raises:
        CheckpointError: the backbone has no prediction head.
    """
    sequences = data.sequences
    model = BertForMaskedLM.around(encoder.model, folder, required=True)
    # Drawn for all tokens in the file's order, whatever batches they are guessed in.
    positives = data.rows[:, 1]
    inside = np.zeros(len(sequences), bool)
    inside[positives] = True
    chosen = np.repeat(inside, sequences.lengths) & ~np.isin(
        sequences.ids, encoder.tokenizer.special_ids
    )
    chosen &= np.random.default_rng(SEED).random(len(chosen)) < (SHARE if share is None else share)
    ids = np.where(chosen, encoder.tokenizer.mask_id, sequences.ids).astype(sequences.ids.dtype)
    masked, found = replace(sequences, ids=ids), ids.copy()
    batches = batches_by_tokens(sequences.lengths[positives], encoder.batch_tokens)
    with encoder.reading(masked), progress("replace tokens", len(data), "text", delay=2) as bar:
        for rows in (positives[part] for part in batches):
            # Where the batch's tokens are in `ids`, and which of them are to be guessed.
            spans = (np.arange(*sequences.offsets[row : row + 2]) for row in rows)
            places = np.concatenate(list(spans))
            at = np.flatnonzero(chosen[places])
            batch = masked.pack(rows).to(encoder.device)
            with autocast(encoder.device, encoder.dtype):
                logits = model(batch, torch.from_numpy(at).to(encoder.device))  # (M, V)
            found[places[at]] = _best_others(logits, sequences.ids[places[at]], encoder.tokenizer)
            bar.update(len(rows))
    return replace(data, sequences=replace(sequences, ids=found))


def _best_others(
    logits: torch.Tensor, originals: np.ndarray, tokenizer: BertTokenizer
) -> np.ndarray:
    """Return the likeliest tokens, (M,), that are neither special nor the originals (M,)."""
    logits = logits[:, : tokenizer.vocab_size].float()
    logits[:, [*tokenizer.special_ids, tokenizer.mask_id]] = -torch.inf
    own = torch.from_numpy(originals.astype(np.int64)).to(logits.device)
    return logits.scatter(1, own[:, None], -torch.inf).argmax(dim=1).cpu().numpy()

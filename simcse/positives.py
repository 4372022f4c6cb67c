"""Second views by data augmentation, for comparison with dropout (Gao et al. 2021, 3 and 4).

Tables 1 and 2: crops, deletions, synonyms, the next sentence, and tokens replaced by a masked
language model. Dropout is applied in addition to each of them.
Legend: N sequences, M masked positions, V vocab_size.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from random import Random

import numpy as np
import torch

from data.examples import DataError, Triplet
from data.locate import BUNDLED
from data.sentences import iter_documents, iter_sentences
from data.table import numbered_lines
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM
from minbert.packing import batches_by_tokens
from minbert.tokenizer import BertTokenizer
from runtime.device import autocast
from runtime.progress import progress
from simcse.views import ContrastiveData

logger = logging.getLogger(__name__)

# Positives are part of the data: they are drawn once, and are the same in a resumed run and for
# all seeds.
SEED = 0
# The default share of words that is cut off or deleted (first columns of table 1).
SHARE = 0.1
# The default share of masked tokens, as in BERT's training and in the paper.
TOKEN_SHARE = 0.15
SUCCESSORS = {"next": 1, "next3": 3}
# Kept around a synonym: quotes and brackets before a word, punctuation after it.
MARKS = "\"'([{.,;:!?)]}"
SYNONYMS = "synonyms.txt"  # on each line a word and its synonyms, separated by tabs

Change = Callable[[list[str], Random], list[str]]


def iter_pairs(path: Path, positive: str, share: float | None = None) -> Iterator[Triplet]:
    """Yield each sentence of a file with its positive.

    Args:
        path: one sentence per line, a blank line between documents.
        positive: a value of SimCSEConfig.positive; `mlm` replaces its tokens later.
        share: SimCSEConfig.positive_share.

    Raises:
        DataError: a broken file; no sentence has a successor.
    """
    draw = Random(SEED)
    if positive in SUCCESSORS:
        pairs = following(iter_documents(path), SUCCESSORS[positive], draw)
        first = next(pairs, None)
        if first is None:
            raise DataError(f"{path}: no line is followed by another of its document")
        return chain([first], pairs)
    kept = SHARE if share is None else share
    changes: dict[str, Change] = {
        "crop": partial(crop, share=kept),
        "crop+mlm": partial(crop, share=kept),
        "delete": partial(delete, share=kept),
        "delete-one": delete_one,
        "synonym": replace_by_synonym,
        "mlm": lambda words, draw: words,
    }
    return changed(iter_sentences(path), changes[positive], draw, positive)


def following(lines: Iterable[str], most: int, draw: Random) -> Iterator[Triplet]:
    """Yield each line with one of its next `most` lines (table 2), all equally likely.

    An empty line ends a document. A line without a successor in its document is left out; one with
    fewer than `most` takes one of those it has.
    """
    waiting: list[str] = []  # of one document, the first has not met all its successors yet
    for line in chain(lines, [""]):
        if line:
            waiting.append(line)
        while len(waiting) > most or (not line and len(waiting) > 1):
            anchor = waiting.pop(0)
            yield Triplet(anchor, waiting[draw.randrange(min(most, len(waiting)))])
        if not line:
            waiting.clear()


def changed(sentences: Iterable[str], change: Change, draw: Random, name: str) -> Iterator[Triplet]:
    """Yield each sentence with its changed copy; print how many are unchanged."""
    count = same = 0
    for sentence in sentences:
        words = sentence.split()
        other = change(words, draw)
        count += 1
        same += other == words
        yield Triplet(sentence, " ".join(other))
    if same and "mlm" not in name:
        changed_share = f"{1 - same / count:.1%} of {count:,} sentences are changed"
        logger.warning("--positive %s: %s; %s stay as they are", name, changed_share, f"{same:,}")


def crop(words: list[str], draw: Random, share: float) -> list[str]:
    """Return a span of the words, without this share of them; its start is random."""
    size = len(words) - _count(words, draw, share)
    begin = draw.randrange(len(words) - size + 1)
    return words[begin : begin + size]


def delete(words: list[str], draw: Random, share: float) -> list[str]:
    """Return the words without a share of them, drawn anywhere."""
    return _without(words, _count(words, draw, share), draw)


def delete_one(words: list[str], draw: Random) -> list[str]:
    """Return the words without one of them; a single word stays."""
    return _without(words, min(1, len(words) - 1), draw)


@cache
def synonyms() -> dict[str, tuple[str, ...]]:
    """Return the synonyms of each word, whichever of its senses they are of.

    The list belongs to this project and is small.
    """
    rows = (line.rstrip("\n").split("\t") for _, line in numbered_lines(BUNDLED / SYNONYMS))
    return {word: tuple(others) for word, *others in rows}


def replace_by_synonym(words: list[str], draw: Random) -> list[str]:
    """Return the words with one of them replaced by a synonym, or as they are if none has any."""
    known = synonyms()
    cores = [word.strip(MARKS) for word in words]
    places = [place for place, core in enumerate(cores) if core.lower() in known]
    if not places:
        return words
    place = draw.choice(places)
    core = cores[place]
    other = draw.choice(known[core.lower()])
    if core[0].isupper():
        other = other[0].upper() + other[1:]
    return [*words[:place], words[place].replace(core, other, 1), *words[place + 1 :]]


def _count(words: list[str], draw: Random, share: float) -> int:
    # Rounded up or down at random: a tenth of four words is zero or one word, 0.4 on average.
    # One word is always left.
    return min(int(share * len(words) + draw.random()), len(words) - 1)


def _without(words: list[str], count: int, draw: Random) -> list[str]:
    gone = set(draw.sample(range(len(words)), count))
    return [word for place, word in enumerate(words) if place not in gone]


def substitute(
    data: ContrastiveData, encoder: SentenceEncoder, folder: Path, share: float | None = None
) -> ContrastiveData:
    """Return the data with some tokens of every positive replaced by a masked language model.

    A token is masked with the probability `share` (None: the paper's). It becomes the model's best
    guess other than the token itself, in evaluation mode. Special tokens stay. `folder` is the
    encoder's checkpoint, which holds the prediction head.

    Raises:
        CheckpointError: the backbone has no prediction head.
    """
    sequences = data.sequences
    model = BertForMaskedLM.around(encoder.model, folder, required=True)
    # Drawn for all tokens in the file's order, independently of the batches.
    positives = data.rows[:, 1]
    inside = np.repeat(np.isin(np.arange(len(sequences)), positives), sequences.lengths)
    drawn = np.random.default_rng(SEED).random(len(sequences.ids))
    chosen = inside & (drawn < (TOKEN_SHARE if share is None else share))
    chosen &= ~np.isin(sequences.ids, encoder.tokenizer.special_ids)
    ids = np.where(chosen, encoder.tokenizer.mask_id, sequences.ids).astype(sequences.ids.dtype)
    masked, guessed = replace(sequences, ids=ids), ids.copy()
    batches = batches_by_tokens(sequences.lengths[positives], encoder.batch_tokens)
    with encoder.reading(masked), progress("replace tokens", len(data), "text", delay=2) as bar:
        for rows in (positives[part] for part in batches):
            # The places of the batch's tokens in `ids`, and those to predict.
            spans = (np.arange(*sequences.offsets[row : row + 2]) for row in rows)
            places = np.concatenate(list(spans))
            at = np.flatnonzero(chosen[places])
            batch = masked.pack(rows).to(encoder.device)
            with autocast(encoder.device, encoder.dtype):
                logits = model(batch, torch.from_numpy(at).to(encoder.device))  # (M, V)
            guessed[places[at]] = _best_others(logits, sequences.ids[places[at]], encoder.tokenizer)
            bar.update(len(rows))
    return replace(data, sequences=replace(sequences, ids=guessed))


def _best_others(
    logits: torch.Tensor, originals: np.ndarray, tokenizer: BertTokenizer
) -> np.ndarray:
    """Return the likeliest tokens, (M,), that are neither special nor the originals (M,)."""
    logits = logits[:, : tokenizer.vocab_size].float()
    logits[:, [*tokenizer.special_ids, tokenizer.mask_id]] = -torch.inf
    own = torch.from_numpy(originals.astype(np.int64)).to(logits.device)
    return logits.scatter(1, own[:, None], -torch.inf).argmax(dim=1).cpu().numpy()

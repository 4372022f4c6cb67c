"""The objectives that SimCSE is compared with: examples and losses, and ALL_OBJECTIVES.

Legend: B examples, V views, H hidden_size, C classes, n sequences.
"""

import copy
from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from baselines.isbert import MutualInformation
from data.examples import DataError, SentencePair
from data.overlap import Seen, noted
from data.published import NLI_LABELS, iter_nli
from data.sentences import iter_sentences
from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch
from minbert.tokenizer import BertTokenizer
from simcse.config import SimCSEConfig
from simcse.objectives import OBJECTIVES, Objective, Siamese
from simcse.views import ContrastiveData, single, unsupervised

# CT's bag: a sentence with itself, and with this many others (Carlsson et al. 2021).
NEGATIVES = 7
# The others are drawn once, so a resumed run has the same bags.
BAG_SEED = 0


def labelled_pairs(
    pairs: Iterable[SentencePair],
    tokenizer: BertTokenizer,
    max_length: int,
    seen: Seen | None = None,
) -> ContrastiveData:
    """Return both sentences of each labelled pair as views, (n, 2), with the pair's class.

    The texts are noted in `seen` while they are read, for the leak audit.
    """
    labels = array("b")

    def texts() -> Iterator[str]:
        # One pass: the labels are collected while the tokenizer reads the texts.
        for pair in pairs:
            assert pair.label is not None, "the reader lets labelled pairs through only"
            labels.append(int(pair.label))
            yield from pair.texts

    sequences = tokenizer(noted(texts(), seen), max_length=max_length)
    rows = np.arange(len(sequences)).reshape(-1, 2)
    return ContrastiveData(sequences, rows, np.array(labels, np.int64))


def bags(
    sentences: Iterable[str], tokenizer: BertTokenizer, max_length: int, seen: Seen | None = None
) -> ContrastiveData:
    """Return each sentence twice, and NEGATIVES others drawn at random, (n, 9).

    Raises:
        DataError: there is only one sentence.
    """
    sequences = tokenizer(noted(sentences, seen), max_length=max_length)
    count = len(sequences)
    if count < 2:
        raise DataError(
            "the training file has only one sentence, so there are no negatives; give a file "
            "with more"
        )
    sentence = np.arange(count)[:, None]
    # Draw among all sentences but one; rows from the sentence itself on are shifted by one.
    others = np.random.default_rng(BAG_SEED).integers(count - 1, size=(count, NEGATIVES))
    return ContrastiveData(
        sequences, np.hstack([sentence, sentence, others + (others >= sentence)])
    )


class TwoEncoders(Siamese):
    """SimCSE with a separate encoder for the first view (Gao et al. 2021, section 3).

    The paper finds one shared encoder better. The encoder of the other views is kept.
    """

    two_encoders = True

    def __init__(self, encoder: SentenceEncoder, config: SimCSEConfig):
        """Copy the encoder, with its pooling for training."""
        super().__init__(encoder, config)
        # After the pooling is set, so that both begin with the same weights, MLP included.
        self.first_encoder = encoder.clone()
        self.first_model = self.first_encoder.model  # a submodule: trained with the other
        self.first_projection = copy.deepcopy(self.projection)

    def embed(self, batch: PackedBatch, first: bool) -> Tensor:
        """Return the embeddings (n, H) by the first view's encoder, or by the other."""
        if not first:
            return super().embed(batch, first)
        embeddings: Tensor = self.first_projection(self.first_encoder.embed(batch))
        return embeddings


class ContrastiveTension(TwoEncoders):
    """CT: the two encoders must agree on a sentence and disagree on others (Carlsson et al. 2021).

    f1 reads the sentence, f2 the sentence again and K others. f2 is kept, as in
    sentence-transformers; the authors keep the one with the better dev score.
    """

    in_batch = False

    def measure(
        self, views: Sequence[Tensor], labels: Tensor | None, texts: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the summed binary cross-entropy of the bags' dot products, and their accuracy.

        -log s(f1(x) . f2(x)) - sum_k log(1 - s(f1(x) . f2(x_k))), with s the logistic function,
        summed over B bags. No cosine: the length of a vector counts.
        """
        others = torch.stack(tuple(views[1:]), dim=1)  # (B, V - 1, H)
        scores = torch.einsum("bh,bvh->bv", views[0], others)  # (B, V - 1)
        # In each bag the first text is the sentence itself, the only positive.
        targets = torch.zeros_like(scores)
        targets[:, 0] = 1.0
        accuracy = ((scores > 0) == targets.bool()).float().mean()
        return F.binary_cross_entropy_with_logits(scores, targets, reduction="sum"), accuracy


class SoftmaxOverPair(Siamese):
    """SBERT: one encoder for premise and hypothesis, and a classifier dropped after training.

    The classifier of NLI pairs trains the sentence vectors (Reimers and Gurevych 2019).
    """

    in_batch = False

    def __init__(self, encoder: SentenceEncoder, config: SimCSEConfig):
        """Draw the classifier's weights."""
        super().__init__(encoder, config)
        # W_t of the paper; a bias as in its published code.
        self.classifier = nn.Linear(3 * encoder.embedding_size, len(NLI_LABELS))

    def measure(
        self, views: Sequence[Tensor], labels: Tensor | None, texts: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the mean cross-entropy of softmax(W [u; v; |u-v|]), and the share of right pairs.

        Paper, section 3. |u-v| relates the labels to distances: without it the classifier learns as
        well, but the cosine of u and v learns little (table 6).
        """
        assert labels is not None, "SBERT learns from labelled pairs"
        u, v = views
        logits = self.classifier(torch.cat([u, v, (u - v).abs()], dim=1))  # (B, 3H) -> (B, C)
        accuracy = (logits.argmax(dim=1) == labels).float().mean()
        return F.cross_entropy(logits, labels), accuracy.detach()

    @property
    def head(self) -> nn.Module:
        return self.classifier


ALL_OBJECTIVES = OBJECTIVES | {
    "dual": Objective("dual", "wiki1m", iter_sentences, unsupervised, TwoEncoders),
    "ct": Objective("ct", "wiki1m", iter_sentences, bags, ContrastiveTension),
    "isbert": Objective("isbert", "wiki1m", iter_sentences, single, MutualInformation),
    "sbert": Objective("sbert", "nli_pairs.tsv", iter_nli, labelled_pairs, SoftmaxOverPair),
}

"""The contrastive losses of SimCSE and the distillation loss, as functions of tensors.

Legend: B examples, H hidden_size, D that of a teacher. sim(u, v) is the cosine, tau the
temperature.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

# Weight of the first part of the distillation loss relative to the second.
DIRECTION_WEIGHT = 2.0

# Rows of (A, H) and of (B, H) -> similarity of every two, (A, B).
Similarity = Callable[[Tensor, Tensor], Tensor]


def cosine_matrix(left: Tensor, right: Tensor) -> Tensor:
    """Return all cosines between the rows of left (A, H) and right (B, H): (A, B)."""
    return F.normalize(left, dim=-1) @ F.normalize(right, dim=-1).T


def dot_matrix(left: Tensor, right: Tensor) -> Tensor:
    """Return all dot products; an encoder can also increase these by making vectors longer."""
    return left @ right.T


def info_nce(
    anchors: Tensor,
    positives: Tensor,
    hard_negatives: Tensor | None = None,
    temperature: float = 0.05,
    hard_negative_logit: float = 0.0,
    texts: Tensor | None = None,
    similarity: Similarity = cosine_matrix,
) -> Tensor:
    """Return the mean contrastive loss (Gao et al. 2021, equations 1, 4 and 5).

    l_i = -log(exp(sim(h_i, h_i+)/tau)
               / sum_j [exp(sim(h_i, h_j+)/tau) + exp(sim(h_i, h_j-)/tau)])

    The unsupervised form passes two dropout views of the same sentences and no hard negatives.

    Args:
        anchors, positives: (B, H), of any length; row i of one belongs to row i of the other.
        hard_negatives: (B, H) or None.
        temperature: positive; 0.05 in SimCSE (table D.1).
        hard_negative_logit: added to the logit of each anchor's hard negative, not to those of
            other anchors: the logarithm of the weight alpha of equation (8), 0 for weight 1.
        texts: (V, B) integers, equal where the texts of anchors, positives and hard negatives are
            equal. Equal texts are not negatives of each other (`without_repeats`). None: as in the
            paper.
        similarity: sim; the paper compares the cosine with `dot_matrix` at temperature 1 (table
            D.1, column "N/A").

    Returns:
        Scalar.
    """
    # Row i: anchor i against all positives. Its positive is on the diagonal, the others are
    # its in-batch negatives.
    logits = similarity(anchors, positives) / temperature  # (B, B)
    if hard_negatives is not None:
        # The hard negatives of all examples are B more columns; alpha exp(s) = exp(s + log alpha)
        # weights those on the diagonal, the anchors' own.
        against = similarity(anchors, hard_negatives) / temperature  # (B, B)
        own = torch.eye(len(anchors), dtype=logits.dtype, device=logits.device)
        logits = torch.cat([logits, against + hard_negative_logit * own], dim=1)  # (B, 2B)
    # Finding the positive among the candidates is a classification: the answer of row i is i.
    answers = torch.arange(len(anchors), device=anchors.device)
    return F.cross_entropy(without_repeats(logits, answers, texts), answers)


def nt_xent(
    anchors: Tensor,
    positives: Tensor,
    hard_negatives: Tensor | None = None,
    temperature: float = 0.05,
    hard_negative_logit: float = 0.0,
    texts: Tensor | None = None,
) -> Tensor:
    """Return the mean symmetric loss: every one of the 2B views must find its partner.

    NT-Xent (Chen et al. 2020, equation 1): the candidates of a view are all 2B - 1 others; its
    similarity to itself is masked. Hard negatives, which SimCLR does not have, are B more.

    Args and returns: as for `info_nce`.
    """
    views = torch.cat([anchors, positives])  # (2B, H)
    # A view is not a candidate for itself: exp(-inf) = 0 takes it out of the sum.
    itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
    logits = cosine_matrix(views, views) / temperature  # (2B, 2B)
    logits = logits.masked_fill(itself, float("-inf"))
    if hard_negatives is not None:
        against = cosine_matrix(views, hard_negatives) / temperature  # (2B, B)
        own = torch.eye(len(anchors), dtype=logits.dtype, device=logits.device).repeat(2, 1)
        logits = torch.cat([logits, against + hard_negative_logit * own], dim=1)  # (2B, 3B)
    # Anchors 0 .. B-1 find B .. 2B-1, and vice versa.
    partners = torch.arange(len(views), device=views.device).roll(len(anchors))
    return F.cross_entropy(without_repeats(logits, partners, texts), partners)


def without_repeats(logits: Tensor, answers: Tensor, texts: Tensor | None) -> Tensor:
    """Return logits with -inf where a candidate has the text of the row or of its positive.

    As a negative it would act against the positive. Texts are compared, not vectors, since dropout
    gives one text different vectors.

    Args:
        logits: (A, C).
        answers: (A,), the column of each row's positive, which stays.
        texts: (V, B) integers, equal for equal texts; flat, the first A are those of the rows and
            the last C those of the candidates. None returns the logits as they are.
    """
    if texts is None:
        return logits
    rows, candidates = texts.flatten()[: len(logits)], texts.flatten()[-logits.shape[1] :]
    repeats = (candidates == rows[:, None]) | (candidates == candidates[answers][:, None])
    return logits.masked_fill(repeats.scatter(1, answers[:, None], False), float("-inf"))


@torch.no_grad()
def in_batch_accuracy(
    views: Sequence[Tensor],
    texts: Tensor | None = None,
    similarity: Similarity = cosine_matrix,
) -> Tensor:
    """Return the share of anchors whose nearest candidate is their positive; V views, (B, H) each.

    `texts` and `similarity` as for `info_nce`.
    """
    # Candidates are all positives, then all hard negatives; the right one for row i is column i.
    similarities = similarity(views[0], torch.cat(tuple(views[1:])))
    own = torch.arange(len(similarities), device=similarities.device)
    return (without_repeats(similarities, own, texts).argmax(dim=1) == own).float().mean()


def distillation_loss(
    embeddings: Tensor, mapped: Tensor, targets: Tensor, temperature: float = 0.05
) -> tuple[Tensor, Tensor]:
    """Return the mean loss, and the share of sentences with the teacher's nearest neighbour.

    The loss has two parts. First, an embedding s, mapped to m, must have the direction of the
    teacher's embedding t (Reimers and Gurevych 2020, "Making Monolingual Sentence Embeddings
    Multilingual using Knowledge Distillation", who use the squared error of m). Second, its
    similarities to the other sentences of the batch must be those of the teacher: a divergence of
    two distributions (relational distillation; for contrastive encoders, Gao et al. 2023,
    "DistilCSE").

    l_i = 2 (1 - sim(m_i, t_i)) + sum_j p_ij log(p_ij / q_ij),  j over the others,
    p_ij = exp(sim(t_i, t_j)/tau) / sum_k exp(sim(t_i, t_k)/tau),  q_ij likewise from s

    Args:
        embeddings: (B, H), not mapped. They are compared, since the map is dropped after training.
        mapped: (B, D).
        targets: (B, D), of any length.
        temperature: tau, positive.
    """
    direction = 1 - F.cosine_similarity(mapped, targets)  # (B,)
    # The last batch of an epoch may hold a single sentence.
    if len(targets) == 1:
        return DIRECTION_WEIGHT * direction.mean(), direction.new_ones(())
    # A sentence is not a neighbour of itself: remove the diagonal.
    others = ~torch.eye(len(targets), dtype=torch.bool, device=targets.device)
    student, teacher = (
        (cosine_matrix(vectors, vectors) / temperature)[others].unflatten(0, (len(targets), -1))
        for vectors in (embeddings, targets)
    )  # (B, B - 1) each
    divergence = F.kl_div(
        student.log_softmax(dim=1), teacher.log_softmax(dim=1), log_target=True, reduction="none"
    ).sum(dim=1)  # (B,)
    same = (student.argmax(dim=1) == teacher.argmax(dim=1)).float().mean()
    return (DIRECTION_WEIGHT * direction + divergence).mean(), same.detach()

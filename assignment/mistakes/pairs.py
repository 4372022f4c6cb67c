"""Known mistakes of the part "pairs"."""

from assignment.mistakes.mistake import Mistake

HEADS, FEATURES = "heads/heads.py", "heads/features.py"
STS_LOSS = "F.binary_cross_entropy_with_logits(logits, labels / self.largest)"
STS_SCORE = "self.largest * logits.sigmoid()"
LOSS = "F.binary_cross_entropy_with_logits(logits, labels)"
DECISION = "(logits > 0).long()"
SCALE = "F.normalize(embeddings, dim=-1) * embeddings.shape[-1] ** 0.5"
BLOCKS = "torch.cat([u, v, (u - v).abs(), u * v], dim=-1)"

MISTAKES = (
    Mistake(
        "whole-number-scores",
        HEADS,
        STS_LOSS,
        "F.binary_cross_entropy_with_logits(logits, labels.long() / self.largest)",
        "the scores are made whole numbers, so 3.8 became 3: this is a regression",
    ),
    Mistake(
        "scores-not-scaled",
        HEADS,
        STS_LOSS,
        "F.binary_cross_entropy_with_logits(logits, labels)",
        "the scores are not divided by the largest one, so they are no probabilities",
    ),
    Mistake(
        "sigmoid-twice-in-similarity",
        HEADS,
        STS_LOSS,
        "F.binary_cross_entropy_with_logits(logits.sigmoid(), labels / self.largest)",
        "the loss applies the sigmoid itself, and is given probabilities",
    ),
    Mistake(
        "squared-error",
        HEADS,
        STS_LOSS,
        "F.mse_loss(self.largest * logits.sigmoid(), labels)",
        "the squared error of a sigmoid has no gradient left at 0 and 5: use the cross-entropy",
    ),
    Mistake(
        "squared-error-of-logits",
        HEADS,
        STS_LOSS,
        "F.mse_loss(logits, labels)",
        "the logits are compared with the scores themselves; they pass a sigmoid first",
    ),
    Mistake(
        "probability-as-score",
        HEADS,
        STS_SCORE,
        "logits.sigmoid()",
        "predictions run from 0 to 1; scores run to 5",
    ),
    Mistake(
        "logit-as-score",
        HEADS,
        STS_SCORE,
        "self.largest * logits",
        "predictions leave the scale: the sigmoid is missing",
    ),
    Mistake(
        "rounded-scores",
        HEADS,
        STS_SCORE,
        "(self.largest * logits.sigmoid()).round()",
        "predictions are rounded, which costs correlation",
    ),
    Mistake(
        "threshold-after-second-sigmoid",
        HEADS,
        DECISION,
        "(logits.sigmoid().sigmoid() > 0.5).long()",
        "a second sigmoid before the threshold: everything is a paraphrase",
    ),
    Mistake(
        "probability-threshold-on-logits",
        HEADS,
        DECISION,
        "(logits > 0.5).long()",
        "the logit is compared with one half; that is the threshold of a probability",
    ),
    Mistake(
        "decision-reversed",
        HEADS,
        DECISION,
        "(logits < 0).long()",
        "positive logits are predicted as no paraphrase",
    ),
    Mistake(
        "probability-as-decision",
        HEADS,
        DECISION,
        "logits.sigmoid()",
        "predictions are probabilities; they should be 0 or 1",
    ),
    Mistake(
        "sigmoid-twice",
        HEADS,
        LOSS,
        "F.binary_cross_entropy_with_logits(logits.sigmoid(), labels)",
        "the loss applies the sigmoid itself, and is given probabilities",
    ),
    Mistake(
        "paraphrase-loss-summed",
        HEADS,
        LOSS,
        'F.binary_cross_entropy_with_logits(logits, labels, reduction="sum")',
        "the loss is summed over the batch; it should be the mean",
    ),
    Mistake(
        "logit-as-probability",
        HEADS,
        "return logits.sigmoid()",
        "return logits",
        "the probabilities are logits: the sigmoid is missing",
    ),
    Mistake(
        "unit-length",
        FEATURES,
        SCALE,
        "F.normalize(embeddings, dim=-1)",
        "rows are scaled to length 1; root mean square 1 is longer by the root of H",
    ),
    Mistake(
        "scaled-over-batch",
        FEATURES,
        SCALE,
        "F.normalize(embeddings, dim=0) * embeddings.shape[-1] ** 0.5",
        "columns are scaled; rows should be",
    ),
    Mistake(
        "signed-difference",
        FEATURES,
        BLOCKS,
        "torch.cat([u, v, u - v, u * v], dim=-1)",
        "the difference keeps its sign; |u - v| does not depend on the order",
    ),
    Mistake(
        "no-product",
        FEATURES,
        BLOCKS,
        "torch.cat([u, v, (u - v).abs()], dim=-1)",
        "the block u * v is missing",
    ),
    Mistake(
        "blocks-exchanged",
        FEATURES,
        BLOCKS,
        "torch.cat([u, v, u * v, (u - v).abs()], dim=-1)",
        "|u - v| and u * v are in each other's place",
    ),
    Mistake(
        "embeddings-not-scaled",
        FEATURES,
        "scaled = [unit_rms(part) for part in embeddings]",
        "scaled = list(embeddings)",
        "the bi-encoder's embeddings are not scaled to one size",
    ),
    Mistake(
        "segments-not-scaled",
        FEATURES,
        "interaction(unit_rms(first), unit_rms(second))",
        "interaction(first, second)",
        "the means of the two texts are not scaled to one size",
    ),
    Mistake(
        "cls-not-scaled",
        FEATURES,
        "torch.cat([unit_rms(cls), both], dim=-1)",
        "torch.cat([cls, both], dim=-1)",
        "[CLS] is not scaled to the size of the other blocks",
    ),
    Mistake(
        "cls-forgotten",
        FEATURES,
        "torch.cat([unit_rms(cls), both], dim=-1)",
        "both",
        "[CLS] is missing from the cross-encoder's features",
    ),
)

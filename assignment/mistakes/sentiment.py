"""Known mistakes of the part "sentiment"."""

from assignment.mistakes.mistake import Mistake

HEADS = "heads/heads.py"
LOSS = "F.cross_entropy(logits, labels.long())"

MISTAKES = (
    Mistake(
        "batch-squeezed",
        HEADS,
        ".squeeze(-1)",
        ".squeeze()",
        "a batch of one loses its first dimension: squeeze the last one only",
    ),
    Mistake(
        "not-squeezed",
        HEADS,
        ".squeeze(-1)",
        "",
        "with one output per example the logits are (B, 1); they should be (B,)",
    ),
    Mistake(
        "softmax-twice",
        HEADS,
        LOSS,
        "F.cross_entropy(logits.softmax(dim=-1), labels.long())",
        "the loss is given probabilities; cross_entropy takes logits and does the softmax itself",
    ),
    Mistake(
        "summed-loss",
        HEADS,
        LOSS,
        'F.cross_entropy(logits, labels.long(), reduction="sum")',
        "the loss is summed over the batch; it should be the mean",
    ),
    Mistake(
        "squared-error-of-classes",
        HEADS,
        LOSS,
        "F.mse_loss(logits.argmax(dim=-1).float(), labels)",
        "the classes' numbers are compared by their distance, which has no gradient",
    ),
    Mistake(
        "least-likely",
        HEADS,
        "logits.argmax(dim=-1)",
        "logits.argmin(dim=-1)",
        "the least likely class is predicted",
    ),
    Mistake(
        "best-example",
        HEADS,
        "logits.argmax(dim=-1)",
        "logits.argmax(dim=0)",
        "argmax runs over the examples; it should run over the classes",
    ),
    Mistake(
        "classes-from-one",
        HEADS,
        "logits.argmax(dim=-1)",
        "logits.argmax(dim=-1) + 1",
        "classes are counted from 1; they begin at 0",
    ),
    Mistake(
        "sigmoid-for-softmax",
        HEADS,
        "logits.softmax(dim=-1)",
        "logits.sigmoid()",
        "the probabilities are sigmoids, which do not sum to 1 over the classes",
    ),
    Mistake(
        "softmax-over-batch",
        HEADS,
        "logits.softmax(dim=-1)",
        "logits.softmax(dim=0)",
        "softmax runs over the examples; it should run over the classes",
    ),
    Mistake(
        "log-probabilities",
        HEADS,
        "logits.softmax(dim=-1)",
        "logits.log_softmax(dim=-1)",
        "these are logarithms of probabilities",
    ),
)

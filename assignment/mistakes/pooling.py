"""Known mistakes of the part "pooling"."""

from assignment.mistakes.mistake import Mistake

POOLING = "minbert/pooling.py"
MEAN = 'torch.segment_reduce(states.float(), "mean", lengths=lengths, axis=0)\n\n\ndef'
TOP2, FIRST_LAST = "(states[-1] + states[-2]) / 2", "(states[1] + states[-1]) / 2"
BORDERS = "torch.stack([starts, starts + batch.first_lengths], dim=1)"

MISTAKES = (
    Mistake(
        "last-token",
        POOLING,
        "return states[-1][batch.cu_seqlens[:-1]].float()",
        "return states[-1][batch.cu_seqlens[1:] - 1].float()",
        "the last token of each sequence is taken for [CLS], which is its first",
    ),
    Mistake(
        "first-rows",
        POOLING,
        "return states[-1][batch.cu_seqlens[:-1]].float()",
        "return states[-1][: len(batch)].float()",
        "the first B tokens of the batch are taken for [CLS]; it is the first of each sequence",
    ),
    Mistake(
        "word-embeddings-as-first",
        POOLING,
        FIRST_LAST,
        "(states[0] + states[-1]) / 2",
        "states[0] are the embeddings; the first layer's states are states[1]",
    ),
    Mistake(
        "top2-not-halved",
        POOLING,
        TOP2,
        "(states[-1] + states[-2])",
        "the last two layers are summed, not averaged",
    ),
    Mistake(
        "first-last-not-halved",
        POOLING,
        FIRST_LAST,
        "(states[1] + states[-1])",
        "the first and the last layer are summed, not averaged",
    ),
    Mistake(
        "padding-averaged",
        POOLING,
        MEAN,
        'torch.segment_reduce(states.float(), "sum", lengths=lengths, axis=0) / max('
        "batch.lengths)\n\n\ndef",
        "all sums are divided by the longest length, as if padding counted; divide each by its own",
    ),
    Mistake(
        "sum-of-tokens",
        POOLING,
        MEAN,
        'torch.segment_reduce(states.float(), "sum", lengths=lengths, axis=0)\n\n\ndef',
        "the tokens are summed, not averaged",
    ),
    Mistake(
        "largest-of-tokens",
        POOLING,
        MEAN,
        'torch.segment_reduce(states.float(), "max", lengths=lengths, axis=0)\n\n\ndef',
        "the largest number is taken instead of the mean",
    ),
    Mistake(
        "mean-of-batch",
        POOLING,
        MEAN,
        "states.float().mean(dim=0).expand(len(batch), -1)\n\n\ndef",
        "the mean runs over all tokens of the batch; it should run over each sequence",
    ),
    Mistake(
        "segments-exchanged",
        POOLING,
        "return means[0::2], means[1::2]",
        "return means[1::2], means[0::2]",
        "first and second text are exchanged",
    ),
    Mistake(
        "segments-one-late",
        POOLING,
        BORDERS,
        "torch.stack([starts, starts + batch.first_lengths + 1], dim=1)",
        "the second text begins one token too late: it begins after first_lengths tokens",
    ),
    Mistake(
        "segments-halved",
        POOLING,
        BORDERS,
        "torch.stack([starts, (starts + ends) // 2], dim=1)",
        "pairs are cut in the middle; the first text has first_lengths tokens",
    ),
)

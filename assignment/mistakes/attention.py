"""Known mistakes of the part "attention"."""

from assignment.mistakes.mistake import Mistake

PLAIN, MODEL = "minbert/attention.py", "minbert/model.py"

MISTAKES = (
    Mistake(
        "no-scaling",
        PLAIN,
        " / math.sqrt(q.shape[-1])",
        "",
        "the scores are not divided by the square root of the head size",
    ),
    Mistake(
        "scaled-by-size",
        PLAIN,
        "math.sqrt(q.shape[-1])",
        "q.shape[-1]",
        "the scores are divided by the head size itself, not by its square root",
    ),
    Mistake(
        "multiplied",
        PLAIN,
        "/ math.sqrt(",
        "* math.sqrt(",
        "the scores are multiplied by the square root of the head size instead of divided",
    ),
    Mistake(
        "scaled-by-tokens",
        PLAIN,
        "math.sqrt(q.shape[-1])",
        "math.sqrt(q.shape[-2])",
        "the scores are divided by the square root of the number of tokens; it should be the head "
        "size",
    ),
    Mistake(
        "softmax-axis",
        PLAIN,
        "softmax(dim=-1)",
        "softmax(dim=-2)",
        "softmax runs over the queries; each query's row, over the keys, should sum to 1",
    ),
    Mistake(
        "no-softmax",
        PLAIN,
        "scores.softmax(dim=-1)",
        "scores",
        "the scores are used as weights without a softmax",
    ),
    Mistake(
        "keys-as-queries",
        PLAIN,
        "q @ k.transpose(-2, -1)",
        "k @ q.transpose(-2, -1)",
        "queries and keys are exchanged: row t should hold the scores of query t",
    ),
    Mistake(
        "across-sequences",
        PLAIN,
        "zip(query.split(lengths), key.split(lengths), value.split(lengths), strict=True)",
        "[(query, key, value)]",
        "tokens attend to tokens of other sequences of the batch",
    ),
    Mistake(
        "dropout-forgotten",
        PLAIN,
        "probs = dropout(probs)",
        "pass",
        "dropout is not applied to the probabilities",
    ),
    Mistake(
        "dropout-on-scores",
        PLAIN,
        "        probs = scores.softmax(dim=-1)  # (N, T, T)\n"
        "        if dropout is not None:\n"
        "            probs = dropout(probs)\n",
        "        probs = (dropout(scores) if dropout is not None else scores).softmax(dim=-1)\n",
        "dropout is applied to the scores; it belongs on the probabilities, after the softmax",
    ),
    Mistake(
        "dropout-on-context",
        PLAIN,
        "            probs = dropout(probs)\n\n        # The weighted mean of the values: "
        "(N, T, T) x (N, T, D) -> (N, T, D).\n        contexts.append((probs @ v)",
        "            probs, v = torch.eye(len(scores[0])), dropout(probs @ v)\n\n"
        "        contexts.append((probs @ v)",
        "dropout is applied to the context; it belongs on the probabilities",
    ),
    Mistake(
        "heads-not-transposed",
        PLAIN,
        "contexts.append((probs @ v).transpose(0, 1))",
        "contexts.append((probs @ v).reshape(v.shape[1], v.shape[0], v.shape[2]))",
        "(N, T, D) is reshaped to (T, N, D) without a transposition, which mixes tokens and heads",
    ),
    Mistake(
        "heads-interleaved",
        MODEL,
        "return context.flatten(-2)",
        "return context.transpose(-2, -1).flatten(-2)",
        "the heads are merged in another order than they were cut: head 0 should be the first D "
        "numbers",
    ),
    Mistake(
        "heads-cut-wrongly",
        MODEL,
        "        query = self.query(hidden_states).unflatten(-1, self.head_shape)\n"
        "        key = self.key(hidden_states).unflatten(-1, self.head_shape)\n"
        "        value = self.value(hidden_states).unflatten(-1, self.head_shape)\n",
        "        cut = (self.head_shape[1], self.head_shape[0])\n"
        "        query = self.query(hidden_states).unflatten(-1, cut).transpose(-2, -1)\n"
        "        key = self.key(hidden_states).unflatten(-1, cut).transpose(-2, -1)\n"
        "        value = self.value(hidden_states).unflatten(-1, cut).transpose(-2, -1)\n",
        "a head takes every N-th number of H; it should take D neighbours",
    ),
    Mistake(
        "values-from-keys",
        MODEL,
        "value = self.value(hidden_states)",
        "value = self.key(hidden_states)",
        "the values are computed with the keys' matrix",
    ),
)

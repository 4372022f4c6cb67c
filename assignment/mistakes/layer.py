"""Known mistakes of the part "layer"."""

from assignment.mistakes.mistake import Mistake

MODEL = "minbert/model.py"
END = "self.LayerNorm(residual + self.dropout(self.dense(update)))"
GELU = "F.gelu(self.dense(hidden_states))"
FEED_FORWARD = "self.output(self.intermediate(attended), attended)"

MISTAKES = (
    Mistake(
        "norm-before-add",
        MODEL,
        END,
        "residual + self.LayerNorm(self.dropout(self.dense(update)))",
        "the layer norm is taken before the sum; BERT adds first and normalises the sum",
    ),
    Mistake(
        "no-residual",
        MODEL,
        END,
        "self.LayerNorm(self.dropout(self.dense(update)))",
        "the half-layer's input is not added",
    ),
    Mistake(
        "no-norm",
        MODEL,
        END,
        "residual + self.dropout(self.dense(update))",
        "the sum is not normalised",
    ),
    Mistake(
        "residual-dropout-forgotten",
        MODEL,
        END,
        "self.LayerNorm(residual + self.dense(update))",
        "dropout is not applied to the projected update",
    ),
    Mistake(
        "dropout-after-add",
        MODEL,
        END,
        "self.LayerNorm(self.dropout(residual + self.dense(update)))",
        "dropout is applied after the sum; only the update should be dropped, not the input",
    ),
    Mistake(
        "dropout-after-norm",
        MODEL,
        END,
        "self.dropout(self.LayerNorm(residual + self.dense(update)))",
        "dropout is applied to the normalised sum; it belongs on the update, before the sum",
    ),
    Mistake(
        "dropout-before-dense",
        MODEL,
        END,
        "self.LayerNorm(residual + self.dense(self.dropout(update)))",
        "dropout is applied before the dense layer; it belongs after it",
    ),
    Mistake(
        "tanh-gelu",
        MODEL,
        GELU,
        'F.gelu(self.dense(hidden_states), approximate="tanh")',
        "GELU is approximated by tanh; BERT uses the exact form, by the error function",
    ),
    Mistake(
        "relu",
        MODEL,
        GELU,
        "F.relu(self.dense(hidden_states))",
        "ReLU instead of GELU",
    ),
    Mistake(
        "no-activation",
        MODEL,
        GELU,
        "self.dense(hidden_states)",
        "there is no activation after the dense layer",
    ),
    Mistake(
        "gelu-of-input",
        MODEL,
        GELU,
        "self.dense(F.gelu(hidden_states))",
        "GELU is applied to the input; it belongs after the dense layer",
    ),
    Mistake(
        "feed-forward-of-input",
        MODEL,
        FEED_FORWARD,
        "self.output(self.intermediate(hidden_states), attended)",
        "the feed-forward network reads the layer's input; it should read the attention's output",
    ),
    Mistake(
        "second-residual-of-input",
        MODEL,
        FEED_FORWARD,
        "self.output(self.intermediate(attended), hidden_states)",
        "the second sum adds the layer's input; it should add the attention's output",
    ),
)

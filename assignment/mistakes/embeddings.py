"""Known mistakes of the part "embeddings"."""

from assignment.mistakes.mistake import Mistake

MODEL, PACKING = "minbert/model.py", "minbert/packing.py"
WORDS = "embeddings = self.word_embeddings(batch.input_ids)\n"
END = "return self.dropout(self.LayerNorm(embeddings))"

MISTAKES = (
    Mistake(
        "mask-sign",
        PACKING,
        "mask = real.bool()",
        "mask = ~real.bool()",
        "the mask is used upside down: 1 marks a real token, 0 padding",
    ),
    Mistake(
        "no-leading-zero",
        PACKING,
        "torch.nn.functional.pad(lengths.cumsum(0), (1, 0))",
        "lengths.cumsum(0)",
        "cu_seqlens has no 0 at its beginning: B sequences have B + 1 borders",
    ),
    Mistake(
        "lengths-not-summed",
        PACKING,
        "torch.nn.functional.pad(lengths.cumsum(0), (1, 0))",
        "torch.nn.functional.pad(lengths, (1, 0))",
        "cu_seqlens holds the lengths themselves; it should hold their running sum",
    ),
    Mistake(
        "positions-close-gaps",
        PACKING,
        "positions = torch.arange(input_ids.shape[1], device=input_ids.device)"
        ".expand_as(input_ids)",
        "positions = mask.long().cumsum(dim=1) - 1",
        "positions count real tokens; a token keeps the position of its column, gaps included",
    ),
    Mistake(
        "positions-run-on",
        PACKING,
        "tokens = (input_ids[mask], types[mask], positions[mask])",
        "tokens = (input_ids[mask], types[mask], torch.arange(int(mask.sum())))",
        "positions count on through the batch; they begin again with every sequence",
    ),
    Mistake(
        "first-lengths-with-padding",
        PACKING,
        "firsts = (mask & (types == 0)).sum(dim=1)",
        "firsts = (types == 0).sum(dim=1)",
        "first_lengths counts padding as tokens of the first text",
    ),
    Mistake(
        "no-positions",
        MODEL,
        "        embeddings = embeddings + self.position_embeddings(self.positions(batch))\n",
        "",
        "the position embeddings are not added",
    ),
    Mistake(
        "no-token-types",
        MODEL,
        "        embeddings = embeddings + self.token_type_embeddings(batch.token_type_ids)\n",
        "",
        "the token type embeddings are not added",
    ),
    Mistake(
        "positions-of-the-batch",
        MODEL,
        "self.position_embeddings(self.positions(batch))",
        "self.position_embeddings(torch.arange(len(batch.input_ids)).remainder("
        "self.position_embeddings.num_embeddings))",
        "positions count on through the batch; they begin again with every sequence",
    ),
    Mistake(
        "positions-from-zero",
        MODEL,
        "self.position_embeddings(self.positions(batch))",
        "self.position_embeddings(batch.position_ids)",
        "positions always begin at 0; `self.positions` knows where RoBERTa's begin",
    ),
    Mistake(
        "embeddings-not-normalised",
        MODEL,
        END,
        "return self.dropout(embeddings)",
        "the sum of the three embeddings is not normalised",
    ),
    Mistake(
        "words-normalised-alone",
        MODEL,
        WORDS,
        "embeddings = self.LayerNorm(self.word_embeddings(batch.input_ids))\n",
        "the word embeddings are normalised before the sum; only the sum should be",
    ),
    Mistake(
        "dropout-before-norm",
        MODEL,
        END,
        "return self.LayerNorm(self.dropout(embeddings))",
        "dropout comes before the layer norm; it belongs after it",
    ),
    Mistake(
        "embeddings-dropout-forgotten",
        MODEL,
        END,
        "return self.LayerNorm(embeddings)",
        "dropout is not applied to the embeddings",
    ),
)

"""A batch of 192 triplets on bert-base's shape, all at once and in chunks of 4,096 tokens: memory.

The memory is everything: weights, gradients, AdamW's state, activations. One round; the seconds
contain loading. What caching costs in time is in `simcse_step`.
"""

from collections.abc import Iterator

from benchmarks.material import Bench, bert_base
from benchmarks.measure import Side, Work
from benchmarks.works.simcse_step import our_trainer

COUNT = 192
CHUNK_TOKENS = 4096


def works(bench: Bench) -> Iterator[Work]:
    """Yield one training step from loading to its end."""
    folder = bert_base(bench, "cls")
    texts = bench.texts[: 3 * COUNT]
    columns = [list(texts[i::3]) for i in range(3)]

    def step(chunk_tokens: int | None) -> None:
        our_trainer(folder, columns, COUNT, bench, chunk_tokens=chunk_tokens)._train_step()

    sides = [
        Side(f"minbert, chunks of {CHUNK_TOKENS} tokens", lambda r: step(CHUNK_TOKENS)),
        Side("minbert, at once", lambda r: step(None)),
    ]
    title = f"loading and one sup step, {COUNT} triplets, bert-base shape"
    yield Work(title, "sentences", [len(texts)], sides)

"""Every task with each reader of its texts, a few examples of a task, and a head fitted to them."""

from conftest import toy_sentences

from data.examples import Sentence, SentencePair
from data.tasks import TASKS, Splits
from heads.config import READERS, HeadConfig
from heads.train import FittedHead, HeadTask, fit_heads

H = 32
READINGS = [
    (task.name, reader)
    for task in TASKS.values()
    for reader in (READERS if task.is_pair else ("bi",))
]


def examples(task: str, count: int = 8):
    a, b = toy_sentences(count, 1), toy_sentences(count, 2)
    record = TASKS[task]
    if not record.is_pair:
        return [Sentence(str(i), a[i], i % record.num_classes) for i in range(count)]
    return [SentencePair(str(i), a[i], b[i], float(i % 2 * record.largest)) for i in range(count)]


def zero(predictions) -> float:
    """Score nothing: the first epoch stays the best."""
    return 0.0


def fit(
    encoder, cache, splits, score=zero, task="sts", reader="bi", how=None, **config
) -> FittedHead:
    """Return the head of a task; `how`: arguments of `fit_heads`."""
    if not isinstance(splits, Splits):
        splits = Splits(splits, splits, [])
    head_task = HeadTask(task, reader, HeadConfig(**config), splits, score)
    (fitted,) = fit_heads(encoder, [head_task], cache, **how or {})
    return fitted

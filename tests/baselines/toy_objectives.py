"""Toy data and trainers of the other objectives, shared by several test files."""

from conftest import toy_sentences

from baselines.objectives import ALL_OBJECTIVES
from data.examples import SentencePair
from minbert.encoder import SentenceEncoder
from simcse.config import SimCSEConfig
from simcse.train import SimCSETrainer
from simcse.views import ContrastiveData

OTHERS = ("dual", "ct", "isbert", "sbert")
QUICK = SimCSEConfig(batch_size=8, learning_rate=1e-3, num_epochs=4, eval_steps=5, pooling="avg")


def nli_pairs(count: int = 60) -> list[SentencePair]:
    """Return pairs with a rule: shortened is entailed, negated contradicts, another is neutral."""
    pairs = []
    for number, (text, other) in enumerate(
        zip(toy_sentences(count, 1), toy_sentences(count, 2), strict=True)
    ):
        hypotheses = (text.replace("the", "a"), other, f"not {text}")
        pairs.append(SentencePair(str(number), text, hypotheses[number % 3], float(number % 3)))
    return pairs


def data_of(name: str, encoder: SentenceEncoder, count: int = 60) -> ContrastiveData:
    """Return toy data of an objective."""
    examples = nli_pairs(count) if name == "sbert" else toy_sentences(count)
    return ALL_OBJECTIVES[name].views(examples, encoder.tokenizer, 32)


def trainer_of(name: str, encoder: SentenceEncoder, config=QUICK, **more) -> SimCSETrainer:
    """Return a trainer of an objective on toy data."""
    form = ALL_OBJECTIVES[name].form
    return SimCSETrainer(encoder, data_of(name, encoder), config, form=form, **more)

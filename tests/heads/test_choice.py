"""An encoder's rate is chosen by a part of train that shares no text with what it is tried on."""

import random
from dataclasses import replace

import numpy as np
import pytest
from conftest import toy_sentences
from heads.rates import choose_rate
from killable import encoder_of
from pairings import zero

from data.examples import Sentence, SentencePair
from data.overlap import groups_by_text, normalise
from data.selection import rows_to_try
from data.tasks import Splits
from evaluation.metrics import task_metrics
from heads.config import HeadConfig
from heads.train import HeadTask, fit_heads

RATES = (1e-4, 1e-3, 1e-2)


def pairs(count, texts, seed=0):
    """Return pairs of texts drawn from so many, which ties some of them together."""
    draw = random.Random(seed)
    return [
        SentencePair(str(k), f"Text {draw.randrange(texts)}", f"text {draw.randrange(texts)}!", k)
        for k in range(count)
    ]


def texts_of(examples):
    return {normalise(text) for example in examples for text in example.texts}


@pytest.mark.parametrize("texts", [150, 400, 5000])
def test_groups_are_those_of_a_walk_from_text_to_text(texts):
    examples = pairs(200, texts)
    found = groups_by_text(examples)
    for row in range(0, 200, 20):
        reached, before = texts_of([examples[row]]), set()
        while reached != before:
            before = reached
            touching = [e for e in examples if texts_of([e]) & reached]
            reached = reached | texts_of(touching)
        tied = [bool(texts_of([example]) & reached) for example in examples]
        assert (found == found[row]).tolist() == tied


@pytest.mark.parametrize("texts", [1500, 3000, 50_000])
@pytest.mark.parametrize("count", [100, 999])
def test_what_is_tried_on_and_what_chooses_share_no_text(texts, count):
    examples = pairs(count, texts)
    tried_on, chosen_by = rows_to_try(examples, 7, False)
    assert len(tried_on) == count // 2 and 20 <= len(chosen_by) <= count // 5
    train, held_out = ([examples[row] for row in rows] for rows in (tried_on, chosen_by))
    assert not texts_of(train) & texts_of(held_out)
    again, other = rows_to_try(examples, 7, False), rows_to_try(examples, 8, False)
    assert np.array_equal(again[1], chosen_by) and not np.array_equal(other[1], chosen_by)


def test_large_data_are_tried_in_part_and_little_or_tied_data_not_at_all():
    many = [Sentence(str(k), f"text {k}", k % 3) for k in range(20_000)]
    tried_on, chosen_by = rows_to_try(many, 1, True)
    assert (len(tried_on), len(chosen_by)) == (4000, 1000)
    assert rows_to_try(many[:99], 1, True) is None
    assert rows_to_try(pairs(500, 20), 1, False) is None


def similarities(count, seed):
    """Return pairs of which the second half of each repeats the first, or not."""
    a, b = toy_sentences(count, seed), toy_sentences(count, seed + 50)
    return [
        SentencePair(str(k), a[k], a[k] if k % 2 else b[k], 5.0 * (k % 2)) for k in range(count)
    ]


@pytest.mark.parametrize("reader", ["bi", "cross"])
def test_the_choice_is_the_best_of_a_plain_loop_and_its_epoch_is_trained_to(
    reader, tiny_checkpoint, tmp_path
):
    splits = Splits(similarities(32, 1), similarities(16, 2), [])
    labels = np.array([example.label for example in splits.dev])
    config = HeadConfig(tune="full", num_epochs=3, batch_size=8)
    encoder = encoder_of(tiny_checkpoint)
    seen: dict[tuple[float, int], np.ndarray] = {}

    def score(predictions):
        return task_metrics("sts", predictions, labels)["pearson"]

    head_task = HeadTask("sts", reader, config, splits, score)
    for rate in RATES:

        def noted(predictions, rate=rate):
            epoch = 1 + sum(key[0] == rate for key in seen)
            seen[rate, epoch] = predictions.copy()
            return score(predictions)

        at_rate = replace(config, backbone_learning_rate=rate)
        candidate = replace(head_task, config=at_rate, dev_score=noted)
        fit_heads(encoder.clone(), [candidate], tmp_path)
    where = max(seen, key=lambda key: score(seen[key]))  # the first of equals
    best = score(seen[where])

    weights = encoder.fingerprint()
    given = {"made_of": {"data": "a"}, "cache": tmp_path / "trials"}
    choice = choose_rate(encoder, head_task, RATES, **given)
    assert (choice.rate, choice.epoch) == where
    assert max(candidate.score for candidate in choice.tried) == best
    assert (choice.rows, choice.chosen_by) == (32, 16)
    assert [candidate.rate for candidate in choice.tried] == list(RATES)
    assert encoder.fingerprint() == weights  # the candidates are copies
    # What was tried is found again, by what it was made of.
    again = choose_rate(encoder, replace(head_task, dev_score=None), RATES, **given)
    assert again == choice and len(list((tmp_path / "trials").iterdir())) == len(RATES)

    # Trained up to that epoch, whatever dev says: 0 everywhere.
    config = replace(config, backbone_learning_rate=choice.rate)
    chosen = replace(head_task, config=config, dev_score=zero)
    for epoch in (1, choice.epoch):
        (fitted,) = fit_heads(encoder.clone(), [chosen], tmp_path, epoch=epoch)
        assert np.allclose(fitted.predictions["dev"], seen[choice.rate, epoch], atol=1e-6)
        assert len(fitted.history) == epoch


def test_undefined_scores_never_win(tiny_encoder, tmp_path):
    splits = Splits(similarities(16, 1), similarities(8, 2), [])
    config = HeadConfig(tune="full", num_epochs=2)
    scores = iter([None, 0.1, None, None, -0.5, 0.1])
    head_task = HeadTask("sts", "bi", config, splits, lambda predictions: next(scores))
    choice = choose_rate(tiny_encoder, head_task, RATES, made_of={}, cache=tmp_path)
    assert (choice.rate, choice.epoch) == (1e-4, 2)
    assert [candidate.score for candidate in choice.tried] == [0.1, None, 0.1]

"""Epochs and rates are chosen by a part of train that shares no text with anything else."""

import random
from dataclasses import replace

import numpy as np
import pytest
from conftest import toy_sentences
from killable import encoder_of
from pairings import zero

from data.examples import Sentence, SentencePair
from data.overlap import groups_by_text, normalise
from data.selection import parts_of
from data.tasks import Splits
from evaluation.metrics import score_on
from heads.choice import choose, first_best
from heads.config import HeadConfig, head_config
from heads.inputs import inputs_of
from heads.joint import first_end
from heads.train import HeadTask, by_name, fit_heads

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


@pytest.mark.parametrize("texts", [2500, 50_000])
@pytest.mark.parametrize("count", [110, 999])
def test_the_rows_that_choose_share_no_text_with_any_others(texts, count):
    examples, scored = pairs(count, texts), pairs(count // 5, texts, seed=1)
    parts = parts_of(examples, scored, 7, False)
    # Enough rows choose: of few labels those of several trials, no row twice.
    together = np.concatenate([chosen_by for _, chosen_by in parts])
    assert len(set(together)) == len(together) >= min(200, 20 * len(parts))
    assert len(parts) == 5 or len(together) >= 200 or texts == 2500
    assert len(parts) > 1 or len(together) >= 200 or texts == 2500
    again, other = parts_of(examples, scored, 7, False), parts_of(examples, scored, 8, False)
    assert not np.array_equal(other[0][1], parts[0][1])
    # The same rows choose, whatever the trial can afford to read.
    affordable = parts_of(examples, scored, 7, False, most=30)
    for (fit, chosen_by), (_, repeated), (few, same) in zip(parts, again, affordable, strict=True):
        assert 20 <= len(chosen_by) <= count // 5
        assert sorted([*fit, *chosen_by]) == list(range(count))
        train, held_out = ([examples[row] for row in rows] for rows in (fit, chosen_by))
        assert not texts_of([*train, *scored]) & texts_of(held_out)
        assert np.array_equal(repeated, chosen_by)
        assert len(few) == 30 and set(few) <= set(fit) and np.array_equal(same, chosen_by)


def test_large_data_choose_by_a_thousand_rows_and_little_or_tied_data_not_at_all():
    many = [Sentence(str(k), f"text {k}", k % 3) for k in range(20_000)]
    ((fit, chosen_by),) = parts_of(many, [], 1, True, most=4000)
    assert (len(fit), len(chosen_by)) == (4000, 1000)
    assert parts_of(many[:99], [], 1, True) == []
    ((_, chosen_by),) = parts_of(many[:500], many[:450], 1, True)
    assert chosen_by.min() >= 450
    assert parts_of(pairs(500, 20), [], 1, False) == []


def test_a_part_much_smaller_than_the_first_does_not_choose():
    # Most rows share a text with dev: after the first part only twenty are left.
    examples = [SentencePair(str(k), f"a {k}", f"b {k}", k) for k in range(999)]
    parts = parts_of(examples, examples[219:], 0, False)
    assert [len(held_out) for _, held_out in parts] == [199]
    parts = parts_of(examples[:250], examples[220:250], 0, False)
    assert [len(held_out) for _, held_out in parts] == [50] * 4


def similarities(count, seed):
    """Return pairs of which the second half of each repeats the first, or not."""
    a, b = toy_sentences(count, seed), toy_sentences(count, seed + 50)
    return [
        SentencePair(str(k), a[k], a[k] if k % 2 else b[k], 5.0 * (k % 2)) for k in range(count)
    ]


@pytest.mark.parametrize("reader", ["bi", "cross"])
@pytest.mark.parametrize("tune", ["full", "frozen"])
def test_the_choice_is_the_best_of_a_plain_loop(reader, tune, tiny_checkpoint, tmp_path):
    train, dev = similarities(40, 1), similarities(16, 2)
    parts = [(np.arange(28), np.arange(28, 40)), (np.arange(12, 40), np.arange(12))]
    held_out = [train[28:], train[:12]]
    config = HeadConfig(tune=tune, num_epochs=3, batch_size=8)
    rates = RATES if tune == "full" else (0.0,)
    encoder = encoder_of(tiny_checkpoint)
    scores: dict[tuple[float, int], list[float]] = {}
    for rate in rates:
        at_rate = replace(config, backbone_learning_rate=rate)
        for (fit, _), examples in zip(parts, held_out, strict=True):
            splits = Splits([train[row] for row in fit], examples, [])
            trial = HeadTask("sts", reader, at_rate, splits, score_on(examples, "sts"))
            (fitted,) = fit_heads(encoder.clone(), [trial], tmp_path)
            for r in fitted.history:
                scores.setdefault((rate, r["epoch"]), []).append(r["dev_score"])
    seen = {key: float(np.mean(values)) for key, values in scores.items()}
    where = max(seen, key=lambda key: seen[key])  # the first of equals

    weights = encoder.fingerprint()
    splits = Splits(train, dev, [])
    head_task = HeadTask("sts", reader, config, splits, zero)
    if tune == "frozen":
        inputs = inputs_of(encoder, by_name(splits), head_task.features, tune, tmp_path)
        head_task = replace(head_task, inputs=inputs)
    given = {"score_on": score_on, "made_of": {"data": "a"}, "cache": tmp_path / "trials"}
    (chosen,) = choose(encoder, [head_task], [parts], rates, **given)
    choice = chosen.choice
    # Two that are equal up to rounding are both the best.
    assert seen[choice.rate, choice.epochs] == pytest.approx(seen[where], abs=1e-5)
    assert choice.score == pytest.approx(seen[where], abs=1e-5)
    assert (choice.rows, choice.chosen_by) == (28, 24)
    for tried in choice.tried:
        curve = [seen[tried.rate, epoch] for epoch in (1, 2, 3)]
        assert tried.curve == pytest.approx(curve, abs=1e-5)
    # The predictions of the winner's trials, which a threshold is chosen by.
    assert chosen.held_out == [*held_out[0], *held_out[1]]
    # Each trial predicts at its own best epoch; in float64 here, in float32 there.
    for number, soft in enumerate(np.split(chosen.soft, 2)):
        best = max(values[number] for (rate, _), values in scores.items() if rate == choice.rate)
        assert score_on(held_out[number], "sts")(soft) == pytest.approx(best, abs=1e-3)
    assert encoder.fingerprint() == weights  # trials tune copies
    # What was tried is found again, by what it was made of.
    (again,) = choose(encoder, [head_task], [parts], rates, **given)
    assert again.choice == choice
    assert len(list((tmp_path / "trials").iterdir())) == 2 * len(rates)


def test_undefined_scores_never_win_and_too_few_steps_are_no_candidate():
    assert first_best([None, 0.1, None]) == 2 and first_best([0.2, 0.2]) == 1
    assert first_best([None, None]) == 1
    assert first_best([0.9, 0.1, 0.3], first=2) == 3 and first_best([0.9, 0.1], first=7) == 2
    assert first_end([4, 8, 12], 8) == 2 and first_end([4, 8, 12], 80) == 3
    assert first_end([4, 8, 12], 0) == 1


@pytest.mark.parametrize(
    ("tune", "least_steps", "trials", "scores", "read", "best"),
    [
        # Epochs 3 and 4 are eight steps without anything better.
        ("frozen", 0, 1, [0.1, 0.5, 0.4, 0.3, 0.9, 0.2], 4, 2),
        # Epochs 1 and 2 are no candidates, and nothing waits for them.
        ("frozen", 16, 1, [0.1, 0.5, 0.4, 0.3, 0.2, 0.9], 5, 3),
        # The mean of several trials needs all epochs of each.
        ("frozen", 0, 2, [0.1, 0.5, 0.4, 0.3, 0.9, 0.2], 6, 5),
        ("full", 0, 1, [0.1, 0.5, 0.4, 0.3, 0.9, 0.2], 6, 5),
    ],
)
def test_a_frozen_trial_stops_when_nothing_better_comes(
    tune, least_steps, trials, scores, read, best, tiny_checkpoint, tmp_path, monkeypatch
):
    monkeypatch.setattr("heads.choice.PATIENCE", 8)
    monkeypatch.setattr("heads.choice.PATIENT_EPOCHS", 2)
    train = similarities(40, 1)
    parts = [(np.arange(28), np.arange(28, 40)), (np.arange(12, 40), np.arange(12))][:trials]
    # Four steps per epoch of a trial, six of the training.
    config = HeadConfig(tune=tune, num_epochs=6, batch_size=7, least_steps=least_steps)
    encoder, splits = encoder_of(tiny_checkpoint), Splits(train, train, [])
    head_task = HeadTask("sts", "bi", config, splits, zero)
    if tune == "frozen":
        inputs = inputs_of(encoder, by_name(splits), head_task.features, tune, tmp_path)
        head_task = replace(head_task, inputs=inputs)

    def scores_in_turn(examples, task):
        turn = iter(scores)
        return lambda predictions: next(turn)

    given = {"score_on": scores_in_turn, "made_of": {}, "cache": tmp_path / "trials"}
    (chosen,) = choose(encoder, [head_task], [parts], **given)
    (tried,) = chosen.choice.tried
    assert tried.curve == [*scores[:read], *[None] * (6 - read)]
    assert tried.epochs == best and len(chosen.soft) == 12 * trials


def test_a_trial_without_any_score_does_not_decide(tiny_checkpoint, tmp_path):
    train = similarities(40, 1)
    train[28:] = [replace(pair, label=5.0) for pair in train[28:]]  # constant: no correlation
    parts = [(np.arange(28), np.arange(28, 40)), (np.arange(12, 40), np.arange(12))]
    config = HeadConfig(tune="frozen", num_epochs=8, batch_size=8)
    encoder, splits = encoder_of(tiny_checkpoint), Splits(train, train, [])
    head_task = HeadTask("sts", "bi", config, splits, zero)
    inputs = inputs_of(encoder, by_name(splits), head_task.features, "frozen", tmp_path)
    head_task = replace(head_task, inputs=inputs)
    given = {"score_on": score_on, "cache": tmp_path / "trials"}
    (both,) = choose(encoder, [head_task], [parts], made_of={"parts": 2}, **given)
    (defined,) = choose(encoder, [head_task], [parts[1:]], made_of={"parts": 1}, **given)
    assert both.choice.score == defined.choice.score is not None
    assert both.choice.epochs == defined.choice.epochs
    assert both.choice.chosen_by == 24


@pytest.mark.parametrize(("rows", "epochs"), [(250, 20), (1000, 5), (4000, 3), (0, 3)])
def test_few_labels_are_read_in_more_epochs(rows, epochs):
    assert head_config("quick", "full", "sts").for_rows(rows).num_epochs == epochs
    assert head_config("quick", "frozen", "sts").for_rows(rows).num_epochs == 20

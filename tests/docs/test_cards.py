"""The cards of the encoders that ship are true: their curves are the recorded trainings.

What `python -m runs.fill` fills is tested in tests/docs/test_numbers.py.
"""

import json

import numpy as np
from conftest import real_data

from data.overlap import LEFT_OUT, overlap, text_hash
from evaluation.leaks import scored_sets
from evaluation.models import seen_by
from runs.fill import cells_of
from runs.read import ROOT

MINI, MINI_STS = ROOT / "minbert" / "mini", ROOT / "minbert" / "mini_sts"


def card_of(folder):
    """Return a card, and the rows of the curve in it."""
    card = (folder / "README.md").read_text(encoding="utf-8")
    lines = card.split("<!-- table: curve -->\n")[1].split("\n\n")[0].splitlines()
    return card, [cells_of(line) for line in lines[2:]]


def notes_of(folder):
    return json.loads((folder / "training.json").read_text(encoding="utf-8"))


def tokens_per_step(config: dict) -> int:
    """Return the tokens of a step: rows, and what version 1.0.0 cut from others for two losses."""
    tokens = config["batch_size"] * config["length"]
    if config.get("contrast_weight"):  # two spans of 8 to 32 tokens, each with [CLS] and [SEP]
        tokens += config["contrast_batch_size"] * (8 + 32 + 2 * 2)
    if config.get("twin_weight"):  # [CLS] a [SEP] b [SEP], with a 24th left out on average
        tokens += config["twin_batch_size"] * (8 + 32 + 3 - 1)
    return tokens


def curve(notes: dict) -> tuple[int, dict[str, dict]]:
    """Return the tokens of a checkpoint's whole training, and its records by million tokens."""
    tokens, records = curve(notes["before"]) if "before" in notes else (0, {})
    per_step = tokens_per_step(notes["config"])
    for record in notes["history"]:
        records[f"{(tokens + record['step'] * per_step) / 1e6:.1f}"] = record
    return tokens + notes["history"][-1]["step"] * per_step, records


def test_the_model_card_shows_the_curve():
    notes, (card, rows) = notes_of(MINI), card_of(MINI)
    tokens, records = curve(notes)
    assert f"| Tokens seen | {tokens / 1e6:.0f} million" in card and len(rows) >= 8
    for _, millions, loss, perplexity, accuracy, spans, twins in rows:
        record = records[millions.split()[0]]
        assert twins == (f"{record['valid_twin_accuracy']:.3f}" if twins else "")
        assert (loss, accuracy) == (f"{record['loss']:.2f}", f"{record['valid_accuracy']:.3f}")
        assert perplexity == f"{record['valid_perplexity']:.1f}"
        assert spans == (f"{record['valid_span_accuracy']:.3f}" if spans else "")
    mean = notes["averaged"]  # what ships is the mean of two of these checkpoints
    told = f"perplexity {mean['valid_perplexity']:.1f}, accuracy {mean['valid_accuracy']:.3f} on"
    assert told in card


def test_the_card_of_mini_sts_shows_the_curve():
    records = {record["step"]: record for record in notes_of(MINI_STS)["history"]}
    for step, loss, neighbour, dev in card_of(MINI_STS)[1]:
        record = records[int(step.replace(",", ""))]
        assert [loss, neighbour, dev] == [
            f"{record['loss']:.2f}",
            f"{record['accuracy']:.3f}",
            f"{record['dev_score']:.3f}",
        ]


def test_the_card_of_mini_sts_counts_what_it_has_read(caplog):
    digests = seen_by("mini-sts", ()).digests
    assert f"{len(digests):,} texts" in card_of(MINI_STS)[0] and not caplog.text
    # One in so many texts that it has not read is taken for one that it has.
    assert round(2**40 / len(digests) / 1e6) == 4 and "four million" in card_of(MINI_STS)[0]
    assert (MINI_STS / notes_of(MINI_STS)["trained_on"]).stat().st_size < 2**20


def test_the_card_of_mini_sts_counts_the_rows_whose_sentences_it_has_read():
    """Spans of training sentences that equal one; those of the pairs that chose it aside."""
    sets = scored_sets([real_data("sts")])
    seen = seen_by("mini-sts", ())
    assert overlap(sets["STSBenchmark-dev"], seen).shared.all()
    trial = (line.split("\t")[1:3] for line in real_data("sts/SICK/SICK_trial.txt").open())
    chosen = [text for pair in sets["STSBenchmark-dev"] for text in pair.texts]
    chosen += [text for pair in trial for text in pair]
    known = np.array([text_hash(text) for text in chosen], np.uint64) >> LEFT_OUT
    seen.digests = np.setdiff1d(seen.digests, known)
    rows = {name: overlap(pairs, seen).shared.sum() for name, pairs in sets.items()}
    assert rows == dict.fromkeys(sets, 0) | {"STS12": 29, "STSBenchmark": 6}
    card = " ".join(card_of(MINI_STS)[0].split())
    assert "29 of 3,108 rows of STS12, 6 of 1,379 of" in card

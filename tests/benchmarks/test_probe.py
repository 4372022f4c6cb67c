"""Probes on data whose answers are known, and an encoder's random twin."""

import csv
import re

import numpy as np
import torch
from conftest import ADJECTIVES, NOUNS, VERBS

from benchmarks import probe
from data.examples import SentencePair
from data.tasks import Splits, read_task
from minbert.encoder import SentenceEncoder

WORDS = [*NOUNS, *VERBS, *ADJECTIVES, "the", "a", "and", "."]


def spelled(texts):
    """Return embeddings that hold the whole text, but for its order."""
    return np.array([[text.split().count(word) for word in WORDS] for text in texts], np.float32)


def test_probes_find_what_the_embeddings_hold_and_nothing_in_noise(toy_data):
    splits = {task: read_task(toy_data, task) for task in ("sst", "para", "sts")}
    noise = np.random.default_rng(0)
    good = probe.probe(spelled, splits)
    bad = probe.probe(lambda texts: noise.normal(size=(len(texts), 8)).astype("f4"), splits)
    assert good.keys() == bad.keys() == set(probe.PROBES)
    assert good["sts unseen"] == good["sts"]  # no text of this dev set is in train
    assert good["para"] > 0.85 > 0.75 > bad["para"]
    assert good["sts"] > 0.8 > 0.6 > bad["sts"]
    assert good["sts cosine"] > 0.6 > abs(bad["sts cosine"])


def test_who_remembers_the_texts_of_train_is_found_out():
    """Embeddings that tell texts apart and nothing more, random labels, dev half of train."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(240, 400)).astype(np.float32)
    pairs = [
        SentencePair(f"p{i}", f"Text {i}.", f"text {i}, again", float(rng.integers(2)))
        for i in range(len(noise))
    ]

    def remembered(texts):
        return noise[[int(re.search(r"\d+", text).group()) for text in texts]]

    half = probe.probe(remembered, {"para": Splits(pairs[:160], pairs[80:], [])})
    assert half["para"] > 0.65 > half["para unseen"] > 0.35
    assert "para unseen" not in probe.probe(remembered, {"para": Splits(pairs, pairs[80:], [])})


def test_the_probe_command_writes_its_table(tiny_checkpoint, toy_data, tmp_path, capsys):
    out = tmp_path / "table.csv"
    argv = [f"tiny={tiny_checkpoint}", "--data", str(toy_data), "--task", "sts", "--csv", str(out)]
    assert probe.main(argv) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["encoder"] for row in rows] == [
        "bag of words (TF-IDF)", "random twin of tiny", "tiny",
    ]  # fmt: skip
    assert set(rows[0]) == {"encoder", "sts", "sts unseen", "sts cosine"}
    assert f"{float(rows[2]['sts']):.3f}" in capsys.readouterr().out
    for argv in (["./nowhere", "--data", str(toy_data)], [str(tiny_checkpoint), "--data", "none"]):
        assert probe.main(argv) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1


def test_a_random_twin_has_the_sizes_but_not_the_weights(tiny_checkpoint):
    source = SentenceEncoder.from_pretrained(str(tiny_checkpoint))
    ours, theirs = probe.random_twin(source, seed=3).model.state_dict(), source.model.state_dict()
    assert {key: value.shape for key, value in ours.items()} == {
        key: value.shape for key, value in theirs.items()
    }
    key = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(ours[key], theirs[key])
    again = probe.random_twin(source, seed=3)
    assert torch.equal(again.model.state_dict()[key], ours[key])
    assert again.tokenizer is source.tokenizer and again.max_length == source.max_length

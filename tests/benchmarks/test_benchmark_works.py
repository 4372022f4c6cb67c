"""The speed benchmarks: counts agree with PyTorch's own counter, and every work runs in small."""

import json
import random

import numpy as np
import pytest
import torch
from conftest import real_checkpoint

from benchmarks import __main__ as command
from benchmarks import material, measure
from benchmarks.works import cross, encode, grad_cache, growth, heads, mlm, tokenization
from minbert.config import BertConfig

CPU = torch.device("cpu")
TINY = BertConfig(
    vocab_size=30522,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=512,
)


def test_sides_take_turns_and_ratios_are_of_rates():
    calls = []
    clock = iter(range(100))

    def side(name):
        return measure.Side(name, lambda number: calls.append((name, number)))

    work = measure.Work("w", "things", [10, 10, 30], [side("ours"), side("peer")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure.time, "perf_counter", lambda: next(clock))
        ours, peer = measure.measure(work, CPU)
    assert calls == [
        ("ours", 0), ("peer", 0), ("peer", 1), ("ours", 1), ("ours", 2), ("peer", 2)
    ]  # fmt: skip
    assert (ours.seconds, ours.rate, ours.rounds) == (1, 10, 3)  # every call took one tick
    assert peer.ratio == 1.0
    assert ours.peak_share is None


def test_a_measured_piece_counts_as_often_as_it_occurs():
    clock = iter(range(100))
    sides = [
        measure.Side("ours", lambda number: None),
        measure.Side("peer", lambda number: None, times=20),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure.time, "perf_counter", lambda: next(clock))
        ours, peer = measure.measure(measure.Work("w", "things", [5], sides), CPU)
    assert (peer.seconds, peer.ratio) == (20, 20)
    assert ours.rate == 5


def test_memory_that_comes_and_goes_is_seen():
    peak = measure.PeakMemory(CPU)
    torch.zeros(64 * 2**20, dtype=torch.uint8).add_(1)
    rise = peak.rise()
    assert rise is None or 60 < rise < 120


def test_made_sentences_have_the_lengths_of_real_ones():
    texts = material.made_sentences(3000, random.Random(0))
    assert len(set(texts)) == 3000
    lengths = [len(text.split()) for text in texts]
    quantiles = np.quantile(lengths, np.linspace(0, 1, len(material.LENGTH_QUANTILES)))
    assert np.abs(quantiles - material.LENGTH_QUANTILES).max() <= 2
    assert texts == material.made_sentences(3000, random.Random(0))


def test_sides_that_differ_stop_the_benchmark():
    measure.expect(True, "nothing")
    with pytest.raises(AssertionError, match="the sides differ: losses"):
        measure.expect(False, "losses")


def test_every_work_runs_and_its_sides_agree(tmp_path, monkeypatch, capsys):
    real_checkpoint()
    monkeypatch.setattr(material, "BERT_BASE", TINY)
    monkeypatch.setattr(command, "TEXTS", 1600)
    monkeypatch.setattr(command, "PAIRS", 20)
    for module, name, value in [
        (encode, "COUNT", 12),
        (cross, "COUNT", 12),
        (grad_cache, "COUNT", 12),
        (heads, "TEXTS", 80),
        (mlm, "STEPS", 1),
        (mlm, "BATCH_SIZE", 4),
        (tokenization, "LINES", 2000),
        (growth, "COUNTS", (20, 40)),
        (growth, "TOKENS", 512),
        (measure, "MATMUL_SHAPES", ((1024, 768, 3072),)),
    ]:
        monkeypatch.setattr(module, name, value)
    out = tmp_path / "figures.json"
    threads = torch.get_num_threads()
    assert command.main(["--rounds", "1", "--json", str(out)]) == 0
    assert torch.get_num_threads() == threads
    report = json.loads(out.read_text())
    assert {"device", "processor", "peak float32", "torch"} <= report["machine"].keys()
    found = {(figure["work"], figure["side"]) for figure in report["figures"]}
    assert ("encode, MiniLM", "sentence-transformers") in found
    assert ("sup step, bert-base shape", "transformers, float32 loop") in found
    assert len(found) == len(report["figures"]) > 30
    for figure in report["figures"]:
        assert figure["seconds"] > 0 and figure["ratio"] > 0
        assert figure["peak_share"] is None or 0 < figure["peak_share"] < 1.2
    assert f"{len(found)} figures in" in capsys.readouterr().out


def test_missing_things_are_one_line(tmp_path, capsys):
    assert command.main(["--only", "startup", "--data", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1

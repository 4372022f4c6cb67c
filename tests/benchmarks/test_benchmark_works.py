"""The speed benchmarks: counts agree with PyTorch's own counter, and every work runs in small."""

import json
import random
import sys

import numpy as np
import pytest
import torch
from conftest import real_checkpoint

from benchmarks import __main__ as command
from benchmarks import engines, material, measure, peers
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
    # Every call took one tick; the first one of each side does not count.
    assert (ours.seconds, ours.rate, ours.rounds) == (1, 20, 2)
    assert peer.ratio == 1.0
    assert ours.peak_share is None


def test_a_side_that_computes_less_has_a_share_of_what_it_computes():
    sides = [
        measure.Side(name, lambda number: None, torch.float32, flops=flops)
        for name, flops in (("ours", [10.0]), ("peer", None))
    ]
    clock = iter(range(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure.time, "perf_counter", lambda: next(clock))
        patch.setattr(measure, "matmul_peak", lambda dtype, device: 100.0)
        figures = measure.measure(measure.Work("w", "things", [1], sides, [30.0]), CPU)
    assert [figure.peak_share for figure in figures] == [0.1, 0.3]  # in one tick each


def test_the_first_round_warms_up_and_tells_the_memory(monkeypatch):
    released = []
    monkeypatch.setattr(measure, "release_memory", lambda: released.append(True))
    clock = iter([0.0, 9.0, 10.0, 12.0, 20.0, 24.0])  # 9, 2 and 4 seconds

    def run(number):
        size = 64 * 2**20 if number == 0 else 256 * 2**20
        torch.zeros(size, dtype=torch.uint8).add_(1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure.time, "perf_counter", lambda: next(clock))
        (ours,) = measure.measure(
            measure.Work("w", "things", [4] * 3, [measure.Side("ours", run)]), CPU
        )
    assert (ours.seconds, ours.fastest, ours.slowest, ours.rounds) == (3, 2, 4, 2)
    assert ours.rate == 1.5 and len(released) == 1
    assert ours.memory_mib is None or 60 < ours.memory_mib < 120


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


def test_a_long_side_takes_fewer_rounds_and_quality_stands_beside():
    calls = []
    sides = [
        measure.Side("ours", lambda number: calls.append(number), quality="Spearman -0.0012"),
        measure.Side("peer", lambda number: calls.append(number), rounds=1),
    ]
    ours, peer = measure.measure(measure.Work("w", "things", [5, 5, 5], sides), CPU)
    assert calls == [0, 0, 1, 2]
    assert (ours.rounds, peer.rounds, peer.quality) == (2, 1, None)
    lines = command.table([ours, peer]).splitlines()
    assert lines[-2].endswith("Spearman -0.0012") and lines[-1].endswith("-")


def test_an_engine_whose_library_is_missing_is_skipped_with_one_line(tmp_path, monkeypatch):
    for name in ("openvino", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, None)
    bench = material.Bench(CPU, 1, ["a text"], tmp_path)
    found, skipped = engines.load(bench, lambda *_, **__: "model", tmp_path, [("a text",)])
    assert found == [] and len(skipped) == 2
    assert skipped[0].startswith("OpenVINO: ") and skipped[1].startswith("ONNX: ")
    for line in skipped:
        assert "\n" not in line and "; pip install -r requirements-bench" in line


@pytest.mark.parametrize("library", engines.WAYS)
def test_an_engine_computes_what_its_torch_form_does_and_int8_nearly(library, tmp_path):
    pytest.importorskip({"OpenVINO": "optimum.intel", "ONNX": "optimum.onnxruntime"}[library])
    bench = material.Bench(CPU, 1, material.made_sentences(200, random.Random(0)), tmp_path)
    rows = [(text,) for text in bench.texts[20:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "WAYS", {library: engines.WAYS[library]})
        (plain, int8), skipped = engines.load(
            bench, peers.sentence_transformer, real_minilm(bench), rows
        )
    wanted = peers.sentence_transformer(real_minilm(bench), CPU).encode(bench.texts[:20])
    assert skipped == [] and int8.dtype is None
    assert encode.cosines(plain.model.encode(bench.texts[:20]), wanted).min() > 0.999
    assert 0.9 < encode.cosines(int8.model.encode(bench.texts[:20]), wanted).min() < 0.9999


def test_minbert_in_int8_or_a_line_that_says_why_not(tmp_path, tiny_checkpoint, monkeypatch):
    bench = material.Bench(CPU, 1, [], tmp_path)
    encoders, skipped = engines.in_int8(bench, tiny_checkpoint)
    assert len(encoders) + len(skipped) == 1
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    encoders, (line,) = engines.in_int8(bench, tiny_checkpoint)
    assert encoders == [] and line.startswith("minbert: precision int8: ") and "\n" not in line
    on_gpu = material.Bench(torch.device("cuda"), 1, [], tmp_path)
    assert engines.in_int8(on_gpu, tiny_checkpoint) == ([], [])


def real_minilm(bench):
    """Return MiniLM in float32, or skip the test."""
    real_checkpoint()
    return material.minilm(bench)


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
    monkeypatch.setattr("benchmarks.works.search.ROWS", 600)
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
    qualities = {
        (figure["work"], figure["side"]): figure["quality"] for figure in report["figures"]
    }
    assert qualities["encode, mini", "minbert"].startswith("Spearman ")
    assert qualities["encode, bert-base shape", "minbert"].startswith("cosine ")
    assert qualities["encode, mini", "sentence-transformers"] is None
    for figure in report["figures"]:
        assert figure["seconds"] > 0 and figure["ratio"] > 0
        assert figure["peak_share"] is None or figure["peak_share"] > 0
    out = capsys.readouterr().out
    assert f"{len(found)} figures in" in out and "\nencode took " in out


def test_missing_things_are_one_line(tmp_path, capsys):
    assert command.main(["--only", "startup", "--data", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1

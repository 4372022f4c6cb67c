"""The speed benchmarks: figures are what they say, and every kind of work runs in small."""

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import real_checkpoint

from benchmarks import __main__ as command
from benchmarks import (
    encoding,
    engine,
    inputs,
    options,
    peers,
    quiet,
    run,
    training,
)
from minbert.config import BertConfig
from minbert.encoder import SentenceEncoder
from minbert.hub import MINI

CPU = torch.device("cpu")
TINY = BertConfig(
    vocab_size=30522,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=512,
)


@pytest.fixture
def ticks(monkeypatch):
    """Let every look at the clock find it one second later."""
    clock = iter(range(1000))
    monkeypatch.setattr(engine.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(engine, "Others", lambda: Neighbours([]))


class Neighbours:
    """Stands for `quiet.Others`: rounds are disturbed as the list says, then nothing is known."""

    def __init__(self, cores):
        self.left = cores

    def cores(self):
        return self.left.pop(0) if self.left else None


def test_sides_take_turns_and_ratios_are_of_rates(ticks):
    calls = []

    def side(name, **more):
        return engine.Side(name, lambda number: calls.append((name, number)), **more)

    sides = [
        side("ours", quality="Spearman -0.0012"),
        side("peer"),
        side("long", rounds=1, times=2),
    ]
    work = engine.Work("w", "things", [10, 10, 30], sides)
    ours, peer, long = figures = engine.measure(work, CPU)
    assert [name for name, number in calls if number == 0] == ["ours", "peer", "long"]
    assert [name for name, number in calls if number == 1] == ["peer", "ours"]
    assert [name for name, number in calls if number == 2] == ["ours", "peer"]
    # Every call took one second; the first one of each side does not count, but of the long one.
    assert (ours.seconds, ours.rate, ours.rounds) == (1, 20, 2)
    assert (peer.ratio, long.ratio, long.rounds) == (1, 4, 1)
    assert ours.peak_share is None
    lines = run.table(figures).splitlines()
    assert lines[-3].endswith(" Spearman -0.0012 |") and lines[-2].rstrip(" |").endswith("-")


def test_a_disturbed_round_is_timed_again_and_its_quietest_trial_counts(ticks, monkeypatch):
    found = Neighbours([0.9, 0.0, 0.7, 0.02, 0.9, 0.8, 0.0])
    monkeypatch.setattr(engine, "Others", lambda: found)
    calls = []
    side = engine.Side("ours", calls.append)
    (ours,) = engine.measure(engine.Work("w", "things", [1] * 4, [side]), CPU)
    # The first round only warms up. The third one is disturbed once, the fourth one twice.
    assert calls == [0, 1, 2, 2, 3, 3, 3]
    assert (ours.others, ours.disturbed, ours.rounds) == (0.02, False, 3)


def test_a_figure_that_cannot_be_had_quietly_is_marked(ticks, monkeypatch):
    found = Neighbours([0.5] * 50)
    monkeypatch.setattr(engine, "Others", lambda: found)
    calls = []
    side = engine.Side("ours", calls.append)
    (ours,) = figures = engine.measure(engine.Work("w", "things", [1] * 3, [side]), CPU)
    assert len(calls) == 3 + engine.REPEATS
    assert ours.disturbed and run.table(figures).splitlines()[-1].count(" 0.50 disturbed |") == 1
    assert run.quietness(figures).startswith("1 of them are disturbed: ")


def test_where_the_system_does_not_say_nothing_is_repeated(ticks):
    calls = []
    side = engine.Side("ours", calls.append)
    (ours,) = figures = engine.measure(engine.Work("w", "things", [1] * 3, [side]), CPU)
    assert calls == [0, 1, 2] and ours.others is None and not ours.disturbed
    assert "not known" in run.quietness(figures)
    assert "programs disturbed 1 of them" in run.quietness(figures)
    assert run.quietness(figures).endswith(": this system does not say.")
    timed = replace(ours, others=0.0)
    assert run.quietness([timed, ours]).endswith(": their rounds are too short.")


CORES = """cpu  900 0 0 900 0 0 0 0 0 0
cpu0 {user} 10 20 5000 30 1 2 {steal} 7 7
cpu1 {user} 10 20 5000 30 1 2 {steal} 7 7
cpu2 999999 0 0 0 0 0 0 0 0 0
intr 1 2
"""


def test_others_are_what_the_cores_did_and_this_process_did_not(tmp_path, monkeypatch):
    clock, own = [0.0], [0.0]
    stat = tmp_path / "stat"
    monkeypatch.setattr(quiet, "STAT", stat)
    monkeypatch.setattr(quiet.os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    monkeypatch.setattr(quiet.os, "sysconf", lambda name: 100)
    monkeypatch.setattr(quiet.os, "times", lambda: (own[0], 1.0, 0.5, 0.5, 0.0))
    monkeypatch.setattr(quiet.time, "perf_counter", lambda: clock[0])
    stat.write_text(CORES.format(user=100, steal=0))
    # Two cores of 100 + 10 + 20 + 1 + 2 ticks; two seconds of them are this process's.
    assert quiet.busy_seconds() == 2.66
    assert quiet.taken_by_others() == pytest.approx(0.66)
    others = quiet.Others()
    # Ten seconds later each core has worked for nine and was lent out for half a second more; 15 of
    # these 19 are ours. A third core, which we may not use, does not count.
    stat.write_text(CORES.format(user=1000, steal=50))
    clock[0], own[0] = 10.0, 15.0
    assert others.cores() == pytest.approx((19 - 15 - quiet.ROUNDING) / 10)
    assert not quiet.is_quiet(others.cores())
    own[0] = 18.9
    assert quiet.is_quiet(others.cores()) and others.cores() == pytest.approx(0.005)
    own[0] = 30.0  # counts that do not quite fit
    assert others.cores() == 0
    brief = quiet.Others()
    clock[0] += 0.02  # two cores can do no more than the counts' rounding
    assert brief.cores() is None


@pytest.mark.parametrize("case", ["no file", "zeros", "no affinity"])
def test_other_systems_do_not_say(case, tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    if case != "no file":
        stat.write_text("cpu0 0 0 0 0 0 0 0 0 0 0\n")
    if case == "no affinity":
        monkeypatch.delattr(quiet.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(quiet, "STAT", stat)
    assert quiet.busy_seconds() is None
    assert quiet.Others().cores() is None and quiet.is_quiet(None)


def test_a_side_that_computes_less_has_a_share_of_what_it_computes(ticks, monkeypatch):
    monkeypatch.setattr(engine, "matmul_peak", lambda dtype, device, threads: 100.0)
    sides = [
        engine.Side(name, lambda number: None, torch.float32, flops=flops)
        for name, flops in (("ours", [10.0]), ("peer", None))
    ]
    figures = engine.measure(engine.Work("w", "things", [1], sides, [30.0]), CPU)
    assert [figure.peak_share for figure in figures] == [0.1, 0.3]


def test_the_first_round_measures_the_memory():
    def work(number):
        size = 64 * 2**20 if number == 0 else 256 * 2**20
        torch.zeros(size, dtype=torch.uint8).add_(1)

    sides = [engine.Side("ours", work)]
    (ours,) = engine.measure(engine.Work("w", "things", [4] * 2, sides), CPU)
    assert ours.memory_mib is None or 60 < ours.memory_mib < 120


def test_an_engine_whose_library_is_missing_is_skipped_with_one_line(tmp_path, monkeypatch):
    real_checkpoint()
    for name in ("openvino", "onnxruntime", "ctranslate2", "zentorch"):
        monkeypatch.setitem(sys.modules, name, None)
    bench = inputs.Bench(CPU, 1, ["a text"], tmp_path)
    folder = inputs.minilm(bench)
    loaded, skipped = peers.engines(bench, peers.sentence_transformer, folder, [("a text",)])
    assert loaded == [] and len(skipped) == len(peers.ENGINES)
    assert skipped[0].startswith("OpenVINO, ") and skipped[-1].startswith("zentorch, ")
    for line in skipped:
        assert "\n" not in line and "; pip install -r requirements-bench" in line


@pytest.mark.parametrize("make", [peers.sentence_transformer, peers.cross_encoder])
@pytest.mark.parametrize("engine_", peers.ENGINES, ids=lambda engine: f"{engine[0]} {engine[1]}")
def test_an_engine_computes_what_its_torch_form_does_and_int8_nearly(
    engine_, make, tmp_path, monkeypatch
):
    library, precision, _ = engine_
    pytest.importorskip(library.lower().replace(" ", ""))
    real_checkpoint()
    bench = inputs.Bench(CPU, 1, inputs.made_sentences(200, random.Random(0)), tmp_path)
    pairs = make is peers.cross_encoder
    rows = list(zip(bench.texts, bench.texts[1:], strict=False)) if pairs else None
    folder = encoding.with_classifier(bench) if pairs else inputs.minilm(bench)
    monkeypatch.setattr(peers, "ENGINES", (engine_,))
    calibration = rows or [(text,) for text in bench.texts[20:]]
    (loaded,), skipped = peers.engines(bench, make, folder, calibration)
    plain = make(folder, CPU, torch.float32)
    assert skipped == [] and (loaded.dtype is None) == (precision == "int8")
    if pairs:
        agreement = np.corrcoef(loaded.model.predict(rows[:20]), plain.predict(rows[:20]))[0, 1]
    else:
        texts = bench.texts[:20]
        agreement = encoding.cosines(loaded.model.encode(texts), plain.encode(texts)).min()
    if precision == "int8":
        assert 0.95 < agreement < 0.9999
    else:
        assert agreement > 0.995


def test_an_engine_reads_checkpoints_without_a_pooler(tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers")
    engine_ = ("PyTorch", "float32", lambda source: peers.Traced(source.bert))
    monkeypatch.setattr(peers, "ENGINES", (engine_,))
    bench = inputs.Bench(CPU, 1, ["a text", "another text of some words"], tmp_path)
    (loaded,), skipped = peers.engines(bench, peers.sentence_transformer, MINI, [("a text",)])
    plain = peers.sentence_transformer(MINI, CPU, torch.float32)
    assert skipped == []
    assert np.array_equal(loaded.model.encode(bench.texts), plain.encode(bench.texts))


def test_minbert_in_int8_or_a_line_that_says_why_not(tmp_path, tiny_checkpoint, monkeypatch):
    bench = inputs.Bench(CPU, 1, [], tmp_path)
    encoders, skipped = encoding.in_int8(bench, tiny_checkpoint)
    assert len(encoders) + len(skipped) == 1
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    encoders, (line,) = encoding.in_int8(bench, tiny_checkpoint)
    assert encoders == [] and line.startswith("minbert: precision int8: ") and "\n" not in line


def test_a_torchvision_that_does_not_load_is_left_alone(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "torchvision":
                raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setitem(sys.modules, "torchvision", None)  # put back afterwards
    del sys.modules["torchvision"]
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    peers.prepare()
    assert importlib.util.find_spec("torchvision") is None


def test_a_checkpoint_of_ones_own_is_the_only_encoder(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "_encode", lambda *said: said)
    bench = inputs.Bench(CPU, 1, [], tmp_path, [], "mini")
    assert [said[:2] for said in encoding.encode(bench)] == [("encode, mini", MINI)]


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Let every kind of work be as small as it can be; mini stands for MiniLM where it may."""
    real_checkpoint()
    mini = tmp_path / "mini"
    SentenceEncoder.from_pretrained("mini", device="cpu").save(mini)  # in float32
    monkeypatch.setattr(inputs, "minilm", lambda bench: mini)
    monkeypatch.setattr(engine.gc, "collect", lambda: 0)
    for module, name, value in [
        (inputs, "BERT_BASE", TINY),
        (run, "TEXTS", 40),
        (run, "PAIRS", 10),
        (encoding, "COUNT", 8),
        (training, "BATCH_SIZE", 4),
        (training, "CACHED", 4),
        (engine, "MATMUL_SHAPES", ((64, 64, 64),)),
        (engine, "REPEATS", 0),  # tests run beside each other
    ]:
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(peers, "ENGINES", ())  # they have a test of their own


def test_every_work_runs_and_its_sides_agree(tiny, tmp_path, capsys):
    out = tmp_path / "figures.json"
    only = ["--only", *options.WORKS]
    assert command.main([*only, "--rounds", "1", "--json", str(out)]) == 0
    report = json.loads(out.read_text())
    assert {"device", "peak float32", *run.PACKAGES} <= report["machine"].keys()
    figures = {(figure["work"], figure["side"]): figure for figure in report["figures"]}
    assert len(figures) == len(report["figures"]) > 20
    assert figures["encode, mini", "minbert"]["quality"].startswith("Spearman ")
    assert figures["encode, bert-base shape", "minbert"]["quality"].startswith("cosine ")
    assert figures["encode, mini", "sentence-transformers"]["quality"] is None
    assert ("unsup step, bert-base shape", "transformers, float32 loop") in figures
    for figure in report["figures"]:
        assert figure["ratio"] > 0
        assert figure["peak_share"] is None or figure["peak_share"] > 0
    shown = capsys.readouterr().out
    assert f"{len(figures)} figures in" in shown and "\nencode took " in shown


def test_an_unknown_work_is_refused_in_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["--only", "encode", "cros"])
    error = capsys.readouterr().err.splitlines()[-1]
    assert "error: --only cros: expected one of encode, " in error
    assert error.endswith("; did you mean cross?")


def test_a_processor_of_another_kind_is_refused_in_one_line(capsys, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True}, raising=False)
    assert command.main(["--processor", "bfloat16"]) == 2
    said = "error: --processor bfloat16: this one is of the kind avx2\n"
    assert capsys.readouterr().err == said


def test_a_processor_is_named_as_the_system_names_it(tmp_path, monkeypatch):
    info = tmp_path / "cpuinfo"
    # That PyTorch reports less than the system does not say that something is hidden.
    info.write_text("model name\t: Some Xeon\nflags\t\t: avx2 avx512f\n\nmodel name\t: Other\n")
    monkeypatch.setattr(run, "CPUINFO", info)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True}, raising=False)
    assert run.processor(torch.device("cpu")) == "Some Xeon"


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        ("avx2 avx512_f avx512_vnni avx512_bf16", "bfloat16"),
        ("avx2 avx512_f avx512_vnni", "vnni"),
        ("avx2 avx_vnni", "vnni"),  # laptops
        ("avx2 avx512_f", "avx512"),
        ("avx2", "avx2"),
        ("", "other"),
    ],
)
def test_a_processor_has_one_kind(flags, kind, monkeypatch):
    capabilities = dict.fromkeys(flags.split(), True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert run.kind_of_processor() == kind


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("avx2", ["avx2", "avx2", "AVX2", "64.0"]),
        ("avx512", ["avx512_f", "avx512_f", "AVX512", "64.0"]),
    ],
)
def test_a_newer_intel_processor_can_pass_for_an_older_one(kind, expected, tmp_path):
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    if not {"cpuid_fault", "avx512f"} <= {*flags} or not shutil.which("cc"):
        pytest.skip("no Intel processor whose CPUID can be made to fail, or no C compiler")
    library = tmp_path / "pass_for.so"
    source = Path(run.__file__).with_name("pass_for.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    code = """
import signal, torch
from benchmarks.run import processor
from runtime.device import byte_instructions, instructions

signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # as libraries do
print(instructions(), byte_instructions(), torch.backends.cpu.get_cpu_capability())
print(float(torch.ones(64).sum()))
print(processor(torch.device("cpu")))
"""
    seen = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LD_PRELOAD": str(library), "PASS_FOR": kind},
        capture_output=True,
        text=True,
        check=True,
    )
    widest, ones, name = seen.stdout.splitlines()
    assert [*widest.split(), ones] == expected
    assert name.endswith(f", passes for one of the kind {kind} (benchmarks/pass_for.c)")


def test_missing_things_are_one_line(tmp_path, capsys):
    assert command.main(["--only", "cross", "--data", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1


def test_figures_are_not_written_over_the_data(toy_data, capsys):
    path = toy_data / "sts-dev.csv"
    before = path.read_bytes()
    assert command.main(["--data", str(toy_data), "--json", str(path)]) == 2
    assert "would be overwritten; name another output" in capsys.readouterr().err
    assert path.read_bytes() == before

"""`python -m report cost RUN` on a finished run: what it measures, prints, writes and refuses."""

import json
import shutil
import subprocess
import sys
from html import escape

import numpy as np
import pytest
import torch
from command import ROOT
from toy_runs import ALL, run

from baselines.isbert import load_tuned
from data.examples import DataError
from data.tasks import read_task
from heads.saved import load_head
from minbert.flops import encoder_flops, linear_flops
from report import run_costs
from report.cost import COSTS, main, measured_on
from report.page.command import write_page
from report.run_costs import measure_run, reader_of


@pytest.fixture(scope="module")
def finished(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run a grid of two backbones once."""
    folder = tmp_path_factory.mktemp("costs") / "runs" / "grid"
    assert run(tiny_checkpoint, toy_data, folder, "--pretrain", "none", "sup", *ALL[4:]) == 0
    return folder


def test_each_task_and_encoder_is_measured_once_in_its_best_cell(finished):
    said = []
    found = measure_run(finished, 0.05, "cpu", said.append)
    places = [(cell.task, cell.cost.encoder) for cell in found.cells]
    assert places == [
        ("sst", "bi"), ("para", "bi"), ("para", "cross"), ("sts", "bi"), ("sts", "cross")
    ]  # fmt: skip
    results = json.loads((finished / "results.json").read_text())
    for cell in found.cells:
        rivals = [r for r in results if (r["task"], r["encoder"]) == (cell.task, cell.cost.encoder)]
        metric = "pearson" if cell.task == "sts" else "accuracy"
        best = max(rivals, key=lambda rival: rival["metrics"][metric])
        assert cell.cell.startswith(f"{best['pretrain']}-{cell.task}")
    assert [cell.cost.passes for cell in found.cells] == [1, 2, 1, 2, 1]
    assert found.break_even.keys() == {"para", "sts"} and "10,000 sentences" in found.story
    assert found.retrieval.task == "para" and found.retrieval.queries > 0
    threads = torch.get_num_threads()
    known = {"device": "cpu", "precision": "float32", "threads": threads}
    assert known.items() <= found.machine.items() and found.budget == 0.05
    about = measured_on(found.to_json())
    assert f"cpu, float32 products, {threads} thread(s)" in about and "0.05 s per head" in about


@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_operations_and_tokens_are_those_of_the_examples(kind, finished, toy_data):
    head = load_head(
        finished / "heads" / f"none-sts-{kind}-frozen-interaction-42.safetensors", load_tuned, "cpu"
    )
    pairs = [pair.texts for pair in read_task(toy_data, "sts").dev]
    first, second = zip(*pairs, strict=True)
    tokenize = head.encoder.tokenize
    one_by_one = [*tokenize(first).lengths, *tokenize(second).lengths]
    lengths = one_by_one if kind == "bi" else tokenize(first, second).lengths
    model = head.encoder.model
    wanted = encoder_flops(lengths, model.config, pooler=True) + len(pairs) * linear_flops(
        head.head
    )
    reader = reader_of(head, pairs)
    assert reader.flops == pytest.approx(wanted / len(pairs))
    assert reader.tokens == pytest.approx(sum(lengths) / len(pairs))
    assert (reader.encode is None) == (kind == "cross")


def test_the_command_prints_tables_and_writes_numbers(finished, tmp_path):
    lines = []
    target = tmp_path / "cost.json"
    argv = [str(finished), "--budget", "0.05", "--device", "cpu", "--json", str(target)]
    assert main(argv, lines.append) == 0
    text = "\n".join(lines)
    assert "| most similar two of N | 10,000 " in text and "~" in text
    assert "para: the bi-encoder is" in text and "65 hours and 5 seconds" in text
    assert "| hybrid " in text
    numbers = json.loads(target.read_text())
    assert [cell["task"] for cell in numbers["cells"]] == ["sst", "para", "para", "sts", "sts"]
    assert numbers["retrieval"]["rankings"][0]["by"] == "bi"


def test_the_runs_folder_keeps_the_numbers_and_its_page_shows_them(finished):
    assert main([str(finished), "--budget", "0.05", "--device", "cpu"], lambda line: None) == 0
    numbers = json.loads((finished / COSTS).read_text())
    page = write_page(finished).read_text()
    for words in (numbers["story"], measured_on(numbers)):
        assert escape(words, quote=False) in page
    for figure in ("frontier-para", "frontier-sts", "frontier-retrieval"):
        assert f'<figure id="{figure}">' in page
    (finished / COSTS).unlink()


def test_a_run_ends_with_costs_beside_quality(tiny_checkpoint, toy_data, tmp_path):
    folder = tmp_path / "r"
    short = ["--task", "sts", "--encoder", "bi", "cross", "--cost-seconds", "0.1"]
    assert run(tiny_checkpoint, toy_data, folder, *short, "--tune", "frozen", "full") == 0
    costs = json.loads((folder / COSTS).read_text())
    # Tuned or frozen, an encoder costs the same.
    assert [cell["cost"]["encoder"] for cell in costs["cells"]] == ["bi", "cross"]
    assert costs["budget"] == 0.05 and costs["retrieval"] is None
    page = (folder / "report.html").read_text()
    table = page[page.index("sts: cost (~ projected)") :]
    for system in ("none bi frozen", "none cross frozen", "none bi full", "none cross full"):
        assert f">{system}<" in table.replace("\n", "")
    # What was measured longer stays; with another encoder, all are measured again.
    (folder / COSTS).write_text(json.dumps(costs | {"budget": 60.0}))
    assert run(tiny_checkpoint, toy_data, folder, *short) == 0
    assert json.loads((folder / COSTS).read_text())["budget"] == 60.0
    (folder / COSTS).write_text(json.dumps(costs | {"cells": costs["cells"][:1]}))
    assert run(tiny_checkpoint, toy_data, folder, *short) == 0
    assert len(json.loads((folder / COSTS).read_text())["cells"]) == 2


def test_costs_that_fail_leave_results_and_page(
    tiny_checkpoint, toy_data, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(run_costs, "load_head", None)
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--cost-seconds", "0.1") == 0
    assert "no costs (TypeError" in caplog.text and "python -m report cost" in caplog.text
    assert (tmp_path / "r" / "results.json").is_file()
    assert "Not measured for this run" in (tmp_path / "r" / "report.html").read_text()


def test_a_run_of_one_encoder_has_no_comparison(tiny_checkpoint, toy_data, tmp_path):
    assert run(tiny_checkpoint, toy_data, tmp_path / "runs" / "one", "--task", "sst") == 0
    lines = []
    assert main([str(tmp_path / "runs" / "one"), "--budget", "0.05"], lines.append) == 0
    assert "none-sst-bi" in lines[-2] and not any("65 hours" in line for line in lines)


def test_the_encoder_of_is_bert_is_opened_with_its_convolutions(
    tiny_checkpoint, toy_data, tmp_path
):
    folder = tmp_path / "runs" / "isbert"
    argv = ["--pretrain", "isbert", "--task", "sts", "--encoder", "bi", "cross"]
    assert run(tiny_checkpoint, toy_data, folder, *argv) == 0
    name = "isbert-sts-bi-frozen-interaction-42"
    head = load_head(folder / "heads" / f"{name}.safetensors", load_tuned, "cpu")
    found = head.soft([pair.texts for pair in read_task(toy_data, "sts").dev])
    lines = (folder / "predictions" / name / "sts-dev-output.csv").read_text().splitlines()[1:]
    np.testing.assert_allclose(found, [float(line.split(" , ")[1]) for line in lines], atol=1e-4)
    assert measure_run(folder, 0.05, "cpu", lambda line: None).retrieval is None


def test_what_is_no_run_is_refused_in_one_line(finished, tmp_path):
    shutil.copy(finished / "config.json", tmp_path)
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(DataError, match=f"{folder}: no finished cells"):
            main([str(folder)])


def test_help_needs_no_torch():
    code = "import sys; from report.cost import main\ntry: main(['--help'])\n"
    code += "except SystemExit: assert 'torch' not in sys.modules"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert shown.returncode == 0 and "RUN" in shown.stdout

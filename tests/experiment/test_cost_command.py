"""`python -m report cost RUN` on a finished run: what it measures, prints, writes and refuses."""

import json
import shutil
import subprocess
import sys

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
from report.cost import main
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
    assert found.machine == known | {"load": found.machine["load"]}


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


def test_a_run_of_one_encoder_has_no_comparison(tiny_checkpoint, toy_data, tmp_path):
    assert run(tiny_checkpoint, toy_data, tmp_path / "runs" / "one", "--task", "sst") == 0
    lines = []
    assert main([str(tmp_path / "runs" / "one"), "--budget", "0.05"], lines.append) == 0
    assert "none-sst-bi" in lines[-1] and not any("65 hours" in line for line in lines)


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

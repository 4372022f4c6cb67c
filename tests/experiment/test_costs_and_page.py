"""A run ends with its costs, its verdict and its page; the commands make both again.

What fails of these leaves the results, and what is no run is refused.
"""

import json
import re
import shutil
from html import escape

import pytest
import torch
from toy_runs import GRID, cells_of, results

import heads.saved
import report.page.write
from data.tasks import read_task
from heads.config import READERS
from heads.saved import load_head
from minbert.flops import encoder_flops, linear_flops
from minbert.prompts import Prompts
from report.__main__ import main
from report.costs import add_costs, cost_lines, cost_of, measured_on
from report.finished import FinishedRun
from report.run_folder import COSTS


def test_the_terminal_ends_with_the_pages_verdict_and_the_page_is_made_again(
    start, toy_grid, capsys
):
    page = (toy_grid / "report.html").read_bytes()
    assert start(toy_grid, *GRID, figures=True) == 0
    printed = capsys.readouterr().out.strip()
    table, verdict = printed.split("\n\nResults saved to ")[0].rsplit(" |\n\n", 1)
    assert "| pearson" in table and "\nSTS (similarity 0-5): " in verdict
    assert f"\nReport: {toy_grid / 'report.html'} (open in a browser)\n\nNext:\n" in printed
    assert f"python -m heads predict {toy_grid} new.txt --cell sst\n" in printed
    # The advice of a headline is a paragraph of its own on the page.
    shown = re.sub(r"</p>\s*<p[^>]*>", " ", page.decode().replace("&#34;", '"'))
    for paragraph in verdict.split("\n\n"):
        words = " ".join(paragraph.split())
        assert escape(words, quote=False) in " ".join(shown.split())
    (toy_grid / "report.html").unlink()
    assert main(["html", str(toy_grid)]) == 0
    assert (toy_grid / "report.html").read_bytes() == page


def test_a_run_keeps_what_the_page_shows(toy_grid):
    kept = FinishedRun.read(toy_grid)
    for cell in cells_of(toy_grid):
        examples = kept.examples(cell)
        soft, predictions = (
            kept.folder.soft(cell, examples),
            kept.folder.predictions(cell, examples),
        )
        if cell.task == "sts":
            assert soft["soft"] == pytest.approx(predictions, abs=1e-5)
        assert ("cosines" in soft) == (cell.task == "sts" and cell.reader == "bi")
    page = (toy_grid / "report.html").read_text()
    for id in ("differences", "scores-sts", "curve-tuning", "trajectory", "curve-heads-sts"):
        assert f'<figure id="{id}' in page


@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_operations_and_tokens_are_those_of_the_examples(kind, toy_grid, toy_data):
    head = load_head(
        toy_grid / "heads" / f"none-sts-{kind}-frozen-interaction-42.safetensors", "cpu"
    )
    pairs = [pair.texts for pair in read_task(toy_data, "sts").dev]
    first, second = zip(*pairs, strict=True)
    tokenize = head.encoder.tokenize
    one_by_one = [*tokenize(first).lengths, *tokenize(second).lengths]
    lengths = one_by_one if kind == "bi" else tokenize(first, second).lengths
    flops = encoder_flops(lengths, head.encoder.model.config, pooler=True)
    cost = cost_of(head, pairs, 0.01)
    assert cost["flops"] == pytest.approx(flops / len(pairs) + linear_flops(head.head))
    assert cost["tokens"] == pytest.approx(sum(lengths) / len(pairs))
    assert (cost["texts_per_second"] is None) == (kind == "cross")
    # A bi-encoder reads the checkpoint's default prompt before every text.
    head.encoder.prompts = Prompts({"long": "one two three "}, "long")
    longer = cost_of(head, pairs, 0.01)["tokens"] - cost["tokens"]
    assert longer > 5 if kind == "bi" else longer == 0


def test_the_command_measures_each_encoder_once_in_its_best_cell(toy_grid, capsys):
    assert main(["cost", str(toy_grid), "--budget", "0.05", "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    numbers = json.loads((toy_grid / COSTS).read_text())
    assert "\n".join(cost_lines(numbers)) in text
    assert f"Cost details: {toy_grid / COSTS}" in text
    cells = numbers["cells"]
    assert [(cell["task"], cell["cost"]["reader"]) for cell in cells] == [
        ("sst", "bi"), ("para", "bi"), ("para", "cross"), ("sts", "bi"), ("sts", "cross")
    ]  # fmt: skip
    assert [cell["cost"]["passes"] for cell in cells] == [1, 2, 1, 2, 1]
    for cell in cells:
        place = cell["task"], cell["cost"]["reader"]
        rivals = [r for r in results(toy_grid) if (r["task"], r["reader"]) == place]
        metric = "pearson" if cell["task"] == "sts" else "accuracy"
        best = max(rivals, key=lambda rival: rival["metrics"][metric])
        assert cell["cell"].startswith(f"{best['pretrain']}-{cell['task']}")
    assert numbers["break_even"].keys() == {"para", "sts"} and numbers["budget"] == 0.05
    assert {cell["key"] for cell in cells} <= {result["key"] for result in results(toy_grid)}
    known = {"device": "cpu", "precision": "float32", "threads": torch.get_num_threads()}
    assert known.items() <= numbers["machine"].items()
    # They are kept as long as they are of these heads.
    said = []
    for kept in (True, False):
        if not kept:
            cells[0]["key"] = "of an earlier head"
            (toy_grid / COSTS).write_text(json.dumps(numbers))
        add_costs(toy_grid, 0.2, "cpu", said.append)
        assert ("Cost details: " in "".join(said)) != kept
    numbers = json.loads((toy_grid / COSTS).read_text())
    # And the page shows them.
    assert main(["html", str(toy_grid)]) == 0
    page = (toy_grid / "report.html").read_text()
    assert escape(measured_on(numbers), quote=False) in page
    for head in ("SST: bi-encoder", "Paraphrase detection: cross-encoder", "STS: cross-encoder"):
        assert f">{head}<" in page.replace("\n", "")


def test_a_run_ends_with_the_costs_of_every_reader(start, tmp_path, capsys):
    folder = tmp_path / "r"
    short = ["--task", "sts", "--reader", "bi", "late", "cross", "--cost-seconds", "0.1"]
    assert start(folder, *short) == 0
    costs = json.loads((folder / COSTS).read_text())
    assert [cell["cost"]["reader"] for cell in costs["cells"]] == ["bi", "late", "cross"]
    assert costs["budget"] == pytest.approx(0.1 / 3)
    page = (folder / "report.html").read_text()
    assert "\n".join(cost_lines(costs)) in capsys.readouterr().out
    assert cost_lines(costs)[-1] in page
    for reader in READERS.values():
        assert f">STS: {reader}<" in page.replace("\n", "")
    # What was measured longer stays; with another encoder, all are measured again.
    (folder / COSTS).write_text(json.dumps(costs | {"budget": 60.0}))
    assert start(folder, *short) == 0
    assert json.loads((folder / COSTS).read_text())["budget"] == 60.0
    (folder / COSTS).write_text(json.dumps(costs | {"cells": costs["cells"][:1]}))
    assert start(folder, *short) == 0
    assert len(json.loads((folder / COSTS).read_text())["cells"]) == 3


def test_costs_and_a_page_that_fail_leave_the_results(start, tmp_path, monkeypatch, caplog, capsys):
    def fail(path, content):
        raise RuntimeError("a bug")

    folder = tmp_path / "r"
    with monkeypatch.context() as patch:
        patch.setattr(heads.saved, "load_head", None)
        patch.setattr(report.page.write, "write_text", fail)
        argv = ["--task", "sst", "--cost-seconds", "0.1"]
        assert start(folder, *argv) == 0
    assert len(results(folder)) == 1 and not (folder / "report.html").exists()
    assert "no costs (TypeError" in caplog.text and "python -m report cost" in caplog.text
    assert "a bug" in caplog.text and "python -m report html" in caplog.text
    assert main(["html", str(folder)]) == 0
    assert "Costs were not measured" in (folder / "report.html").read_text()
    # A run of one encoder has no comparison.
    assert main(["cost", str(folder), "--budget", "0.05", "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert "one text" in text and "search" not in text
    assert main(["html", str(folder)]) == 0
    assert "Costs were not measured" not in (folder / "report.html").read_text()


def test_what_is_no_run_is_refused_in_one_line(toy_grid, tmp_path, capsys):
    shutil.copy(toy_grid / "config.json", tmp_path)
    for folder in (tmp_path / "nowhere", tmp_path):
        assert main(["cost", str(folder)]) == 2
        assert capsys.readouterr().err.startswith(f"error: {folder}: no finished cells")

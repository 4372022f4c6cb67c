"""Several encoders in one run: a dimension of the grid, with its comparisons and its names."""

import json

import numpy as np
import pytest
import torch
import toy_runs

import heads
import run_multitask
from data.tasks import read_task
from experiment.grid import grid
from experiment.settings import Settings
from heads.saved import find_cell
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.hub import SHIPPED, find_checkpoint
from minbert.tokenizer import BertTokenizer
from report.cell import Cell
from report.run_folder import RunFolder
from runtime.errors import UserError

ENGLISH = ["a kite in the wind , and a red boat .", "the wind carries a kite ."]
CHINESE = ["这只猫在河边睡觉。", "老师今天早上画了一条小船。"]
GERMAN = ["Die Geschwindigkeitsbegrenzung wurde versehentlich aufgehoben."]


@pytest.fixture(scope="module")
def other_checkpoint(tiny_checkpoint, tmp_path_factory):
    """The tiny encoder with other weights."""
    encoder = SentenceEncoder.from_pretrained(str(tiny_checkpoint), "avg", device="cpu")
    torch.manual_seed(7)
    with torch.no_grad():
        for parameter in encoder.model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    folder = tmp_path_factory.mktemp("encoders") / "other"
    encoder.save(folder)
    return folder


WORDS = ["--pretrain", "none", "unsup", "--task", "sst", "sts", "--reader", "bi", "cross"]
WORDS += ["--pooling", "avg", "--cost-seconds", "0.1"]


@pytest.fixture(scope="module")
def folder(tiny_checkpoint, other_checkpoint, toy_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "two"
    names = ["--backbone", str(tiny_checkpoint), str(other_checkpoint)]
    assert toy_runs.run(tiny_checkpoint, toy_data, folder, *WORDS, *names) == 0
    return folder


def test_every_encoder_has_the_cells_of_a_run_of_its_own(
    folder, tiny_checkpoint, other_checkpoint, toy_data, tmp_path
):
    both = {cell.place(): cell for cell in toy_runs.cells_of(folder)}
    for checkpoint in (tiny_checkpoint, other_checkpoint):
        model = checkpoint.name
        assert toy_runs.run(checkpoint, toy_data, tmp_path / model, *WORDS) == 0
        for cell in toy_runs.cells_of(tmp_path / model):
            among = both.pop((f"{model}+{cell.name}", cell.split, 0))
            assert among.metrics == cell.metrics and among.interval == cell.interval
            assert (among.backbone, among.model, cell.model) == (str(checkpoint), model, "")
    assert not both


def test_their_best_systems_are_compared_on_the_same_rows(folder):
    judged = json.loads((folder / "comparisons.json").read_text())
    (question,) = [q for q in judged["questions"] if q["task"] == "sts"]
    assert question["models"].keys() == {"tiny", "other"}
    for model, system in question["models"].items():
        assert system.startswith(f"{model}+")
    pair = set(question["models"].values())
    of_pair = [
        versus
        for versus in judged["comparisons"]
        if {versus["a"], versus["b"]} == pair and versus["metric"] == "pearson"
        if versus["task"] == "sts" and versus["split"] == "dev"
    ]
    assert len(of_pair) == 1
    assert len(question["changes"]) == 2  # what SimCSE changed, for each encoder
    assert all(a.partition("+")[0] == b.partition("+")[0] for a, b in question["changes"])


def test_a_head_finds_its_encoder_again(folder, toy_data):
    dev = read_task(toy_data, "sts").dev
    for name in ("tiny+none", "other+none", "other+unsup"):
        cell = next(c for c in toy_runs.cells_of(folder) if c.name.startswith(f"{name}-sts-bi"))
        head = heads.load(folder, cell.name, device="cpu")
        wanted = RunFolder(folder).predictions(cell, dev)
        assert np.allclose(head.predict([pair.texts for pair in dev]), wanted, atol=1e-4)
    assert find_cell(folder, "sts").name.partition("+")[0] in ("tiny", "other")


def test_page_and_costs_name_every_encoder(folder):
    page = (folder / "report.html").read_text()
    assert "tiny" in page and "other" in page
    costs = json.loads((folder / "costs.json").read_text())
    places = [(cell["task"], cell["cost"]["reader"], cell["model"]) for cell in costs["cells"]]
    assert sorted(places) == sorted(
        (task, reader, model)
        for model in ("tiny", "other")
        for task, reader in (("sst", "bi"), ("sts", "bi"), ("sts", "cross"))
    )
    assert costs["break_even"] == {}


def test_the_same_command_again_computes_nothing(
    folder, tiny_checkpoint, other_checkpoint, toy_data, monkeypatch
):
    monkeypatch.setattr("heads.train.fit_heads", None)  # calling it would fail
    names = ["--backbone", str(tiny_checkpoint), str(other_checkpoint)]
    assert toy_runs.run(tiny_checkpoint, toy_data, folder, *WORDS, *names) == 0


def test_a_stage_has_its_name_without_trainings():
    """A published head is scored on the untuned encoder only."""
    settings = Settings(pretrain=("none", "unsup"), tune="none", reader="cross", task="sts")
    assert [(stage.name, bool(stage.trainings)) for stage in grid(settings)] == [
        ("none", True),
        ("unsup", False),
    ]


def test_short_names_are_last_parts_unless_two_are_alike():
    def models(*names):
        return Settings(backbone=names).models

    assert models("mini") == {"": "mini"}
    assert models("mini", "a/b") == {"mini": "mini", "b": "a/b"}
    assert models("mini", "/x/minilm/model") == {"mini": "mini", "minilm": "/x/minilm/model"}
    assert models("a/b", "/c/b") == {"a-b": "a/b", "c-b": "/c/b"}
    with pytest.raises(UserError, match="--backbone mini mini: the same encoder twice"):
        models("mini", "mini")
    # One encoder is stored as in version 1.1.
    assert Settings(backbone="mini").to_json()["backbone"] == "mini"
    assert Settings(backbone=("mini", "a/b")).to_json()["backbone"] == ("mini", "a/b")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mini-st", "mini-sts"),
        ("my-encodr", "my-encoder"),
        ("bert-base-uncasd", "bert-base-uncased"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(name, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-encoder").mkdir()
    (tmp_path / "my-encoder" / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=f"{name}: no such encoder; did you mean {meant}"):
        find_checkpoint(name)


def test_a_vocabulary_of_another_language_is_noticed():
    mini = BertTokenizer.from_pretrained(SHIPPED["mini"])
    unknown, pieces = mini.vocabulary_fit(ENGLISH)
    assert unknown == 0 and pieces < 1.3
    assert mini.vocabulary_fit(CHINESE)[0] > 0.05
    assert mini.vocabulary_fit(GERMAN)[1] > 2


def test_the_plan_warns_of_it(toy_data, tmp_path, capsys):
    rows = [f"{CHINESE[0]}{n}\t{CHINESE[1]}{n}\t{n % 2}\n" for n in range(60)]
    (tmp_path / "t.tsv").write_text("text_a\ttext_b\tlabel\n" + "".join(rows))
    words = ["--pairs", str(tmp_path / "t.tsv"), "--run-dir", str(tmp_path / "run"), "--dry-run"]
    assert run_multitask.main([*words, "--backbone", "mini", "mini-sts"]) == 0
    printed = capsys.readouterr().out
    for name in ("mini", "mini-sts"):
        assert f"of the word pieces are unknown to {name}; its vocabulary is" in printed


def test_cells_of_earlier_versions_have_one_encoder(folder):
    (entry, *_) = toy_runs.results(folder)
    del entry["model"]
    assert Cell.from_json(entry).stage == entry["pretrain"]

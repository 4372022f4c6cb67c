"""What a run needs several times is loaded, hashed, parsed and encoded once."""

import shutil
from collections import Counter
from dataclasses import replace

import pytest
import toy_runs
from safetensors.torch import load_file

from baselines.objectives import ALL_OBJECTIVES
from data import table
from data.tasks import read_task
from minbert import encoder as encoder_module
from minbert.encoder import SentenceEncoder
from report.costs import measure_run
from simcse import stage


@pytest.fixture
def counted(monkeypatch):
    """A function that counts the calls of another by their first argument's name."""

    def count(owner, name, label=str):
        calls, original = Counter(), getattr(owner, name)

        def counting(first, *args, **kwargs):
            calls[label(first)] += 1
            return original(first, *args, **kwargs)

        monkeypatch.setattr(owner, name, counting)
        return calls

    return count


GRID = {"pretrain": ("none", "sup"), "task": ("para", "sts"), "tune": ("frozen", "full")}


def test_each_backbone_is_loaded_and_hashed_once(tiny_checkpoint, toy_data, tmp_path, counted):
    loads = counted(SentenceEncoder, "from_pretrained")
    hashed = [
        counted(module, "tensors_digest", lambda tensors: "weights")
        for module in (encoder_module, stage)
    ]
    toy_runs.compare(toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "r", **GRID))
    assert sum(calls["weights"] for calls in hashed) == 1 + 1  # as loaded, and after the stage
    tuned = {str(path) for path in (tmp_path / "backbones").iterdir()}
    assert len(tuned) == 1
    assert loads == dict.fromkeys({str(tiny_checkpoint), *tuned}, 1)


def test_a_training_file_is_read_and_hashed_once_whatever_the_seeds(
    tiny_checkpoint, toy_data, tmp_path, monkeypatch, counted
):
    reads = Counter()
    for name, objective in list(ALL_OBJECTIVES.items()):

        def read(path, objective=objective):
            reads[path.name] += 1
            return objective.read(path)

        monkeypatch.setitem(ALL_OBJECTIVES, name, replace(objective, read=read))
    hashes = counted(stage, "content_digest", lambda path: path.name)
    grid = {"pretrain": ("unsup", "sup"), "task": "sts", "seeds": 2}
    cells = toy_runs.compare(toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "r", **grid))
    assert len(cells) == 4
    assert reads == hashes == {"wiki1m_for_simcse.txt": 1, "nli_for_simcse.csv": 1}


def test_a_table_is_read_once_by_a_run_and_once_by_its_costs(
    tiny_checkpoint, toy_data, tmp_path, counted
):
    read = counted(table, "open_file", lambda path: path.name)
    grid = {"pretrain": "unsup", "task": "sts", "reader": ("bi", "cross")}
    toy_runs.compare(toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "r", **grid))
    assert read["sts-train.csv"] == read["sts-dev.csv"] == 1  # to select by, to train on, to score
    measure_run(tmp_path / "r", 0.01, "cpu")
    assert read["sts-dev.csv"] == 2


def test_the_bare_cosine_costs_no_second_encoding(tiny_checkpoint, toy_data, tmp_path, monkeypatch):
    rows = []
    for name in ("embed", "embed_beside_cls"):
        embed = getattr(SentenceEncoder, name)

        def counting(self, batch, embed=embed):
            rows.append(len(batch))
            return embed(self, batch)

        monkeypatch.setattr(SentenceEncoder, name, counting)
    settings = toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "r", task="sts", pooling="avg")
    (cell,) = toy_runs.compare(settings)
    assert cell.metrics["cosine_spearman"] is not None and cell.cls_cosine is not None
    splits = read_task(toy_data, "sts")
    distinct = {text for part in (splits.train, splits.dev, splits.test)
                for example in part for text in example.texts}  # fmt: skip
    timed = 2 * len(splits.dev)  # raw dev texts, read again to measure sentences per second
    assert sum(rows) == len(distinct) + timed
    shutil.rmtree(tmp_path / "r" / "trainings")
    rows.clear()
    toy_runs.compare(settings)  # all embeddings lie in the cache
    assert sum(rows) == timed


RATE = {"frozen": (), "full": 1e-3}


def weights_of(folder) -> dict:
    """Return what full tuning made of the encoder, by the head's name."""
    models = sorted((folder / "models").iterdir())
    return {model.name: load_file(model / "model.safetensors") for model in models}


def test_frozen_and_tuned_heads_of_one_command_are_those_of_two(
    tiny_checkpoint, toy_data, tmp_path
):
    """They start from one encoder: neither freezing nor tuning may reach the others' copies."""
    grid = {"pretrain": "sup", "task": ("para", "sts"), "reader": "cross", "no_baseline": True}
    tunes = ("frozen", "full")
    at_once = toy_runs.small(
        tiny_checkpoint, toy_data, tmp_path / "a" / "r", tune=tunes[::-1], rates=1e-3, **grid
    )
    together = {cell.name: toy_runs.numbers(cell) for cell in toy_runs.compare(at_once)}
    apart = {}
    for tune in tunes:
        settings = replace(at_once, tune=tune, run_dir=tmp_path / "b" / tune, rates=RATE[tune])
        apart |= {cell.name: toy_runs.numbers(cell) for cell in toy_runs.compare(settings)}
    assert together == apart and len(apart) == 4
    before = load_file(tmp_path / "a" / "r" / "backbones" / "sup-42" / "model.safetensors")
    name = "encoder.layer.2.attention.self.query.weight"
    alone = weights_of(tmp_path / "b" / "full")
    tuned = weights_of(tmp_path / "a" / "r")
    assert tuned.keys() == alone.keys() and len(tuned) == 2
    for model, weights in tuned.items():
        assert not weights[name].equal(before[name])
        assert all(alone[model][key].equal(tensor) for key, tensor in weights.items())

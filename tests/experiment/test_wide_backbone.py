"""An encoder with a Dense behind its pooling, wider than its states, in every command."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import toy_runs
from conftest import toy_sentences

import heads.__main__ as heads_command
from heads.saved import finished_cells, load_head
from minbert.encoder import SentenceEncoder
from minbert.steps import Dense

WIDTH = 48
TEXTS = toy_sentences(12)


@pytest.fixture(scope="module")
def wide(tiny_checkpoint, tmp_path_factory) -> Path:
    encoder = SentenceEncoder.from_pretrained(str(tiny_checkpoint), "avg", "cpu", "float32")
    torch.manual_seed(2)
    encoder.steps = torch.nn.Sequential(Dense(32, WIDTH, activation="Identity"))
    encoder.normalize = True
    folder = tmp_path_factory.mktemp("wide") / "encoder"
    encoder.save(folder)
    return folder


@pytest.fixture(scope="module")
def run(wide, toy_data, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "wide"
    flags = ["--pretrain", "unsup", "--task", "sts", "--reader", "bi", "cross", "late"]
    flags += ["--tune", "frozen", "full", "--rates", "1e-4"]
    assert toy_runs.run(wide, toy_data, folder, *flags) == 0
    return folder


def test_every_reader_trains_on_it_and_its_steps_stay(run, wide):
    cells = finished_cells(run)
    assert {cell.name.split("-")[2] for cell in cells} == {"bi", "cross", "late"}
    before = SentenceEncoder.from_pretrained(wide, device="cpu").steps.state_dict()
    for cell in cells:
        head = load_head(cell.path, "cpu", "float32")
        assert head.encoder.embedding_size == WIDTH and head.encoder.normalize
        state = head.encoder.steps.state_dict()
        assert all(torch.equal(state[key], tensor) for key, tensor in before.items())
    tuned = SentenceEncoder.from_pretrained(run / "backbones" / "unsup-42", device="cpu")
    assert tuned.pooling == "avg" and tuned.embedding_size == WIDTH


def test_an_exported_head_opens_in_sentence_transformers(run, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    cell = next(cell for cell in finished_cells(run) if "-sts-bi-frozen" in cell.name)
    words = ["export", str(run), "--cell", cell.name, "--out", str(tmp_path / "out")]
    assert heads_command.main(words) == 0
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "out"), device="cpu")
    ours = load_head(cell.path, "cpu", "float32").encoder
    assert theirs.get_embedding_dimension() == WIDTH
    assert abs(theirs.encode(TEXTS) - ours.encode(TEXTS)).max() < 1e-5


def test_a_graphs_modules_give_its_numbers(run):
    from heads.graph import Graph

    cell = next(cell for cell in finished_cells(run) if "-sts-bi-frozen" in cell.name)
    head = load_head(cell.path, "cpu", "float32")
    ids = [list(row) for row in head.encoder.tokenize(TEXTS[:2])]
    inputs = [x for row in ids for x in (torch.tensor([row]), torch.ones(1, len(row)).long())]
    found, _ = Graph(head)(*inputs)
    expected = head.logits([(TEXTS[0], TEXTS[1])])
    np.testing.assert_allclose(found.detach(), expected, atol=1e-5)


def test_it_teaches_another_encoder(wide, tiny_checkpoint, toy_data, tmp_path):
    words = ["--pretrain", "teacher", "--teacher", str(wide), "--task", "sts"]
    assert toy_runs.run(tiny_checkpoint, toy_data, tmp_path / "run", *words) == 0


@pytest.fixture
def prompted(wide, tmp_path) -> Path:
    folder = shutil.copytree(wide, tmp_path / "prompted")
    (folder / "SHA256SUMS").unlink()
    settings = {"prompts": {"query": "the old ", "document": "a red "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["run", "dry"])
def test_contrastive_training_refuses_a_default_prompt(prompted, dry, toy_data, tmp_path, capsys):
    path = prompted / "config_sentence_transformers.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "default_prompt_name": "query"}))
    words = ["--pretrain", "unsup", "--task", "sts", *dry]
    assert toy_runs.run(prompted, toy_data, tmp_path / "run", *words) == 2
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert "puts 'the old ' before every text, and contrastive training reads" in line
    # A bi-encoder's head reads the texts with it.
    words = ["--pretrain", "none", "--task", "sts"]
    assert toy_runs.run(prompted, toy_data, tmp_path / "run2", *words) == 0
    (cell,) = finished_cells(tmp_path / "run2")
    head = load_head(cell.path, "cpu", "float32")
    np.testing.assert_allclose(
        head.embed([(TEXTS[0],)]) / np.linalg.norm(head.embed([(TEXTS[0],)])),
        head.encoder.encode(TEXTS[:1]),
        atol=1e-5,
    )


def test_a_dry_run_refuses_what_the_run_would(wide, toy_data, tmp_path, capsys):
    folder = shutil.copytree(wide, tmp_path / "broken")
    (folder / "2_Dense" / "model.safetensors").unlink()
    assert toy_runs.run(folder, toy_data, tmp_path / "run", "--task", "sts", "--dry-run") == 2
    assert "2_Dense: no weights" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()

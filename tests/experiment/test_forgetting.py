"""The study of forgetting: its rows, its drift, and that a second call computes nothing again."""

import csv
import json
import math

import numpy as np
import pytest
import torch
from transformers import AutoModel, BertForMaskedLM

from experiment.ablate.tables.forgetting import OWN, main
from experiment.forgetting import drift, layer_means, perplexity
from minbert.encoder import SentenceEncoder
from minbert.hub import find_checkpoint
from minbert.mlm import mask_tokens
from minbert.packing import batches_by_tokens

TEXTS = ["the old dog sees a cat .", "a baker likes the river .", "the red train and a lamp ."] * 4


def test_layer_means_are_those_of_transformers(tiny_encoder, tiny_checkpoint):
    found = layer_means(tiny_encoder, TEXTS)
    theirs = AutoModel.from_pretrained(tiny_checkpoint)
    for row, text in enumerate(TEXTS[:3]):
        ids = torch.tensor([tiny_encoder.tokenize([text])[0]])
        with torch.no_grad():
            states = theirs(ids, output_hidden_states=True).hidden_states
        assert len(states) == len(found) == 4
        for ours, state in zip(found, states, strict=True):
            assert np.allclose(ours[row], state[0].mean(0).numpy(), atol=1e-4)


def test_nothing_drifts_where_nothing_was_tuned(tiny_encoder, tiny_checkpoint):
    same = drift(tiny_encoder, tiny_checkpoint, tiny_encoder.clone(), TEXTS)
    assert set(same.weights.values()) == {0.0} and list(same.cka.values()) == pytest.approx([1] * 4)
    other = tiny_encoder.clone()
    with torch.no_grad():
        for parameter in other.model.encoder.layer[2].parameters():
            parameter *= 1.1
    found = drift(tiny_encoder, tiny_checkpoint, other, TEXTS)
    expected = {"embeddings": 0, "layer 1": 0, "layer 2": 0, "layer 3": 0.1}
    assert found.weights == pytest.approx(expected, abs=1e-6)
    assert found.cka["layer 2"] == pytest.approx(1) and found.cka["layer 3"] < 0.99999


def test_perplexity_is_that_of_transformers_on_the_same_masks():
    folder = find_checkpoint("mini")
    encoder = SentenceEncoder.from_pretrained(str(folder), device="cpu", precision="float32")
    theirs = BertForMaskedLM.from_pretrained(folder).eval()
    sequences, tokenizer = encoder.tokenize(TEXTS), encoder.tokenizer
    (rows,) = batches_by_tokens(sequences.lengths, encoder.batch_tokens)
    torch.manual_seed(0)
    size = encoder.model.config.vocab_size
    about = (tokenizer.special_ids, tokenizer.mask_id, size)
    batch, labels = mask_tokens(sequences.pack(rows), *about)
    losses = []
    for start, end in zip(batch.cu_seqlens[:-1], batch.cu_seqlens[1:], strict=True):
        with torch.no_grad():
            logits = theirs(batch.input_ids[None, start:end]).logits[0]
        wanted = labels[start:end]
        chosen = wanted != -100
        losses += (-logits.log_softmax(-1)[chosen, wanted[chosen]]).tolist()
    assert perplexity(encoder, folder, TEXTS) == pytest.approx(math.exp(np.mean(losses)), rel=1e-3)
    assert len(losses) > 5


def test_a_small_study(tiny_checkpoint, toy_data, tmp_path, monkeypatch, capsys):
    argv = ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), "--seeds", "2"]
    argv += ["--epochs", "1", "--out", str(tmp_path), "--rows", "sequential, replay", "annealed"]
    assert main(argv) == 0
    with (tmp_path / "forgetting.csv").open() as file:
        found = list(csv.DictReader(file))
    rows = [OWN, "sequential, replay", "annealed"]
    assert [line["row"] for line in found] == [row for row in rows for _ in range(6)]
    for line in found:
        assert bool(line["before"]) == (line["row"] == "sequential, replay")
        if line["row"] == OWN:
            assert line["after"] == line["own"]
    more = json.loads((tmp_path / "forgetting.json").read_text())
    assert len(more["transfer"]) == 4 * 2 * 3
    drifts = {(one["row"], one["seed"]): one for one in more["drift"]}
    assert len(drifts) == 1 + (3 + 2) * 2
    assert set(drifts["untuned", 0]["weights"].values()) == {0.0}
    assert all(value > 0 for value in drifts["annealed", 43]["weights"].values())
    assert "| annealed" in capsys.readouterr().out
    for name in ("fit_joint", "fit_head"):  # calling them would fail
        monkeypatch.setattr(f"experiment.cells.{name}", None)
    assert main(argv) == 0

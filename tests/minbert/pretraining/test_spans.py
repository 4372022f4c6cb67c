"""Two spans of a row find each other: where they are cut, what the loss says, and learning it."""

import json
import lzma
from random import Random
from shutil import copytree

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from test_pretrain import command

from minbert import pretrain
from minbert.hub import MINI
from minbert.mlm import BertForMaskedLM
from minbert.pretraining.corpus import as_sequences
from minbert.pretraining.loop import Pretrainer
from minbert.pretraining.options import PretrainConfig
from minbert.pretraining.spans import cut_spans, mean_span_tokens, span_logits, span_loss


def rows(count, length):
    """Rows whose tokens count up from 10, 1000 further on in each row: [CLS] is 2, [SEP] is 3."""
    body = np.arange(10, 8 + length) + 1000 * np.arange(count)[:, None]
    edges = np.ones((count, 1), np.int64)
    return as_sequences(np.hstack([2 * edges, body, 3 * edges]).astype(np.int32))


@pytest.mark.parametrize("length", [6, 20, 128])
def test_spans_are_two_pieces_of_their_row(length):
    torch.manual_seed(0)
    sizes, starts = [], []
    for _ in range(1000):  # so many that every place comes up
        spans = cut_spans(rows(3, length).pack([2, 0, 1]))
        pieces = spans.input_ids.split(spans.lengths)
        assert len(spans) == 6 and len(set(spans.lengths[:3])) == len(set(spans.lengths[3:])) == 1
        positions = torch.cat([torch.arange(n) for n in spans.lengths])
        assert torch.equal(spans.position_ids, positions) and not spans.token_type_ids.any()
        assert spans.cu_seqlens.tolist() == [0, *np.cumsum(spans.lengths)]
        for piece, row in zip(pieces, (2, 0, 1, 2, 0, 1), strict=True):
            assert (piece[0], piece[-1]) == (2, 3)
            assert (piece[1:-1].diff() == 1).all()
            assert (piece[1:-1] // 1000 == row).all()
        sizes.append(len(pieces[0]) + len(pieces[3]))
        starts.append((int(pieces[0][1]), int(pieces[3][1])))
        assert min(8, (length - 2) // 2) <= min(spans.lengths) - 2
        assert max(spans.lengths) - 2 <= min(32, (length - 2) // 2)
    firsts, seconds = zip(*starts, strict=True)
    assert length < 20 or (firsts != seconds and min(firsts) % 1000 == 10)
    assert np.mean(sizes) == pytest.approx(mean_span_tokens(length), rel=0.08)


def test_span_loss_of_known_vectors():
    apart = torch.eye(3).repeat(2, 1)  # every partner is found: cosine 1, all others 0
    assert span_logits(apart).diagonal().tolist() == pytest.approx([20, 20, 20])
    assert span_loss(apart).item() == pytest.approx(np.log1p(2 * np.exp(-20)), abs=1e-6)
    assert span_loss(torch.ones(8, 3)).item() == pytest.approx(np.log(4))  # nothing tells them
    both = torch.randn(10, 4)
    expected = torch.nn.CrossEntropyLoss()
    logits = torch.cosine_similarity(both[:5, None], both[None, 5:], dim=-1) / 0.05
    wanted = (expected(logits, torch.arange(5)) + expected(logits.T, torch.arange(5))) / 2
    torch.testing.assert_close(span_loss(3 * both), wanted)


def test_tokens_are_counted_as_they_are_read():
    assert PretrainConfig(length=128, batch_size=10).tokens_per_step == 1280
    spans = PretrainConfig(length=128, batch_size=10, contrast_weight=1.0, contrast_batch_size=30)
    assert spans.tokens_per_step == 10 * 128 + 30 * (8 + 32 + 4)


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """Documents that keep to five words each, so that one half of a row tells of the other."""
    folder = tmp_path_factory.mktemp("topics")
    words = [a + b for a in ("ba", "ko", "mi", "tu", "ze", "la") for b in ("ra", "ni", "so", "du")]
    for seed, name in enumerate(("a.txt", "b.txt.xz", "valid.txt")):
        random = Random(seed)
        documents = [" ".join(random.choices(random.sample(words, 5), k=22)) for _ in range(300)]
        with (lzma.open if name.endswith("xz") else open)(folder / name, "wt") as file:
            file.write("\n\n".join(documents) + "\n")
    return folder


def test_going_on_from_a_checkpoint_with_spans(topics, tmp_path, capsys):
    first = tmp_path / "first"
    short = ("--tokens", "153600", "--eval-steps", "50")
    assert pretrain.main(command(topics, first, *short)) == 0
    training = json.loads((first / "training.json").read_text())
    before = training["history"][-1]
    ends = {}
    for weight in ("1e-9", "1"):
        out = tmp_path / weight
        assert pretrain.main(goes_on(topics, out, first, *short, "--contrast-weight", weight)) == 0
        notes = json.loads((out / "training.json").read_text())
        start, *_, ends[weight] = notes["history"]
        assert start["valid_perplexity"] < 1.2 * before["valid_perplexity"]  # not from nothing
        assert notes["before"] == training and "before" not in training
        assert notes["config"]["init"] == notes["options"]["init"] == "first"
        assert (first / "vocab.txt").read_text() == (out / "vocab.txt").read_text()
    assert ends["1"]["valid_span_accuracy"] > 0.04 + ends["1e-9"]["valid_span_accuracy"]
    assert ends["1"]["span_loss"] < 0.8 * ends["1e-9"]["span_loss"]
    assert "spans 0." in capsys.readouterr().out


def goes_on(folder, out, start, *more):
    """The command of a fresh run, made one that goes on from a checkpoint."""
    fresh = command(folder, out)
    for flag in ("--vocab-size", "--layers", "--hidden-size"):
        place = fresh.index(flag)
        del fresh[place : place + 2]
    return [*fresh, "--init", str(start), *more]


def test_what_a_checkpoint_knew_of_segments_and_dropout_is_kept(topics, tmp_path):
    start = tmp_path / "start"
    copytree(MINI, start)
    config = json.loads((start / "config.json").read_text())
    (start / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.3}))
    tensors = load_file(start / "model.safetensors")
    types = tensors["bert.embeddings.token_type_embeddings.weight"]
    types[1] = 0.25
    save_file(tensors, start / "model.safetensors")
    few = ("--tokens", "2000", "--batch-size", "8")
    assert pretrain.main(goes_on(topics, tmp_path / "out", start, *few)) == 0
    after = load_file(tmp_path / "out" / "model.safetensors")
    kept = after["bert.embeddings.token_type_embeddings.weight"]
    assert torch.equal(kept[1], types[1]) and not torch.equal(kept[0], types[0])
    assert json.loads((tmp_path / "out" / "config.json").read_text())["hidden_dropout_prob"] == 0.3


def test_training_on_is_without_dropout_and_reads_spans(tiny_encoder, tmp_path):
    model = BertForMaskedLM.from_pretrained("mini", **pretrain.NO_DROPOUT)
    config = PretrainConfig(length=20, batch_size=4, contrast_weight=1.0, mask_probability=0.0)
    tokens = as_sequences(np.random.default_rng(0).integers(5, 900, (4, 20)).astype(np.int32))
    trainer = Pretrainer(model, tiny_encoder.tokenizer, tokens, tokens, config, tmp_path, "cpu")
    model.train()
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        found.append(trainer._losses())
    assert found[0]["loss"] == found[1]["loss"] == 0  # no token was masked, and that is no fault
    assert found[0]["span_loss"] == found[1]["span_loss"] > 0


def test_a_checkpoint_that_cannot_be_gone_on_from_is_one_line(topics, tmp_path, capsys):
    out = tmp_path / "out"
    broken = tmp_path / "broken"
    copytree(MINI, broken)
    (broken / "training.json").write_text("{")
    for start, more, told in (
        ("mini", ("--length", "129"), "128 positions"),
        (tmp_path / "no", (), "no such folder"),
        (broken, (), "training.json: not a readable JSON"),
    ):
        assert pretrain.main(goes_on(topics, out, start, *more)) == 2
        error = capsys.readouterr().err.strip()
        assert error.startswith("error: ") and told in error and "\n" not in error
    assert not out.exists() and not (tmp_path / "out.work").exists()

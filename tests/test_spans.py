"""Two spans of a row find each other: where they are cut, what the loss says, and learning it."""

import json
import lzma
from random import Random

import numpy as np
import pytest
import torch
from test_pretrain import command, corpus  # noqa: F401  (a fixture)

from minbert import pretrain
from minbert.corpus import as_sequences
from minbert.pretrainer import PretrainConfig
from minbert.spans import cut_spans, mean_span_tokens, span_logits, span_loss


def rows(count, length):
    """Rows whose tokens count up from 10, 1000 further on in each row: [CLS] is 2, [SEP] is 3."""
    body = np.arange(10, 8 + length) + 1000 * np.arange(count)[:, None]
    edges = np.ones((count, 1), np.int64)
    return as_sequences(np.hstack([2 * edges, body, 3 * edges]).astype(np.int32))


@pytest.mark.parametrize("length", [6, 20, 128])
def test_spans_are_two_pieces_of_their_row_that_do_not_overlap(length):
    sizes = []
    for _ in range(200):
        spans = cut_spans(rows(3, length).pack([2, 0, 1]))
        pieces = spans.input_ids.split(spans.lengths)
        assert len(spans) == 6 and len(set(spans.lengths[:3])) == len(set(spans.lengths[3:])) == 1
        positions = torch.cat([torch.arange(n) for n in spans.lengths])
        assert torch.equal(spans.position_ids, positions) and not spans.token_type_ids.any()
        assert spans.cu_seqlens.tolist() == [0, *np.cumsum(spans.lengths)]
        for first, second, row in zip(pieces[:3], pieces[3:], (2, 0, 1), strict=True):
            for piece in (first, second):
                assert (piece[0], piece[-1]) == (2, 3)
                assert (piece[1:-1].diff() == 1).all()
                assert (piece[1:-1] // 1000 == row).all()
            assert first[-2] < second[1]
        sizes.append(len(pieces[0]) + len(pieces[3]))
        assert min(spans.lengths) - 2 >= min(8, (length - 2) // 2) and sizes[-1] <= length + 2
    assert np.mean(sizes) == pytest.approx(mean_span_tokens(length), rel=0.06)


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
    spans = PretrainConfig(length=128, batch_size=10, contrast_weight=1.0)
    assert spans.tokens_per_step == pytest.approx(1025)


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
    first, second = tmp_path / "first", tmp_path / "second"
    short = ("--tokens", "153600")
    assert pretrain.main(command(topics, first, *short)) == 0
    before = json.loads((first / "training.json").read_text())["history"][-1]
    joint = ("--init", str(first), "--contrast-weight", "0.5", "--length", "20")
    assert pretrain.main(command(topics, second, *short, *joint)) == 0
    notes = json.loads((second / "training.json").read_text())
    start, *_, end = notes["history"]
    assert start["valid_perplexity"] < 1.2 * before["valid_perplexity"]  # it did not start anew
    assert end["valid_span_accuracy"] > max(0.3, start["valid_span_accuracy"])  # chance: 1 / 64
    assert "spans 0." in capsys.readouterr().out
    assert notes["options"]["init"] == "first" and notes["config"]["contrast_weight"] == 0.5
    assert (first / "vocab.txt").read_text() == (second / "vocab.txt").read_text()


def test_a_checkpoint_that_cannot_be_gone_on_from_is_one_line(corpus, tmp_path, capsys):  # noqa: F811
    longer = command(corpus, tmp_path / "out", "--init", "mini", "--length", "129")
    assert pretrain.main(longer) == 2
    assert "128 positions" in capsys.readouterr().err
    assert pretrain.main(command(corpus, tmp_path / "out", "--init", str(tmp_path / "no"))) == 2
    assert "error: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

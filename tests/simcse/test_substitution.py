"""Tokens of the positives replaced by guesses, beside the slow form and transformers' model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from killable import encoder_of

from data.examples import Triplet
from simcse.config import SimCSEConfig
from simcse.objectives import OBJECTIVES
from simcse.positives import iter_pairs, substitute
from simcse.stage import Backbone, read_texts
from simcse.views import supervised

transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def with_head(tiny_checkpoint, tmp_path_factory) -> Path:
    """The tiny BERT with a random prediction head, as transformers writes it."""
    folder = tmp_path_factory.mktemp("mlm")
    torch.manual_seed(1)
    model = transformers.BertForMaskedLM.from_pretrained(tiny_checkpoint)
    torch.nn.init.normal_(model.cls.predictions.bias)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text((tiny_checkpoint / "vocab.txt").read_text())
    return folder


def pairs_of(encoder, count=40):
    pairs = [Triplet(text, text) for text in toy_sentences(count)]
    return supervised(pairs, encoder.tokenizer, 32)


def test_a_share_of_the_positives_tokens_is_replaced_and_nothing_else(with_head):
    encoder = encoder_of(with_head)
    data = pairs_of(encoder, 300)
    found = substitute(data, encoder, with_head, 0.3)
    assert np.array_equal(found.rows, data.rows)
    assert np.array_equal(found.sequences.offsets, data.sequences.offsets)
    changed = tokens = 0
    for anchor, positive in data.rows:
        before, after = np.array(data.sequences[positive]), np.array(found.sequences[positive])
        assert found.sequences[anchor] == data.sequences[anchor]
        assert (before[[0, -1]] == after[[0, -1]]).all()
        changed += (before != after).sum()
        tokens += len(before) - 2
    assert changed / tokens == pytest.approx(0.3, abs=0.03)
    published = substitute(data, encoder, with_head).sequences.ids != data.sequences.ids
    assert published.sum() / tokens == pytest.approx(0.15, abs=0.03)


def test_tokens_are_transformers_best_guesses_but_themselves(with_head):
    encoder = encoder_of(with_head)
    data = pairs_of(encoder)
    found = substitute(data, encoder, with_head, 0.3)
    encoder.batch_tokens = 20  # whatever the batches
    again = substitute(data, encoder, with_head, 0.3)
    assert np.array_equal(again.sequences.ids, found.sequences.ids)
    theirs = transformers.BertForMaskedLM.from_pretrained(with_head).eval()
    special = [*encoder.tokenizer.special_ids, encoder.tokenizer.mask_id]
    seen = 0
    for row in data.rows[:, 1]:
        before, after = torch.tensor(data.sequences[row]), torch.tensor(found.sequences[row])
        hidden = before != after
        masked = torch.where(hidden, encoder.tokenizer.mask_id, before)
        with torch.no_grad():
            logits = theirs(masked[None]).logits[0]
        for place in hidden.nonzero().ravel().tolist():
            order = logits[place].argsort(descending=True).tolist()
            best = next(i for i in order if i != before[place] and i not in special)
            assert after[place] == best
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("positive", ["mlm", "crop+mlm"])
def test_a_stage_reads_sentences_with_replaced_tokens(positive, with_head, tmp_path):
    encoder, path = encoder_of(with_head), tmp_path / "sentences.txt"
    path.write_text("\n".join(toy_sentences(20)))
    backbone, config = Backbone(with_head, encoder), SimCSEConfig(positive=positive)
    read = read_texts(OBJECTIVES["unsup"], path, backbone, config, [], tmp_path).data
    plain = supervised(iter_pairs(path, positive, None), encoder.tokenizer, config.max_length)
    expected = substitute(plain, encoder, with_head)
    assert [read.sequences[row] for row in read.rows.ravel()] == [
        expected.sequences[row] for row in expected.rows.ravel()
    ]
    assert not read.same_twice and len(read) == 20

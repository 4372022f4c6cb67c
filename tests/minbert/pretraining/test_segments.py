"""Spans and twins: where they are cut, what is asked of them, and that both are learnt."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from minbert.config import BertConfig
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.pretraining.corpus import as_sequences
from minbert.pretraining.loop import Pretrainer
from minbert.pretraining.options import NO_DROPOUT, PretrainConfig
from minbert.pretraining.segments import (
    IGNORED,
    KINDS,
    SHARES,
    TwinHeads,
    cut_spans,
    cut_twins,
    span_logits,
    span_loss,
    whole_words,
)
from minbert.tokenizer import BertTokenizer

WORDS = torch.ones(100_000, dtype=torch.bool)  # every piece is a word


def rows(count, length):
    """Rows whose tokens count up from 10, 1000 further on in each row: [CLS] is 2, [SEP] is 3."""
    body = np.arange(10, 8 + length) + 1000 * np.arange(count)[:, None]
    edges = np.ones((count, 1), np.int64)
    return as_sequences(np.hstack([2 * edges, body, 3 * edges]).astype(np.int32))


@pytest.mark.parametrize("length", [6, 20])
def test_spans_are_two_pieces_of_their_row(length):
    torch.manual_seed(0)
    sizes, starts = [], []
    for _ in range(200):  # so many that every place comes up
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
    config = PretrainConfig(
        length=length, batch_size=1, contrast_weight=1.0, contrast_batch_size=10
    )
    assert np.mean(sizes) == pytest.approx((config.tokens_per_step - length) / 10, rel=0.1)


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


def test_training_on_is_without_dropout_and_reads_spans(tiny_encoder, tmp_path):
    model = BertForMaskedLM.from_pretrained("mini", **NO_DROPOUT)
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


def drawn(repeats, count=12, length=128, words=WORDS):
    """Yield (kind, first, second, tags of the second) of many pairs, as lists."""
    for seed in range(repeats):
        torch.manual_seed(seed)
        twins = cut_twins(rows(count, length).pack(range(count)), words)
        batch = twins.batch
        tokens = zip(
            batch.input_ids.split(batch.lengths),
            batch.token_type_ids.split(batch.lengths),
            twins.changed.split(batch.lengths),
            strict=True,
        )
        for kind, (ids, types, tags) in zip(twins.kinds, tokens, strict=True):
            border = int((types == 0).sum())
            assert ids[0] == 2 and ids[border - 1] == ids[-1] == 3
            assert types[border:].all() and (tags[:border] == IGNORED).all()
            assert tags[-1] == IGNORED
            yield (
                KINDS[kind],
                ids[1 : border - 1].tolist(),
                ids[border:-1].tolist(),
                tags[border:-1],
            )


def test_twins_are_what_they_are_called():
    count, sizes, turned = dict.fromkeys(KINDS, 0), [], []
    for kind, first, second, tags in drawn(40):
        count[kind] += 1
        sizes.append(len(first) + len(second) + 3)
        changed = [word for word, tag in zip(second, tags.tolist(), strict=True) if tag == 1]
        kept = [word for word, tag in zip(second, tags.tolist(), strict=True) if tag == 0]
        assert len(second) >= len(first) - len(first) // 6
        if kind == "same":
            assert not changed and set(second) <= set(first)
            places = [first.index(word) for word in second]
            turned.append(places != sorted(places))
        elif kind == "edited":
            # One or two words are new, or two of the first have changed places.
            assert 1 <= len(changed) <= 2 and set(kept) <= set(first)
            assert len(set(first) - {*kept, *changed}) + len(changed) >= 1
        else:
            # But for a word that came from the other text when one of them was damaged.
            assert (tags == IGNORED).all() and len(set(second) & set(first)) <= 2
    assert np.mean(turned) == pytest.approx(0.5, abs=0.1)  # "x y" as "y x", in half of them
    total = sum(count.values())
    for kind, share in zip(KINDS, SHARES, strict=True):
        assert count[kind] / total == pytest.approx(share, abs=0.06)
    config = PretrainConfig(length=128, batch_size=1, twin_weight=1.0, twin_batch_size=10)
    assert np.mean(sizes) == pytest.approx((config.tokens_per_step - 128) / 10, rel=0.05)


def test_an_edit_moves_or_replaces_words_and_never_leaves_the_changed_ones_out():
    exchanged, replaced = 0, 0
    for kind, first, second, tags in drawn(30):
        if kind != "edited":
            continue
        changed = {word for word, tag in zip(second, tags.tolist(), strict=True) if tag == 1}
        own = changed & set(first)
        # Exchanged words are both of the first text, replaced ones of another row.
        exchanged += len(own) == 2
        replaced += not own
        assert len(own) in (0, 2) or len(changed) == 2
    assert exchanged > 40 and replaced > 40


def test_only_whole_words_are_changed():
    words = torch.zeros(100_000, dtype=torch.bool)
    words[::2] = True  # every even piece begins a word, and the next one continues it
    for kind, *_ in drawn(5, words=words):
        assert kind != "edited"  # so no word consists of one piece
    words[:] = True
    words[1::4] = False  # 4k is continued by 4k + 1; 4k + 2 and 4k + 3 are words by themselves
    for kind, first, second, tags in drawn(20, words=words):
        places = dict(zip(second, tags.tolist(), strict=True))
        if kind == "edited":
            whole = [word for word in first if word % 4 in (2, 3)]
            assert all(w % 4 in (2, 3) for w, tag in places.items() if tag == 1), whole


def test_whole_words_of_a_vocabulary(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "kite", "##s", "1", ",", "a"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    tokenizer = BertTokenizer.from_vocab(tmp_path / "vocab.txt")
    assert whole_words(tokenizer).nonzero().flatten().tolist() == [5, 9]


def test_the_loss_is_two_cross_entropies():
    torch.manual_seed(3)
    twins = cut_twins(rows(16, 64).pack(range(16)), WORDS)
    heads = TwinHeads(8)
    states = torch.randn(int(twins.batch.cu_seqlens[-1]), 8)
    cls = torch.stack([states[start] for start in twins.batch.cu_seqlens[:-1]])
    expected = F.cross_entropy(heads.kind(cls), twins.kinds)
    asked = [i for i, tag in enumerate(twins.changed.tolist()) if tag != IGNORED]
    probabilities = torch.sigmoid(heads.changed(states[asked]).squeeze(1))
    expected += F.binary_cross_entropy(probabilities, twins.changed[asked].float())
    assert heads.loss(states, twins).item() == pytest.approx(expected.item(), rel=1e-5)
    labels = torch.where(torch.arange(len(states)) % 2 == 0, 5, IGNORED)
    masked = twins.masked(labels)
    assert (masked.changed[::2] == IGNORED).all()
    assert torch.equal(masked.changed[1::2], twins.changed[1::2])


@pytest.fixture
def trainer_of(tiny_encoder, tmp_path):
    config = PretrainConfig(
        tokens=1_000_000, length=20, batch_size=8, eval_steps=10, twin_weight=1.0,
        twin_batch_size=32, learning_rate=3e-3, warmup_steps=5, decay_ratio=0.0,
    )  # fmt: skip
    sizes = BertConfig(
        vocab_size=92, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip

    def make(steps):
        torch.manual_seed(0)
        model = BertForMaskedLM(BertModel(sizes, add_pooling_layer=False))
        data = as_sequences(np.random.default_rng(0).integers(5, 92, (300, 20)).astype(np.int32))
        machine = ("cpu", "float32")
        now = replace(config, tokens=steps * config.tokens_per_step)
        return Pretrainer(model, tiny_encoder.tokenizer, data, data, now, tmp_path, *machine)

    return make


@pytest.mark.parametrize("right", [1.0, 0.0])
def test_the_accuracy_on_held_out_twins_is_the_share_that_is_right(right, trainer_of, monkeypatch):
    trainer = trainer_of(1)

    def logits(states, twins):
        wanted = twins.kinds if right else (twins.kinds + 1) % 4
        return torch.nn.functional.one_hot(wanted, 4).float()

    monkeypatch.setattr(trainer.twins, "logits", logits)
    assert trainer._twin_accuracy() == {"valid_twin_accuracy": right}


def test_twins_are_trained_and_validated(trainer_of):
    first, *_, last = trainer_of(12).run()
    assert 0 <= last["valid_twin_accuracy"] <= 1
    assert last["twin_loss"] < first["twin_loss"]

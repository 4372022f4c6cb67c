"""Late interaction against a double loop over tokens, and against sentence-transformers' MaxSim."""

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from torch.nn.functional import normalize

from heads import maxsim
from heads.features import LateFeatures
from heads.inputs import LiveInputs, embedded
from heads.maxsim import apart, matched

# Lengths that differ within a pair and between pairs; and a pair of equal texts.
PAIRS = [
    *zip(toy_sentences(6, 1), reversed(toy_sentences(6, 2)), strict=True),
    ("the old cat sees a dog and the red boat .", "the dog ."),
    ("dog", "the quiet baker likes a lamp and the river ."),
    ("the wet storm .", "the wet storm ."),
]
LATE = LateFeatures("interaction")


def tokens_of(encoder, text):
    """Return the states of a text that is read by itself, (T, H) at unit length."""
    batch = encoder.tokenize([text]).pack([0])
    return normalize(encoder.model.packed(batch).last_hidden_state, dim=-1)


def slowly(first, second):
    """Return u, v, the means of |x-y| and of x*y, and MaxSim, by a double loop over tokens."""
    scale = first.shape[1] ** 0.5
    apart, alike, score = [], [], 0.0
    for own, other in ((first, second), (second, first)):
        matches = [max(other, key=lambda y, x=x: (x @ y).item()) for x in own]
        score = score + sum(x @ y for x, y in zip(own, matches, strict=True)) / len(own) / 2
        both = [(scale * x, scale * y) for x, y in zip(own, matches, strict=True)]
        apart.append(torch.stack([(x - y).abs() for x, y in both]).mean(dim=0))
        alike.append(torch.stack([x * y for x, y in both]).mean(dim=0))
    means = [scale * first.mean(dim=0), scale * second.mean(dim=0)]
    return torch.stack([*means, sum(apart) / 2, sum(alike) / 2]), score


def test_values_and_gradients_are_those_of_a_double_loop(tiny_encoder):
    model = tiny_encoder.model
    fast = LiveInputs(tiny_encoder, [Named(pair) for pair in PAIRS], LATE).sequences
    found = LATE.embed(tiny_encoder, fast.pack(np.arange(len(PAIRS))))
    expected, scores = zip(
        *(slowly(*(tokens_of(tiny_encoder, text) for text in pair)) for pair in PAIRS), strict=True
    )
    torch.testing.assert_close(found, torch.stack(expected), atol=1e-4, rtol=1e-4)
    score = torch.stack(scores)
    torch.testing.assert_close(found[:, 3].mean(dim=1), score, atol=1e-5, rtol=0)
    assert score[-1].item() == pytest.approx(1, abs=1e-5) and score[:-1].max() < 0.999
    # The same gradient, through the choice of the largest too.
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(0))
    parameters = [p for p in model.parameters() if p.requires_grad]
    gradients = [
        torch.autograd.grad((blocks * weights).sum(), parameters, allow_unused=True)
        for blocks in (found, torch.stack(expected))
    ]
    for one, other in zip(*gradients, strict=True):
        if other is not None:
            torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


class Named:
    """An example with nothing but its texts."""

    def __init__(self, texts):
        self.texts = texts


def test_the_bare_score_is_sentence_transformers_maxsim(tiny_encoder):
    util = pytest.importorskip("sentence_transformers.util")
    if not hasattr(util, "maxsim"):
        pytest.skip("this version of sentence-transformers has no maxsim")
    with torch.no_grad():
        first, second = ([tokens_of(tiny_encoder, t) for t in s] for s in zip(*PAIRS, strict=True))
        there = util.maxsim(first, second, length_normalize=True).diagonal()
        back = util.maxsim(second, first, length_normalize=True).diagonal()
    blocks = embedded(tiny_encoder, LATE, LATE.tokenize(tiny_encoder, PAIRS))
    found = LATE.bare(lambda: [blocks])
    np.testing.assert_allclose(found, ((there + back) / 2).numpy(), atol=1e-5)


def test_neither_batches_nor_order_matter_and_both_texts_count_alike(tiny_encoder):
    sequences = LATE.tokenize(tiny_encoder, PAIRS)
    together = embedded(tiny_encoder, LATE, sequences)
    with torch.no_grad():
        alone = [LATE.embed(tiny_encoder, sequences.pack([row]))[0] for row in range(len(PAIRS))]
        turned = LATE.embed(tiny_encoder, sequences.pack(np.arange(len(PAIRS))[::-1])).flip(0)
    for other in (torch.stack(alone), turned):
        torch.testing.assert_close(torch.from_numpy(together), other, atol=1e-5, rtol=1e-5)
    swapped = embedded(tiny_encoder, LATE, LATE.tokenize(tiny_encoder, [p[::-1] for p in PAIRS]))
    np.testing.assert_allclose(swapped[:, [1, 0, 2, 3]], together, atol=1e-5)


def test_tokens_far_from_unit_size_give_the_same(tiny_encoder):
    texts, places = apart(LATE.tokenize(tiny_encoder, PAIRS).pack(np.arange(len(PAIRS))))
    states = torch.randn(len(texts.input_ids), 8)
    small, large = (matched(k * states, texts.cu_seqlens, places) for k in (1, 50))
    torch.testing.assert_close(small, large)


def test_stored_token_states_compare_as_texts_do(tiny_encoder, monkeypatch):
    monkeypatch.setattr(maxsim, "PAIRS", 4)
    first, second = (maxsim.token_states(tiny_encoder, side) for side in zip(*PAIRS, strict=True))
    expected = embedded(tiny_encoder, LATE, LATE.tokenize(tiny_encoder, PAIRS))
    np.testing.assert_allclose(maxsim.compared(first, second), expected, atol=1e-4)

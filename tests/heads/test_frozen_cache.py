"""The cache of frozen embeddings: each distinct text once, whole or not at all."""

import numpy as np
import pytest
import torch
from pairings import H

from data.examples import SentencePair
from heads.features import BiFeatures
from heads.inputs import frozen_embeddings, inputs_of

BI = BiFeatures("concat")


def test_cache_encodes_each_distinct_text_once_and_is_reused(tiny_encoder, tmp_path, monkeypatch):
    tiny_encoder.freeze()
    encoded = []
    embed = tiny_encoder.embed
    monkeypatch.setattr(
        tiny_encoder, "embed", lambda batch: encoded.append(len(batch)) or embed(batch)
    )
    pairs = [SentencePair("1", "the cat", "a dog"), SentencePair("2", "a dog", "the cat")]
    given = tiny_encoder, {"": pairs}, BI, "frozen", tmp_path
    for _ in range(2):
        inputs = inputs_of(*given, fingerprint="weights")[""]
    assert sum(encoded) == 2
    swapped = inputs.batch(np.array([0, 1]))
    assert torch.equal(swapped[0, :H], swapped[1, H:])
    assert isinstance(inputs.embeddings, np.memmap)
    frozen_embeddings(tiny_encoder, "other weights", BI, [("the cat",)], tmp_path)
    assert sum(encoded) == 3
    assert len(list(tmp_path.iterdir())) == 2


TEXTS = [("the cat",), ("a dog",), ("the old boat",)]


def test_a_cache_that_was_changed_is_made_again(tiny_encoder, tmp_path):
    tiny_encoder.freeze()
    expected = frozen_embeddings(tiny_encoder, "weights", BI, TEXTS, tmp_path).copy()
    (path,) = tmp_path.glob("*/*.npy")
    np.save(path, np.load(path)[[1, 0, 2]])
    assert np.array_equal(frozen_embeddings(tiny_encoder, "weights", BI, TEXTS, tmp_path), expected)


@pytest.mark.parametrize("pooling", ["avg", "avg_first_last"])
def test_cls_beside_the_embeddings_is_of_the_same_pass(tiny_encoder, tmp_path, pooling):
    tiny_encoder.freeze().pool_by(pooling)
    both = frozen_embeddings(tiny_encoder, "weights", BI, TEXTS, tmp_path, beside_cls=True)
    alone = frozen_embeddings(tiny_encoder, "weights", BI, TEXTS, tmp_path)
    assert both.shape == (len(TEXTS), 2, H)
    assert np.array_equal(both[:, 0], alone)
    tiny_encoder.pool_by("cls_before_pooler")
    at_cls = tiny_encoder.encode([text for (text,) in TEXTS])  # the last layer at [CLS] alone
    assert np.allclose(both[:, 1], at_cls, atol=1e-5)

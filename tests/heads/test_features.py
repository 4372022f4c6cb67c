"""What a head sees of one text, of two texts, and of a joined pair."""

import numpy as np
import pytest
import torch
from pairings import READINGS, H, examples

from data.tasks import TASKS
from heads.features import FEATURES, BiFeatures, CrossFeatures, unit_rms
from heads.inputs import LiveInputs, inputs_of


def test_the_forms_of_features():
    """Of `interaction` u, v, difference and product at unit size; `concat` is the report's."""
    u, v, parts = torch.randn(3, H), torch.randn(3, H), torch.randn(3, 3, H)
    assert torch.equal(BiFeatures("concat").combine([u, v]), torch.cat([u, v], dim=1))
    assert torch.equal(BiFeatures("concat").combine([u]), u)
    assert torch.equal(CrossFeatures("concat").combine([parts]), parts[:, 0])
    features = BiFeatures("interaction").combine([u, v])
    u, v = unit_rms(u), unit_rms(v)
    torch.testing.assert_close(features, torch.cat([u, v, (u - v).abs(), u * v], dim=1))
    cosine = torch.nn.functional.cosine_similarity(u, v)
    torch.testing.assert_close((u * v).mean(dim=1), cosine)
    torch.testing.assert_close(u.pow(2).mean(dim=1), torch.ones(3))


def test_a_joined_pairs_features_are_cls_and_the_interaction_of_both_segments(tiny_encoder):
    features, pairs = CrossFeatures("interaction"), examples("sts", 4)
    batch = features.tokenize(tiny_encoder, [pair.texts for pair in pairs]).pack(np.arange(4))
    with torch.no_grad():
        parts = features.embed(tiny_encoder, batch)
        states = tiny_encoder.model.packed(batch).last_hidden_state
    for row in range(4):
        start, end = batch.cu_seqlens[row], batch.cu_seqlens[row + 1]
        types = batch.token_type_ids[start:end].bool()
        tokens = states[start:end]
        expected = torch.stack([tokens[0], tokens[~types].mean(0), tokens[types].mean(0)])
        torch.testing.assert_close(parts[row], expected, atol=1e-5, rtol=0)
    cls, first, second = (unit_rms(parts[:, i]) for i in range(3))
    both = BiFeatures("interaction").combine([first, second])
    torch.testing.assert_close(features.combine([parts]), torch.cat([cls, both], dim=1))


@pytest.mark.parametrize("form", ["interaction", "concat"])
@pytest.mark.parametrize(("task", "reader"), READINGS)
def test_live_and_frozen_inputs_agree(task, reader, form, tiny_encoder, tmp_path):
    rows, features = examples(task, 12), FEATURES[reader](form)
    frozen = inputs_of(tiny_encoder, {"": rows}, features, "frozen", tmp_path)[""]
    live = LiveInputs(tiny_encoder, rows, features)
    assert len(frozen) == len(live) == 12
    assert live.batch(np.arange(3)).shape == (3, features.width(H, TASKS[task].num_texts))
    for batch in (np.arange(12), np.array([7, 3, 3, 11])):
        torch.testing.assert_close(frozen.batch(batch), live.batch(batch), atol=1e-5, rtol=0)
    for inputs in (frozen, live):
        assert sorted(np.concatenate(list(inputs.batches()))) == list(range(12))
        columns = inputs.columns() if reader == "bi" else []
        for number, column in enumerate(columns):
            expected = tiny_encoder.encode([row.texts[number] for row in rows])
            np.testing.assert_allclose(column, expected, atol=1e-5)

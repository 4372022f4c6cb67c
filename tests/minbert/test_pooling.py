"""One embedding per sentence: each pooling is its definition, and one function chooses it."""

import numpy as np
import pytest
import torch

from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel
from minbert.pooling import choose_pooling, mean_of_segments, pool
from minbert.tokenizer import BertTokenizer


@pytest.mark.parametrize(
    ("chosen", "stated", "tuning", "expected"),
    [
        # What the user chooses wins, whatever the checkpoint says and whatever comes next.
        ("avg_top2", "cls", False, "avg_top2"),
        ("cls_before_pooler", "avg", True, "cls_before_pooler"),
        # An encoder that is read is pooled as its checkpoint says, else by the raw [CLS] state.
        (None, "avg", False, "avg"),
        (None, "cls", False, "cls"),
        (None, None, False, "cls_before_pooler"),
        # One that SimCSE tunes keeps an average that it states, else takes SimCSE's MLP over [CLS].
        (None, "avg", True, "avg"),
        (None, "avg_first_last", True, "avg_first_last"),
        (None, "cls", True, "cls"),
        (None, "cls_before_pooler", True, "cls"),
        (None, None, True, "cls"),
    ],
)
def test_pooling_is_chosen_then_stated_then_usual(chosen, stated, tuning, expected):
    assert choose_pooling(chosen, stated, tuning) == expected
    assert tuning or choose_pooling(chosen, stated) == expected  # reading is the usual purpose


def test_each_pooling_equals_its_definition(tiny_encoder):
    texts = ["the cat", "the old dog sees a boat .", ""]
    for text in texts:
        ids = torch.tensor([tiny_encoder.tokenizer([text])[0]])
        with torch.no_grad():
            output = tiny_encoder.model(ids, output_hidden_states=True)
        states = [state[0].double() for state in output.hidden_states]
        expected = {
            "cls": output.pooler_output[0],
            "cls_before_pooler": states[-1][0],
            "avg": states[-1].mean(0),
            "avg_top2": ((states[-1] + states[-2]) / 2).mean(0),
            "avg_first_last": ((states[1] + states[-1]) / 2).mean(0),
        }
        for pooling, vector in expected.items():
            tiny_encoder.pool_by(pooling)
            found = tiny_encoder.encode([*texts, text])[-1]
            np.testing.assert_allclose(found, vector.numpy(), atol=1e-5)


def test_means_of_segments_equal_a_loop(tiny_encoder):
    batch = tiny_encoder.tokenize(["the cat", "", "a"], ["", "a dog sees", "b"]).pack([0, 1, 2])
    states = torch.randn(len(batch.input_ids), 5)
    first, second = mean_of_segments(states, batch)
    for row in range(3):
        own = slice(batch.cu_seqlens[row], batch.cu_seqlens[row + 1])
        types = batch.token_type_ids[own].bool()
        torch.testing.assert_close(first[row], states[own][~types].mean(0))
        torch.testing.assert_close(second[row], states[own][types].mean(0))


def test_an_unknown_pooling_is_refused_with_those_there_are(tiny_encoder):
    batch = tiny_encoder.tokenize(["the cat"]).pack([0])
    with pytest.raises(ValueError, match=r"'max'; expected one of cls, .*avg_first_last"):
        pool(tiny_encoder.model.packed(batch), batch, "max")
    with pytest.raises(ValueError, match=r"'max'; expected one of cls, .*avg_first_last"):
        tiny_encoder.pool_by("max")
    assert tiny_encoder.pooling == "cls_before_pooler"  # as before


def test_pooling_cls_without_a_pooler_is_refused(tiny_checkpoint, tiny_config):
    bare = BertModel(tiny_config, add_pooling_layer=False)
    tokenizer = BertTokenizer.from_pretrained(tiny_checkpoint)
    with pytest.raises(CheckpointError, match="pooler"):
        SentenceEncoder(bare, tokenizer, pooling="cls")
    encoder = SentenceEncoder(bare, tokenizer, precision="float32")
    with pytest.raises(CheckpointError, match="pooler"):
        encoder.pool_by("cls")
    batch = encoder.tokenize(["the cat"]).pack([0])
    with pytest.raises(ValueError, match="pooler"):
        pool(encoder.model.packed(batch), batch, "cls")

"""Operations by formula are those that PyTorch's counter finds while the model runs."""

import pytest
import torch
import transformers
from conftest import toy_sentences
from torch.utils.flop_counter import FlopCounterMode

from heads.heads import STSHead
from minbert.config import BertConfig
from minbert.flops import encoder_flops, linear_flops
from minbert.mlm import states_at
from minbert.model import BertModel

TINY = BertConfig(
    vocab_size=100,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=64,
)


@pytest.mark.parametrize("flags", [{}, {"pooler": True}, {"last_at_first": True}], ids=str)
def test_packed_sequences_of_the_plain_model(flags, tiny_checkpoint, tiny_encoder):
    model = BertModel.from_pretrained(str(tiny_checkpoint))
    model.pooler = model.pooler if "pooler" in flags else None
    sequences = tiny_encoder.tokenize(toy_sentences(9))
    assert len(set(sequences.lengths)) > 1
    batch = sequences.pack(range(9))
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        if "last_at_first" in flags:
            states_at(model, batch, batch.cu_seqlens[:-1])
        else:
            model.packed(batch)
    assert encoder_flops(sequences.lengths, model.config, **flags) == counter.get_total_flops()


def test_training_by_transformers_bert():
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    sizes = {name: getattr(TINY, name) for name in names}
    config = transformers.BertConfig(**sizes, vocab_size=100, attn_implementation="eager")
    model = transformers.BertModel(config, add_pooling_layer=False)
    with FlopCounterMode(display=False) as counter:
        embeddings = torch.randn(3, 20, 32, requires_grad=True)
        model(inputs_embeds=embeddings).last_hidden_state.sum().backward()
    assert encoder_flops([20] * 3, TINY, training=True) == counter.get_total_flops()


def test_a_head_by_rows():
    head = STSHead(128, 32)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        head(torch.randn(7, 128))
    assert 7 * linear_flops(head) == counter.get_total_flops()

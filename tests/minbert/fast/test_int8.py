"""Encoding in int8: products as by hand, embeddings near float32's, and nothing stale."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from conftest import real_checkpoint
from torch import nn

from data.tasks import read_task
from evaluation.cosine import pair_cosines, sts_metrics
from minbert.encoder import SentenceEncoder
from minbert.fast import int8
from minbert.fast.int8 import (
    NARROW,
    WIDE,
    Int8Weights,
    check_int8,
    quantised,
    random_pieces,
)
from minbert.fast.linear import keepers
from minbert.model import BertModel
from runtime.errors import MachineError

CPU = torch.device("cpu")
TEXTS = ["the dog runs .", "a cat sleeps", "the small bird sings a song .", "rain"]


def largest_byte() -> int:
    """The largest byte of a weight on this machine, 0 where there is no int8."""
    try:
        return check_int8(CPU)
    except MachineError:
        return 0


LARGEST = largest_byte()
needs_int8 = pytest.mark.skipif(not LARGEST, reason="no AVX2, or no oneDNN here")


def layer_and_states(in_features=48, out_features=30, bias=True):
    torch.manual_seed(0)
    states = torch.randn(200, in_features) * torch.linspace(0.1, 5, in_features)
    return nn.Linear(in_features, out_features, bias=bias), states


@pytest.fixture
def encoder(tiny_checkpoint) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(tiny_checkpoint), device="cpu", precision="int8")


def by_hand(layer, made, states) -> np.ndarray:
    """What the product is in float64, from its scales alone."""
    columns = made.steps.double() * made.scale
    weight = layer.weight.detach().double() / columns
    weight = (weight / made.scales.double()[:, None]).round().clamp(-LARGEST, LARGEST)
    bytes_ = (states.double() * columns / made.scale + made.zero).round().clamp(0, 255)
    exact = (bytes_ - made.zero) * made.scale @ (weight * made.scales.double()[:, None]).T
    return (exact if layer.bias is None else exact + layer.bias.detach().double()).numpy()


@needs_int8
@pytest.mark.parametrize(("sizes", "bias"), [((48, 30), True), ((33, 7), False)])
@torch.inference_mode()
def test_a_product_is_that_of_its_bytes(sizes, bias):
    layer, states = layer_and_states(*sizes, bias)
    made = Int8Weights([layer], states, torch.float32, LARGEST)
    found = made(states).numpy()
    # A state that lies between two bytes may become either.
    step = float(made.scale * (LARGEST * made.scales).max())
    assert np.abs(found - by_hand(layer, made, states)).max() < 2 * step
    assert np.abs(found - by_hand(layer, made, states)).mean() < 0.01 * step
    # Half a step of each state, and half of each weight.
    exact = layer(states).numpy()
    assert np.abs(found - exact).mean() < 0.02 * exact.std()


@needs_int8
@pytest.mark.parametrize("tokens", [1, 5, 700])
@pytest.mark.parametrize("inputs", [2, 33, 1536])
@torch.inference_mode()
def test_the_largest_sums_are_exact(tokens, inputs):
    """Two products of extreme bytes fit into what the processor adds them in."""
    signs = torch.tensor([[1.0], [-1.0], [1.0]]).repeat(1, inputs)
    signs[2, 1::2] = -1
    layer = nn.Linear(inputs, 3, bias=False)
    layer.weight.copy_(signs)
    made = Int8Weights([layer], torch.full((4, inputs), 2.0), torch.float32, LARGEST)
    found = made(torch.full((tokens, inputs), 2.0))
    assert made.zero == 0  # so that the largest state is the byte 255
    wanted = signs.sum(1).double() * 255 * LARGEST * made.scale * made.scales.double()
    torch.testing.assert_close(found.double(), wanted.expand(tokens, 3), rtol=1e-6, atol=1e-6)
    by_bytes = made(torch.full((tokens, inputs), 255, dtype=torch.uint8))
    assert torch.equal(by_bytes, found)


@needs_int8
@torch.inference_mode()
def test_columns_that_differ_in_size_are_smoothed(monkeypatch):
    layer, states = layer_and_states()
    states[:, 0] *= 50
    errors = []
    for smoothing in (0.6, 0.0):
        monkeypatch.setattr(int8, "SMOOTHING", smoothing)
        found = Int8Weights([layer], states, torch.float32, LARGEST)(states)
        errors.append(float((found - layer(states)).std()))
    assert errors[0] < errors[1] * 0.9


@needs_int8
@torch.inference_mode()
def test_the_gelu_is_exact_and_goes_on_in_bytes():
    layer, states = layer_and_states()
    expected = F.gelu(layer(states))
    next_layer = nn.Linear(30, 48)
    into = Int8Weights([next_layer], expected, torch.bfloat16, LARGEST, layer)
    made = Int8Weights([layer], states, torch.float32, LARGEST, into=into)
    found = made(states, gelu=True)
    assert found.dtype == torch.uint8
    values = (found.float() - into.zero) * into.scale
    # The largest columns are cut off here, and multiplied in floating point below.
    others = expected <= expected.amax(0).topk(int8.OUTLIERS).values.min()
    assert float((values - expected)[others].abs().mean()) < 2 * into.scale
    result = into.plus(found, states.bfloat16())
    assert result.dtype == torch.bfloat16
    wanted = next_layer(expected) + states
    torch.testing.assert_close(result.float(), wanted, atol=0.15, rtol=0.05)
    plain = Int8Weights([layer], states, torch.float32, LARGEST)(states, gelu=True)
    assert plain.dtype == torch.float32 and float((plain - expected).abs().mean()) < 0.05


@needs_int8
@torch.inference_mode()
def test_a_few_large_columns_behind_the_gelu_cost_the_others_nothing(monkeypatch):
    layer, states = layer_and_states()
    layer.weight[7] *= 30
    next_layer = nn.Linear(30, 48)
    wide = F.gelu(layer(states))
    errors = []
    for outliers in (4, 0):
        monkeypatch.setattr(int8, "OUTLIERS", outliers)
        into = Int8Weights([next_layer], wide, torch.float32, LARGEST, layer)
        made = Int8Weights([layer], states, torch.float32, LARGEST, into=into)
        output = into.plus(made(states, gelu=True), states)
        errors.append(float((output - next_layer(wide) - states).std()))
    assert errors[0] < errors[1] / 3


@needs_int8
def test_a_column_and_a_row_of_zeros_stay_finite():
    layer, states = layer_and_states()
    with torch.inference_mode():
        layer.weight[0], layer.weight[:, 1], states[:, 2] = 0, 0, 0
        assert Int8Weights([layer], states, torch.float32, LARGEST)(states).isfinite().all()
        nothing = torch.zeros_like(states)
        assert Int8Weights([layer], nothing, torch.float32, LARGEST)(nothing).isfinite().all()


@needs_int8
def test_a_text_has_one_embedding_whatever_its_neighbours(encoder):
    together = encoder.encode(TEXTS)
    alone = np.stack([encoder.encode(text) for text in TEXTS])
    assert np.abs(alone - together).max() < 1e-6 * np.abs(together).max()
    many = encoder.encode([*TEXTS, *(f"the dog {n} runs" for n in range(400))], batch_tokens=300)
    assert np.abs(many[: len(TEXTS)] - together).max() < 1e-6 * np.abs(together).max()


@needs_int8
def test_ranges_are_of_the_vocabulary_and_draw_from_no_generator(encoder):
    before = torch.get_rng_state()
    batch = random_pieces(encoder.tokenizer)
    assert torch.equal(batch.input_ids, random_pieces(encoder.tokenizer).input_ids)
    special = {*encoder.tokenizer.special_ids, encoder.tokenizer.mask_id}
    inside = batch.input_ids.view(int8.SEQUENCES, int8.LENGTH)[:, 1:-1]
    assert not special & set(inside.flatten().tolist())
    first, second = (encoder.clone().encode(TEXTS) for _ in range(2))
    assert np.array_equal(first, second)
    assert torch.equal(before, torch.get_rng_state())


@needs_int8
def test_it_is_made_once_and_again_after_any_write(encoder, monkeypatch):
    made = []
    monkeypatch.setattr(int8, "quantised", lambda *a: made.append(1) or quantised(*a))
    before = encoder.encode(TEXTS)
    assert np.array_equal(before, encoder.encode(TEXTS)) and len(made) == 1
    for write in (
        encoder.model.encoder.layer[0].output.dense.weight,
        encoder.model.embeddings.LayerNorm.bias,
        encoder.model.embeddings.word_embeddings.weight,
    ):
        write.data.mul_(1.5)
        after = encoder.encode(TEXTS)
        assert not np.array_equal(before, after)
        before = after
    assert len(made) == 4


@needs_int8
def test_copies_are_of_a_block_and_of_no_deep_copy(encoder):
    encoder.encode(TEXTS)
    assert encoder.int8.weights
    assert not any(keeper.kept for keeper in keepers(encoder.model))
    for twin in (copy.deepcopy(encoder), encoder.clone(), pickle.loads(pickle.dumps(encoder))):
        assert twin.int8.weights == []
        assert np.array_equal(twin.encode(TEXTS), encoder.encode(TEXTS))


@needs_int8
def test_weights_of_seven_and_eight_bits_have_other_fingerprints(encoder):
    names = {encoder.fingerprint()}
    for encoder.int8.largest_byte in (WIDE, NARROW):
        names.add(encoder.fingerprint())
    assert len(names) == 2


@needs_int8
@pytest.mark.parametrize("name", ["mini", "mini-sts"])
def test_scores_of_the_shipped_encoders_stay(name, bundled_data):
    pairs = read_task(bundled_data, "sts").dev[:100]
    exact, found = (
        sts_metrics(SentenceEncoder.from_pretrained(name, None, "cpu", precision).encode, pairs)
        for precision in ("float32", "int8")
    )
    assert found["spearman"] == pytest.approx(exact["spearman"], abs=0.006)


@needs_int8
def test_real_weights_lose_little(bundled_data):
    folder = str(real_checkpoint())
    exact, found = (
        SentenceEncoder.from_pretrained(folder, None, "cpu", precision)
        for precision in ("float32", "int8")
    )
    texts = [pair.texts[0] for pair in read_task(bundled_data, "sts").dev[:40]]
    cosines = pair_cosines(exact.encode(texts), found.encode(texts))
    assert cosines.mean() > 0.99 and cosines.min() > 0.95


@pytest.mark.parametrize(
    ("flags", "oneDNN", "device", "said"),
    [
        ({"avx512_vnni": True}, True, "cuda", "is for CPUs, not cuda"),
        ({"avx2": False, "sse4_2": True}, True, "cpu", "no AVX2"),
        ({}, True, "cpu", "no AVX2"),
        ({"avx_vnni": True}, False, "cpu", "built without oneDNN"),
    ],
)
def test_machines_that_cannot_are_refused_in_one_line(monkeypatch, flags, oneDNN, device, said):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: oneDNN)
    with pytest.raises(MachineError, match=said) as caught:
        check_int8(torch.device(device))
    assert "\n" not in str(caught.value) and "--precision auto" in str(caught.value)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="no oneDNN here")
@pytest.mark.parametrize(
    ("flags", "largest"),
    [
        ({"avx2": True, "avx512_vnni": True}, WIDE),
        ({"avx2": True, "avx_vnni": True}, WIDE),  # laptops since 2021
        ({"avx2": True, "amx_int8": True}, WIDE),
        ({"avx2": True, "avx512_f": True, "avx512_vnni": False}, NARROW),
        ({"avx2": True}, NARROW),
    ],
)
def test_bits_of_weights_follow_from_the_processor(monkeypatch, flags, largest):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: flags, raising=False)
    assert check_int8(CPU) == largest


@needs_int8
@pytest.mark.parametrize("changed", [{"hidden_act": "relu"}, {"max_position_embeddings": 9}])
def test_another_activation_and_few_positions(changed, tiny_config, tiny_encoder):
    torch.manual_seed(0)
    model = BertModel(replace(tiny_config, **changed))
    encoders = [
        SentenceEncoder(copy.deepcopy(model), tiny_encoder.tokenizer, "avg", "cpu", precision)
        for precision in ("float32", "int8")
    ]
    assert pair_cosines(*(encoder.encode(TEXTS) for encoder in encoders)).min() > 0.98

"""What follows the pooling, and prompts, as sentence-transformers computes them; in and out."""

import copy
import json
import shutil
import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from torch import nn

from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.steps import Dense, Normalize
from runtime.errors import UserError

sentence_transformers = pytest.importorskip("sentence_transformers", reason="the reference")
their_modules = pytest.importorskip("sentence_transformers.models")
MODULES, PROMPT_FILE = "modules.json", "config_sentence_transformers.json"
SIZE = 32  # of the tiny encoder's states
TEXTS = [*toy_sentences(5), "", "the cat sees a dog . " * 12]
PROMPTS = {"query": "the old ", "document": "a red ", "passage": "the wet "}
ACTIVATIONS = {
    "identity": nn.Identity(),
    "tanh": nn.Tanh(),
    "GELU": nn.GELU(),
    "ReLU": nn.ReLU(),
}


def load(folder, pooling=None, **more):
    return SentenceEncoder.from_pretrained(str(folder), pooling, "cpu", "float32", **more)


def theirs(folder):
    return sentence_transformers.SentenceTransformer(str(folder), device="cpu")


def saved_by_them(checkpoint, folder, mode, steps, **more):
    """Save a SentenceTransformer of the tiny BERT, a Pooling and further steps."""
    first = their_modules.Transformer(str(checkpoint))
    torch.manual_seed(1)
    later = [step() for step in steps]
    model = sentence_transformers.SentenceTransformer(
        modules=[first, their_modules.Pooling(SIZE, mode), *later], device="cpu", **more
    )
    model.save(str(folder), create_model_card=False)
    return folder


def dense(size_in, size_out, activation, residual=False, bias=True):
    module = their_modules.Dense
    function = ACTIVATIONS[activation]
    return partial(
        module, size_in, size_out, bias=bias, activation_function=function, use_residual=residual
    )


def normalize():
    return their_modules.Normalize()


def assert_equal(ours, reference, folder):
    for name in ("encode", "encode_query", "encode_document"):
        found, expected = (getattr(model, name)(TEXTS) for model in (ours, reference))
        assert found.shape == expected.shape and found.dtype == np.float32
        assert abs(found - expected).max() < 1e-5, (name, folder)


CASES = [*product(["cls", "mean"], [(SIZE, 48), (SIZE, SIZE), (SIZE, 8)], [False, True])]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_dense_is_theirs_and_comes_back(number, tiny_checkpoint, tmp_path):
    # The activation, the place of Normalize and the prompts change from case to case.
    mode, sizes, residual = CASES[number]
    activation = [*ACTIVATIONS][number // 2 % 4]
    bias = activation != "ReLU"
    steps = [dense(*sizes, activation, residual, bias)]
    if number % 3 == 0:
        steps.append(normalize)
    if number % 3 == 1:
        steps.insert(0, normalize)
    if number % 5 == 0:
        steps.append(dense(sizes[1], 20, "GELU"))
    default = "query" if number % 4 == 0 else None
    prompts = {"prompts": PROMPTS, "default_prompt_name": default} if number % 2 == 0 else {}
    folder = saved_by_them(tiny_checkpoint, tmp_path / "theirs", mode, steps, **prompts)

    ours, reference = load(folder), theirs(folder)
    assert ours.embedding_size == (20 if number % 5 == 0 else sizes[1])
    assert_equal(ours, reference, folder)
    ours.save(tmp_path / "ours")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = theirs(tmp_path / "ours")
    assert_equal(ours, again, folder)
    reloaded = load(tmp_path / "ours")
    assert reloaded.fingerprint() == ours.fingerprint()
    assert (reloaded.encode(TEXTS) == ours.encode(TEXTS)).all()


@pytest.mark.parametrize(
    "steps",
    [
        [normalize, normalize],
        [normalize, dense(SIZE, 40, "tanh"), normalize, dense(40, 12, "identity"), normalize],
        [partial(their_modules.Dropout, 0.5), normalize],
        [dense(SIZE, SIZE, "tanh"), dense(SIZE, SIZE, "tanh")],
    ],
    ids=range(4),
)
def test_steps_are_followed_in_their_order(steps, tiny_checkpoint, tmp_path):
    folder = saved_by_them(tiny_checkpoint, tmp_path / "theirs", "cls", steps)
    ours = load(folder)
    assert_equal(ours, theirs(folder), folder)
    ours.save(tmp_path / "ours")
    assert_equal(ours, theirs(tmp_path / "ours"), folder)


def test_simcses_mlp_stays_the_pooler(tiny_checkpoint, tmp_path):
    steps = [dense(SIZE, SIZE, "tanh"), normalize]
    ours = load(saved_by_them(tiny_checkpoint, tmp_path / "theirs", "cls", steps))
    assert (ours.pooling, len(ours.steps), ours.normalize) == ("cls", 0, True)


def test_the_weights_of_a_dense_may_be_pickled(tiny_checkpoint, tmp_path):
    steps = [dense(SIZE, 40, "GELU", residual=True)]
    folder = saved_by_them(tiny_checkpoint, tmp_path / "theirs", "mean", steps)
    expected = load(folder).encode(TEXTS)
    state = dict(load(folder).steps[0].state_dict())
    (folder / "2_Dense" / "model.safetensors").unlink()
    torch.save(state, folder / "2_Dense" / "pytorch_model.bin")
    assert (load(folder).encode(TEXTS) == expected).all()


@pytest.fixture
def wide(tiny_checkpoint, tmp_path):
    """A folder with a Dense from 32 to 48, behind the mean."""
    steps = [dense(SIZE, 48, "identity"), normalize]
    return saved_by_them(tiny_checkpoint, tmp_path / "wide", "mean", steps, prompts=PROMPTS)


def test_another_pooling_goes_without_the_steps(wide, caplog):
    encoder = load(wide)
    assert load(wide, "avg").embedding_size == load(wide, "avg", tuning=True).embedding_size == 48
    assert not caplog.records
    assert load(wide, "cls_before_pooler").embedding_size == SIZE
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.endswith("cls_before_pooler is used, as asked; the steps behind it are left out")
    view = copy.copy(encoder)
    view.pool_by("cls_before_pooler")
    assert (view.embedding_size, encoder.embedding_size) == (SIZE, 48)
    assert view.averages is False and encoder.averages is False


def test_steps_are_copied_and_decide_the_fingerprint(wide, tiny_checkpoint):
    encoder = load(wide)
    twin = encoder.clone()
    with torch.no_grad():
        twin.steps[0].linear.weight.add_(1)
    assert encoder.fingerprint() != twin.fingerprint()
    assert encoder.fingerprint() == load(wide).fingerprint()
    assert not any(weight.requires_grad for weight in encoder.clone().steps.parameters())


def test_prompts_are_chosen_as_there(wide):
    ours, reference = load(wide), theirs(wide)
    for how in (
        {"prompt_name": "query"},
        {"prompt_name": "passage"},
        {"prompt": "the cat and "},
        {"prompt": "the cat ", "prompt_name": "query"},
        {"prompt": ""},
    ):
        for name in ("encode", "encode_query", "encode_document"):
            found, expected = (getattr(model, name)(TEXTS, **how) for model in (ours, reference))
            assert abs(found - expected).max() < 1e-5
    with pytest.raises(UserError, match=r"no prompt is named 'corpus'; there are 'query', 'docu"):
        ours.encode("a", prompt_name="corpus")


def test_a_default_prompt_is_before_every_text_but_others_win(wide):
    path = wide / "config_sentence_transformers.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "default_prompt_name": "passage"}))
    ours = load(wide)
    assert (ours.encode("the dog") == load(wide).encode("the dog", prompt=PROMPTS["passage"])).all()
    assert_equal(ours, theirs(wide), wide)
    bare = theirs(wide).encode("the dog", prompt="")
    assert abs(ours.encode("the dog", prompt="") - bare).max() < 1e-5


def test_prompts_that_pooling_leaves_out_are_refused_where_they_are_used(wide):
    path = wide / "1_Pooling" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "include_prompt": False}))
    encoder = load(wide)
    assert abs(encoder.encode(TEXTS) - theirs(wide).encode(TEXTS)).max() < 1e-5
    with pytest.raises(UserError, match="include_prompt is false"):
        encoder.encode_query(TEXTS)
    encoder.save(wide.parent / "again")
    with pytest.raises(UserError, match="include_prompt is false"):
        load(wide.parent / "again").encode_query(TEXTS)
    settings = wide / "config_sentence_transformers.json"
    content = json.loads(settings.read_text())
    settings.write_text(json.dumps({**content, "default_prompt_name": "query"}))
    with pytest.raises(CheckpointError, match="set default_prompt_name to null"):
        load(wide)


def test_a_dense_computes_what_its_formula_says():
    step = Dense(3, 2, activation="ReLU", use_residual=True)
    x = torch.tensor([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]])
    weight, bias = step.linear.weight, step.linear.bias
    expected = (x @ weight.T + bias).clamp(min=0) + x @ step.residual.weight.T
    torch.testing.assert_close(step(x), expected)
    square = Dense(3, 3, bias=False, activation="Identity", use_residual=True)
    torch.testing.assert_close(square(x), x @ square.linear.weight.T + x)
    torch.testing.assert_close(Normalize()(x).norm(dim=1), torch.ones(2))


def test_the_callers_default_type_changes_nothing(wide, tiny_checkpoint):
    expected = [load(folder).encode(TEXTS) for folder in (wide, tiny_checkpoint)]
    torch.set_default_dtype(torch.float64)
    try:
        encoders = [load(folder) for folder in (wide, tiny_checkpoint)]
        found = [encoder.encode(TEXTS) for encoder in encoders]
    finally:
        torch.set_default_dtype(torch.float32)
    for encoder, mine, before in zip(encoders, found, expected, strict=True):
        assert {p.dtype for p in encoder.model.parameters()} == {torch.float32}
        assert mine.dtype == np.float32 and (mine == before).all()


def test_an_encoder_may_lie_in_a_folder_of_its_own(wide, tmp_path):
    expected = load(wide).encode(TEXTS)
    inner = tmp_path / "old" / "0_BERT"
    shutil.copytree(wide, tmp_path / "old")
    inner.mkdir()
    for path in [*(tmp_path / "old").iterdir()]:
        if path.is_file() and path.name not in (
            "modules.json",
            "config_sentence_transformers.json",
        ):
            path.rename(inner / path.name)
    modules = tmp_path / "old" / "modules.json"
    steps = json.loads(modules.read_text())
    steps[0]["path"] = "0_BERT"
    modules.write_text(json.dumps(steps))
    assert (load(tmp_path / "old").encode(TEXTS) == expected).all()
    assert abs(theirs(tmp_path / "old").encode(TEXTS) - expected).max() < 1e-5
    # The first releases named the class of the encoder.
    steps[0]["type"] = "sentence_transformers.models.BERT"
    modules.write_text(json.dumps(steps))
    assert (load(tmp_path / "old").encode(TEXTS) == expected).all()


@pytest.mark.parametrize("name", ["roberta", "distilbert", "xlm-roberta", "xlnet"])
def test_old_names_of_length_and_case_are_read(name, tiny_checkpoint, tmp_path):
    folder = saved_by_them(tiny_checkpoint, tmp_path / "theirs", "mean", [])
    (folder / "sentence_bert_config.json").unlink()
    tokenizer = folder / "tokenizer_config.json"
    settings = {**json.loads(tokenizer.read_text()), "do_lower_case": False}
    tokenizer.write_text(json.dumps(settings))
    shouting = [text.upper() for text in TEXTS]
    for lower in (True, False):
        stated = json.dumps({"max_seq_length": 6, "do_lower_case": lower})
        (folder / f"sentence_{name}_config.json").write_text(stated)
        ours, reference = load(folder), theirs(folder)
        assert ours.max_length == reference.max_seq_length == 6
        assert abs(ours.encode(shouting) - reference.encode(shouting)).max() < 1e-5
        assert (ours.encode(shouting) == ours.encode(TEXTS)).all() == lower
        # Saved, the tokenizer does it by itself.
        ours.save(tmp_path / f"again-{lower}")
        again = theirs(tmp_path / f"again-{lower}")
        assert abs(again.encode(shouting) - ours.encode(shouting)).max() < 1e-5

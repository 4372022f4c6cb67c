"""Pre-training from scratch: corpus, vocabulary, learning, resuming, and a usable checkpoint."""

import json
import lzma

import numpy as np
import pytest
import torch
from conftest import toy_sentences

from minbert import pretrain
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM
from minbert.model import UNDECAYED, BertModel
from minbert.pretraining.loop import Pretrainer
from minbert.pretraining.options import PretrainConfig, PretrainOptions, Sizes
from minbert.tokenizer import SPECIAL_TOKENS, BertTokenizer
from runtime.errors import UserError
from runtime.optimizer import adamw


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two toy files, one compressed, and held-out text of the same language."""
    folder = tmp_path_factory.mktemp("corpus")
    for seed, name in enumerate(("a.txt", "valid.txt")):
        lines = toy_sentences(600, seed)
        documents = [" ".join(lines[i : i + 6]) for i in range(0, 600, 6)]
        (folder / name).write_text("\n\n".join(documents) + "\n")
    with lzma.open(folder / "b.txt.xz", "wt") as file:
        file.write("\n".join(toy_sentences(300, 5)) + "\n")
    return folder


def command(corpus, out, *more):
    files = [str(corpus / "a.txt"), str(corpus / "b.txt.xz")]
    sizes = "--vocab-size 120 --layers 1 --hidden-size 64 --length 24 --batch-size 32".split()
    return [
        *("--corpus", *files, "--valid", str(corpus / "valid.txt"), "--out", str(out)),
        *sizes,
        *("--precision", "float32", "--device", "cpu", "--tokens", "491520", "--eval-steps", "80"),
        *("--lr", "3e-3", "--warmup-steps", "20"),
        *more,
    ]


@pytest.mark.parametrize("content", [None, b"", b"\n\n", b"\xff\xfe bad", b"short"])
def test_an_unusable_corpus_is_one_clear_line_and_exit_2(content, corpus, tmp_path, capsys):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    argv = command(corpus, tmp_path / "out")
    argv[1:3] = [str(path)]
    assert pretrain.main(argv) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ") and str(path) in error and "\n" not in error
    assert not (tmp_path / "out").exists()


def test_a_folder_of_other_things_is_refused_before_hours_of_training(
    corpus, tmp_path, capsys, monkeypatch
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    monkeypatch.chdir(tmp_path)
    for out in ("mine", ".", "/"):
        assert pretrain.main(command(corpus, out)) == 2
        assert "is no checkpoint" in capsys.readouterr().err
    (tmp_path / "mine" / "config.json").write_text('{"model_type": "bert"}')
    assert pretrain.main(command(corpus, "mine")) == 2
    assert "thesis.txt in it is not part of the checkpoint" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_several_processes_are_refused(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert pretrain.main(command(corpus, tmp_path / "out")) == 2
    assert "one process" in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_a_diverged_run_is_one_line(corpus, tmp_path, capsys):
    flags = "--lr 900 --eval-steps 1 --warmup-steps 0 --tokens 7680".split()
    assert pretrain.main(command(corpus, tmp_path / "out", *flags)) == 2
    error = capsys.readouterr().err.strip()
    assert "diverged" in error and "\n" not in error


def test_a_vocabulary_is_made_anew_for_another_size_or_text(corpus, tmp_path, capsys):
    short, work = ("--tokens", "7680", "--eval-steps", "10"), tmp_path / "out.work"
    sizes = {}
    for flags in ((), ("--vocab-size", "60"), ("--corpus", str(corpus / "b.txt.xz"))):
        for state in work.glob("*.pt"):
            state.unlink()  # as the message says
        assert pretrain.main(command(corpus, tmp_path / "out", *short, *flags)) == 0
        sizes[flags] = BertTokenizer.from_pretrained(tmp_path / "out").vocab_size
    assert len(list(work.glob("vocab-*.txt"))) == 3
    assert sizes[()] > 60 == sizes["--vocab-size", "60"]
    assert "still rises at the end: --warmup-steps 20" in capsys.readouterr().out  # 10 steps


def test_what_a_corpus_never_uses_does_not_fade(tiny_checkpoint):
    model = BertModel.from_pretrained(str(tiny_checkpoint))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    optimizer = adamw([(model, 1.0)], weight_decay=0.5, undecayed=UNDECAYED)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    faded = {name for name, tensor in model.state_dict().items() if (tensor != before[name]).any()}
    assert any("word_embeddings" in name for name in faded)
    assert not any("position" in name or "type" in name or "LayerNorm" in name for name in faded)


def test_pretraining_learns_and_leaves_a_checkpoint_that_everything_loads(corpus, tmp_path, capsys):
    out = tmp_path / "bert"
    assert pretrain.main(command(corpus, out)) == 0
    notes = json.loads((out / "training.json").read_text())
    log = capsys.readouterr().out.splitlines()
    told = [line for line in log if line.startswith("step ") and "perplexity" in line]
    assert len(told) == len(notes["history"]) >= 8 and str(out) in log[-1]
    first, last = notes["history"][0], notes["history"][-1]
    assert last["step"] == 640
    assert last["valid_perplexity"] < first["valid_perplexity"]
    assert last["valid_accuracy"] > 0.2  # the commonest piece alone: 0.12
    encoder = SentenceEncoder.from_pretrained(str(out), precision="float32")
    assert encoder.pooling == encoder.stated_pooling == "avg" and encoder.max_length == 24
    types = encoder.model.embeddings.token_type_embeddings.weight
    assert torch.equal(types[0], types[1]) and types.any()  # the second segment is no noise
    assert encoder.model.config.hidden_dropout_prob == 0.1
    assert np.isfinite(encoder.encode(["the old cat sees a dog .", ""])).all()
    assert BertForMaskedLM.from_pretrained(str(out)).bert.pooler is None
    transformers = pytest.importorskip("transformers")
    reference = transformers.BertModel.from_pretrained(out, add_pooling_layer=False).eval()
    ids = torch.tensor([encoder.tokenizer(["the old cat"])[0]])
    with torch.no_grad():
        theirs = reference(ids).last_hidden_state.float()
        ours = encoder.model(ids).last_hidden_state
    torch.testing.assert_close(ours, theirs, atol=2e-2, rtol=0)  # stored as float16


@pytest.mark.parametrize(("weight", "stop"), [("0", 90), ("1", 30)])
def test_an_interrupted_run_resumes_to_the_same_weights(
    weight, stop, corpus, tmp_path, monkeypatch, capsys
):
    short = ("--tokens", "76800", "--contrast-weight", weight)  # 100 or 34 steps
    assert pretrain.main(command(corpus, tmp_path / "whole", *short)) == 0
    vocab = ("--vocab", str(tmp_path / "whole" / "vocab.txt"))
    step = Pretrainer._train_step
    done = []

    def interrupted(trainer):
        if len(done) == stop:
            raise KeyboardInterrupt
        done.append(1)
        return step(trainer)

    monkeypatch.setattr(Pretrainer, "_train_step", interrupted)
    assert pretrain.main(command(corpus, tmp_path / "cut", *short, *vocab)) == 130
    assert "--resume" in capsys.readouterr().err
    assert not (tmp_path / "cut").exists()
    monkeypatch.setattr(Pretrainer, "_train_step", step)
    assert pretrain.main(command(corpus, tmp_path / "cut", *short, *vocab, "--resume")) == 0
    whole, cut = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


@pytest.mark.parametrize("warmup", ["20", "120"])  # 120: the first leg ends before it
def test_a_run_that_ended_goes_on_to_more_tokens_from_before_its_fall(corpus, tmp_path, warmup):
    small = ("--tokens", "76800", "--warmup-steps", warmup)  # 100 and 200 steps
    more = ("--tokens", "153600", "--warmup-steps", warmup)
    assert pretrain.main(command(corpus, tmp_path / "long", *more)) == 0
    vocab = ("--vocab", str(tmp_path / "long" / "vocab.txt"))
    out = tmp_path / "leg"
    assert pretrain.main(command(corpus, out, *small, *vocab)) == 0
    first = json.loads((out / "training.json").read_text())["history"]
    assert [record["step"] for record in first] == [80, 100]  # it falls from step 80 on
    assert pretrain.main(command(corpus, out, *more, *vocab, "--resume")) == 0
    whole, leg = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("long", "leg"))
    assert whole == leg  # as if it had been planned so long


def test_states_are_neither_overwritten_nor_taken_for_another_runs(corpus, tmp_path, capsys):
    short = ("--tokens", "76800")
    assert pretrain.main(command(corpus, tmp_path / "out", *short)) == 0
    vocab = ("--vocab", str(tmp_path / "out" / "vocab.txt"))
    states = {path: path.read_bytes() for path in (tmp_path / "out.work").glob("*.pt")}
    capsys.readouterr()
    for more, told in (
        ((), "--resume goes on"),
        (("--resume", "--seed", "43"), "seed 42, not 43"),
        (("--resume", "--decay-ratio", "0.5"), "decay_ratio 0.2, not 0.5"),
        (("--resume", "--tokens", "153600", "--lr", "1e-3"), "learning_rate 0.003, not 0.001"),
        (("--resume", "--tokens", "38400"), "at step 80, past the 40"),
        (("--resume", "--tokens", "84480", "--decay-ratio", "0.5"), "at step 80, past the 55"),
        (("--resume", "--corpus", str(corpus / "b.txt.xz"), *vocab), "of a run with corpus "),
        (("--resume", "--valid", str(corpus / "a.txt"), *vocab), "of a run with validation text "),
    ):
        assert pretrain.main(command(corpus, tmp_path / "out", *short, *more)) == 2
        error = capsys.readouterr().err.strip()
        assert error.startswith("error: ") and told in error and "\n" not in error
    assert states and states == {path: path.read_bytes() for path in states}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--decay-ratio nan", "expected a number from 0 to 1"),
        ("--decay-ratio 2", "expected a number from 0 to 1"),
        ("--contrast-weight -1", "expected a number from 0 to"),
        ("--batch-size 0", "expected a whole number from 1 to"),
        ("--length 2", "expected a whole number from 8 to"),
        ("--hidden-size 100", "a multiple of 64"),
        ("--vocab-size 60000", "--init random"),
        ("--init mini --layers 2", "--init mini brings its own"),
        ("--init mini --vocab v.txt", "--init mini brings its own"),
        ("--init coocurrence --vocab v.txt", "cooccurrence or random"),
    ],
)
def test_impossible_numbers_and_flags_end_at_once(flags, told, tmp_path, capsys):
    files = "--corpus a.txt --valid b.txt --out".split()
    with pytest.raises(SystemExit) as ended:
        pretrain.main([*files, str(tmp_path / "out"), *flags.split()])
    assert ended.value.code == 2 and told in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (["a", "b", "a"], "a piece stands on two lines"),
        ([f"w{i}" for i in range(40_000)], "would need 32 GB; take --init random"),
    ],
)
def test_a_vocabulary_that_cannot_serve_is_one_line(pieces, told, corpus, tmp_path, capsys):
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("\n".join([*SPECIAL_TOKENS, *pieces]) + "\n")
    assert pretrain.main(command(corpus, tmp_path / "out", "--vocab", str(vocab))) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith(f"error: {vocab}: ") and told in error and "\n" not in error
    assert not (tmp_path / "out").exists()


def options(tmp_path, **more):
    files = {"corpus": (tmp_path / "a.txt",), "valid": tmp_path / "b.txt", "out": tmp_path / "out"}
    return PretrainOptions(**files, **more)


def test_flags_become_settings_of_training_and_of_the_model(tmp_path):
    argv = "--corpus a.txt b.txt --valid v.txt --out o --lr 1e-2 --batch-size 8 --layers 2".split()
    found = pretrain.parse_options(argv)
    assert [path.name for path in found.corpus] == ["a.txt", "b.txt"]
    assert found.config == {"learning_rate": 0.01, "batch_size": 8}
    assert found.sizes == {"num_hidden_layers": 2} and not found.resume
    assert PretrainConfig(**found.config).tokens == PretrainConfig().tokens
    assert Sizes(**found.sizes).hidden_size == Sizes().hidden_size


def test_flags_that_must_be_given_are_named(capsys):
    with pytest.raises(SystemExit) as ended:
        pretrain.parse_options(["--corpus", "a.txt"])
    assert ended.value.code == 2
    assert "required: --valid, --out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"init": "mini", "vocab": "v.txt"}, "--vocab: --init mini brings its own"),
        ({"init": "mini", "sizes": {"num_hidden_layers": 2}}, "--layers: --init mini brings"),
        ({"sizes": {"hidden_size": 100}}, "--hidden-size 100: expected a multiple of 64"),
        ({"sizes": {"vocab_size": 60_000}}, "--vocab-size 60000: .*--init random"),
        ({"device": "tpu"}, "--device tpu: expected one of auto, cpu, cuda"),
    ],
)
def test_options_made_in_python_are_held_to_one_another(more, told, tmp_path):
    with pytest.raises(UserError, match=told):
        options(tmp_path, **more)


def test_a_large_vocabulary_may_start_at_random(tmp_path):
    assert options(tmp_path, init="random", sizes={"vocab_size": 60_000}).init == "random"


def test_the_help_tells_the_defaults(capsys):
    with pytest.raises(SystemExit) as ended:
        pretrain.parse_options(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    assert "peak learning rate (1e-3)" in told and "layers of a new model (4)" in told

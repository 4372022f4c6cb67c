"""Pre-training from scratch: corpus, vocabulary, learning, resuming, and a usable checkpoint."""

import json
import lzma
from shutil import copytree

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from safetensors.torch import load_file, save_file

from minbert import pretrain
from minbert.encoder import SentenceEncoder
from minbert.hub import MINI
from minbert.mlm import BertForMaskedLM
from minbert.model import UNDECAYED, BertModel
from minbert.pretraining.loop import Pretrainer
from minbert.tokenizer import SPECIAL_TOKENS, BertTokenizer
from runtime.training import adamw


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
    sizes = "--vocab-size 120 --layers 1 --hidden-size 64 --length 24 --batch-size 8".split()
    return [
        *("--corpus", *files, "--valid", str(corpus / "valid.txt"), "--out", str(out)),
        *sizes,
        *("--precision", "float32", "--device", "cpu", "--tokens", "9600", "--eval-steps", "50"),
        *("--lr", "3e-3", "--warmup-steps", "20"),
        *more,
    ]


def refused(argv, told, capsys):
    assert pretrain.main(argv) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ") and told in error and "\n" not in error


@pytest.mark.parametrize(
    ("files", "more", "told"),
    [
        ({}, "--corpus text", "text: not a readable UTF-8 text file"),
        ({"text": b"\n\n"}, "--corpus text", "text: no text; expected a paragraph per line"),
        ({"text": b"\xff\xfe bad"}, "--corpus text", "text: not a readable UTF-8 text file"),
        ({"text": b"short"}, "--corpus text", "text: no document has 22 tokens"),
        ({"out": b""}, "", "out: exists and is no checkpoint that was saved here"),
        ({"mine/thesis.txt": b"precious"}, "--out mine", "mine: exists and is no checkpoint that"),
        ({"thesis.txt": b"precious"}, "--out .", "exists and is no checkpoint that was saved here"),
        (
            {"vocab.txt": "\n".join([*SPECIAL_TOKENS, "a", "b", "a"]).encode()},
            "--vocab vocab.txt",
            "vocab.txt: a piece is on two lines",
        ),
        ({}, "--init mini --length 129", "has 128 positions and 8192 word embeddings; --length"),
        ({}, "--init ./no", "no such folder"),
        ({"broken/training.json": b"{"}, "--init broken", "training.json: not a readable JSON"),
    ],
    ids=range(11),
)
def test_what_cannot_be_used_is_one_line(files, more, told, corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "broken" in more:
        copytree(MINI, "broken")
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    argv = (
        goes_on(corpus, "out", more) if "--init" in more else command(corpus, "out", *more.split())
    )
    refused(argv, told, capsys)
    assert all((tmp_path / name).read_bytes() == content for name, content in files.items())
    assert not (tmp_path / "out").is_dir()


def test_a_vocabulary_is_made_anew_for_another_size(corpus, tmp_path, capsys):
    short, work = ("--tokens", "384", "--eval-steps", "10"), tmp_path / "out.work"
    sizes = {}
    for flags in ((), ("--vocab-size", "60")):
        for state in work.glob("*.pt"):
            state.unlink()  # as the message says
        assert pretrain.main(command(corpus, tmp_path / "out", *short, *flags)) == 0
        sizes[flags] = BertTokenizer.from_pretrained(tmp_path / "out").vocab_size
    assert len(list(work.glob("vocab-*.txt"))) == 2
    assert sizes[()] > 60 == sizes["--vocab-size", "60"]
    assert "still rises at the end: --warmup-steps 20" in capsys.readouterr().out  # 2 steps


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


def goes_on(folder, out, more):
    """The command of a fresh run, made one that goes on from a checkpoint."""
    fresh = command(folder, out)
    for flag in ("--vocab-size", "--layers", "--hidden-size"):
        place = fresh.index(flag)
        del fresh[place : place + 2]
    return [*fresh, *more.split()]


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    """A checkpoint of 150 steps."""
    out = tmp_path_factory.mktemp("trained") / "bert"
    steps = "--batch-size 32 --tokens 115200 --eval-steps 25".split()
    assert pretrain.main(command(corpus, out, *steps)) == 0
    return out


def test_pretraining_learns_and_leaves_a_checkpoint_that_everything_loads(trained):
    history = json.loads((trained / "training.json").read_text())["history"]
    first, last = history[0], history[-1]
    assert last["step"] == 150 and len(history) >= 6
    assert last["valid_perplexity"] < first["valid_perplexity"]
    assert last["valid_accuracy"] > 0.2  # the commonest piece alone: 0.12
    encoder = SentenceEncoder.from_pretrained(str(trained), precision="float32")
    assert encoder.pooling == encoder.stated_pooling == "avg" and encoder.max_length == 24
    types = encoder.model.embeddings.token_type_embeddings.weight
    assert torch.equal(types[0], types[1]) and types.any()  # the second segment is no noise
    assert encoder.model.config.hidden_dropout_prob == 0.1
    assert np.isfinite(encoder.encode(["the old cat sees a dog .", ""])).all()
    assert BertForMaskedLM.from_pretrained(str(trained)).bert.pooler is None
    transformers = pytest.importorskip("transformers")
    reference = transformers.BertModel.from_pretrained(trained, add_pooling_layer=False).eval()
    ids = torch.tensor([encoder.tokenizer(["the old cat"])[0]])
    with torch.no_grad():
        theirs = reference(ids).last_hidden_state.float()
        ours = encoder.model(ids).last_hidden_state
    torch.testing.assert_close(ours, theirs, atol=2e-2, rtol=0)  # stored as float16


def log_lines(capsys):
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if line.startswith("step ") and "perplexity" in line]


def test_an_interrupted_run_resumes_to_the_same_weights(corpus, tmp_path, monkeypatch, capsys):
    short = ("--tokens", "9600", "--eval-steps", "4")
    assert pretrain.main(command(corpus, tmp_path / "whole", *short)) == 0
    assert len(told := log_lines(capsys)) == 13 and "step 50/50: loss " in told[-1]
    vocab = ("--vocab", str(tmp_path / "whole" / "vocab.txt"))
    step = Pretrainer._train_step
    done = []

    def interrupted(trainer):
        if len(done) == 6:
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


@pytest.mark.parametrize("warmup", ["10", "30"])  # 30: the first leg ends before it
def test_a_run_that_ended_goes_on_to_more_tokens_from_before_its_fall(corpus, tmp_path, warmup):
    small = ("--tokens", "4800", "--warmup-steps", warmup)  # 25 and 50 steps
    more = ("--tokens", "9600", "--warmup-steps", warmup)
    assert pretrain.main(command(corpus, tmp_path / "long", *more)) == 0
    vocab = ("--vocab", str(tmp_path / "long" / "vocab.txt"))
    out = tmp_path / "leg"
    assert pretrain.main(command(corpus, out, *small, *vocab)) == 0
    first = json.loads((out / "training.json").read_text())["history"]
    assert [record["step"] for record in first] == [20, 25]  # it falls from step 20 on
    assert pretrain.main(command(corpus, out, *more, *vocab, "--resume")) == 0
    whole, leg = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("long", "leg"))
    assert whole == leg  # as if it had been planned so long


def test_states_are_neither_overwritten_nor_taken_for_another_runs(corpus, tmp_path, capsys):
    short = ("--tokens", "9600")
    assert pretrain.main(command(corpus, tmp_path / "out", *short)) == 0
    vocab = ("--vocab", str(tmp_path / "out" / "vocab.txt"))
    states = {path: path.read_bytes() for path in (tmp_path / "out.work").glob("*.pt")}
    capsys.readouterr()
    for more, told in (
        ((), "continue with --resume"),
        (("--resume", "--seed", "43"), "seed 42, not 43"),
        (("--resume", "--tokens", "19200", "--lr", "1e-3"), "learning_rate 0.003, not 0.001"),
        (("--resume", "--tokens", "4800"), "at step 40, past the 20"),
        (("--resume", "--tokens", "10560", "--decay-ratio", "0.5"), "at step 40, past the 27"),
        (("--resume", "--corpus", str(corpus / "b.txt.xz"), *vocab), "of a run with corpus "),
        (("--resume", "--valid", str(corpus / "a.txt"), *vocab), "of a run with validation text "),
    ):
        refused(command(corpus, tmp_path / "out", *short, *more), told, capsys)
    assert states and states == {path: path.read_bytes() for path in states}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--decay-ratio 2", "expected a number from 0 to 1"),
        ("--length 2", "expected a whole number from 8 to"),
        ("--hidden-size 100", "a multiple of 64"),
        ("--init mini --layers 2", "--init mini comes with its"),
        ("--init radnom --vocab v.txt", "for a new model, use --init random"),
        ("--init cooccurrence", "--init cooccurrence was removed in 1.1"),
        ("--contrast-weight 1", "--contrast-weight was removed in 1.1: leave it out"),
    ],
)
def test_impossible_numbers_and_flags_end_at_once(flags, told, tmp_path, capsys):
    files = "--corpus a.txt --valid b.txt --out".split()
    with pytest.raises(SystemExit) as ended:
        pretrain.main([*files, str(tmp_path / "out"), *flags.split()])
    assert ended.value.code == 2 and told in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_going_on_from_a_checkpoint_keeps_what_it_knew(trained, corpus, tmp_path):
    start, out = tmp_path / "start", tmp_path / "out"
    copytree(trained, start)
    # Another dropout, and segments that differ.
    config = json.loads((start / "config.json").read_text())
    (start / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.3}))
    tensors = load_file(start / "model.safetensors")
    types = tensors["bert.embeddings.token_type_embeddings.weight"]
    types[1] = 0.25
    save_file(tensors, start / "model.safetensors")
    assert pretrain.main(goes_on(corpus, out, f"--init {start} --tokens 768 --eval-steps 2")) == 0
    before, notes = (json.loads((f / "training.json").read_text()) for f in (start, out))
    known = before["history"][-1]["valid_perplexity"]
    assert notes["history"][0]["valid_perplexity"] < 1.2 * known  # not from nothing
    assert notes["before"] == before and "before" not in before
    assert notes["config"]["init"] == notes["options"]["init"] == "start"
    assert (start / "vocab.txt").read_text() == (out / "vocab.txt").read_text()
    kept = load_file(out / "model.safetensors")["bert.embeddings.token_type_embeddings.weight"]
    assert torch.equal(kept[1], types[1]) and not torch.equal(kept[0], types[0])
    assert json.loads((out / "config.json").read_text())["hidden_dropout_prob"] == 0.3

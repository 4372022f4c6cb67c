"""Pre-training from scratch: corpus, vocabulary, learning, resuming, and a usable checkpoint."""

import gzip
import json
import lzma

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from minbert.corpus import CorpusError, as_sequences, read_paragraphs, tokenize_corpus
from minbert.runtime import adamw, batch_rows, linear_schedule

from minbert import pretrain
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.tokenizer import SPECIAL_TOKENS, BertTokenizer


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


def test_rows_are_packed_cut_at_documents_and_lose_no_order(tmp_path, tiny_encoder):
    text = tmp_path / "text.txt"
    words = [["cat", "dog", "boat", "lamp", "river"], ["apple", "train"], ["storm"] * 9]
    text.write_text("\n\n".join(" ".join(document) for document in words))
    tokenizer = tiny_encoder.tokenizer
    rows = tokenize_corpus([text], tokenizer, 5, tmp_path)
    pieces = [[tokenizer.backend.id_to_token(i) for i in row] for row in rows.tolist()]
    assert pieces == [
        ["[CLS]", "cat", "dog", "boat", "[SEP]"],  # lamp river: too short for a row
        *[["[CLS]", "storm", "storm", "storm", "[SEP]"]] * 3,
    ]
    assert rows.dtype == np.uint16
    batch = as_sequences(rows).pack([1, 0])
    assert batch.lengths == (5, 5)
    assert batch.input_ids[5:].tolist() == rows[0].tolist()


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


def test_a_truncated_compressed_file_is_named(corpus, tmp_path):
    path = tmp_path / "cut.txt.xz"
    path.write_bytes((corpus / "b.txt.xz").read_bytes()[:200])
    with pytest.raises(CorpusError, match=r"cut\.txt\.xz"):
        list(read_paragraphs([path]))


def test_a_damaged_gzip_file_is_named(tmp_path):
    path = tmp_path / "damaged.txt.gz"
    whole = bytearray(gzip.compress("\n".join(toy_sentences(300, 5)).encode()))
    whole[200:260] = bytes(60)
    path.write_bytes(whole)
    with pytest.raises(CorpusError, match=r"damaged\.txt\.gz"):
        list(read_paragraphs([path]))


def test_a_folder_of_other_things_is_refused_before_hours_of_training(
    corpus, tmp_path, capsys, monkeypatch
):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    monkeypatch.chdir(tmp_path)
    for out in ("mine", ".", "/"):
        assert pretrain.main(command(corpus, out)) == 2
        assert "is there and no checkpoint" in capsys.readouterr().err
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
    optimizer = adamw([(model, 1.0)], weight_decay=0.5)
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
    step = pretrain.Pretrainer._train_step
    done = []

    def interrupted(trainer):
        if len(done) == stop:
            raise KeyboardInterrupt
        done.append(1)
        return step(trainer)

    monkeypatch.setattr(pretrain.Pretrainer, "_train_step", interrupted)
    assert pretrain.main(command(corpus, tmp_path / "cut", *short, *vocab)) == 130
    assert "--resume" in capsys.readouterr().err
    assert not (tmp_path / "cut").exists()
    monkeypatch.setattr(pretrain.Pretrainer, "_train_step", step)
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


def test_rows_on_disk_are_of_these_texts_and_this_vocabulary(tmp_path, tiny_encoder):
    text = tmp_path / "text.txt"
    text.write_text("cat dog boat")
    tokenizer = tiny_encoder.tokenizer
    first = tokenize_corpus([text], tokenizer, 5, tmp_path).tolist()
    kept = list(tmp_path.glob("*.npy"))
    assert tokenize_corpus([text], tokenizer, 5, tmp_path).tolist() == first
    assert list(tmp_path.glob("*.npy")) == kept
    text.write_text("dog cat boat")
    assert tokenize_corpus([text], tokenizer, 5, tmp_path).tolist() != first
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ndog\ncat\nboat\n")
    other = BertTokenizer.from_vocab(tmp_path / "vocab.txt")
    assert tokenize_corpus([text], other, 5, tmp_path).tolist() == [[2, 5, 6, 7, 3]]


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
        ("--decay-ratio nan", "expected 0 to 1"),
        ("--decay-ratio 2", "expected 0 to 1"),
        ("--contrast-weight -1", "expected 0 to"),
        ("--batch-size 0", "expected 1 to"),
        ("--length 2", "expected 8 to"),
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


@pytest.mark.parametrize(
    ("step", "factor"), [(0, 1 / 11), (9, 10 / 11), (10, 1), (80, 1), (90, 0.5), (100, 0)]
)
def test_schedule_rises_stays_and_falls(step, factor):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    schedule = linear_schedule(optimizer, 100, warmup_ratio=0.1, decay_ratio=0.2)
    for _ in range(step):
        optimizer.step()
        schedule.step()
    assert schedule.get_last_lr() == pytest.approx([2 * factor])


def test_last_states_of_some_rows_are_those_of_all(tiny_encoder):
    model = tiny_encoder.model
    batch = tiny_encoder.tokenize(["the old cat sees a dog .", "a lamp"]).pack([0, 1])
    rows = torch.tensor([7, 1, 9])
    with torch.no_grad():
        expected = model.packed(batch).last_hidden_state[rows]
        torch.testing.assert_close(model.packed_rows(batch, rows), expected)


def test_vocabulary_has_bert_special_tokens_first(corpus, tmp_path):
    paragraphs = read_paragraphs([corpus / "a.txt"])
    pretrain.train_vocabulary(paragraphs, 100, tmp_path / "vocab.txt")
    tokenizer = BertTokenizer.from_vocab(tmp_path / "vocab.txt")
    special = (tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
    assert special == (0, 2, 3, 4)
    assert 5 < tokenizer.vocab_size <= 100
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["vocab.txt"]


def test_every_epoch_reads_every_row_once_in_an_order_of_its_own():
    epochs = [[batch_rows(3 * epoch + i, 10, 4, 7) for i in range(3)] for epoch in range(2)]
    for batches in epochs:
        assert [len(rows) for rows in batches] == [4, 4, 2]
        assert sorted(np.concatenate(batches)) == list(range(10))
    first, second = (np.concatenate(batches).tolist() for batches in epochs)
    other_seed = np.concatenate([batch_rows(i, 10, 4, 8) for i in range(3)]).tolist()
    assert first != second and first != other_seed
    assert batch_rows(1, 10, 4, 7).tolist() == epochs[0][1].tolist()  # whatever came between

"""What comes along: the names `mini` and `bundled`, and the weights behind the first."""

import json
from itertools import islice

import numpy as np
import pytest
import torch
from data.cs224n import read_task
from data.simcse import iter_sentences
from report.options import parse_options

import run_multitask
from data import bundled, locate
from data.overlap import Seen
from evaluation.scoring import score_split
from minbert.checkpoint import MINI, find_checkpoint
from minbert.encoder import SentenceEncoder
from minbert.mlm import BertForMaskedLM, mask_tokens
from minbert.model import BertModel

MOST_BYTES = 16 * 2**20


@pytest.fixture
def downloads(tmp_path, monkeypatch):
    """An empty folder for downloads, and a data set of one file instead of the real one."""
    written = []

    def write(folder, seed=0):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sts-train.csv").write_text("whole")
        written.append(folder)

    monkeypatch.setattr(locate, "DEFAULT_FOLDER", tmp_path / "downloads")
    monkeypatch.setattr(bundled, "write", write)
    return written


def test_the_bundled_data_is_made_once_and_kept(downloads, tmp_path):
    first = locate.data_folder("bundled")
    assert first == tmp_path / "downloads" / f"bundled-{bundled.VERSION}"
    assert [path.name for path in first.parent.iterdir()] == [first.name]
    assert (first / "sts-train.csv").read_text() == "whole"
    assert locate.data_folder("bundled") == first and len(downloads) == 1


def test_an_interrupted_making_leaves_no_folder_that_looks_whole(downloads, tmp_path, monkeypatch):
    def breaks(folder, seed=0):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sts-train.csv").write_text("half")
        raise KeyboardInterrupt

    whole = bundled.write
    monkeypatch.setattr(bundled, "write", breaks)
    with pytest.raises(KeyboardInterrupt):
        locate.data_folder("bundled")
    assert not any((tmp_path / "downloads").iterdir())
    monkeypatch.setattr(bundled, "write", whole)
    assert (locate.data_folder("bundled") / "sts-train.csv").read_text() == "whole"


def test_two_runs_may_make_the_bundled_data_at_once(downloads, tmp_path, monkeypatch):
    slow = bundled.write

    def overtaken(folder, seed=0):
        monkeypatch.setattr(bundled, "write", slow)
        (locate.data_folder("bundled") / "mark").write_text("the quicker one's")
        slow(folder)

    monkeypatch.setattr(bundled, "write", overtaken)
    assert (locate.data_folder("bundled") / "mark").is_file()
    assert len(list((tmp_path / "downloads").iterdir())) == 1


def test_a_folder_of_that_name_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundled").mkdir()
    (tmp_path / "mini").mkdir()
    assert str(locate.data_folder("bundled")) == "bundled"
    assert str(find_checkpoint("mini")) == "mini"


def test_the_defaults_say_what_they_are_and_how_to_have_the_originals():
    text = "\n".join(run_multitask.bundled_notes(parse_options([])))
    assert "--backbone bert-base-uncased" in text and "--data cs224n" in text
    assert run_multitask.bundled_notes(parse_options(["--backbone", "b", "--data", "d"])) == []


def test_nothing_is_said_of_what_a_folder_of_that_name_hides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundled").mkdir()
    (line,) = run_multitask.bundled_notes(parse_options([]))
    assert line.startswith("mini ")


def test_rows_are_scored_by_their_phenomenon(tmp_path):
    rows = ["\tid\tsentence\tsentiment\tphenomenon"]
    rows += [f"{i}\tx{i}\ttext {i}\t{i % 5}\t{'even' if i % 2 == 0 else ''}" for i in range(10)]
    for name in ("train", "dev"):
        (tmp_path / f"ids-sst-{name}.csv").write_text("\n".join(rows) + "\n")
    dev = read_task(tmp_path, "sst").dev
    scores = score_split("sst", dev, np.array([0, 0, 2, 0, 0, 0, 0, 0, 0, 0]), Seen())
    # rows 0 2 4 6 8 hold the classes 0 2 4 1 3: two are right; untagged rows do not count
    assert scores["phenomena"] == {"even": {"n": 5, "error": 0.6}}


# --- the weights


def test_mini_is_small_whole_and_documented():
    assert find_checkpoint("mini") == MINI
    assert (MINI / "model.safetensors").stat().st_size <= MOST_BYTES
    card = (MINI / "README.md").read_text(encoding="utf-8")
    for part in ("Corpus", "Licence", "Tokens seen", "Limits", "python -m minbert.pretrain"):
        assert part in card, part
    notes = json.loads((MINI / "training.json").read_text())
    assert f"{notes['history'][-1]['valid_perplexity']:.1f}" in card
    assert "/" not in json.dumps(notes["options"]["corpus"])


def test_mini_is_an_ordinary_checkpoint():
    transformers = pytest.importorskip("transformers")
    reference = transformers.AutoModelForMaskedLM.from_pretrained(MINI).eval()
    ours = BertForMaskedLM.from_pretrained("mini")
    tokenizer = SentenceEncoder.from_pretrained("mini").tokenizer
    theirs = transformers.AutoTokenizer.from_pretrained(MINI)
    text = "The Danube flows through Vienna."
    (ids,) = tokenizer([text])
    assert theirs(text)["input_ids"] == ids
    with torch.no_grad():
        expected = reference(torch.tensor([ids])).logits[0].float()
        batch = tokenizer([text]).pack([0])
        got = ours(batch, torch.arange(len(ids)))
    torch.testing.assert_close(got, expected, atol=2e-2, rtol=0)  # theirs computes in float16


def masked_loss(model, sequences, tokenizer) -> float:
    """Return the loss on the same masks for every model."""
    torch.manual_seed(0)
    special = (tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id)
    batch = sequences.pack(range(len(sequences)))
    masked, labels = mask_tokens(batch, special, tokenizer.mask_id, tokenizer.vocab_size)
    with torch.no_grad():
        return float(model.loss(masked, labels))


def test_mini_has_learned_english_that_it_never_saw(tmp_path):
    """Its loss on bundled sentences is far below that of an encoder that knows word frequencies."""
    bundled.write(tmp_path)
    texts = list(islice(iter_sentences(tmp_path / "wiki1m_for_simcse.txt"), 300))
    encoder = SentenceEncoder.from_pretrained("mini", device="cpu", precision="float32")
    sequences = encoder.tokenize(texts)
    mini = masked_loss(BertForMaskedLM.from_pretrained("mini"), sequences, encoder.tokenizer)
    counts = np.bincount(sequences.ids, minlength=encoder.tokenizer.vocab_size) + 1.0
    shares = counts / counts.sum()
    entropy = float(-(shares * np.log(shares)).sum())  # the best that frequencies alone allow
    fresh = BertForMaskedLM(BertModel(encoder.model.config, add_pooling_layer=False)).eval()
    assert mini < entropy < masked_loss(fresh, sequences, encoder.tokenizer)

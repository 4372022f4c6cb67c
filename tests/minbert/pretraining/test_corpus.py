"""A corpus as rows of tokens, kept on disk."""

import lzma

import numpy as np
import pytest
from conftest import toy_sentences

from minbert.pretraining.corpus import (
    CorpusError,
    as_sequences,
    corpus_digest,
    read_paragraphs,
    tokenize_corpus,
    train_vocabulary,
)
from minbert.tokenizer import BertTokenizer


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


def test_a_vocabulary_has_bert_special_tokens_first(tmp_path):
    train_vocabulary(toy_sentences(200), 100, tmp_path / "vocab.txt")
    tokenizer = BertTokenizer.from_vocab(tmp_path / "vocab.txt")
    special = (tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
    assert special == (0, 2, 3, 4)
    assert 5 < tokenizer.vocab_size <= 100
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.xz"])
def test_compressed_files_are_read_as_they_are_and_damaged_ones_named(name, tmp_path):
    content = "\ufeff the cat \n\nä dog\n".encode()
    path = tmp_path / name
    path.write_bytes(lzma.compress(content) if name.endswith("xz") else content)
    # Every file ends a document; a byte order mark is no text.
    assert list(read_paragraphs([path] * 2)) == ["the cat", "", "ä dog", ""] * 2
    path.write_bytes(lzma.compress(content)[:40])
    with pytest.raises(CorpusError, match=f"{name}: not a readable"):
        list(read_paragraphs([path]))


def test_an_empty_file_among_others_is_no_fault(tmp_path):
    for name, content in (("a", "a"), ("empty", "")):
        (tmp_path / name).write_text(content)
    assert list(read_paragraphs([tmp_path / "empty", tmp_path / "a"])) == ["", "a", ""]


def test_the_digest_follows_texts_their_order_and_use(tmp_path):
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        path.write_text(path.name)
    found = [corpus_digest(paths), corpus_digest(paths[::-1]), corpus_digest(paths, "a use")]
    paths[0].write_text("other")
    assert len({*found, corpus_digest(paths)}) == 4 and len(found[0]) == 12

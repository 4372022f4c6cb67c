"""Token ids equal transformers', on real files and on strings that hurt."""

import csv
import json
import shutil

import numpy as np
import pytest
from conftest import real_checkpoint, real_data

from minbert.config import CheckpointError
from minbert.packing import TokenSequences
from minbert.tokenizer import BertTokenizer

HURT = [
    "",
    " ",
    "\t\n ",
    "naïve café",
    "nai\u0308ve cafe\u0301",
    "ÅNGSTRÖM İstanbul ß ﬁ",
    "猫が好き。",
    "我爱北京",
    "👩‍👩‍👧‍👦 ok 🇩🇪",
    "zero\u200bwidth\u200djoin\ufeff",
    "control\x00\x07\x1b[0m\x7f",
    "no\u00a0break\u2009thin",
    "[SEP] in [CLS] text [MASK] [PAD][UNK]",
    "[sep] not [Mask]",
    "a" * 101,
    "b" * 10_000,
    "word " * 2_000,
    "don't U.S.A. $3.50 50% (a-b)/c_d ...!?",
    "שלום עולם",
    "مرحبا",
    "ไทย",
    "\u0301alone",
    "mixed漢字kana",
    "\ufffd \ue000 \U000e0001",
    "tab\tand\nnew\r\nlines",
    "ＦＵＬＬ ｗｉｄｔｈ",
    "x\u2028y\u2029z",
    "№ ½ ²",
]


@pytest.fixture(scope="module")
def minilm():
    """Return our tokenizer of MiniLM and transformers'."""
    transformers = pytest.importorskip("transformers", reason="transformers is the reference")
    folder = real_checkpoint()
    return BertTokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)


def assert_same_ids(own, reference, texts):
    found = own(texts, max_length=10**6)
    for text, ids, mine in zip(texts, reference(texts)["input_ids"], found, strict=True):
        assert mine == ids, text[:200]


@pytest.mark.parametrize("text", HURT, ids=range(len(HURT)))
def test_strings_that_hurt_get_the_same_ids(minilm, text):
    assert_same_ids(*minilm, [text])


@pytest.mark.parametrize(
    ("name", "every"),
    [
        *[
            (f"cs224n/{name}", 1)
            for name in ("sts-train.csv", "sts-dev.csv", "sts-test-student.csv")
        ],
        *[(f"cs224n/ids-sst-{part}.csv", 1) for part in ("train", "dev", "test-student")],
        *[("cs224n/quora-train.csv", 1), ("cs224n/quora-dev.csv", 1), ("nli/nli_pairs.tsv", 7)],
        *[
            ("nli/nli_for_simcse.csv", 1),
            ("wiki/wiki_for_simcse.txt", 11),
            ("wiki/wiki1m_head.txt", 1),
        ],
        *[("cs224n/ids-cfimdb-dev.csv", 1), ("captions/Flickr8k.token.txt", 5)],
        *[("chinese/cnsd-sts-train.txt", 2), ("chinese/ocnli_unsup_train_data.txt", 5)],
        *[
            ("transfer/rt-polarity.neg", 2),
            ("transfer/custrev.pos", 1),
            ("quora/paraphrases.tsv", 9),
        ],
        *[("transfer/msr_paraphrase_test.txt", 1), ("sts/SICK/SICK_train.txt", 2)],
    ],
)
def test_real_files_get_the_same_ids(minilm, name, every):
    text = real_data(name).read_bytes().decode("utf-8", errors="replace")
    assert_same_ids(*minilm, text.splitlines()[::every])


def test_pairs_truncate_longest_first_as_in_transformers(minilm):
    own, reference = minilm
    with real_data("cs224n/sts-dev.csv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))[:300]
    firsts = [row["sentence1"] for row in rows] + ["a b c d e f g h", "x", ""]
    seconds = [row["sentence2"] for row in rows] + ["y", "a b c d e f g h", ""]
    for length in (512, 24, 13, 12, 5):
        expected = reference(
            firsts, seconds, truncation="longest_first", max_length=length,
            return_token_type_ids=True,
        )  # fmt: skip
        found = own(firsts, seconds, max_length=length)
        types = [found.pack([row]).token_type_ids.tolist() for row in range(len(found))]
        assert list(found) == expected["input_ids"]
        assert types == expected["token_type_ids"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_vocab_txt_alone_gives_the_same_ids(minilm, lowercase, tmp_path):
    transformers = pytest.importorskip("transformers")
    shutil.copy(real_checkpoint() / "vocab.txt", tmp_path)
    casing = {"do_lower_case": lowercase, "tokenizer_class": "BertTokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(casing))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    reference = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert_same_ids(BertTokenizer.from_pretrained(tmp_path), reference, HURT)


def test_saving_keeps_the_ids_here_and_in_transformers(minilm, tmp_path):
    transformers = pytest.importorskip("transformers")
    own, _ = minilm
    own(["truncated"], max_length=3)  # must leave no trace in the file
    own.save(tmp_path, 512)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    reference = transformers.AutoTokenizer.from_pretrained(tmp_path)
    again = BertTokenizer.from_pretrained(tmp_path)
    assert_same_ids(again, reference, HURT)
    assert list(again(HURT)) == list(own(HURT))
    assert again.fingerprint() == own.fingerprint()


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({}, "no tokenizer"),
        ({"vocab.txt": "a\nb\n"}, "vocab.txt"),
        ({"vocab.txt": "[UNK]\n[PAD]\na\n"}, r"vocab.txt.*\[CLS\]"),
        ({"tokenizer.json": "{}"}, "tokenizer.json"),
        ({"tokenizer.json": "not json"}, "tokenizer.json"),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": "{"}, "tokenizer_config.json"),
    ],
)
def test_unusable_tokenizer_files_are_named_in_one_line(files, named, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(CheckpointError, match=named) as error:
        BertTokenizer.from_pretrained(tmp_path)
    assert "\n" not in str(error.value)


def test_ids_take_two_bytes_where_the_vocabulary_allows(tiny_encoder):
    assert tiny_encoder.tokenizer(["the cat"]).ids.dtype == np.uint16
    tiny_encoder.tokenizer.backend.add_tokens([f"token{i}" for i in range(66_000)])
    large = BertTokenizer(tiny_encoder.tokenizer.backend)
    sequences = large(["token65999"])
    assert sequences.ids.dtype == np.int32
    assert sequences[0][1] > 2**16


def test_no_texts_give_no_sequences(tiny_encoder):
    sequences = tiny_encoder.tokenizer([])
    assert isinstance(sequences, TokenSequences) and len(sequences) == 0

"""Tokenizer files of every kind give transformers' ids or one line of refusal."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from tokenizers import Tokenizer, normalizers
from tokenizers.processors import TemplateProcessing

from minbert.config import CheckpointError
from minbert.tokenizer import BertTokenizer
from minbert.tokenizer_settings import TokenizerSettings
from runtime.errors import UserError

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog ##s q u x ##x ##u ##q a b c ##a ##b ##c é e"
TEXTS = ["the qux cat", "the QUX cats", "thequxcat", "<q> cat <Q>", "[QUX] dog", "É é e\u0301", ""]


def write(folder, pieces=(), settings=None, added=None):
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text(
        "".join(f"{piece}\n" for piece in pieces or PIECES.split()), "utf-8"
    )
    casing = {"tokenizer_class": "BertTokenizer", **(settings or {})}
    (folder / "tokenizer_config.json").write_text(json.dumps(casing))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    if added:
        (folder / "added_tokens.json").write_text(json.dumps(added))
    return folder


def backend(folder) -> Tokenizer:
    return BertTokenizer.from_pretrained(write(folder)).backend


def theirs(folder):
    transformers = pytest.importorskip("transformers", reason="transformers is the reference")
    return transformers.AutoTokenizer.from_pretrained(folder)


def decoder(content, **options):
    flags = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word", "special"), False)
    return {"content": content, **flags, **options}


LAST = len(PIECES.split())


@pytest.mark.parametrize(
    ("settings", "added"),
    [
        ({}, {"qux": LAST}),
        ({}, {"<q>": LAST + 1, "qux": LAST}),
        ({}, {"QUX": LAST}),
        ({"do_lower_case": False}, {"QUX": LAST}),
        ({"added_tokens_decoder": {str(LAST): decoder("qux")}}, None),
        ({"added_tokens_decoder": {str(LAST): decoder("qux", normalized=True)}}, None),
        (
            {"added_tokens_decoder": {str(LAST): decoder("qux", single_word=True, lstrip=True)}},
            None,
        ),
        ({"added_tokens_decoder": {str(LAST): decoder("[QUX]", special=True)}}, {"<q>": LAST}),
        (
            {"added_tokens_decoder": {"6": decoder("cat"), "3": decoder("[SEP]", special=True)}},
            None,
        ),
    ],
    ids=range(9),
)
def test_tokens_added_beside_a_vocabulary_are_known(settings, added, tmp_path):
    folder = write(tmp_path, settings=settings, added=added)
    own = BertTokenizer.from_pretrained(folder)
    assert list(own(TEXTS)) == theirs(folder)(TEXTS)["input_ids"]
    (folder / "saved").mkdir()
    own.save(folder / "saved", 64)
    (folder / "saved" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    again = BertTokenizer.from_pretrained(folder / "saved")
    assert list(again(TEXTS)) == list(own(TEXTS)) == theirs(folder / "saved")(TEXTS)["input_ids"]


@pytest.mark.parametrize(
    ("settings", "added", "named"),
    [
        ({}, {"qux": LAST + 3}, "should have the id"),
        ({}, {"qux": "late"}, "another form"),
        ({"added_tokens_decoder": [1]}, None, "another form"),
        ({"added_tokens_decoder": {"9": None}}, None, "another form"),
        ({"added_tokens_decoder": {"9": {"content": None}}}, None, "another form"),
        ({"truncation_side": 3}, None, "truncation_side"),
        ({"truncation_side": "up"}, None, "truncation_side"),
        ({"model_max_length": "128"}, None, "model_max_length"),
        ({"model_max_length": 0}, None, "model_max_length"),
        ({"model_max_length": float("nan")}, None, "model_max_length"),
        ({"do_lower_case": 7}, None, "do_lower_case"),
        ({"strip_accents": [None] * 10**5}, None, "strip_accents"),
    ],
    ids=range(12),
)
def test_strange_settings_are_refused_in_one_line(settings, added, named, tmp_path):
    folder = write(tmp_path, settings=settings, added=added)
    with pytest.raises(CheckpointError, match=named) as error:
        BertTokenizer.from_pretrained(folder)
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize("content", ["null", "7", "[]", "[" * 100_000, '{"a": ' + "1" * 5000 + "}"])
def test_settings_that_are_no_object_are_refused(content, tmp_path):
    folder = write(tmp_path)
    (folder / "tokenizer_config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json"):
        BertTokenizer.from_pretrained(folder)


def no_template(parts):
    parts["post_processor"] = None


def types_of_seven(parts):
    for piece in parts["post_processor"]["pair"]:
        next(iter(piece.values()))["type_id"] = 7


def without_the_special_token(parts):
    parts["post_processor"]["special_tokens"] = {}


def damaged_characters(parts):
    parts["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}


def merges_that_underflow(parts):
    parts["model"] = {
        "type": "BPE",
        "vocab": {"a": 0, "b": 1, "ab": 2},
        "merges": ["a b"],
        "continuing_subword_prefix": "#####",
    }


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (no_template, "post-processor"),
        (types_of_seven, "token types"),
        # These three make the library's Rust side panic, which is no Exception.
        (without_the_special_token, "not a usable tokenizer"),
        (damaged_characters, "not a usable tokenizer"),
        (merges_that_underflow, "not a usable tokenizer"),
    ],
)
def test_strange_tokenizer_files_are_refused_in_one_line(change, named, tmp_path):
    parts = json.loads(backend(tmp_path).to_str())
    change(parts)
    (tmp_path / "tokenizer.json").write_text(json.dumps(parts))
    with pytest.raises(CheckpointError, match=f"tokenizer.json.*{named}") as error:
        BertTokenizer.from_pretrained(tmp_path)
    assert "\n" not in str(error.value)


def test_ids_far_beyond_the_vocabulary_are_counted_and_not_wrapped(tmp_path):
    parts = json.loads(backend(tmp_path).to_str())
    parts["model"]["vocab"]["dog"] = 2**17
    tokenizer = BertTokenizer(Tokenizer.from_str(json.dumps(parts)))
    assert tokenizer.vocab_size == 2**17 + 1
    assert tokenizer(["the dog"])[0][2] == 2**17


@pytest.mark.parametrize("side", ["left", "right"])
def test_both_sides_cut_as_transformers_does(side, tmp_path):
    folder = write(tmp_path, settings={"truncation_side": side})
    own, reference = BertTokenizer.from_pretrained(folder), theirs(folder)
    draw = random.Random(0)
    words = "the cat dog cats qux a b".split()
    texts = [" ".join(draw.choices(words, k=k)) for k in range(40)]
    others = [" ".join(draw.choices(words, k=draw.randrange(40))) for _ in texts]
    for length in (3, 4, 5, 8, 13, 24, 25, 200):
        limits = {"truncation": True, "max_length": length}
        assert list(own(texts, max_length=length)) == reference(texts, **limits)["input_ids"]
        expected = reference(texts, others, return_token_type_ids=True, **limits)
        found = own(texts, others, length)
        assert list(found) == expected["input_ids"]
        types = [found.pack([row]).token_type_ids.tolist() for row in range(len(found))]
        assert types == expected["token_type_ids"]
    saved = folder / "saved"
    saved.mkdir()
    own.save(saved, 64)
    again = BertTokenizer.from_pretrained(saved)
    assert list(again(texts, max_length=9)) == list(own(texts, max_length=9))


def test_a_side_is_part_of_the_fingerprint_and_can_stand_in_tokenizer_json(tmp_path):
    right = BertTokenizer(backend(tmp_path))
    left = BertTokenizer(right.backend, settings=TokenizerSettings(truncation_side="left"))
    assert left.fingerprint() != right.fingerprint()
    cutting = Tokenizer.from_str(right.backend.to_str())
    cutting.enable_truncation(5, direction="left")
    assert BertTokenizer(cutting).fingerprint() == left.fingerprint()


def test_a_piece_on_two_lines_keeps_its_ids_when_saved(tmp_path):
    pieces = ["a", *PIECES.split(), "b", "zz", "b"]
    folder = write(tmp_path, pieces)
    own = BertTokenizer.from_pretrained(folder)
    assert own.vocab_size == len(pieces)
    texts = ["a b c the cats zz", "b"]
    assert list(own(texts)) == theirs(folder)(texts)["input_ids"]
    saved = tmp_path / "saved"
    saved.mkdir()
    own.save(saved, 64)
    (saved / "config.json").write_text(json.dumps({"model_type": "bert"}))
    assert list(theirs(saved)(texts)["input_ids"]) == list(own(texts))
    assert list(BertTokenizer.from_vocab(saved / "vocab.txt")(texts)) == list(own(texts))


@pytest.mark.parametrize("normalizer", [None, normalizers.NFKC(), normalizers.Lowercase()])
def test_other_normalizers_are_saved_as_they_are(normalizer, tmp_path):
    tokenizer = backend(tmp_path)
    if normalizer is None:
        parts = {**json.loads(tokenizer.to_str()), "normalizer": None}
        tokenizer = Tokenizer.from_str(json.dumps(parts))
    else:
        tokenizer.normalizer = normalizer
    own = BertTokenizer(tokenizer)
    saved = tmp_path / "saved"
    saved.mkdir()
    own.save(saved, 64)
    (saved / "config.json").write_text(json.dumps({"model_type": "bert"}))
    texts = [*TEXTS, "\ufb01 \u2460 CAT"]
    assert list(BertTokenizer.from_pretrained(saved)(texts)) == list(own(texts))
    assert theirs(saved)(texts)["input_ids"] == list(own(texts))


def test_threads_with_other_lengths_do_not_meet(tmp_path):
    own = BertTokenizer(backend(tmp_path))
    text = " ".join(["cats"] * 40)

    def lengths(length: int) -> set[int]:
        return set(own([text] * 50, max_length=length).lengths)

    wanted = [3 + number % 30 for number in range(300)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lengths, wanted)) == [{length} for length in wanted]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["a", None], "text 1 is a NoneType"),
        (["a", b"a"], "text 1 is a bytes"),
        ([["a", "b"]], "text 0 is a list"),
        ([("a", "b")], "text 0 is a tuple"),
        (["a", "a \ud800"], "text 1 is no valid Unicode"),
    ],
)
def test_what_is_no_text_is_named(texts, named, tmp_path):
    own = BertTokenizer(backend(tmp_path))
    with pytest.raises(UserError, match=named):
        own(texts)


def test_a_post_processor_of_another_form_is_refused(tmp_path):
    tokenizer = backend(tmp_path)
    tokenizer.post_processor = TemplateProcessing(
        single="$A:0 [SEP]:0", pair="$A:0 [SEP]:0 $B:1", special_tokens=[("[SEP]", 3)]
    )
    with pytest.raises(CheckpointError, match="post-processor"):
        BertTokenizer(tokenizer)

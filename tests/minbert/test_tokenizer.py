"""Token ids equal transformers' for every family and file format; unusable files are refused."""

import json
import random

import numpy as np
import pytest
from conftest import real_checkpoint, real_data, toy_sentences
from families import MULTILINGUAL, TOKENIZERS, byte_level_bpe, chinese, transformers
from tokenizers import Tokenizer, normalizers

from minbert import tokenizer
from minbert.packing import TokenSequences
from minbert.tokenizer import BertTokenizer
from runtime.errors import UserError

HURT = [
    "",
    " ",
    "\t\n \u3000",
    "nai\u0308ve cafe\u0301",
    "ÅNGSTRÖM İstanbul ß ﬁ①",
    "猫" * 300,
    "mixed漢字kana",
    "👩‍👩‍👧‍👦 ok 🇩🇪",
    "zero\u200bwidth\u200djoin\ufeff",
    "control\x00\x07\x1b[0m\x7f",
    "no\u00a0break\u2009thin",
    "[SEP] in [CLS] text [MASK] [PAD][UNK] [sep] not [Mask]",
    "<s> in </s> text <mask> <pad><unk> a<mask>b  <mask> <S>",
    "a" * 101,
    "word " * 2_000,
    "Antidisestablishmentarianism" * 20,
    "don't U.S.A. $3.50 50% (a-b)/c_d ...!?",
    "שלום עולם مرحبا ไทย",
    "\u0301alone",
    "\ufffd \ue000 \U000e0001",
    "  leading and  double   spaces ",
    "tab\tand\nnew\r\nlines\n",
    "ＦＵＬＬ ｗｉｄｔｈ № ½ ²",
    "x\u2028y\u2029z",
    "▁ as a letter",
    *MULTILINGUAL,
]
FAMILIES = ["roberta", "xlm-roberta", "bert", "minilm"]
PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog ##s q u x ##x ##u ##q a b c ##a ##b ##c é e"
LAST = len(PIECES.split())
TEXTS = ["the qux cat", "the QUX cats", "thequxcat", "<q> cat <Q>", "[QUX] dog", "É é e\u0301", ""]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return a function from a family to our tokenizer and transformers'."""
    known = {}

    def of(family: str):
        if family not in known:
            folder = (
                real_checkpoint()
                if family == "minilm"
                else TOKENIZERS[family](tmp_path_factory.mktemp(family))
            )
            known[family] = (BertTokenizer.from_pretrained(folder), theirs(folder))
        return known[family]

    return of


def theirs(folder, **more):
    return transformers.AutoTokenizer.from_pretrained(folder, **more)


def same_ids(own, reference, texts):
    found = own(texts, max_length=10**6)
    for text, ids, mine in zip(texts, reference(texts)["input_ids"], found, strict=True):
        assert mine == ids, text[:200]


def same_pairs(own, reference, firsts, seconds, length):
    """Compare ids, token types and where the first text ends."""
    expected = reference(
        firsts, seconds, truncation=True, max_length=length, return_token_type_ids=True
    )
    found = own(firsts, seconds, length)
    assert list(found) == expected["input_ids"]
    types = [found.pack([row]).token_type_ids.tolist() for row in range(len(found))]
    assert types == expected["token_type_ids"]
    for row, first in enumerate(found.first_lengths):
        numbers = expected.sequence_ids(row)
        # [CLS] a [SEP], or <s> a </s>: what follows belongs to b, its own separators included.
        assert numbers[0] is None and numbers[first - 1] is None
        assert numbers[1 : first - 1] == [0] * (first - 2) and 0 not in numbers[first:]


@pytest.mark.parametrize("family", FAMILIES)
def test_strings_that_hurt_get_the_same_ids(family, both):
    same_ids(*both(family), HURT)


@pytest.mark.parametrize(
    ("family", "name", "every"),
    [
        ("minilm", "cs224n/quora-dev.csv", 8),
        ("minilm", "transfer/rt-polarity.neg", 8),
        ("roberta", "wiki/wiki1m_head.txt", 30),
        ("xlm-roberta", "wiki/wiki1m_head.txt", 30),
        ("bert", "chinese/cnsd-sts-dev.txt", 8),
    ],
)
def test_real_files_get_the_same_ids(family, name, every, both):
    text = real_data(name).read_bytes().decode("utf-8", errors="replace")
    same_ids(*both(family), text.splitlines()[::every])


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_are_joined_and_cut_as_in_transformers(family, both):
    own, reference = both(family)
    firsts = [*toy_sentences(30), "a b c d e f g h", "x", "", "", "a</s>b"]
    seconds = [*MULTILINGUAL[-30:], "y", "a b c d e f g h", "", "x", "</s>"]
    for length in (512, 24, 13, 12, 6):
        same_pairs(own, reference, firsts, seconds, length)
    assert own.second_type == (0 if "roberta" in family else 1)


@pytest.mark.parametrize("side", ["left", "right"])
def test_long_texts_and_pairs_in_small_groups_get_transformers_ids(side, monkeypatch):
    monkeypatch.setattr(tokenizer, "CHUNK_CHARACTERS", 700)
    reference = theirs(real_checkpoint(), truncation_side=side)
    own = BertTokenizer.from_pretrained(real_checkpoint())
    own.truncation_side = side
    texts = [*HURT[:28], "\u0301" * 300, "e\u0301" * 150, "\x00\u200b\ufeff" * 300 + "end"]
    texts += toy_sentences(60, 5)
    others = random.Random(0).sample(texts, len(texts))
    for length in (24, 25, 128):
        cut = reference(texts, truncation=True, max_length=length)["input_ids"]
        assert list(own(texts, max_length=length)) == cut
        same_pairs(own, reference, texts, others, length)


@pytest.mark.parametrize("lowercase", [True, False])
def test_vocab_txt_alone_gives_the_same_ids(lowercase, tmp_path):
    chinese(tmp_path)
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    own = BertTokenizer.from_pretrained(tmp_path)
    same_ids(own, theirs(tmp_path), HURT)
    pieces = [own.backend.id_to_token(index) for index in own(["这只猫 cats在河边睡觉。"])[0]]
    assert pieces == ["[CLS]", *"这只猫", "cat", "##s", *"在河边睡觉。", "[SEP]"]


def test_a_byte_level_vocabulary_may_add_a_space_before_the_first_word(tmp_path):
    byte_level_bpe(tmp_path, add_prefix_space=True)
    same_ids(BertTokenizer.from_pretrained(tmp_path), theirs(tmp_path), HURT)


@pytest.mark.parametrize("where", ["special_tokens_map", "tokenizer_config", "decoder", "nowhere"])
def test_whether_a_mask_takes_the_space_before_it_is_read_where_it_is_stated(where, tmp_path):
    byte_level_bpe(tmp_path)
    mask = {"content": "<mask>", "lstrip": True, "rstrip": False, "single_word": False}
    mask |= {"normalized": False, "special": True}
    (tmp_path / "special_tokens_map.json").unlink()
    settings = {"tokenizer_config": {"mask_token": {**mask, "__type": "AddedToken"}}}
    settings |= {"decoder": {"added_tokens_decoder": {"4": mask}}, "nowhere": {}}
    if where == "special_tokens_map":
        (tmp_path / "special_tokens_map.json").write_text(json.dumps({"mask_token": mask}))
    else:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings[where]))
    own = BertTokenizer.from_pretrained(tmp_path)
    same_ids(own, theirs(tmp_path), ["the <mask> sees  <mask>"])


@pytest.mark.parametrize("family", FAMILIES)
def test_saving_keeps_the_ids_here_and_in_transformers(family, both, tmp_path):
    own, first = both(family)
    own(["truncated"], max_length=3)  # must leave no trace in the file
    own.save(tmp_path, 512)
    kind = "bert" if family == "minilm" else family
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    reference, again = theirs(tmp_path), BertTokenizer.from_pretrained(tmp_path)
    same_ids(again, reference, HURT)
    assert list(again(HURT)) == list(own(HURT))
    assert again.fingerprint() == own.fingerprint()
    assert reference.model_max_length == 512
    for name in ("cls", "sep", "mask", "pad"):
        found = {getattr(t, f"{name}_token_id") for t in (first, reference)}
        assert found == {getattr(own, f"{name}_id")}
    assert own.special_ids == (own.cls_id, own.sep_id, own.pad_id)


def write(folder, pieces=(), settings=None, added=None):
    """Write a small vocab.txt and what stands beside it."""
    folder.mkdir(exist_ok=True)
    lines = "".join(f"{piece}\n" for piece in pieces or PIECES.split())
    (folder / "vocab.txt").write_text(lines, "utf-8")
    casing = {"tokenizer_class": "BertTokenizer", **(settings or {})}
    (folder / "tokenizer_config.json").write_text(json.dumps(casing))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    if added:
        (folder / "added_tokens.json").write_text(json.dumps(added))
    return folder


def backend(folder) -> Tokenizer:
    return BertTokenizer.from_pretrained(write(folder)).backend


def saved(own, folder):
    """Save a tokenizer, and return what we and transformers load of it."""
    folder.mkdir()
    own.save(folder, 64)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    return BertTokenizer.from_pretrained(folder), theirs(folder)


def decoder(content, **options):
    flags = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word", "special"), False)
    return {"content": content, **flags, **options}


@pytest.mark.parametrize(
    ("settings", "added"),
    [
        ({}, {"<q>": LAST + 1, "qux": LAST}),
        ({}, {"QUX": LAST}),
        ({"added_tokens_decoder": {str(LAST): decoder("qux", normalized=True)}}, None),
        ({"added_tokens_decoder": {str(LAST): decoder("qux", single_word=True)}}, None),
        ({"added_tokens_decoder": {str(LAST): decoder("[QUX]", special=True)}}, {"<q>": LAST}),
        ({"added_tokens_decoder": {"6": decoder("cat"), "3": decoder("[SEP]")}}, None),
    ],
    ids=range(6),
)
def test_tokens_added_beside_a_vocabulary_are_known(settings, added, tmp_path):
    folder = write(tmp_path, settings=settings, added=added)
    own = BertTokenizer.from_pretrained(folder)
    assert list(own(TEXTS)) == theirs(folder)(TEXTS)["input_ids"]
    again, reference = saved(own, folder / "saved")
    assert list(again(TEXTS)) == list(own(TEXTS)) == reference(TEXTS)["input_ids"]
    assert not (folder / "saved" / "vocab.txt").exists()  # which would not hold them


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_side_that_is_cut_is_read_and_saved(side, tmp_path):
    folder = write(tmp_path, settings={"truncation_side": side})
    own, reference = BertTokenizer.from_pretrained(folder), theirs(folder)
    texts = [" ".join("the cat dog cats qux a b".split() * k) for k in range(5)]
    for length in (3, 4, 9, 24):
        expected = reference(texts, truncation=True, max_length=length)["input_ids"]
        assert list(own(texts, max_length=length)) == expected
    again, _ = saved(own, folder / "saved")
    assert list(again(texts, max_length=9)) == list(own(texts, max_length=9))
    other = BertTokenizer.from_pretrained(write(tmp_path / "plain"))
    assert (own.fingerprint() == other.fingerprint()) == (side == "right")
    # A tokenizer.json may state the side itself.
    other.backend.enable_truncation(5, direction=side)
    assert BertTokenizer(other.backend).fingerprint() == own.fingerprint()


def test_a_piece_on_two_lines_keeps_its_ids_when_saved(tmp_path):
    pieces = [*PIECES.split(), "zz", "b"]
    own = BertTokenizer.from_pretrained(write(tmp_path, pieces))
    assert own.vocab_size == len(pieces)
    texts = ["a b c the cats zz", "b"]
    assert list(own(texts)) == theirs(tmp_path)(texts)["input_ids"]
    again, reference = saved(own, tmp_path / "saved")
    assert reference(texts)["input_ids"] == list(again(texts)) == list(own(texts))
    assert not (tmp_path / "saved" / "vocab.txt").exists()  # which would have a line less


def test_another_normalizer_is_saved_as_it_is(tmp_path):
    other = backend(tmp_path)
    other.normalizer = normalizers.NFKC()
    own = BertTokenizer(other)
    again, reference = saved(own, tmp_path / "saved")
    texts = [*TEXTS, "\ufb01 \u2460 CAT"]
    assert list(again(texts)) == list(own(texts)) == reference(texts)["input_ids"]


def test_large_vocabularies_need_four_bytes(tmp_path):
    parts = json.loads(backend(tmp_path).to_str())
    assert BertTokenizer(Tokenizer.from_str(json.dumps(parts)))(["dog"]).ids.dtype == np.uint16
    parts["model"]["vocab"]["dog"] = 2**17  # far beyond the number of pieces
    own = BertTokenizer(Tokenizer.from_str(json.dumps(parts)))
    assert own.vocab_size == 2**17 + 1
    assert own(["the dog"]).ids.dtype == np.int32 and own(["the dog"])[0][2] == 2**17


def test_no_texts_give_no_sequences(tiny_encoder):
    sequences = tiny_encoder.tokenizer([])
    assert isinstance(sequences, TokenSequences) and len(sequences) == 0


def test_too_little_room_for_the_special_tokens_is_refused(tmp_path):
    own = BertTokenizer(backend(tmp_path))
    assert own(["a"], max_length=2).lengths.tolist() == [2]
    with pytest.raises(UserError, match="max_length is 2; the special tokens need 1 more"):
        own(["a"], ["b"], max_length=2)

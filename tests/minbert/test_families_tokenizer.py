"""Token ids of RoBERTa's, XLM-R's and Chinese BERT's vocabularies equal transformers'."""

import json

import numpy as np
import pytest
from conftest import real_data, toy_sentences
from families import MULTILINGUAL, TOKENIZERS, byte_level_bpe, chinese, transformers, unigram
from test_tokenizer import HURT

from minbert.config import CheckpointError
from minbert.tokenizer import BertTokenizer

FAMILIES = pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "bert"])
HURT_MORE = [
    *HURT,
    *MULTILINGUAL,
    "  leading and  double   spaces ",
    "\n\nlines\n",
    "<s> in </s> text <mask> <pad><unk>",
    "a<mask>b <mask> c  <mask>",
    "<S> </S>",
    "▁ as a letter",
    "猫" * 300,
    "Antidisestablishmentarianism" * 20,
]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return a function from a family to our tokenizer and transformers'."""
    known = {}

    def of(family: str):
        if family not in known:
            folder = TOKENIZERS[family](tmp_path_factory.mktemp(family))
            reference = transformers.AutoTokenizer.from_pretrained(folder)
            known[family] = (BertTokenizer.from_pretrained(folder), reference)
        return known[family]

    return of


def same_ids(own, reference, texts):
    found = own(texts, max_length=10**6)
    for text, ids, mine in zip(texts, reference(texts)["input_ids"], found, strict=True):
        assert mine == ids, text[:200]


@FAMILIES
def test_strings_that_hurt_get_the_same_ids(family, both):
    same_ids(*both(family), HURT_MORE)


@pytest.mark.parametrize("family", ["roberta", "bert"])
@pytest.mark.parametrize(
    ("name", "every"), [("chinese/cnsd-sts-dev.txt", 2), ("chinese/ocnli_sup_train_data.csv", 40)]
)
def test_real_chinese_files_get_the_same_ids(family, name, every, both):
    same_ids(*both(family), real_data(name).read_text("utf-8").splitlines()[::every])


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta"])
@pytest.mark.parametrize("name", ["cs224n/sts-dev.csv", "wiki/wiki1m_head.txt"])
def test_real_english_files_get_the_same_ids(family, name, both):
    same_ids(*both(family), real_data(name).read_text("utf-8", errors="replace").splitlines()[::5])


@FAMILIES
def test_pairs_are_joined_and_cut_as_in_transformers(family, both):
    own, reference = both(family)
    firsts = [*toy_sentences(30), "a b c d e f g h", "x", "", "", "a</s>b"]
    seconds = [*MULTILINGUAL[-30:], "y", "a b c d e f g h", "", "x", "</s>"]
    for length in (512, 24, 13, 12, 6):
        expected = reference(
            firsts, seconds, truncation="longest_first", max_length=length,
            return_token_type_ids=True,
        )  # fmt: skip
        found = own(firsts, seconds, max_length=length)
        types = [found.pack([row]).token_type_ids.tolist() for row in range(len(found))]
        assert list(found) == expected["input_ids"]
        assert types == expected["token_type_ids"]
        assert own.second_type == (1 if family == "bert" else 0)
        for row, first in enumerate(found.first_lengths):
            numbers = expected.sequence_ids(row)
            # [CLS] a [SEP], or <s> a </s>: what follows belongs to b, its own separators included.
            assert numbers[0] is None and numbers[first - 1] is None
            assert numbers[1 : first - 1] == [0] * (first - 2) and 0 not in numbers[first:]


@pytest.mark.parametrize("add_prefix_space", [False, True])
@pytest.mark.parametrize("files", ["vocab.json and merges.txt", "tokenizer.json"])
def test_both_forms_of_a_byte_level_vocabulary_give_the_same_ids(add_prefix_space, files, tmp_path):
    byte_level_bpe(tmp_path, add_prefix_space)
    reference = transformers.AutoTokenizer.from_pretrained(tmp_path)
    if files == "tokenizer.json":
        reference.save_pretrained(tmp_path)
        (tmp_path / "vocab.json").unlink()
        (tmp_path / "merges.txt").unlink()
    same_ids(BertTokenizer.from_pretrained(tmp_path), reference, HURT_MORE)


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
    reference = transformers.AutoTokenizer.from_pretrained(tmp_path)
    same_ids(BertTokenizer.from_pretrained(tmp_path), reference, ["the <mask> sees  <mask>"])


@FAMILIES
def test_special_tokens_are_those_of_the_vocabulary(family, both):
    own, reference = both(family)
    names = ("cls_id", "sep_id", "mask_id", "pad_id")
    found = tuple(getattr(own, name) for name in names)
    assert found == tuple(getattr(reference, f"{name[:-3]}_token_id") for name in names)
    assert own.special_ids == (own.cls_id, own.sep_id, own.pad_id)


@FAMILIES
def test_saving_keeps_the_ids_here_and_in_transformers(family, both, tmp_path):
    own, _ = both(family)
    own(["truncated"], max_length=3)  # must leave no trace in the file
    own.save(tmp_path, 512)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    reference = transformers.AutoTokenizer.from_pretrained(tmp_path)
    again = BertTokenizer.from_pretrained(tmp_path)
    same_ids(again, reference, HURT_MORE)
    assert list(again(HURT_MORE)) == list(own(HURT_MORE))
    assert again.fingerprint() == own.fingerprint()
    assert reference.model_max_length == 512
    for name in ("cls", "sep", "mask", "pad"):
        assert getattr(reference, f"{name}_token_id") == getattr(own, f"{name}_id")


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_chinese_vocabulary_splits_every_character(lowercase, tmp_path):
    chinese(tmp_path)
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": lowercase}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    own = BertTokenizer.from_pretrained(tmp_path)
    same_ids(own, transformers.AutoTokenizer.from_pretrained(tmp_path), HURT_MORE)
    ids = own(["这只猫 cats在河边睡觉。"])[0]
    pieces = [own.backend.id_to_token(index) for index in ids]
    assert pieces == ["[CLS]", *"这只猫", "cat", "##s", *"在河边睡觉。", "[SEP]"]


def test_a_multilingual_vocabulary_needs_four_bytes(tmp_path):
    unigram(tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    content["model"]["vocab"] += [[f"▁word{i}", -20.0] for i in range(70_000)]
    content["added_tokens"][-1]["id"] = len(content["model"]["vocab"])
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    own = BertTokenizer.from_pretrained(tmp_path)
    found = own(["word69999 <mask>"])
    assert found.ids.dtype == np.int32 and found[0][-2] == own.mask_id > 70_000
    assert own.backend.id_to_token(found[0][1]) == "▁word69999"


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"vocab.json": "{}"}, "no tokenizer; .*merges.txt"),
        ({"sentencepiece.bpe.model": ""}, "sentencepiece"),
        ({"vocab.json": "{", "merges.txt": ""}, r"vocab\.json, merges\.txt"),
        ({"vocab.json": '{"<s>": 0}', "merges.txt": "a b\n"}, r"merges\.txt"),
        ({"vocab.json": '{"<s>": 0, "<pad>": 1}', "merges.txt": ""}, r"vocab\.json: has no </s>"),
        ({"vocab.json": "{}", "merges.txt": "", "tokenizer_config.json": "[1]"}, "tokenizer_conf"),
    ],
)
def test_unusable_files_are_named_in_one_line(files, named, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(CheckpointError, match=named) as error:
        BertTokenizer.from_pretrained(tmp_path)
    assert "\n" not in str(error.value)

"""The leak audit: planted overlaps are caught, whatever their case, punctuation or order."""

import random

import numpy as np
import pytest
from reading import error_of, write

from baselines.jaccard import words as words_of
from data.examples import Sentence, SentencePair
from data.overlap import Seen, normalise, noted, overlap, read_as, text_hash, write_digests
from data.pairs import read_pairs
from data.trained_on import note_file
from minbert.hub import MINI
from minbert.spelling import spellings
from minbert.tokenizer import BertTokenizer


def has_text(seen, text):
    return overlap([Sentence("", text)], seen).share_sentences == 1


def has_pair(seen, text_a, text_b):
    return overlap([SentencePair("", text_a, text_b)], seen).share_pairs == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  A Kite,   above the Harbour! ", "a kite above the harbour"),
        ("snake_case-and/slash", "snake case and slash"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
        ("ｆｕｌｌ ２", "full 2"),
        ("Это Кит.", "это кит"),
        ("风筝,很高。", "风筝 很高"),
        ("पिता घर पर है।", "पिता घर पर है"),
        (
            "zero\u200bwidth so\u00adft \ufeffx \u200fy wo\u2060rd I\ufe0f",
            "zerowidth soft x y word i",
        ),
        ("?!", ""),
    ],
)
def test_normalise_keeps_letters_and_digits_of_any_script(text, expected):
    assert normalise(text) == expected


HINDI = [
    f"{who} {what}" for who in ("पिता", "पोता", "माता") for what in ("नर", "नोर", "दिन", "दीन")
]
# What an uncased encoder does not see.
UNSEEN = {
    "soft hyphen": lambda t: t.replace("e", "e\u00ad"),
    "zero-width space": lambda t: t.replace("e", "e\u200b"),
    "byte order mark": lambda t: f"\ufeff{t}",
    "right-to-left mark": lambda t: f"{t}\u200f",
    "word joiner": lambda t: t.replace("a", "a\u2060"),
    "variation selector": lambda t: t.replace("a", "a\ufe0f"),
    "accents": lambda t: t.replace("e", "é").replace("a", "ä"),
    "control": lambda t: t.replace("e", "e\x7f\x80"),
}


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN)
def test_texts_of_equal_pieces_are_one_text_in_splits_overlap_and_words(change, tmp_path):
    """Else half of the test rows had a train row of equal embeddings, and random labels scores."""
    draw = random.Random(3)
    words = ("kite", "harbour", "lantern", "meadow", "ferry", "anchor", "cellar", "orchard")
    rows, seen = [], Seen()
    for n in range(120):
        texts = [" ".join(draw.sample(words, 4)) + f" {n} {side}" for side in "ab"]
        label = draw.randrange(2)
        rows += [(*texts, label), (*map(change, reversed(texts)), label)]
    lines = ["sentence1\tsentence2\tlabel", *("\t".join(map(str, row)) for row in rows)]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    tokenizer = BertTokenizer.from_pretrained(MINI)
    ids = [tokenizer.backend.encode(text).ids for text in rows[0][:2]]
    assert [tokenizer.backend.encode(text).ids for text in rows[1][1::-1]] == ids
    with read_as(spellings([str(MINI)])):
        splits = read_pairs([str(path)]).splits
        seen.add_examples(splits.train)
        assert overlap(splits.test, seen).share_sentences == 0
        assert words_of(change("a kite")) == words_of("a kite")
    assert normalise("café") == "café"  # outside of the block nothing drops accents
    pieces = {tuple(tokenizer.backend.encode(t).ids) for row in splits.train for t in row.texts}
    tested = {tuple(tokenizer.backend.encode(t).ids) for row in splits.test for t in row.texts}
    assert not pieces & tested


def test_different_texts_of_other_scripts_stay_different():
    assert len({normalise(text) for text in HINDI}) == len(HINDI)
    with read_as(spellings([str(MINI)])):  # whose vocabulary has these letters
        assert len({normalise(text) for text in HINDI}) == len(HINDI)


def test_hashes_are_the_same_in_every_process():
    # Fixed values: Python's own hash() would change with every start.
    assert text_hash("A kite, above the harbour!") == text_hash("a KITE above the harbour")
    assert text_hash("a kite above the harbour") == 0x1A54D5423791310E


def test_planted_sentences_are_caught_and_others_are_not():
    seen = Seen()
    seen.add_texts(iter(["The kite is red.", "The kite is blue."]))
    examples = [
        Sentence("1", "the kite is RED", 0),
        Sentence("2", "The kite is green.", 1),
        Sentence("3", "The kite is blue !", 1),
        Sentence("4", "The kite", 1),
    ]
    shares = overlap(examples, seen)
    assert shares.shared.tolist() == [True, False, True, False]
    assert shares.share_sentences == 0.5
    assert shares.pairs.tolist() == [False] * 4 and shares.share_pairs == 0.0


def test_pairs_are_unordered_and_their_texts_count_as_texts():
    seen = Seen()
    seen.add_pairs(iter([("Rain falls.", "It rains."), ("Snow falls.", "It snows.")]))
    examples = [
        SentencePair("1", "it rains", "rain falls"),  # the pair, turned round
        SentencePair("2", "Rain falls.", "It snows."),  # both texts, never as a pair
        SentencePair("3", "Hail falls.", "It snows."),  # one text
        SentencePair("4", "Hail falls.", "It hails."),
    ]
    shares = overlap(examples, seen)
    assert shares.shared.tolist() == [True, True, True, False]
    assert shares.pairs.tolist() == [True, False, False, False]
    assert (shares.share_sentences, shares.share_pairs) == (0.75, 0.25)
    assert has_text(seen, "SNOW falls") and not has_text(seen, "hail falls")
    assert has_pair(seen, "it snows", "snow falls") and not has_pair(seen, "it snows", "it rains")


def test_nothing_seen_and_nothing_asked_give_zero_shares():
    pairs = [SentencePair("1", "a", "b")]
    assert len(Seen().texts) == len(Seen().pairs) == 0
    assert overlap(pairs, Seen()).share_sentences == 0.0
    empty = overlap([], Seen())
    assert empty.shared.shape == (0,) and empty.share_sentences == empty.share_pairs == 0.0


def test_a_stream_is_noted_while_it_passes_and_equals_noting_it_apart():
    texts = ["One.", "two", "TWO!", "three", "One."]
    ours, theirs = Seen(), Seen()
    for seen in (ours, theirs):
        seen.add_texts(["zero", "two"])
    stream = noted(iter(texts), ours)
    assert next(stream) == "One." and not has_text(ours, "one")
    assert list(stream) == texts[1:]
    theirs.add_texts(texts)
    np.testing.assert_array_equal(ours.texts, theirs.texts)
    assert len(ours.texts) == 4 and ours.texts.dtype == np.uint64  # nothing is there twice
    assert list(noted([], ours)) == [] and len(ours.texts) == 4


def test_a_stream_that_breaks_off_notes_nothing():
    def broken():
        yield "one"
        raise ValueError("line 2")

    seen = Seen()
    with pytest.raises(ValueError, match="line 2"):
        list(noted(broken(), seen))
    stream = noted(["one", "two"], seen)
    next(stream)
    stream.close()
    assert len(seen.texts) == 0


# --- the digests of what an encoder that ships has read


def test_digests_name_the_texts_that_were_read_and_no_others(tmp_path):
    path = tmp_path / "read.digests.xz"
    write_digests((f"Kite {number}." for number in range(2000)), path)
    seen = noted_of(path)
    assert len(seen.digests) == 2000 and not len(seen.texts) and path.stat().st_size < 4 * 2000
    # Fixed, as files that ship must keep their meaning: the first 40 bits of BLAKE2b.
    assert text_hash("KITE 7") >> 24 in seen.digests.tolist()
    examples = [Sentence("", f"kite {number}") for number in range(1990, 3000)]
    assert overlap(examples, seen).shared.tolist() == [True] * 10 + [False] * 1000
    # Single texts are known, not which of them were pairs.
    assert not has_pair(seen, "kite 1", "kite 2") and has_text(seen, "kite 2")
    seen.add_texts(["A heron."])
    assert has_text(seen, "a heron") and has_text(seen, "kite 3")


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"kite" + b, lambda b: b""])
def test_damaged_digests_are_refused(tmp_path, damage):
    path = tmp_path / "read.digests.xz"
    write_digests(["A kite.", "A heron."], path)
    path.write_bytes(damage(path.read_bytes()))
    assert "read.digests.xz: not a whole file of digests" in error_of(noted_of, path)


# --- files that something was trained on

STS = "\tid\tsentence1\tsentence2\tsimilarity\n"


def noted_of(path):
    seen = Seen()
    note_file(path, seen)
    return seen


NLI = "premise\thypothesis\tlabel\n"


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("sts-train.csv", STS + "7\ta1\tA cat .\tA dog .\t3\n", ("a cat", "a dog")),
        ("pairs.tsv", NLI + "A cat .\tA dog .\tneutral\n", ("A dog", "a cat")),
        # A quotation mark at the start is a part of the sentence.
        ("nli.tsv", NLI + '"A hen\tA cow\tneutral\nA cat\tA dog\tneutral\n', ("a cat", "a dog")),
        ("sts-dev.csv", "g\tf\t2012\t0001\t2.6\tA cat .\tA dog .\n", ("a cat", "a dog")),
        ("cnsd-sts-train.txt", "1||A cat .||A dog .||3\n", ("a cat", "a dog")),
        ("SICK_train.txt", "1\tA cat .\tA dog .\t3.5\tNEUTRAL\n", ("a cat", "a dog")),
        ("msr.txt", "1\t12\t13\tA cat .\tA dog .\n", ("a cat", "a dog")),
        (
            "msr_paraphrase_train.txt",
            "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tA cat\tA dog\n",
            ("a cat", "a dog"),
        ),
        ("nli.csv", "sent0,sent1,hard_neg\nA cat .,A dog .,No cat .\n", ("a cat", "no cat")),
        ("wiki.txt", '"A cat .\nNo dog, here\n', ("no dog here",)),
        ("ids-sst-train.csv", "\tid\tsentence\tsentiment\n0\tx\tA film .\t4\n", ("a film",)),
        ("train.label", "DESC:def What is a cat ?\n", ("what is a cat",)),
    ],
)
def test_texts_and_pairs_are_noted_from_every_format(tmp_path, name, content, texts):
    seen = noted_of(write(tmp_path, content, name))
    assert (has_pair if len(texts) == 2 else has_text)(seen, *texts)
    assert not has_pair(seen, "a dog", "no cat")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("own.csv", "Question1,Question2,is_duplicate\na dog,no cat,1\n"),
        ("own.tsv", "id\ttext_a\ttext_b\tscore\n1\ta dog\tno cat\t3.5\nbroken\n"),
        ("own.jsonl", '{"query": "a dog", "pos": "no cat"}\n'),
        ("nli.txt", "gold_label\tsentence1\tsentence2\nneutral\ta dog\tno cat\n"),
    ],
)
def test_pairs_of_any_table_are_noted(name, content, tmp_path):
    seen = noted_of(write(tmp_path, content, name))
    assert has_pair(seen, "a dog", "no cat") and not has_pair(seen, "a dog", "a dog")


@pytest.mark.parametrize("content", ["a dog\tno cat\nthe sea\tthe wind\n", "a dog,no cat\n"])
def test_a_table_without_a_header_is_not_taken_for_lines_of_text(content, tmp_path):
    path = write(tmp_path, content, "own.csv")
    assert ":1: " in error_of(noted_of, path)


def test_commas_of_sentences_separate_nothing(tmp_path):
    path = write(tmp_path, "a dog, no cat\nthe sea, the wind\n", "sentences.txt")
    seen = noted_of(path)
    assert has_text(seen, "a dog, no cat") and not has_pair(seen, "a dog", "no cat")


def test_a_table_of_no_known_format_is_refused(tmp_path):
    path = write(tmp_path, "links\trechts\twas\nx y\tz\t3\nu v\tw\t4\n", "own.tsv")
    assert "own.tsv:1: 3 fields with a tab between them" in error_of(noted_of, path)

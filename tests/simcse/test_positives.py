"""Second views made of words: properties of each, and the stream that they come in."""

import logging
import math
from collections import Counter
from random import Random

import pytest
from conftest import toy_sentences

from data.examples import DataError
from simcse.config import POSITIVES
from simcse.positives import (
    crop,
    delete,
    delete_one,
    following,
    iter_pairs,
    replace_by_synonym,
    synonyms,
)


def numbered(count: int) -> list[str]:
    return [str(place) for place in range(count)]


@pytest.mark.parametrize(("size", "share"), [(1, 0.3), (2, 0.3), (2, 0.9), (7, 0.3)])
@pytest.mark.parametrize("change", [crop, delete])
def test_a_share_of_the_words_goes_and_the_others_keep_their_order(change, size, share):
    draw, words, gone, begins = Random(1), numbered(size), Counter(), set()
    most = size - 1  # one word is always left
    for _ in range(2000):
        left = change(words, draw, share)
        assert left == [word for word in words if word in left]
        lost = size - len(left)
        assert lost in {min(most, math.floor(share * size)), min(most, math.ceil(share * size))}
        gone.update(set(words) - set(left))
        if change is crop:  # a span
            assert int(left[-1]) - int(left[0]) == len(left) - 1
            begins.add(int(left[0]))
    if share * size <= most:
        assert gone.total() / 2000 == pytest.approx(share * size, abs=0.05)
        if change is crop:
            assert max(begins) == math.ceil(share * size)  # every place occurs, the last one too
        else:
            for word in words:
                assert gone[word] / 2000 == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_one_word_is_deleted_unless_it_is_the_only_one(size):
    draw, words, gone = Random(3), numbered(size), set()
    for _ in range(500):
        left = delete_one(words, draw)
        gone |= set(words) - set(left)
        assert len(left) == max(1, size - 1) and left == [w for w in words if w in left]
    assert gone == (set(words) if size > 1 else set())


DOCUMENTS = [["a", "b", "c", "d"], ["e"], ["f", "g"]]
LINES = ["", *DOCUMENTS[0], "", "", *DOCUMENTS[1], "", *DOCUMENTS[2]]


@pytest.mark.parametrize("most", [1, 3])
def test_a_positive_is_one_of_the_next_lines_of_its_document(most):
    allowed = {
        anchor: lines[place + 1 : place + 1 + most]
        for lines in DOCUMENTS
        for place, anchor in enumerate(lines[:-1])
    }
    met = {anchor: Counter() for anchor in allowed}
    draw = Random(4)
    for _ in range(600):
        pairs = list(following(LINES, most, draw))
        assert [pair.anchor for pair in pairs] == list(allowed)
        for pair in pairs:
            met[pair.anchor][pair.positive] += 1
    for anchor, choices in allowed.items():
        assert set(met[anchor]) == set(choices)
        assert min(met[anchor].values()) > 600 / len(choices) - 80  # equally likely


@pytest.mark.parametrize("name", POSITIVES[1:])
def test_every_file_has_the_same_pairs_every_time(name, tmp_path):
    path, texts = tmp_path / "lines.txt", toy_sentences(50)
    path.write_text("\n".join([*texts[:30], "", *texts[30:]]))
    pairs = list(iter_pairs(path, name))
    assert pairs == list(iter_pairs(path, name))
    assert len(pairs) == (48 if name.startswith("next") else 50)
    if not name.startswith("next"):
        assert [pair.anchor for pair in pairs] == texts
        changed = sum(pair.positive != pair.anchor for pair in pairs)
        assert (changed == 0) == (name == "mlm")  # its tokens are replaced later
        part = list(iter_pairs(path, name, share=0.5))
        assert (part != pairs) == ("crop" in name or name == "delete")


def test_one_known_word_becomes_a_synonym_in_its_own_form():
    draw, met = Random(5), set()
    for _ in range(200):
        words = 'The "Boys" Quickly peeled two roommates, (friendly) xyzzy.'.split()
        other = replace_by_synonym(words, draw)
        (place,) = [
            i for i, pair in enumerate(zip(words, other, strict=True)) if len(set(pair)) > 1
        ]
        met.add((words[place], other[place]))
    assert ("roommates,", "flatmates,") in met and ("(friendly)", "(kind)") in met
    assert ("Quickly", "Rapidly") in met
    assert not {"xyzzy.", "The", "two"} & {before for before, _ in met}
    assert replace_by_synonym(["xyzzy", "plugh"], draw) == ["xyzzy", "plugh"]


def test_synonyms_go_both_ways_and_are_never_the_word_itself():
    known = synonyms()
    assert len(known) > 1000 and known["happy"] == ("cheerful",)
    for word, others in known.items():
        assert " " not in word and word not in others and list(others) == sorted(set(others))
        assert all(word in known[other] for other in others if " " not in other)


def test_lines_without_successors_are_refused_by_file(tmp_path):
    path = tmp_path / "lines.txt"
    for content, said in (("one\n\ntwo\n", "no line is followed"), ("\n\n", "is empty")):
        path.write_text(content)
        with pytest.raises(DataError, match=rf"lines\.txt: {said}"):
            iter_pairs(path, "next")


def test_the_share_of_changed_sentences_is_said(tmp_path, caplog):
    path = tmp_path / "lines.txt"
    path.write_text("xyzzy plugh\na happy boy\nplugh\nxyzzy\n")
    with caplog.at_level(logging.WARNING):
        list(iter_pairs(path, "synonym"))
        assert "--positive synonym: 25.0% of 4 sentences are changed; 3 stay" in caplog.text
        caplog.clear()
        list(iter_pairs(path, "mlm"))
        path.write_text("a b\nb c\n")
        list(iter_pairs(path, "delete-one"))
        assert not caplog.text

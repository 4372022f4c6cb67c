"""Which sentences an example of the other objectives consists of, and the reader of NLI pairs."""

import numpy as np
import pytest
from conftest import real_data, toy_sentences
from toy_objectives import nli_pairs

from baselines.views import NEGATIVES, bags, labelled_pairs, single
from data.examples import DataError
from data.overlap import Seen
from data.readers.nli import LABELS, iter_nli


def test_labelled_pairs_are_two_views_and_a_class(tiny_encoder):
    data = labelled_pairs(iter(nli_pairs(9)), tiny_encoder.tokenizer, 32)
    assert data.rows.tolist() == [[2 * i, 2 * i + 1] for i in range(9)]
    assert data.labels.tolist() == [0, 1, 2] * 3
    decode = tiny_encoder.tokenizer.backend.decode
    assert decode(data.sequences[1]) == nli_pairs(9)[0].text_b


def test_a_bag_is_a_sentence_with_itself_and_seven_others(tiny_encoder):
    data = bags(iter(toy_sentences(10)), tiny_encoder.tokenizer, 32)
    assert data.rows.shape == (10, 2 + NEGATIVES)
    own = np.arange(10)
    assert np.array_equal(data.rows[:, 0], own) and np.array_equal(data.rows[:, 1], own)
    others = data.rows[:, 2:]
    assert not (others == own[:, None]).any() and set(others.ravel()) == set(own.tolist())
    again = bags(iter(toy_sentences(10)), tiny_encoder.tokenizer, 32)
    assert np.array_equal(data.rows, again.rows)


def test_a_single_sentence_makes_no_bag(tiny_encoder):
    with pytest.raises(DataError, match="two or more"):
        bags(["the cat"], tiny_encoder.tokenizer, 32)


@pytest.mark.parametrize("views", [bags, single])
def test_sentences_are_noted_on_the_way_to_token_ids(views, tiny_encoder):
    seen, texts = Seen(), toy_sentences(5)
    data = views(texts, tiny_encoder.tokenizer, 32, seen)
    assert all(map(seen.has_text, texts)) and len(data.sequences) == 5


HEADER = "premise\thypothesis\tlabel\tsource\n"


def write(folder, content):
    path = folder / "nli.tsv"
    path.write_text(content, encoding="utf-8")
    return path


def test_nli_rows_are_pairs_with_the_number_of_their_class(tmp_path):
    rows = 'a\t"b\tentailment\tx\nc\td\tneutral\ty\ne\tf\t-\tz\ng\th\tcontradiction\n'
    found = list(iter_nli(write(tmp_path, HEADER + rows)))
    assert [pair.texts for pair in found] == [("a", '"b'), ("c", "d"), ("g", "h")]
    assert [pair.label for pair in found] == [0.0, 1.0, 2.0]
    assert [pair.id for pair in found] == ["2", "3", "5"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no labelled pair"),
        (HEADER, "holds no labelled pair"),
        ("premise\tlabel\n", "nli.tsv:1: no column 'hypothesis'"),
        (HEADER + "a\tb\n", "nli.tsv:2: 2 tab-separated fields"),
        (HEADER + "a\tb\tmaybe\n", "nli.tsv:2: label is 'maybe'"),
        (HEADER + "a\t\tneutral\n", "nli.tsv:2: a sentence is empty"),
    ],
)
def test_a_broken_nli_file_is_named_with_its_line(content, said, tmp_path):
    with pytest.raises(DataError, match=said):
        list(iter_nli(write(tmp_path, content)))


def test_the_real_pairs_are_all_read():
    labels = [pair.label for pair in iter_nli(real_data("nli/nli_pairs.tsv"))]
    assert len(labels) == 73_996 and set(labels) == set(LABELS.values())

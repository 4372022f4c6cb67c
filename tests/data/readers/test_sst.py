"""SST and CFIMDB: the published counts, and one clear error for every wrong label."""

from collections import Counter

import pytest
from conftest import real_data
from reading import error_of, plain_rows, write

from data.examples import Sentence
from data.tasks import read_sst

SST = "\tid\tsentence\tsentiment\n"


def test_sst_train_has_the_published_label_counts():
    labels = Counter(sentence.label for sentence in read_sst(real_data("cs224n/ids-sst-train.csv")))
    assert labels == {0: 1092, 1: 2218, 2: 1624, 3: 2322, 4: 1288}


def test_cfimdb_reads_as_two_classes():
    train = read_sst(real_data("cs224n/ids-cfimdb-train.csv"), num_classes=2)
    dev = read_sst(real_data("cs224n/ids-cfimdb-dev.csv"), num_classes=2)
    assert (len(train), len(dev)) == (1707, 245)
    assert {sentence.label for sentence in train + dev} == {0, 1}


def test_sst_equals_a_plain_csv_pass():
    for name in ("ids-sst-train.csv", "ids-sst-dev.csv"):
        assert read_sst(real_data(f"cs224n/{name}")) == [
            Sentence(row["id"].strip().lower(), row["sentence"].strip(), int(row["sentiment"]))
            for row in plain_rows(real_data(f"cs224n/{name}"))
        ]


def test_ids_are_lower_cased_and_texts_stripped_only(tmp_path):
    path = write(tmp_path, SST + "0\t AB1 \t  Two  Blanks , kept \t3\n")
    assert read_sst(path) == [Sentence("ab1", "Two  Blanks , kept", 3)]


def test_the_odd_sst_test_header_reads_unlabelled(tmp_path):
    path = write(tmp_path, "0\t\tid\tsentence\n1\t0.0\tk1\tA tidy little film\n")
    assert read_sst(path, labelled=False) == [Sentence("k1", "A tidy little film")]


@pytest.mark.parametrize("label", ["", "good", "5", "-1", "2.5", "nan"])
def test_a_bad_sst_label_is_named_by_file_and_line(tmp_path, label):
    path = write(tmp_path, SST + f"0\ta\tfine\t4\n1\tb\tbad\t{label}\n")
    message = error_of(read_sst, path)
    assert f"file.csv:3: sentiment is {label!r}, expected an integer from 0 to 4" in message


def test_two_classes_refuse_a_third(tmp_path):
    path = write(tmp_path, SST + "0\ta\tfine\t2\n")
    assert "from 0 to 1" in error_of(read_sst, path, num_classes=2)

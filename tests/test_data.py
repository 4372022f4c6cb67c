"""Readers of data sets: exact counts on the published files, one clear error for every fault."""

import csv
import logging
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from data import (
    DataError,
    Sentence,
    SentencePair,
    Triplet,
    iter_sentences,
    iter_triplets,
    official_dev,
    read_quora,
    read_sst,
    read_sts,
    read_task,
)
from data.tables import read_header, read_table

REAL = Path(__file__).parents[2] / "shared" / "data"
CS224N = REAL / "cs224n"
needs_real_files = pytest.mark.skipif(
    not CS224N.is_dir(), reason="the published data files are not on this machine"
)

SST = "\tid\tsentence\tsentiment\n"
STS = "\tid\tsentence1\tsentence2\tsimilarity\n"
QUORA = "\tid\tsentence1\tsentence2\tis_duplicate\n"


def write(folder: Path, content: str | bytes, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def error_of(function, *arguments, **options) -> str:
    """Returns the message of the DataError; a message of several lines is a failure by itself."""
    with pytest.raises(DataError) as caught:
        result = function(*arguments, **options)
        list(result)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- the published files -------------------------------------------------------------------------


def plain_rows(name: str) -> list[dict[str, str]]:
    with open(CS224N / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@needs_real_files
@pytest.mark.parametrize(
    ("task", "counts"), [("sst", (8544, 1101, 2210)), ("sts", (6040, 863, 1725))]
)
def test_published_splits_have_their_published_sizes(task, counts):
    splits = read_task(CS224N, task)
    assert (len(splits.train), len(splits.dev), len(splits.test)) == counts
    assert all(example.label is not None for example in splits.train + splits.dev)
    assert all(example.label is None for example in splits.test)


@needs_real_files
def test_sst_train_has_the_published_label_counts():
    labels = Counter(sentence.label for sentence in read_sst(CS224N / "ids-sst-train.csv"))
    assert labels == {0: 1092, 1: 2218, 2: 1624, 3: 2322, 4: 1288}


@needs_real_files
def test_cfimdb_reads_as_two_classes():
    train = read_sst(CS224N / "ids-cfimdb-train.csv", num_classes=2)
    dev = read_sst(CS224N / "ids-cfimdb-dev.csv", num_classes=2)
    assert (len(train), len(dev)) == (1707, 245)
    assert {sentence.label for sentence in train + dev} == {0, 1}


@needs_real_files
def test_sst_equals_a_plain_csv_pass():
    for name in ("ids-sst-train.csv", "ids-sst-dev.csv"):
        assert read_sst(CS224N / name) == [
            Sentence(row["id"].strip().lower(), row["sentence"].strip(), int(row["sentiment"]))
            for row in plain_rows(name)
        ]


@needs_real_files
def test_sts_equals_a_plain_csv_pass():
    for name in ("sts-train.csv", "sts-dev.csv"):
        assert read_sts(CS224N / name) == [
            SentencePair(
                row["id"].strip().lower(),
                row["sentence1"].strip(),
                row["sentence2"].strip(),
                float(row["similarity"]),
                int(row[""]),
            )
            for row in plain_rows(name)
        ]


@needs_real_files
@pytest.mark.parametrize("name", ["quora-train.csv", "quora-dev.csv"])
def test_quora_equals_a_plain_csv_pass_less_the_rows_without_label(name, caplog):
    rows = plain_rows(name)
    labelled = [row for row in rows if row["is_duplicate"]]
    assert len(rows) == {"quora-train.csv": 12000, "quora-dev.csv": 4000}[name]
    assert len(labelled) == len(rows) - 1
    pairs = read_quora(CS224N / name)
    assert [(pair.id, pair.text_a, pair.text_b, pair.label) for pair in pairs] == [
        (row["id"], row["sentence1"].strip(), row["sentence2"].strip(), float(row["is_duplicate"]))
        for row in labelled
    ]
    assert f"1 of {len(rows)} rows do not parse" in caplog.text


@needs_real_files
@pytest.mark.parametrize(
    ("name", "labelled", "count"),
    [
        ("sts-train.csv", True, 1031),
        ("sts-dev.csv", True, 148),
        ("sts-test-student.csv", False, 321),
    ],
)
def test_official_dev_pairs_are_spread_over_all_three_parts(name, labelled, count):
    assert len(official_dev(read_sts(CS224N / name, labelled))) == count


@needs_real_files
def test_nli_triplets_all_read():
    triplets = list(iter_triplets(REAL / "nli" / "nli_for_simcse.csv"))
    assert len(triplets) == 10193
    assert all(triplet.hard_negative for triplet in triplets)


@needs_real_files
def test_other_header_names_read_as_triplets():
    path = REAL / "chinese" / "ocnli_sup_train_data.csv"
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == "anchor"
    assert list(iter_triplets(path)) == [Triplet(*map(str.strip, row)) for row in rows[1:]]


def test_two_columns_of_one_name_are_no_triplets(tmp_path):
    path = write(tmp_path, "sentence,sentence,negative\nA,P,N\n")
    assert "file.csv:1: 'sentence': more than one column" in error_of(list, iter_triplets(path))


def test_a_header_that_is_no_row_is_named(tmp_path):
    assert "file.csv:1:" in error_of(read_header, write(tmp_path, b"id\rsentence\na\tb\n"), "\t")


@needs_real_files
def test_wikipedia_sentences_all_read():
    assert sum(1 for _ in iter_sentences(REAL / "wiki" / "wiki_for_simcse.txt")) == 200_000


# --- tables --------------------------------------------------------------------------------------


def table(path: Path, **options) -> list:
    return list(read_table(path, ("id", "sentence"), "\t", **options))


def test_bom_and_crlf_leave_no_trace(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfid\tsentence\r\na\tred kites\r\nb\tblue\r\n")
    assert table(path) == [
        (2, {"id": "a", "sentence": "red kites"}),
        (3, {"id": "b", "sentence": "blue"}),
    ]


def test_quoted_fields_may_hold_tabs_quotes_and_line_ends(tmp_path):
    path = write(tmp_path, 'id\tsentence\na\t"one ""odd""\tfield\nof two lines"\nb\tplain\n')
    assert table(path) == [
        (2, {"id": "a", "sentence": 'one "odd"\tfield\nof two lines'}),
        (4, {"id": "b", "sentence": "plain"}),
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ["file.csv: is empty"]),
        (b"id\tsentence\n", ["file.csv: has a header but no rows"]),
        (b"id\ttext\na\tb\n", ["file.csv:1:", "'sentence'", "found 'id', 'text'"]),
        (b"id,sentence\na,b\n", ["file.csv:1:", "separated by comma, expected tab"]),
        (b"id\tsentence\tid\na\tb\tc\n", ["file.csv:1: 'id': more than one column"]),
        (b"id\tsentence\na\tb\nc\n", ["file.csv:3:", "1 tab-separated fields, expected 2"]),
        (b"id\tsentence\na\tb\tc\td\n", ["file.csv:2:", "4 tab-separated fields, expected 2"]),
        (b'id\tsentence\na\tb\n\n"c\nd"\n', ["file.csv:4:", "1 tab-separated fields"]),
        (b"id\tsentence\na\tb\nc\t\0\n", ["file.csv:3:", "NUL"]),
        (b"id\tsentence\na\tb\nc\tcaf\xe9\n", ["file.csv:3:", "byte 0xe9", "UTF-8"]),
        (b"\xff\xfei\0d\0", ["file.csv:1:", "byte 0xff", "UTF-8"]),
        (b'id\tsentence\na\tb\nc\t"' + b"long " * 30_000, ["file.csv:3:", "field", "quote"]),
    ],
)
def test_a_broken_table_is_named_by_file_and_line(tmp_path, content, expected):
    message = error_of(table, write(tmp_path, content))
    for part in expected:
        assert part in message


def test_an_overlong_field_after_many_lines_is_named_by_the_line_it_begins_on(tmp_path):
    rows = "".join(f"{n}\tkite number {n}\n" for n in range(20_000))
    message = error_of(table, write(tmp_path, f'id\tsentence\nx\tfine\ny\t"never closed\n{rows}'))
    assert "file.csv:3:" in message


def test_a_missing_file_and_a_directory_are_data_errors(tmp_path):
    assert "absent.csv: cannot be read" in error_of(table, tmp_path / "absent.csv")
    assert f"{tmp_path}: cannot be read" in error_of(table, tmp_path)


# --- CS224N --------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("label", ["", "alike", "5.1", "-0.1", "inf", "nan"])
def test_a_bad_sts_label_is_named_by_file_and_line(tmp_path, label):
    path = write(tmp_path, STS + f"0\ta\tx\ty\t5\n1\tb\tx\ty\t{label}\n")
    assert f"file.csv:3: similarity is {label!r}, expected a number" in error_of(read_sts, path)


def test_sts_rows_come_from_the_unnamed_column_when_it_holds_integers(tmp_path):
    body = "".join(f"{row}\tk\tx\ty\t1.5\n" for row in ("5748", "5749", "7248", "7249", "", "a"))
    pairs = read_sts(write(tmp_path, STS + body))
    assert [pair.row for pair in pairs] == [5748, 5749, 7248, 7249, None, None]
    assert official_dev(pairs) == pairs[1:3]
    no_such_column = write(tmp_path, "id\tsentence1\tsentence2\tsimilarity\na\tx\ty\t1\n")
    assert read_sts(no_such_column) == [SentencePair("a", "x", "y", 1.0)]


def test_quora_rows_that_do_not_parse_are_dropped_aloud(tmp_path, caplog):
    body = "0\ta\tx\ty\t1.0\n1\tb\tx\n2\tc\tx\ty\t\n3\td\tx\ty\tmaybe\n4\te\tx\ty\t0.0\tsurplus\n"
    path = write(tmp_path, QUORA + body)
    with caplog.at_level(logging.WARNING, "data"):
        pairs = read_quora(path)
    assert pairs == [SentencePair("a", "x", "y", 1.0), SentencePair("e", "x", "y", 0.0)]
    assert f"{path}: 3 of 5 rows do not parse (first: line 3)" in caplog.text


def test_a_clean_quora_file_warns_of_nothing(tmp_path, caplog):
    path = write(tmp_path, "\tid\tsentence1\tsentence2\n0\tA\tx \t y\n")
    assert read_quora(path, labelled=False) == [SentencePair("a", "x", "y")]
    assert not caplog.records


@pytest.mark.parametrize("label", ["2", "0.5", "-1.0"])
def test_a_quora_number_other_than_0_and_1_is_an_error(tmp_path, label):
    path = write(tmp_path, QUORA + f"0\ta\tx\ty\t1\n1\tb\tx\ty\t{label}\n")
    assert "file.csv:3: is_duplicate is" in error_of(read_quora, path)


def test_a_quora_file_of_dropped_rows_only_is_an_error(tmp_path):
    path = write(tmp_path, QUORA + "0\ta\tx\ty\t\n1\tb\n")
    assert "file.csv:2: 2 of 2 rows do not parse" in error_of(read_quora, path)


# --- folders -------------------------------------------------------------------------------------


def sts_folder(folder: Path) -> Path:
    for name in ("sts-train.csv", "sts-dev.csv"):
        write(folder, STS + f"0\t{name}\tx\ty\t2\n", name)
    return folder


def test_a_folder_without_a_test_file_has_an_empty_test_part(tmp_path):
    splits = read_task(sts_folder(tmp_path), "sts")
    assert [pair.id for pair in splits.train + splits.dev] == ["sts-train.csv", "sts-dev.csv"]
    assert splits.test == []


def test_labels_of_a_labelled_test_file_are_read(tmp_path):
    write(sts_folder(tmp_path), STS + "0\tt\tx\ty\t4\n", "sts-test.csv")
    assert read_task(tmp_path, "sts").test == [SentencePair("t", "x", "y", 4.0, row=0)]
    write(tmp_path, "\tid\tsentence1\tsentence2\n0\tu\tx\ty\n", "sts-test-student.csv")
    assert read_task(tmp_path, "sts").test == [SentencePair("u", "x", "y", None, row=0)]


def test_an_empty_test_file_is_an_error(tmp_path):
    write(sts_folder(tmp_path), "", "sts-test-student.csv")
    assert "sts-test-student.csv: is empty" in error_of(lambda: [read_task(tmp_path, "sts")])


def test_missing_files_and_folders_name_the_remedy(tmp_path):
    sts_folder(tmp_path)
    (tmp_path / "sts-dev.csv").unlink()
    message = error_of(lambda: [read_task(tmp_path, "sts")])
    remedy = f"python -m data.download cs224n --out {tmp_path}"
    assert message.startswith(f"looked for sts-dev.csv in {tmp_path}: not found")
    assert remedy in message
    message = error_of(lambda: [read_task(tmp_path / "nowhere", "sst")])
    assert "ids-sst-train.csv and ids-sst-dev.csv" in message and "no such folder" in message
    assert "choose one of sst, para, sts" in error_of(lambda: [read_task(tmp_path, "nli")])


# --- contrastive texts ---------------------------------------------------------------------------


def test_sentences_are_stripped_and_empty_lines_passed_over(tmp_path):
    content = "\ufeffFirst one \r\n\r\n  \nSecond\u2028still second\n\tThird"
    sentences = list(iter_sentences(write(tmp_path, content)))
    assert sentences == ["First one", "Second\u2028still second", "Third"]


def test_sentence_files_report_file_and_line(tmp_path):
    assert "file.csv:2: byte 0xff" in error_of(iter_sentences, write(tmp_path, b"ok\nb\xffd\n"))
    assert "file.csv: is empty" in error_of(iter_sentences, write(tmp_path, b"\n \n"))
    assert "cannot be read" in error_of(iter_sentences, tmp_path / "absent.txt")


def test_sentences_stream_in_constant_memory(tmp_path):
    path = write(tmp_path, "A kite above the harbour at noon, number one.\n" * 100_000)
    tracemalloc.start()
    count = sum(1 for _ in iter_sentences(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 1 << 20  # the file is 4.6 MB


def test_triplets_have_two_or_three_columns_of_any_name(tmp_path):
    three = write(tmp_path, 'sent0,sent1,hard_neg\n"a, b",c,d \n')
    assert list(iter_triplets(three)) == [Triplet("a, b", "c", "d")]
    two = write(tmp_path, "premise,entailment\na,b\n")
    assert list(iter_triplets(two)) == [Triplet("a", "b", None)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b,c\nx,y,z\n,y,z\n", "file.csv:3: column 'a' is empty"),
        ("a,b,c\nx, ,z\n", "file.csv:2: column 'b' is empty"),
        ("a,b,c\nx,y,\n", "file.csv:2: column 'c' is empty"),
        ("a,b,c\nx,y\n", "file.csv:2: 2 comma-separated fields, expected 3"),
        ("a,b,c,d\n1,2,3,4\n", "file.csv:1: 4 comma-separated column(s), expected 2 or 3"),
        ("a\tb\nx\ty\n", "file.csv:1: 1 comma-separated column(s), expected 2 or 3"),
        ("", "file.csv: is empty"),
    ],
)
def test_a_broken_triplet_file_is_named_by_file_and_line(tmp_path, content, expected):
    assert expected in error_of(iter_triplets, write(tmp_path, content))


def test_the_package_imports_neither_torch_nor_the_downloader():
    code = "import sys, data; print([m for m in ('torch', 'data.download') if m in sys.modules])"
    root = Path(__file__).parents[1]
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"

"""Tables that people have: each is read as it is meant, or refused by name, never wrongly."""

import csv
import json
import shlex
from pathlib import Path

import pytest
from reading import error_of, plain_rows, write

from data.sentences import iter_documents, iter_sentences
from data.table import ID, LABEL, Column, open_table, open_texts, pair_columns
from data.tasks import TASKS, read_quora, read_sst, read_sts, read_task
from data.triplets import iter_pairs, iter_triplets
from heads.predict import read_rows as rows_to_predict

CS224N = Path(__file__).parents[3] / "shared" / "data" / "cs224n"
LABELLED = (
    *pair_columns(),
    Column("label", LABEL, kind="label"),
    Column("id", ID, required=False, kind="id"),
)
PAIRS = [("a red kite", "a kite"), ("two blue birds", "birds, in blue"), ("it rains", "it is dry")]
ROWS = [(2, "1"), (3, "0"), (4, "1")]


def read(path, **options):
    """Return the texts and the label of each row."""
    rows = open_table(path, LABELLED, **options).rows()
    return [(row["sentence1"], row["sentence2"], row["label"]) for _, row in rows]


EXPECTED = [(*pair, label) for pair, (_, label) in zip(PAIRS, ROWS, strict=True)]


def lines(rows, delimiter="\t"):
    quoted = [
        [f'"{field}"' if delimiter in field and len(delimiter) == 1 else field for field in row]
        for row in rows
    ]
    return "".join(delimiter.join(row) + "\n" for row in quoted)


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
@pytest.mark.parametrize(
    "header",
    [
        ("sentence1", "sentence2", "label"),
        ("Sentence 1", "SENTENCE_2", " Score "),
        ("premise", "hypothesis", "gold_label"),
        ("query", "document", "similarity"),
        ("question1", "question2", "is_duplicate"),
        ('"text_a"', '"text_b"', '"class"'),
    ],
)
def test_headers_are_known_by_name_and_delimiters_by_the_header(header, delimiter, tmp_path):
    content = "\ufeff" + lines([header, *EXPECTED], delimiter)
    assert read(write(tmp_path, content)) == EXPECTED
    assert read(write(tmp_path, content.replace("\n", "\r\n"))) == EXPECTED


def test_columns_may_stand_in_any_order_and_be_named(tmp_path):
    rows = [(label, b, f"row_{n}", a) for n, (a, b, label) in enumerate(EXPECTED)]
    table = lines([("Label", "text2", "id", "text1"), *rows])
    assert read(write(tmp_path, table)) == EXPECTED
    table = lines([("Urteil", "zweiter", "x", "erster"), *rows])
    path = write(tmp_path, table)
    assert read(path, named=("ERSTER", "zweiter", "urteil")) == EXPECTED
    path = write(tmp_path, lines(rows))
    assert read(path, named=("4", "2", "1")) == EXPECTED
    path = write(tmp_path, lines([("Label", "text2", "id", "text1"), *rows]))
    assert read(path, named=("4", "2", "1")) == EXPECTED  # known names are a header
    assert ":1: column 5: there are 4" in error_of(read, path, named=("4", "2", "5"))
    assert ":1: column 0: there are 4" in error_of(read, path, named=("0", "1", "2"))
    once = ":1: one column is named as 'sentence1', 'sentence2'; name each column once"
    assert once in error_of(read, path, named=("1", "1", "2"))
    path = write(tmp_path, table)
    assert once in error_of(read, path, named=("erster", "erster", "urteil"))
    numbered = lines([("0", "1", "2"), *EXPECTED])  # as pandas writes columns without names
    assert read(write(tmp_path, numbered), named=("0", "1", "2")) == EXPECTED
    keyed = "".join(json.dumps({"x": a, "y": b, "z": label}) + "\n" for a, b, label in EXPECTED)
    assert read(write(tmp_path, keyed), named=("1", "2", "3")) == EXPECTED


REMEDIES = [
    # What people have, the remedy that is printed for it, and the first row that it reads.
    (
        "Question A;Question B;Doubled\na b;c d;1\n",
        "--columns 'Question A' 'Question B' Doubled; or, without a header: --columns 1 2 3",
    ),
    (
        "nr,Satz,Nochmal,Urteil\n7,a b,c d,1\n",
        "--columns Satz Nochmal Urteil; or, without a header: --columns 2 3 4",
    ),
    ("id,Satz,Nochmal,Urteil\n7,a b,c d,1\n", "--columns Satz Nochmal Urteil; or, without"),
    (
        "a b\tc d\t1\ne f\tg h\t0\n",
        "found 'a b', 'c d', '1'; name the columns: --columns 'a b' 'c d' 1; or, without a header: "
        "--columns 1 2 3",
    ),
    (f"{'a b ' * 11}\tc d\t1\n", "without a header, number the columns: --columns 1 2 3"),
    ('{"x": "a b", "y": "c d", "z": 1}\n', "name the columns: --columns x y z"),
]


@pytest.mark.parametrize(("content", "told"), REMEDIES)
def test_the_remedies_for_unknown_names_work(content, told, tmp_path):
    path = write(tmp_path, content)
    message = error_of(read, path, flag="--columns")
    assert told in message
    for remedy in message.split("--columns ")[1:]:
        named = shlex.split(remedy.partition(";")[0])
        is_header = content[0] != "{" and not all(map(str.isdecimal, named))
        assert len(read(path, named=named)) == content.count("\n") - is_header


JSON_LINES = "".join(
    json.dumps({"query": a, "pos": b, "label": label == "1"}) + "\n" for a, b, label in EXPECTED
)


def test_json_lines_are_rows(tmp_path, caplog):
    labels = ["true", "false", "true"]
    rows = [(*pair, label) for pair, label in zip(PAIRS, labels, strict=True)]
    assert read(write(tmp_path, JSON_LINES)) == rows
    assert [pair.label for pair in read_quora(write(tmp_path, JSON_LINES))] == [1, 0, 1]
    texts = "".join(json.dumps({"id": n, "text": a}) + "\n" for n, (a, _) in enumerate(PAIRS))
    path = write(tmp_path, texts)
    assert list(iter_sentences(path)) == [a for a, _ in PAIRS]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ('a\t"He said\tshe said\t1\n', ('"He said', "she said")),  # opens and never closes
        ('a\t"Hi" he said\tx y\t1\n', ("Hi he said", "x y")),  # as csv reads it, and CS224N
        ('a\t"He\tshe "said"\t1\n', ('"He', 'she "said"')),  # balanced, over two fields
        ('a\t"one\ttab"\tx y\t1\n', ("one\ttab", "x y")),  # quoted rightly: told
    ],
)
def test_a_quotation_mark_costs_no_row(rows, expected, tmp_path, caplog):
    path = write(tmp_path, f"id\tsentence1\tsentence2\tsimilarity\n{rows}b\tno\tnone\t2\n")
    assert [pair.texts for pair in read_sts(path)] == [expected, ("no", "none")]
    told = "1 row(s) with a tab or a line end inside quotation marks (first: line 2)"
    assert (told in caplog.text) == ("\t" in expected[0])


def test_cs224n_files_are_read_as_by_csv():
    if not CS224N.is_dir():
        pytest.skip("CS224N's files are not there")
    for path in sorted(CS224N.glob("*.csv")):
        rows, task = plain_rows(path), "sts" if path.name.startswith("sts") else "sst"
        if path.name.startswith("quora"):
            rows = [row for row in rows if row["is_duplicate"]]
            task = "para"
        texts = [tuple(row[name].strip() for name in TASKS[task].texts) for row in rows]
        labels = [float(row[TASKS[task].label]) for row in rows if TASKS[task].label in row]
        examples = TASKS[task].read(path, labelled=None)
        assert [example.texts for example in examples] == texts
        assert [example.label for example in examples if example.label is not None] == labels
        assert [example.id for example in examples] == [row["id"].strip().lower() for row in rows]


# --- headers and texts


@pytest.mark.parametrize("name", ["text", "Sentence", " review "])
def test_a_line_is_a_text_but_for_a_header(name, tmp_path):
    path = write(tmp_path, f"{name}\na, b\n\nc\td\n")
    assert list(iter_documents(path)) == ["a, b", "", "c\td"]
    path = write(tmp_path, f'{name}\n"a, ""b"""\n"c" and "d"\n')
    assert list(iter_sentences(path)) == ['a, "b"', '"c" and "d"']
    assert list(iter_sentences(write(tmp_path, "a kite, red\nb\n"))) == ["a kite, red", "b"]
    table = lines([("id", name), ("x1", "one text"), ("x2", "another")], ",")
    assert list(iter_sentences(write(tmp_path, table))) == ["one text", "another"]


def test_blank_lines_before_the_first_text_are_passed_over(tmp_path):
    assert list(iter_sentences(write(tmp_path, "\n" * 500 + "a\n"))) == ["a"]


def test_predictions_keep_every_row_and_its_id(tmp_path, caplog):
    def predicted(content, task="para", named=()):
        return list(rows_to_predict(write(tmp_path, content), TASKS[task], named))

    rows = lines(PAIRS)
    bare = [(str(n), pair) for n, pair in enumerate(PAIRS, start=1)]
    assert predicted(rows, named=("1", "2")) == bare
    shifted = [(str(n), pair) for n, pair in enumerate(PAIRS, start=2)]
    assert predicted("question1\tquestion2\n" + rows) == shifted
    with_ids = [(f"row{n}", pair) for n, pair in enumerate(PAIRS)]
    assert predicted(lines([("pair_ID", "A", "B"), *((i, *p) for i, p in with_ids)])) == with_ids
    lone = predicted('sentence1\tsentence2\na b\tc\n"d e\tf\n"g h\ti\n')
    assert [texts for _, texts in lone] == [("a b", "c"), ('"d e', "f"), ('"g h', "i")]
    assert predicted("fine\nvery, very bad\n", "sst") == [
        ("1", ("fine",)),
        ("2", ("very, very bad",)),
    ]
    predicted("sentence1\tsentence2\na b\tc\nd e\t\n")
    predicted('{"text": "a b"}\n{"txt": "c d"}\n{"text": "e f"}\n', "sst")
    assert caplog.text.count(": 1 row(s) without a text (first: line ") == 2
    unknown = "qestion_a\tqestion_b\na red kite\ta kite\n"
    assert ":1: no column 'sentence1', 'sentence2'; found 'qestion_a'" in error_of(
        predicted, unknown
    )


# --- what is refused, by name


def sts(path):
    return read_sts(path)


STS = "id\tsentence1\tsentence2\tsimilarity\n"
REFUSED = {
    iter_triplets: [
        ("sentence1,sentence2,label\na b,c d,1\ne f,g h,0\n", ": column 'label' is none of anchor"),
        ("a b c,c d,1\ne f,g h,0\n", ":1: no column 'anchor', 'positive'; found 'a b c', 'c d'"),
        ("Satz,Nochmal,Anders\na b,c d,e f\n", "give the columns these names in the first line: "),
        ('{"anchor": "a", "pos": ["b"]}\n', ":1: 'pos' holds a list, expected one text or number"),
        ('{"anchor": "a", "pos": ""}\n', ":1: column 'pos' is empty, expected a sentence"),
        ('[{"query": "a"}]\n', ":1: JSON that is not one object per line; write JSON lines"),
        ("PAR1\x15abc\n", ": a Parquet file; save it as"),
        (b"PK\x03\x04abc\n", ": a spreadsheet"),
        ('anchor,positive\n"a,b\n', ":2: a quotation mark opens a field"),
    ],
    iter_pairs: [
        ("text_a\ttext_b\tq1\tq2\nx\ta b\tc\td\n", "'text_a', 'text_b', 'q1', 'q2' could all be"),
        ("0,1\na b,c d\ne f,g h\n", ":1: no column 'sentence1', 'sentence2'; found '0', '1'"),
        (",0,1\n0,a b,c d\n1,e f,g h\n", ":1: no column 'sentence1', 'sentence2'; found '', '0'"),
        ('{"a": {"0": "x y"}, "b": {"0": "z"}}\n', ":1: JSON that is not one object per line"),
        ('{"columns": ["a"], "data": [["x y"]]}\n', ":1: JSON that is not one object per line"),
        ("a\tb\n1\tx y\tz\n2\tx\tz\n", ":2: 3 tab-separated field(s), expected 2; 2 of 2"),
        (b"\x1f\x8b\x08\0", ": compressed by gzip, but its name does not end in .gz; save it as"),
    ],
    iter_sentences: [
        ('{"text": "a"}\n{"text": null}\n', ":2: no text; fill it"),
        ("text_a\ttext_b\tlabel\n", ": has a header but no rows; expected at least one row"),
        ('{"foo": "a"}\n{"foo": "b"}\n', ":1: no column 'text'; found 'foo'"),
        ("id1\ta b\nid2\tc d\n", ":1: 2 fields with a tab between them"),
    ],
    read_sst: [
        ("text\tlabel\na b\t0,5\n", ":2: sentiment is '0,5', with a decimal comma; write 0.5"),
        ("text\tlabel\tscore\nx y\t1\t2\n", ":1: 'label', 'score' could all be 'sentiment'"),
    ],
    sts: [
        (f"{STS}a\tx\ty\t2\nb\tx y\tz\t80\n", ":3: similarity is '80', expected a number from 0"),
        (f"{STS}a\tx\ty\t2,5\n", ":2: similarity is '2,5', with a decimal comma"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [(reader, *case) for reader, cases in REFUSED.items() for case in cases],
)
def test_a_column_that_cannot_be_what_it_is_used_as_is_refused(reader, content, message, tmp_path):
    assert message in error_of(reader, write(tmp_path, content))


# --- folders


def folder_of(path, change):
    """Write a folder with STS data of which `change(split, row)` returns the rows."""
    for split in ("train", "dev"):
        rows = [
            change(split, [f"{split}{n}", f"text {n} one", f"text {n} two", str(n % 6)])
            for n in range(12)
        ]
        with (path / f"sts-{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            writer.writerows([STS.strip().split("\t"), *rows])
    return path


def test_labels_that_are_equal_or_on_two_scales_are_told(tmp_path, caplog):
    read_task(folder_of(tmp_path, lambda split, row: row), "sts")
    assert not caplog.text
    read_task(folder_of(tmp_path, lambda split, row: [*row[:3], "5"]), "sts")
    assert "sts-dev.csv: all 12 labels are 5, so Pearson and Spearman are undefined" in caplog.text
    caplog.clear()
    fifth = folder_of(
        tmp_path, lambda split, row: [*row[:3], str(int(row[3]) / (5 if split == "dev" else 1))]
    )
    read_task(fifth, "sts")
    assert "two scales (sts-train.csv up to 5 and sts-dev.csv up to 1)" in caplog.text


@pytest.mark.parametrize("label", ["", "-1", "NaN"])
def test_a_test_file_in_which_no_row_has_a_label_is_only_predicted(label, tmp_path, caplog):
    folder_of(tmp_path, lambda split, row: row)
    write(tmp_path, f"{STS}a\tx\ty\t{label}\nb\tx\tz\t{label}\n", "sts-test-student.csv")
    assert [pair.label for pair in read_task(tmp_path, "sts").test] == [None, None]
    assert "sts-test-student.csv: no row has a label; read as a file without" in caplog.text


def test_an_id_twice_is_refused_where_predictions_are_written_by_id(tmp_path):
    folder_of(
        tmp_path, lambda split, row: [f"{split}{int(row[0].removeprefix(split)) % 10}", *row[1:]]
    )
    assert "sts-dev.csv:12: id 'dev0' is on line 2 too" in error_of(read_task, tmp_path, "sts")


def test_an_index_that_pandas_wrote_is_no_text(tmp_path):
    expected = [pair for pair in PAIRS if "," not in pair[1]] * 2
    for header in (",anchor,positive", "Unnamed: 0,anchor,positive", "id,sent0,sent1"):
        rows = "".join(f"{n},{a},{b}\n" for n, (a, b) in enumerate(expected))
        path = write(tmp_path, f"{header}\n{rows}")
        assert [triplet.texts for triplet in iter_triplets(path)] == expected


def test_words_are_labels(tmp_path):
    table = lines([("text1", "text2", "label"), ("a", "b", "Yes"), ("c", "d", "no")])
    assert [pair.label for pair in read_quora(write(tmp_path, table))] == [1, 0]
    table = lines(
        [("review", "label"), ("x y", "positive"), ("z a", "very_negative"), ("b", "2.0")]
    )
    assert [s.label for s in read_sst(write(tmp_path, table))] == [3, 0, 2]


def test_a_table_says_which_column_is_where(tmp_path):
    table = open_table(
        write(tmp_path, lines([("b", "extra", "a"), ("x", "y", "z")])), pair_columns()
    )
    assert table.places == {"sentence1": 2, "sentence2": 0} and table.others == ["extra"]
    assert table.delimiter == "\t" and table.header == ("b", "extra", "a")
    assert open_texts(write(tmp_path, "a b\n")).header == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text_a\ttext_a\tlabel\na b\tc d\t1\n", ":1: 'text_a': more than one column"),
        ("text_a\ttext_b\tlabel\ra b\tc d\t1\r", ": lines end with bare carriage returns"),
    ],
)
def test_a_table_that_is_not_what_it_seems_is_refused(content, message, tmp_path):
    assert message in error_of(read, write(tmp_path, content))


def test_some_texts_may_be_numbers(tmp_path):
    rows = [("7", "seven", "1"), *EXPECTED]
    assert read(write(tmp_path, lines([("text_a", "text_b", "label"), *rows]))) == rows


def test_lines_that_end_with_carriage_returns_are_not_one_sentence(tmp_path):
    path = write(tmp_path, "a kite\rthe wind\r")
    assert "lines end with bare carriage returns" in error_of(iter_sentences, path)

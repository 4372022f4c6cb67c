"""Inputs of a search: what is a query, a text and a grade, how a table is split, the refusals."""

import json
import lzma
import os

import numpy as np
import pytest
from conftest import real_data
from hypothesis import given
from hypothesis import strategies as st
from reading import error_of, write

from data.beir import is_beir, read_beir
from data.examples import Document, Query
from data.search import grade_of, own_rows, positives, query_clusters, read_search


def rows(count, first=0, queries=1):
    """Return rows of a text and one or more queries that it answers."""
    return [
        (f"query {at} number {nth}", f"answer {at}")
        for at in range(first, first + count)
        for nth in range(queries)
    ]


def table(folder, lines, header=("question", "answer"), name="faq.tsv"):
    content = "".join("\t".join(map(str, line)) + "\n" for line in (header, *lines))
    return str(write(folder, content, name))


def beir(folder, corpus=None, queries=None, **qrels):
    """Write a folder in which query qN is answered by text dN, except for the files given."""
    corpus = corpus or [{"_id": f"d{at}", "title": "", "text": f"text {at}"} for at in range(20)]
    queries = queries or [{"_id": f"q{at}", "text": f"query {at}"} for at in range(20)]
    qrels = qrels or {"train": pairs(12), "test": pairs(8, 12)}
    (folder / "qrels").mkdir()
    for name, lines in (("corpus", corpus), ("queries", queries)):
        write(folder, "".join(json.dumps(line) + "\n" for line in lines), f"{name}.jsonl")
    for split, lines in qrels.items():
        table(folder / "qrels", lines, ("query-id", "corpus-id", "score"), f"{split}.tsv")
    return folder


def pairs(count, first=0):
    return [(f"q{at}", f"d{at}", 1) for at in range(first, first + count)]


def answers(own, queries):
    """Return {query: texts that answer it, with grades}."""
    corpus = own.splits.corpus
    return {q.text: {corpus[row].text: grade for row, grade in q.relevant} for q in queries}


# --- tables


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (("question", "answer"), ("question", "answer")),
        (("Query", "Text"), ("Query", "Text")),
        (("title", "body"), ("title", "body")),
        (("question", "context"), ("question", "context")),
        (("sentence1", "sentence2"), ("sentence1", "sentence2")),
        (("anchor", "positive"), ("anchor", "positive")),
        (("query", "document"), ("query", "document")),
        (("first", "second"), ("query", "text")),
    ],
)
def test_columns_have_usual_names_or_are_named(tmp_path, header, names):
    path = table(tmp_path, rows(3), header)
    columns = ("1", "2") if header[0] == "first" else ()
    own = read_search([path], columns, learns=False)
    assert own.task.name == "search" and own.task.texts == names == own.splits.task.texts
    held = answers(own, own.splits.test)
    assert held["query 1 number 0"] == {"answer 1": 1}
    count = 3 + len(columns) // 2  # without a header, the first line is a row
    assert own.about == (
        f"faq.tsv: {count} queries {names[0]!r}, {count} texts {names[1]!r}; {count} test"
    )


def test_text_goes_before_other_names_of_a_text(tmp_path):
    path = table(tmp_path, [("a", f"t{n}", f"q{n}") for n in range(3)], ("answer", "text", "query"))
    assert read_search([path], learns=False).task.texts == ("query", "text")
    assert read_search([path], ("query", "answer"), learns=False).task.texts == ("query", "answer")


def test_equal_queries_are_one_and_equal_texts_are_one(tmp_path):
    path = table(tmp_path, [("q  a", "x"), ("q b", "y  z"), ("q a", "y z"), ("q c", "x")])
    own = read_search([path], learns=False)
    assert own.splits.corpus == (Document("2", "x"), Document("3", "y z"))
    assert own.splits.test == [
        Query("2", "q a", ((0, 1), (1, 1))),
        Query("3", "q b", ((1, 1),)),
        Query("5", "q c", ((0, 1),)),
    ]


@pytest.mark.parametrize("header", ["label", "score", "relevance", "grade"])
def test_labels_are_grades(tmp_path, header, caplog):
    lines = [("q", "x", 2), ("q", "y", 0), ("q", "z", -1), ("p", "y", 1.0), ("o", "w", "yes")]
    lines += [("n", "v", 0), ("n", "x", "no"), ("q", "x", 1), ("m", "u", "")]
    own = read_search([table(tmp_path, lines, ("query", "text", header))], learns=False)
    assert answers(own, own.splits.test) == {"q": {"x": 2}, "p": {"y": 1}, "o": {"w": 1}}
    assert [document.text for document in own.splits.corpus] == ["x", "y", "z", "w", "v"]
    assert f"label {header!r}" in own.about
    left_out, repeated, no_text = [record.getMessage() for record in caplog.records]
    assert "1 row(s) without a label (first: line 10); left out" in left_out
    assert "another label (first: lines 2 and 9); the largest grade is used" in repeated
    assert no_text.endswith("1 of 4 queries have no relevant text (first: line 7); left out")


def test_two_named_columns_read_no_label(tmp_path):
    lines = [(f"q{n}", f"x{n}", "billing") for n in range(3)]
    path = table(tmp_path, lines, ("query", "text", "label"))
    own = read_search([path], ("query", "text"), learns=False)
    assert len(own.splits.test) == 3 and "label" not in own.about


def test_rows_without_a_text_are_left_out(tmp_path, caplog):
    own = read_search([table(tmp_path, [("q", ""), *rows(3), (" ", "x")])], learns=False)
    assert len(own.splits.test) == len(own.splits.corpus) == 3
    assert "2 row(s) without a text (first: line 2); left out" in caplog.text


def test_a_byte_order_mark_line_ends_of_windows_and_quotes(tmp_path):
    content = '\ufeffquestion,answer\r\n"a, b",x\r\nc,"y ""z"""\r\nd,w\r\n'
    own = read_search([str(write(tmp_path, content))], learns=False)
    assert answers(own, own.splits.test) == {"a, b": {"x": 1}, "c": {'y "z"': 1}, "d": {"w": 1}}


# --- the parts


def test_one_table_is_split_in_halves_by_connected_texts(tmp_path):
    path = table(tmp_path, rows(30, queries=3))
    own = read_search([path])
    splits = own.splits
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (45, 0, 45)
    assert len(splits.corpus) == 30
    rows_of = [{row for q in part for row, _ in q.relevant} for part in (splits.train, splits.test)]
    assert not rows_of[0] & rows_of[1]
    assert own.about.endswith("; 45 train, 45 test (split by connected texts)")
    assert read_search([path]) == own
    assert read_search([path], seed=1).splits.train != splits.train
    assert len(read_search([path], learns=False).splits.test) == 90


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=60, max_size=90))
def test_no_relevant_text_is_in_both_halves(tmp_path_factory, numbers):
    lines = [(f"Query {a}", f"text {b}") for a, b in numbers]
    lines += [(f"other {n}", f"text of {n}") for n in range(60)]
    path = table(tmp_path_factory.mktemp("t"), lines)
    splits = read_search([path]).splits
    halves = [{row for q in part for row, _ in q.relevant} for part in (splits.train, splits.test)]
    assert not halves[0] & halves[1]
    assert len(splits.train) + len(splits.test) == len({query for query, _ in lines})
    assert abs(len(splits.train) - len(splits.test)) <= 1  # single queries fill the smaller half
    held = {d.text for d in splits.corpus}
    assert held == {text for _, text in lines} and len(held) == len(splits.corpus)


def test_several_tables_are_the_parts_and_share_the_corpus(tmp_path):
    train = table(tmp_path, rows(10), name="train.tsv")
    dev = table(tmp_path, [("query", "answer 1"), ("other", "new")], name="dev.tsv")
    test = table(tmp_path, [*rows(3, first=8)], ("query", "text"), name="test.tsv")
    own = read_search([train, dev, test])
    assert [len(part) for part in (own.splits.train, own.splits.dev, own.splits.test)] == [10, 2, 3]
    documents = own.splits.corpus
    assert [d.text for d in documents] == [*(f"answer {n}" for n in range(10)), "new", "answer 10"]
    assert [d.id for d in documents[9:]] == ["11", "dev.tsv:3", "test.tsv:4"]
    assert own.splits.dev[0].id == "dev.tsv:2" and own.splits.test[0].relevant == ((8, 1),)
    assert own.about == (
        "train.tsv, dev.tsv, test.tsv: 15 queries 'question', 12 texts 'answer'; "
        "10 train, 2 dev, 3 test"
    )
    two = read_search([train, test]).splits
    assert (len(two.train), two.dev, len(two.test)) == (10, [], 3)


# --- further texts


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("a.txt", "answer 1\nnew  text\n\nother\nother\n", ["a.txt:2", "a.txt:4"]),
        ("a.tsv", "id\ttext\nx\tanswer 1\n2\tnew text\nz\tother\n", ["a.tsv:2", "z"]),
        ("a.csv", "id,title,body\nx,new,text\nx,,other\n", ["a.csv:2", "a.csv:3"]),
        ("a.jsonl", '{"passage": "new text"}\n{"passage": "other"}\n', ["1", "a.jsonl:2"]),
        (
            "corpus.jsonl",
            '{"_id": "d1", "title": "new", "text": "text", "metadata": {}}\n'
            '{"_id": "d2", "title": "", "text": "other"}\n',
            ["d1", "d2"],
        ),
    ],
)
def test_a_file_has_further_texts(tmp_path, name, content, ids):
    path = table(tmp_path, rows(3))
    own = read_search([path], corpus=str(write(tmp_path, content, name)), learns=False)
    assert [d.text for d in own.splits.corpus[3:]] == ["new text", "other"]
    assert [d.id for d in own.splits.corpus] == ["2", "3", "4", *ids]
    assert f"3 texts 'answer', 2 more from {name}; 3 test" in own.about


def test_further_texts_that_are_empty_are_left_out(tmp_path, caplog):
    more = write(tmp_path, "id\ttext\n7\t\n8\tnew\n", "more.tsv")
    own = read_search([table(tmp_path, rows(3))], corpus=str(more), learns=False)
    assert own.splits.corpus[-1] == Document("8", "new")
    assert "more.tsv: 1 row(s) without a text (first: line 2); left out" in caplog.text


# --- folders of BEIR


def test_a_query_does_not_find_its_own_text_unless_it_is_an_answer(tmp_path, caplog):
    lines = [(f"text {at}", f"Text {at + 1}?") for at in range(5)]
    own = read_search([table(tmp_path, [*lines, ("text 9", "text 9")])], learns=False)
    queries, corpus = own.splits.test, own.splits.corpus
    assert own_rows(queries, corpus) == [[], [0], [1], [2], [3], []]
    assert "faq.tsv: 4 text(s) equal a test query that they do not answer" in caplog.text


def test_a_folder_of_beir(tmp_path):
    corpus = [{"_id": f"d{at}", "title": f"Title {at}", "text": "a  text"} for at in range(20)]
    corpus[3] = {"_id": "d3", "text": "untitled", "metadata": {"url": ""}}
    queries = [{"_id": f"q{at}", "text": "the same query"} for at in range(20)]
    test = [*pairs(5, 12), ("q12", "d3", 2), ("q12", "d4", 0), ("q12", "d3", 1)]
    folder = beir(tmp_path, corpus, queries, train=pairs(10), dev=pairs(2, 10), test=test)
    own = read_beir(folder)
    assert [len(part) for part in (own.splits.train, own.splits.dev, own.splits.test)] == [10, 2, 5]
    assert own.splits.test[0] == Query("q12", "the same query", ((3, 2), (12, 1)))
    assert own.splits.corpus[2:4] == (Document("d2", "Title 2 a text"), Document("d3", "untitled"))
    assert own.task.texts == ("query", "text")
    assert own.about == f"{tmp_path.name}: 17 queries, 20 texts; 10 train, 2 dev, 5 test"


def test_a_folder_of_beir_may_be_compressed_and_without_train(tmp_path):
    folder = beir(tmp_path, test=pairs(4))
    before = read_beir(folder, learns=False)
    for path in [*folder.glob("*.jsonl"), *folder.glob("qrels/*.tsv")]:
        path.with_name(path.name + ".xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
    assert is_beir(folder) and not is_beir(folder / "qrels")
    assert read_beir(folder, learns=False) == before and before.splits.train == []
    more = write(tmp_path, "text 3\nnew\n", "more.txt")
    assert read_beir(folder, str(more), learns=False).splits.corpus[20:] == (Document("2", "new"),)


def test_equal_texts_of_beir_stay_and_queries_without_an_answer_go(tmp_path, caplog):
    corpus = [{"_id": f"d{at}", "text": "same" if at < 3 else ""} for at in range(4)]
    folder = beir(tmp_path, corpus, test=[*pairs(3), ("q5", "d1", 0)])
    own = read_beir(folder, learns=False)
    assert len(own.splits.corpus) == 4 and len(own.splits.test) == 3
    assert "2 text(s) equal an earlier one" in caplog.text
    assert "1 row(s) without a text (first: line 4); kept" in caplog.text
    assert "1 of 4 queries have no relevant text (first: line 5); left out" in caplog.text


def test_stackfaq():
    own = read_beir(real_data("search/stackfaq"))
    assert (len(own.splits.test), len(own.splits.corpus)) == (550, 719)
    assert query_clusters(own.splits.train).max() + 1 == 60


# --- refusals


def search(path):
    return read_search([str(path)])


def untrained(path):
    return read_search([str(path)], learns=False)


def two_named(path):
    return read_search([str(path)], ("a", "b"))


def three_named(path):
    return read_search([str(path)], ("query", "text", "c"))


def small_test(path):
    return read_search([table(path.parent, rows(12)), str(path)])


def small_train(path):
    return read_search([str(path), table(path.parent, rows(12))])


def further(path):
    return read_search([table(path.parent, rows(12))], corpus=str(path), learns=False)


PAIR, GRADED = "query\ttext\na\tx\n", "query\ttext\tlabel\na\tx\t1\n"
CONNECTED = PAIR + "".join(f"{n}\tx\n" for n in range(20))
REFUSED = [
    (search, "", ": is empty; expected a header line and rows"),
    (search, "query\ttext\n", ": has a header but no rows"),
    (search, PAIR + "b\n", ":3: 1 tab-separated field(s), expected 2"),
    (search, "one\ttwo\na\tx\n", ":1: no column 'query', 'text'; found 'one', 'two'; name the"),
    (
        search,
        "question\tcontext\tanswer\nwhat is\tlong text\tx\n",
        ":1: 'answer', 'context' could all be 'text'; name the columns: --columns question context",
    ),
    (two_named, PAIR, ":1: no column 'a', 'b'; found 'query', 'text'; name one with --columns"),
    (three_named, PAIR, ":1: no column 'c'; found 'query', 'text'; name one with --columns"),
    (search, GRADED + "a\tb\tmaybe\n", ":3: label is 'maybe', expected a whole number (from 1:"),
    (search, GRADED + "a\tb\t0.5\n", ":3: label is '0.5', expected a whole number (from 1: rele"),
    (search, "query\ttext\n\tx\n", ": 1 row(s) without a text (first: line 2), and no others;"),
    (search, PAIR, ": 1 queries with a relevant text, at least 3 are needed for the test; add"),
    (untrained, GRADED + "b\ty\t0\n", ": 1 queries with a relevant text, at least 3 are needed"),
    (untrained, GRADED.replace("1", "0"), ": 0 queries with a relevant text, at least 3 are nee"),
    (search, GRADED.replace("1", "0"), ": 0 queries with a relevant text, at least 3 are needed"),
    (small_test, PAIR, ": 1 queries with a relevant text, at least 3 are needed for the test"),
    (
        small_train,
        PAIR,
        ": 1 training queries, at least 10 are needed; add queries, or train nothing: --reader bi "
        "late --pretrain none",
    ),
    (search, PAIR + "b\ty\nc\tz\n", " test queries after the split by connected texts, at least "),
    (search, CONNECTED, " after the split by connected texts, at least 10 and 3 are needed; add"),
    (further, "", ": is empty; expected one text per line"),
    (
        further,
        "a\tb\nc\td\n",
        ":1: 2 fields with a tab between them in nearly all lines, expected one text per",
    ),
    (further, '{"words": "a"}\n', ":1: no column 'text'; found 'words'; give the columns these"),
]


@pytest.mark.parametrize(("read", "content", "message"), REFUSED)
def test_a_table_is_refused_in_one_line(read, content, message, tmp_path):
    path = write(tmp_path, content, "own.tsv")
    said = error_of(read, path)
    assert said.startswith(str(path)) and message in said


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or a device" in error_of(read_search, [str(tmp_path / "pipe")])


TEXT, OTHER = '{"_id": "d1", "text": "x"}\n', '{"_id": "d2", "text": "y"}\n'
HEADER = "query-id\tcorpus-id\tscore\n"
REFUSED_FOLDERS = [
    ("corpus.jsonl", TEXT + OTHER + TEXT, ":3: _id 'd1' is on line 1 too; give each text a unique"),
    ("queries.jsonl", OTHER + OTHER, ":2: _id 'd2' is on line 1 too; give each text a unique _id"),
    ("corpus.jsonl", TEXT + '{"_id": "", "text": "y"}\n', ":2: _id ''; give each text an id of"),
    ("corpus.jsonl", '{"_id": "a\\tb", "text": "y"}\n', ":1: _id 'a\\tb'; give each text an id of"),
    ("corpus.jsonl", '{"text": "y"}\n', ":1: no column '_id'; found 'text'; give the columns"),
    ("corpus.jsonl", TEXT + "{\n", ":2: is not JSON"),
    ("queries.jsonl", None, ": cannot be read (No such file or directory"),
    ("corpus.jsonl", None, ": cannot be read (No such file or directory"),
    ("qrels/test.tsv", None, ": is missing (there is train.tsv); add the judgements of test quer"),
    ("qrels/test.tsv", "q1\t0\td1\t1\n", ":1: no column 'query-id', 'corpus-id', 'score'; found"),
    ("qrels/test.tsv", HEADER, ": has a header but no rows"),
    (
        "qrels/test.tsv",
        HEADER + "q1\td1\t1\nq2\tx\t1\nq3\ty\t0\n",
        ":3: 'x' is no _id of corpus.jsonl (2 such row(s)); add it to corpus.jsonl, or delete the",
    ),
    ("qrels/train.tsv", HEADER + "x\td1\t1\n", ":2: 'x' is no _id of queries.jsonl (1 such row"),
    ("qrels/test.tsv", HEADER + "q1\td1\thigh\n", ":2: label is 'high', expected a whole number"),
    ("qrels/test.tsv", HEADER + "q1\td1\t1\n", ": 1 queries with a relevant text, at least 3 are"),
    ("qrels/train.tsv", None, ": is missing; add judgements to learn from, or train nothing: "),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED_FOLDERS)
def test_a_folder_is_refused_in_one_line(name, content, message, tmp_path):
    path = beir(tmp_path) / name
    path.unlink()
    if content is not None:
        write(tmp_path, content, name)
    assert error_of(read_beir, tmp_path).startswith(f"{path}{message}")


# --- grades, pairs and clusters


@given(st.integers(-(10**6), 10**6))
def test_a_whole_number_is_its_grade(number):
    assert grade_of("", str(number)) == grade_of("", f"{number}.0") == max(number, 0)


def test_positives_are_the_pairs_of_a_query_and_a_relevant_text():
    corpus = [Document("a", "x"), Document("b", "y")]
    found = positives([Query("1", "q", ((0, 1), (1, 3))), Query("2", "p", ((1, 1),))], corpus)
    assert [(pair.id, *pair.texts, pair.label) for pair in found] == [
        ("1-a", "q", "x", 1.0),
        ("1-b", "q", "y", 1.0),
        ("2-b", "p", "y", 1.0),
    ]


def test_clusters_are_connected_by_texts_and_by_equal_queries():
    relevant = {"a": (5, 9), "b": (7,), "c": (9, 2), "A!": (1,), "d": (1,), "e": (3,)}
    queries = [Query(t, t, tuple((row, 1) for row in rows)) for t, rows in relevant.items()]
    assert query_clusters(queries).tolist() == [0, 1, 0, 0, 0, 2]
    assert query_clusters([]).shape == (0,)


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=3, unique=True), max_size=20))
def test_clusters_are_those_of_a_plain_search(rows):
    queries = [
        Query(str(at), str(at), tuple((row, 1) for row in sorted(r))) for at, r in enumerate(rows)
    ]
    expected = np.arange(len(rows))
    for _ in rows:
        for a, first in enumerate(rows):
            for b, second in enumerate(rows):
                if set(first) & set(second):
                    expected[a] = expected[b] = min(expected[a], expected[b])
    _, first_numbers = np.unique(expected, return_inverse=True)
    assert query_clusters(queries).tolist() == first_numbers.tolist()

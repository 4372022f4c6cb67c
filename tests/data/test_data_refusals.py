"""Every reader refuses a broken file in one line that names the file and the line: one table."""

import gzip

import pytest
from reading import error_of, write

from data.predictions import read_predictions
from data.published import (
    iter_nli,
    read_cnsd,
    read_hans_file,
    read_mrpc,
    read_sick,
    read_sst2,
    read_stsbenchmark,
    read_subset,
    read_trec,
)
from data.sentences import iter_sentences
from data.table import Column, open_table, plain_fields, text_lines
from data.tasks import read_quora, read_sst, read_sts
from data.triplets import iter_anli, iter_captions, iter_pairs, iter_questions, iter_triplets


def table(path):
    columns = [Column("id", kind="id"), Column("sentence")]
    return open_table(path, columns).rows()


def cfimdb(path):
    return read_sst(path, num_classes=2)


def subset(path):
    """Read the file as the scores of two pairs."""
    path.rename(path.with_name("STS.gs.toys.txt"))
    write(path.parent, "a\tb\nc\td\n", "STS.input.toys.txt")
    return read_subset(path.parent, "toys")


def odd_subset(path):
    """Read the file as pairs, of which the second has no score."""
    path.rename(path.with_name("STS.input.toys.txt"))
    write(path.parent, "1\n\n", "STS.gs.toys.txt")
    return read_subset(path.parent, "toys")


ID, SST = "id\tsentence\n", "\tid\tsentence\tsentiment\n0\ta\tfine\t4\n1\t"
QUORA = "\tid\tsentence1\tsentence2\tis_duplicate\n0\ta\tx\ty\t1\n1\t"
STS = "\tid\tsentence1\tsentence2\tsimilarity\n0\ta\tx\ty\t1\n1\t"
NLI, SIMILAR = "premise\thypothesis\tlabel\n", "id,Predicted_Similarity\n"
HANS = "gold_label\tsentence1\tsentence2\tpairID\theuristic\tsubcase\n"
LONG = "long " * 30_000  # csv's limit for a field is 131,072 characters

# Of each reader: what the file holds, and what the message says behind the file's name.
REFUSED = {
    table: [
        ("", ": is empty"),
        (ID, ": has a header but no rows"),
        (
            "id\ttext\na\tb\n",
            ":1: no column 'sentence'; found 'id', 'text'; give the",
        ),
        ("id\tsentence\tid\na\tb\tc\n", ":1: 'id': more than one column"),
        (f"{ID}a\tb\nc\n", ":3: 1 tab-separated field(s), expected 2"),
        (f"{ID}a\tb\tc\td\n", ":2: 4 tab-separated field(s), expected 2"),
        (f"{ID}a\tb\n\nc\n", ":4: 1 tab-separated field(s)"),
        (f"{ID}a\tb\nc\t\0\n", ":3: holds a NUL byte"),
        (f"{ID}a\tb\nc\tcaf\xe9\n".encode("latin-1"), ":3: byte 0xe9 is not valid UTF-8"),
        (b"\xff\xfei\0d\0", ": text in UTF-16; save it as"),
        (f"{ID}a\tb\nc\t{LONG}", ":3: a field of over 131,072 characters; cut it"),
        # A quote without its partner costs neither the rows below it nor the last row's end.
        ('id,sentence\na,b\nc,"d\ne,f"\n', ":3: a quotation mark opens a field that does not end"),
        ('id,sentence\na,b\nc,"d', ":3: a quotation mark opens a field"),
        ("id\tsentence\na\tb\rc\td\n", ":2: new-line character seen in unquoted field"),
    ],
    lambda path: plain_fields(path, 2): [
        ("\n", ": has no rows; expected at least one row of 2 fields"),
        ("a\tb\n\nc\n", ":3: 1 tab-separated field(s), expected 2;"),
        ("a\tb\n\0\td\n", ":2: holds a NUL byte"),
    ],
    text_lines: [(" \n\n", ": is empty"), (b"a\na\n\xff", ":3: byte 0xff")],
    iter_sentences: [(b"ok\nb\xffd\n", ":2: byte 0xff"), (b"\n \n", ": is empty")],
    iter_triplets: [
        ("a,b,c\nx,y,z\n,y,z\n", ":3: column 'a' is empty"),
        ("a,b,c\nx, ,z\n", ":2: column 'b' is empty"),
        ("a,b,c\nx,y,\n", ":2: column 'c' is empty"),
        ("a,b,c\nx,y\n", ":2: 2 comma-separated field(s), expected 3"),
        ("a,b,c,d\n1,2,3,4\n", ": column 'd' is none of anchor, positive, hard_neg; remove"),
        ("x\ny\n", ":1: no column 'anchor', 'positive'; found 'x'"),
        ("", ": is empty"),
        ("a,a,b\nx,y,z\n", ":1: 'a': more than one column"),
        ('a,b\n"x,y\n', ":2: a quotation mark opens a field"),
    ],
    read_sst: [
        (f"{SST}b\tbad\t", ":3: sentiment is '', expected an integer from 0 to 4"),
        *((f"{SST}b\tbad\t{label}", f":3: sentiment is '{label}'") for label in ("x", 5, -1, 2.5)),
        (f"{SST}b,c\tbad\t2", ":3: id 'b,c' holds a comma"),
        (f'{SST}"b\tc"\tbad\t2', ":3: id 'b\\tc' holds a comma, a tab"),
        (f"{SST}b\u2028c\tbad\t2", ":3: id 'b\\u2028c' holds a comma, a tab or a line end"),
    ],
    cfimdb: [(f"{SST}b\tx\t1", ":2: sentiment is '4', expected an integer from 0 to 1")],
    read_quora: [
        (f"{QUORA}b\tx\ty\t2", ":3: is_duplicate is 2, expected 0 or 1"),
        (f"{QUORA}b\tx\ty\t0.5", ":3: is_duplicate is 0.5"),
        (f"{QUORA}".replace("y\t1", "y\t") + "b\n", ":2: 2 of 2 rows do not parse"),
    ],
    read_sts: [
        (f"{STS}b\tx\ty\t{label}", f":3: similarity is '{label}', expected a number from 0 to 5")
        for label in ("", "5.1", "-0.1", "nan")
    ],
    read_predictions: [
        ("", ":1: not a header"),
        ("id,score\na1,1\n", ":1: not a header"),
        ("a1,1\n", ":1: not a header"),
        (SIMILAR, ": has a header but no rows"),
        (f"{SIMILAR}a1,1\nb2\n", ":3: 1 fields"),
        (f"{SIMILAR}a1,1,2\n", ":2: 3 fields"),
        *(
            (f"{SIMILAR}a1,{odd}\n", f":2: prediction is '{odd}', expected a number")
            for odd in ("high", "nan", "inf", "1_0", "٣", "３", "0x1", "1e999", "--1")
        ),
        (f"{SIMILAR}a1,\x1c 1\n", ":2: prediction is "),
        ("id,Predicted_Sentiment\na1,5\n", ":2: prediction is '5', expected a class from 0 to 4"),
        ("id,Predicted_Is_Paraphrase\na1,0.7\n", ":2: prediction is '0.7'"),
        (f"{SIMILAR}a1,1\n\nA1,2\n", ":4: id 'a1' is on line 2 too"),
    ],
    iter_nli: [
        (NLI, ": has a header but no rows"),
        ("premise\tlabel\n", ":1: no column 'hypothesis'"),
        (f"{NLI}a\tb\t-\n", ": holds no labelled pair"),
        (f"{NLI}a\tb\n", ":2: 2 tab-separated field(s), expected 3"),
        (f"{NLI}a\tb\tmaybe\n", ":2: label is 'maybe'"),
        (f"{NLI}a\t\tneutral\n", ":2: a sentence is empty"),
    ],
    read_hans_file: [(f"{HANS}neutral\ta\tb\t1\tx\ty\n", ":2: label is 'neutral'")],
    read_stsbenchmark: [("g\tf\ty\ti\t5.1\ta\tb\n", ":1: score is '5.1'"), ("g\tf\n", ":1: 2 tab")],
    read_sick: [
        ("pair_ID\tA\tB\tscore\tjudgment\n", ": has no rows"),
        ("1\ta\tb\t2\tX\n2\ta\tb\thigh\tX\n", ":2: score is 'high'"),
        ("1\ta\tb\t2\tX\npair_ID\tA\tB\tscore\tjudgment\n", ":2: score is 'score'"),
    ],
    read_mrpc: [("1\t1\t2\ta\tb\n2\t1\t2\ta\tb\n", ":2: label is '2'"), ("Quality\n", ":1: 1 tab")],
    read_cnsd: [
        ("1||a||b||3\n2||a||b\n", ":2: 3 ||-separated field(s), expected 4"),
        ("1||a||b||c||3\n", ":1: score is 'c'"),
        ("1||a||b||6\n", ":1: score is '6'"),
        ("\n", ": has no rows"),
    ],
    read_trec: [("HUM:ind Who ?\nWHO:x y\n", ":2: label is 'WHO'"), ("HUM:ind \n", ":1: no quest")],
    read_sst2: [
        (f"1 fine\n{row}\n", f":2: {row.strip()!r}: expected 'sentence<TAB>label' or")
        for row in ("2 good", "good", "good\t4", "1 ")
    ],
    subset: [
        ("1\n2\n3\n", ": 3 lines for the 2 pairs"),
        ("\n\n", ": no scores; expected"),
        ("1\n6\n", ":2: score is '6'"),
    ],
    odd_subset: [("a\tb\nc\n", ":2: 1 tab-separated"), ("\na\tb\n", ": 2 lines for the 1 pairs")],
    iter_anli: [
        ("{}\nx", ":1: context (or premise) or hypothesis is missing or empty"),
        ("\nx", ":2: is not JSON"),
        ("[" * 100_000, ":1: is not JSON"),
        ("[1]", ":1: is no JSON object"),
        ('{"context": "a", "label": "e"}', ":1: context (or premise) or hypothesis is missing"),
        ('{"context": "a", "hypothesis": "b", "label": "x"}', ":1: label is 'x'"),
    ],
    iter_questions: [
        (f"{QUORA}b\tx\ty\t3", ":3: is_duplicate is 3"),
        ("sentence1\tsentence2\tis_duplicate\na\tb\t2\n", ":2: is_duplicate is 2"),
    ],
    iter_pairs: [
        ("a\tb\nc\n", ":2: 1 tab-separated field"),
        ("a\tb\nx\t\n", ":2: a pair lacks a text"),
        ("sentence1\tsentence2\n\tb\n", ":2: a pair lacks a text"),
    ],
    iter_captions: [
        ("1.jpg#0\ta\n2.jpg\tb\n", ":2: expected IMAGE#NUMBER"),
        ("1#0\t\n", ":1: exp"),
    ],
}
CASES = [(read, *case) for read, cases in REFUSED.items() for case in cases]
# These name another file than the one that is broken below.
SUBSETS = {subset: "STS.gs.toys.txt", odd_subset: "STS.input.toys.txt"}


@pytest.mark.parametrize(("read", "content", "message"), CASES)
def test_a_broken_file_is_refused_in_one_line(read, content, message, tmp_path):
    said = error_of(read, write(tmp_path, content))
    name = SUBSETS.get(read, "file.csv") if " lines for " not in message else "STS.gs.toys.txt"
    assert said.startswith(f"{tmp_path / name}{message}")


@pytest.mark.parametrize("read", REFUSED)
def test_what_cannot_be_read_at_all_is_refused_in_one_line(read, tmp_path):
    broken = gzip.compress(b"One. Two. Three." * 99, mtime=0)[:-9]
    if read not in SUBSETS:
        for path, reason in (
            (tmp_path / "absent", "No such file or directory"),
            (tmp_path, "Is a directory"),
            (write(tmp_path, broken, "cut.gz"), "Compressed file ended"),
        ):
            assert f"{path}: cannot be read ({reason}" in error_of(read, path)

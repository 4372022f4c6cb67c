"""Any table is read as it was written; any bytes are read, or refused with the file's name."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import write

from data.examples import DataError
from data.pairs import read_labelled, read_pairs
from data.published import iter_nli, read_mrpc, read_sick, read_stsbenchmark
from data.sentences import iter_sentences
from data.table import LABEL, Column, open_table, pair_columns
from data.tasks import OWN, TASKS, read_quora, read_sst, read_sts
from data.triplets import iter_anli, iter_captions, iter_pairs, iter_triplets
from heads.predict import read_rows

COLUMNS = (*pair_columns(), Column("label", LABEL, kind="label"))
# Texts of one line; NUL and lone halves of characters are refused elsewhere.
TEXT = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=("Cs",)), min_size=1)
ROWS = st.lists(st.tuples(TEXT, TEXT, st.sampled_from(["0", "1", "2,5"])), min_size=1, max_size=8)
FORMS = ["\t", ",", ";", "json"]


@pytest.mark.parametrize("form", FORMS)
@given(rows=ROWS)
@settings(max_examples=60, deadline=None)
def test_what_csv_or_json_writes_is_read_again(form, rows, tmp_path_factory):
    header = ("text_a", "text_b", "label")
    if form == "json":
        records = (dict(zip(header, row, strict=True)) for row in rows)
        content = "".join(json.dumps(record) + "\n" for record in records)
    else:
        buffer = io.StringIO()
        quoting = csv.QUOTE_MINIMAL
        csv.writer(buffer, delimiter=form, quoting=quoting).writerows([header, *rows])
        content = buffer.getvalue()
    path = write(tmp_path_factory.mktemp("any"), content)
    found = [tuple(row.values()) for _, row in open_table(path, COLUMNS).rows()]
    assert [tuple(sorted(row)) for row in found] == [tuple(sorted(row)) for row in rows]


READERS = {
    "pairs": lambda path: read_pairs([str(path)]),
    "labelled": lambda path: read_labelled(path, OWN["similarity"]),
    "sst": read_sst,
    "para": read_quora,
    "sts": read_sts,
    "triplets": iter_triplets,
    "positives": iter_pairs,
    "anli": iter_anli,
    "captions": iter_captions,
    "sentences": iter_sentences,
    "nli": iter_nli,
    "mrpc": read_mrpc,
    "sick": read_sick,
    "stsb": read_stsbenchmark,
    "predict": lambda path: read_rows(path, TASKS["sts"]),
    "predict texts": lambda path: read_rows(path, TASKS["sst"]),
}
PIECES = st.sampled_from(
    [
        *(b"text_a", b"sentence1", b"sentence2", b"label", b"0", b"-1", b"1e400", b"a b"),
        *(b"\t", b",", b";", b"\n", b"\r", b'"', b"\xff", b"\0", b"\xef\xbb\xbf"),
        *(b"{", b"}", b'{"text": "a"}', b"[1]"),
    ]
)


@pytest.mark.parametrize("name", READERS)
@given(content=st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=20).map(b"".join)))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_read_or_refused_with_the_files_name(name, content, tmp_path_factory):
    path = write(tmp_path_factory.mktemp("any"), content)
    try:
        found = READERS[name](path)
        list(found) if hasattr(found, "__iter__") else found
    except DataError as error:
        assert str(path) in str(error) and "\n" not in str(error)

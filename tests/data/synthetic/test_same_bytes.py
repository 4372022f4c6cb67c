"""What ships is what the generator writes: a part of it in every run, all of it when asked."""

import csv
import lzma
from functools import partial

import pytest

from data.locate import BUNDLED
from data.synthetic import write
from data.synthetic.generate import MAKERS, QUOTAS, SIZES, Writer, write_task
from data.synthetic.synonyms import synonym_lines
from data.table import numbered_lines
from data.tasks import COURSE


def shipped(name):
    return lzma.decompress((BUNDLED / f"{name}.xz").read_bytes())


def test_the_first_rows_of_test_come_out_the_same(tmp_path):
    writer = Writer(tmp_path, seed=0)
    write_task(writer, "sst", 2)  # test goes first
    (path,) = tmp_path.iterdir()
    assert shipped(path.name).startswith(path.read_bytes())
    for task in ("para", "sts"):
        record, number, share = COURSE[task], 0, SIZES[task][2] // len(QUOTAS[task])
        make = partial(MAKERS[task], **QUOTAS[task][number])
        drawn = writer.draw(f"{task} {number}", "test", share, make)
        lines = (line for _, line in numbered_lines(BUNDLED / record.files[2]))
        rows = list(csv.DictReader(lines, delimiter="\t"))
        texts = {(*(row[n] for n in record.texts), row[record.label]) for row in rows}
        assert {(*one.texts, one.label) for one in drawn} <= texts


def test_the_list_of_synonyms_is_the_lexicons():
    assert "".join(synonym_lines()) == shipped("synonyms.txt").decode()


@pytest.mark.synthetic
def test_all_files_come_out_the_same(tmp_path):
    write(tmp_path)
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert len(written) == 30
    assert all((tmp_path / name).read_bytes() == shipped(name) for name in written)

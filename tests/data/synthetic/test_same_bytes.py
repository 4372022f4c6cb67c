"""What ships is what the generator writes: a part of it, made now, and the list of synonyms."""

import csv
import lzma
from functools import partial

from data.locate import BUNDLED
from data.synthetic.generate import MAKERS, QUOTAS, SIZES, Writer, write_task
from data.synthetic.synonyms import synonym_lines
from data.tables import numbered_lines
from data.tasks import TASKS


def shipped(name):
    return lzma.decompress((BUNDLED / f"{name}.xz").read_bytes())


def test_the_first_file_comes_out_the_same_and_so_do_the_first_rows_of_others(tmp_path):
    writer = Writer(tmp_path, seed=0)
    write_task(writer, "sst", 2)  # test goes first
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == shipped(path.name)
    for task in ("para", "sts"):
        record, number, share = TASKS[task], 0, SIZES[task][2] // len(QUOTAS[task])
        make = partial(MAKERS[task], **QUOTAS[task][number])
        drawn = writer.draw(f"{task} {number}", "test", share, make)
        lines = (line for _, line in numbered_lines(BUNDLED / record.files[2]))
        rows = list(csv.DictReader(lines, delimiter="\t"))
        texts = {(*(row[n] for n in record.texts), row[record.label]) for row in rows}
        assert {(*one.texts, one.label) for one in drawn} <= texts


def test_the_list_of_synonyms_is_the_lexicons():
    assert "".join(synonym_lines()) == shipped("synonyms.txt").decode()

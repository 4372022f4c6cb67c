"""What ships is what the generator writes: a part of it, made now, and the list of synonyms."""

import lzma

from data.locate import BUNDLED
from data.synthetic.generate import SIZES, Writer, write_task
from data.synthetic.synonyms import synonym_lines


def test_a_part_of_the_bundled_data_comes_out_the_same(tmp_path):
    writer = Writer(tmp_path, seed=0)
    for task in SIZES:  # the test files: the first that are drawn
        write_task(writer, task, 2)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(made) == 3
    for name, content in made.items():
        assert content == lzma.decompress((BUNDLED / f"{name}.xz").read_bytes()), name


def test_the_list_of_synonyms_is_the_lexicons():
    shipped = lzma.decompress((BUNDLED / "synonyms.txt.xz").read_bytes()).decode()
    assert shipped.splitlines(keepends=True) == synonym_lines()

"""The bundled data: its bytes, and that each file is small and read under its published name."""

import hashlib
import lzma

from data.locate import BUNDLED, find
from data.sentences import iter_sentences
from data.suites import read_hans, read_nli, read_sts_set, read_transfer_set
from data.tasks import read_task
from data.triplets import iter_triplets

# Of names and contents, decompressed. Results of the bundled data are results of these bytes.
DIGEST = "9922ce7828dc1d4ed68433a4077a1f0eb94e58d5d00f0eb83562d1cbcf349f03"
SEARCH = "aa68f6cfa694692e402f24f4ea4cbc87fab603afa13c258fa6623d33f725de22"
SYNONYMS = "2d12b022aee5aa05769d8ef41b05a345cfb31742e536e91161707d2e9f05a600"


def test_the_bytes_are_those_that_results_are_about():
    whole, search = hashlib.sha256(), hashlib.sha256()
    files = sorted(BUNDLED.rglob("*.xz"))
    for path in files:
        assert path.stat().st_size < 1_000_000
        name = path.relative_to(BUNDLED).as_posix().removesuffix(".xz")
        content = lzma.decompress(path.read_bytes())
        if name == "synonyms.txt":
            assert hashlib.sha256(content).hexdigest() == SYNONYMS
        else:
            part = search if name.startswith("search/") else whole
            part.update(name.encode() + b"\0" + content)
    assert len(files) == 31 and whole.hexdigest() == DIGEST and search.hexdigest() == SEARCH


def test_the_compressed_files_are_found_and_read_by_their_published_names():
    sizes = {"sst": (4000, 800, 4000), "para": (8000, 1000, 6000), "sts": (4000, 800, 4000)}
    for task, expected in sizes.items():
        splits = read_task(BUNDLED, task)
        assert (len(splits.train), len(splits.dev), len(splits.test)) == expected
        assert all(example.label is not None for example in splits.test)
    assert sum(1 for _ in iter_sentences(BUNDLED / "wiki1m_for_simcse.txt")) == 20000
    triplets = list(iter_triplets(BUNDLED / "nli_for_simcse.csv"))
    assert len(triplets) == 10000 and all(triplet.hard_negative for triplet in triplets)
    assert [len(pairs) for pairs in read_sts_set(BUNDLED, "synthetic-sts").values()] == [200] * 3
    assert len(read_transfer_set(BUNDLED, "synthetic-polarity").train) == 800
    assert len(read_hans(BUNDLED, "synthetic-hans")) == len(read_nli(BUNDLED)) == 3000
    found = find(BUNDLED, "Synthetic-en-test/STS.gs.headlines.txt")
    assert found is not None and found.name == "STS.gs.headlines.txt.xz"


def test_synthetic_data_below_a_folder_is_passed_over():
    assert find(BUNDLED.parent, "sts-train.csv") is None

"""The bundled set to search: its bytes, its splits, and how hard it is for a search by words."""

import json
import lzma

import numpy as np
import pytest

from baselines.bm25 import BM25
from data.examples import Query
from data.locate import BUNDLED
from data.sentences import iter_sentences
from data.synthetic.search import SIZES, write_search
from data.synthetic.writing import Writer
from data.table import numbered_lines, plain_fields
from data.tasks import COURSE, read_task
from data.triplets import iter_triplets
from evaluation.ranking import measures

FOLDER = BUNDLED / "search"


def texts(name: str) -> dict[str, str]:
    """Return the texts of a file by their ids."""
    rows = [json.loads(line) for _, line in numbered_lines(FOLDER / name)]
    assert len({row["_id"] for row in rows}) == len(rows)
    return {row["_id"]: row["text"] for row in rows}


def relevant(split: str) -> dict[str, set[str]]:
    """Return the ids of the relevant texts of each query of a split."""
    found: dict[str, set[str]] = {}
    lines = plain_fields(FOLDER / "qrels" / f"{split}.tsv", 3, "query-id")
    for _, (query, text, grade) in lines:
        assert grade == "1" and text not in found.get(query, ())
        found.setdefault(query, set()).add(text)
    return found


@pytest.fixture(scope="module")
def corpus() -> dict[str, str]:
    return texts("corpus.jsonl")


@pytest.fixture(scope="module")
def judged() -> dict[str, dict[str, set[str]]]:
    return {split: relevant(split) for split in SIZES}


def test_the_generator_writes_the_same_bytes(tmp_path):
    write_search(Writer(tmp_path, seed=0))
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.*")}
    assert len(written) == 5
    for name in written:
        shipped = lzma.decompress((BUNDLED / f"{name}.xz").read_bytes())
        assert (tmp_path / name).read_bytes() == shipped


def test_it_is_small(corpus):
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.xz")) < 100_000
    assert len(corpus) == len(set(corpus.values())) == 889


def test_each_query_has_relevant_texts_in_one_split(corpus, judged):
    queries = texts("queries.jsonl")
    assert {split: len(found) for split, found in judged.items()} == SIZES
    assert [id for found in judged.values() for id in found] == list(queries)
    pairs = [text for found in judged.values() for ids in found.values() for text in ids]
    assert set(pairs) < set(corpus)
    assert len(pairs) == len(set(pairs))  # so no text is relevant twice, or in two splits
    counts = [len(ids) for found in judged.values() for ids in found.values()]
    assert set(counts) == {1, 2} and 0.15 < counts.count(2) / len(counts) < 0.25
    assert not set(queries.values()) & set(corpus.values())


def test_no_query_is_in_what_models_learn_from():
    learnt = set(iter_sentences(BUNDLED / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(BUNDLED / "nli_for_simcse.csv"):
        learnt |= set(triplet.texts)
    for task in COURSE:
        learnt |= {text for row in read_task(BUNDLED, task).train for text in row.texts}
    assert not learnt & set(texts("queries.jsonl").values())


def test_texts_are_longer_than_queries(corpus):
    lengths = [
        np.mean([len(text.split()) for text in found.values()])
        for found in (corpus, texts("queries.jsonl"))
    ]
    assert lengths[0] > 2.5 * lengths[1]


def test_common_words_help_and_do_not_suffice(corpus, judged):
    rows = {id: row for row, id in enumerate(corpus)}
    queries, model = texts("queries.jsonl"), BM25(list(corpus.values()))
    for found in judged.values():
        asked = [
            Query(id, queries[id], tuple(sorted((rows[text], 1) for text in ids)))
            for id, ids in found.items()
        ]
        ranked = model.top_k([query.text for query in asked], 100)
        assert 0.55 < measures(ranked, asked)[:, 0].mean() < 0.75  # nDCG@10

"""A search from the command line to its answers, in a small folder of BEIR's form."""

import csv
import json

import numpy as np
import pytest
import toy_runs
from conftest import COSINES, toy_sentences

from data.beir import read_beir
from data.search import read_search
from evaluation.ranking import measures, reranked
from evaluation.search import by_cosine
from experiment.mining import mined, parts_by_query, triplets_to_learn
from experiment.settings import Settings
from heads.__main__ import main as heads_command
from minbert.encoder import SentenceEncoder
from report.__main__ import main as report_command
from report.finished import FinishedRun
from report.run_folder import RunFolder
from runtime.errors import UserError

CORPUS = list(dict.fromkeys(toy_sentences(150, seed=3)))
WORDS = ["--task", "search", "--select", "train", "--reader", "bi", "late", "cross"]
WORDS += ["--pooling", "avg", "--features", "cls"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "toy"
    (folder / "qrels").mkdir(parents=True)
    texts = [{"_id": f"d{row}", "text": text} for row, text in enumerate(CORPUS)]
    queries = [
        {"_id": f"q{row}", "text": text.replace("the ", "a ").replace(" .", " ?")}
        for row, text in enumerate(CORPUS[:60])
    ]
    for name, rows in (("corpus", texts), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for split, rows in (("train", range(40)), ("dev", range(40, 46)), ("test", range(46, 60))):
        lines = ["query-id\tcorpus-id\tscore", *(f"q{row}\td{row}\t1" for row in rows)]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def folder(tiny_checkpoint, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "search"
    words = [*WORDS, "--pretrain", "none", "sup", "--tune", "frozen", "full"]
    words += ["--rates", "5e-4", "--least-steps", "2"]
    assert toy_runs.run(tiny_checkpoint, data, folder, *words, figures=True) == 0
    return folder


def test_cells_have_the_measures_of_the_rankings_on_disk(folder, data):
    splits = read_beir(data).splits
    cells = RunFolder(folder).cells()
    systems = {cell.system for cell in cells}
    assert len(systems) == 2 * (1 + 1 + 2 * 4)  # bi, late, two cross-encoders at four depths
    assert {cell.depth for cell in cells if cell.reader == "cross"} == {10, 20, 50, 100}
    for cell in cells:
        queries = getattr(splits, cell.split)
        rows, scores = RunFolder(folder).ranking(cell, queries, splits.corpus)
        ranked = reranked(rows, scores, cell.depth)
        of_queries = measures(ranked, queries)
        found = [cell.metrics[name] for name in ("ndcg@10", "mrr@10", "recall@10", "recall@100")]
        assert found == of_queries.mean(axis=0).tolist()
        assert cell.n == len(queries) and cell.search["milliseconds"] > 0
        assert sorted(ranked[0].tolist()) == sorted(rows[0].tolist())
    with (folder / "results.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["ndcg@10"]) for line in lines] == [cell.metrics["ndcg@10"] for cell in cells]
    assert [int(line["depth"]) for line in lines] == [cell.depth for cell in cells]


def test_a_cross_encoder_costs_more_the_deeper_it_reads(folder):
    times = {}
    for cell in RunFolder(folder).cells():
        times.setdefault((cell.name, cell.split), []).append(cell.search["milliseconds"])
    assert all(of_cell == sorted(of_cell) for of_cell in times.values())


def test_verdict_page_and_table_state_what_was_compared(folder, data):
    run = FinishedRun.read(folder)
    (place,) = [place for place in run.judged if place.split == "test"]
    assert "BM25" in place.scores("ndcg@10")
    bi = "none-bi-frozen-concat"
    compared = {frozenset((v.a, v.b)) for v in place.comparisons if v.metric == "ndcg@10"}
    assert {bi, "BM25"} in compared and {bi, "sup-bi-frozen-concat"} in compared
    assert {bi, "none-cross-full-cls@50"} in compared
    assert {"none-cross-full-cls@20", "none-cross-full-cls@50"} in compared
    assert {"none-cross-full-cls@20", "none-cross-frozen-cls@20"} not in compared
    page = (folder / "report.html").read_text()
    assert "milliseconds per query" in page and ">BM25<" in page
    assert "cross-encoder, no SimCSE, full, cls, best 50" in page


def test_what_is_learned_never_calls_an_answer_wrong(tiny_encoder, data):
    splits = read_beir(data).splits
    find = by_cosine(tiny_encoder, [document.text for document in splits.corpus])
    for query, answers, others in mined(splits.train, splits.corpus, find, seed=1):
        relevant = {row for row, _ in query.relevant}
        assert set(answers) <= relevant and relevant.isdisjoint(others) and len(others) == 4
    triplets = triplets_to_learn(splits, tiny_encoder)
    assert len(triplets) == 40 and all(t.hard_negative != t.positive for t in triplets)
    asked = {query.text for query in splits.train}
    assert {triplet.anchor for triplet in triplets} == asked


def test_the_part_that_chooses_shares_no_query_with_the_rest(tiny_encoder, data):
    from experiment.mining import pairs_to_learn

    splits = read_beir(data).splits
    find = by_cosine(tiny_encoder, [document.text for document in splits.corpus])
    pairs = pairs_to_learn(splits.train, splits.corpus, find, seed=1)
    ((fit, held_out),) = parts_by_query(pairs, splits.train, seed=1)
    texts = [{pairs[row].text_a for row in rows} for rows in (fit, held_out)]
    assert texts[0].isdisjoint(texts[1]) and len(texts[1]) == 8
    assert sorted([*fit, *held_out]) == list(range(len(pairs)))


def answers_of(capsys, folder, *words):
    """Return the lines that `heads predict` prints, as fields."""
    assert heads_command(["predict", str(folder), *words]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["query-id", "rank", "corpus-id", "score", "text"]
    return [line.split("\t") for line in lines]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "queries.txt").write_text(f"{CORPUS[3]}\n{CORPUS[5]}\n")
    (tmp_path / "corpus.txt").write_text("".join(f"{text}\n" for text in CORPUS))
    return [str(tmp_path / "queries.txt"), "--corpus", str(tmp_path / "corpus.txt")]


def test_answers_are_semantic_search_in_the_exported_bi_encoder(folder, files, tmp_path, capsys):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import semantic_search

    cell = "sup-search-bi-frozen-concat-42"
    lines = answers_of(capsys, folder, *files, "--top-k", "7", "--cell", cell)
    out = str(tmp_path / "bi")
    assert heads_command(["export", str(folder), "--out", out, "--cell", cell]) == 0
    model = SentenceTransformer(out, device="cpu")
    theirs = semantic_search(model.encode([CORPUS[3], CORPUS[5]]), model.encode(CORPUS), top_k=7)
    wanted = [hit for hits in theirs for hit in hits]
    assert [line[4] for line in lines] == [CORPUS[hit["corpus_id"]] for hit in wanted]
    scores = np.array([float(line[3]) for line in lines])
    assert np.abs(scores - [hit["score"] for hit in wanted]).max() < 1e-5
    assert "semantic_search" in (tmp_path / "bi" / "README.md").read_text()


def test_answers_read_again_are_those_of_the_exported_cross_encoder(
    folder, files, tmp_path, capsys
):
    from sentence_transformers import CrossEncoder

    cell = "none-search-cross-full-cls-42"
    lines = answers_of(capsys, folder, *files, "--top-k", "5", "--cell", cell)
    bi = "none-search-bi-frozen-concat-42"
    best = answers_of(capsys, folder, *files, "--top-k", "50", "--cell", bi)
    out = str(tmp_path / "cross")
    assert heads_command(["export", str(folder), "--out", out, "--cell", cell]) == 0
    model = CrossEncoder(out, device="cpu")
    for number, query in enumerate((CORPUS[3], CORPUS[5])):
        found = [line[4] for line in best if line[0] == str(number + 1)]
        hits = model.rank(query, found, top_k=5)
        of_query = [line for line in lines if line[0] == str(number + 1)]
        assert [line[4] for line in of_query] == [found[hit["corpus_id"]] for hit in hits]
        logits = np.array([float(line[3]) for line in of_query])
        assert np.abs(1 / (1 + np.exp(-logits)) - [hit["score"] for hit in hits]).max() < 1e-5


def test_tables_without_labels_are_a_search(tiny_checkpoint, tmp_path, capsys):
    rows = [f"{text.replace('the ', 'a ')}\t{text}" for text in CORPUS[:40]]
    (tmp_path / "faq.tsv").write_text("question\tanswer\n" + "\n".join(rows) + "\n")
    (tmp_path / "more.txt").write_text("\n".join(CORPUS) + "\n")
    words = ["--pairs", str(tmp_path / "faq.tsv"), "--corpus", str(tmp_path / "more.txt")]
    words += ["--select", "train", "--reader", "bi"]
    assert toy_runs.run(tiny_checkpoint, "bundled", tmp_path / "run", *words) == 0
    told = capsys.readouterr().out
    assert "40 test" in told  # nothing is learned, so all queries are scored
    (cell,) = RunFolder(tmp_path / "run").cells()
    assert (cell.task, cell.split, cell.n) == ("search", "test", 40)
    FinishedRun.read(tmp_path / "run")  # the tables are read again


def test_a_published_cross_encoder_reads_what_the_first_encoder_finds(
    tiny_checkpoint, tiny_encoder, data, folder, tmp_path
):
    published = tmp_path / "published"
    cell = "none-search-cross-full-cls-42"
    assert heads_command(["export", str(folder), "--out", str(published), "--cell", cell]) == 0
    words = [*WORDS, "--tune", "none", "--backbone", str(tiny_checkpoint), str(published)]
    assert toy_runs.run(tiny_checkpoint, data, tmp_path / "run", *words) == 0
    cells = RunFolder(tmp_path / "run").cells()
    assert {(cell.model, cell.reader) for cell in cells} == {
        ("tiny", "bi"),
        ("tiny", "late"),
        ("published", "cross"),
    }
    known = {c.depth: c.metrics for c in RunFolder(folder).cells() if c.name == cell}
    for found in cells:
        if found.reader == "cross" and found.split == "test":
            assert found.metrics == pytest.approx(known[found.depth])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"task": ("search", "sts")}, "is a run of its own"),
        ({"task": "search", "tune": "joint"}, "leave out joint"),
        ({"task": "search", "train_rows": ("20",)}, "is not for a search"),
        ({"task": "search", "select": "dev"}, "is not for a search"),
        ({"task": "search", "tune": "none"}, "--backbone mini-sts"),
        ({"task": "sts", "corpus": "texts.txt"}, "add --task search"),
        ({"task": "search", "tune": "none", "backbone": "mini-sts"}, "mini-sts CROSS-ENCODER"),
    ],
)
def test_settings_of_other_tasks_are_refused(settings, told):
    with pytest.raises(UserError, match=told):
        Settings(**settings)


def test_pairs_of_a_search_get_cosines(folder, tmp_path, capsys):
    (tmp_path / "pairs.tsv").write_text(f"query\ttext\n{CORPUS[0]}\t{CORPUS[1]}\n")
    words = ["predict", str(folder), str(tmp_path / "pairs.tsv")]
    assert heads_command([*words, "--cell", "none-search-bi-frozen-concat-42"]) == 0
    score = float(capsys.readouterr().out.splitlines()[1].split("\t")[1])
    encoder = SentenceEncoder.from_pretrained(folder / "backbones" / "none", "avg", device="cpu")
    a, b = encoder.encode(CORPUS[:2])
    assert score == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=COSINES)


def test_commands_on_a_search_compare_it_or_say_what_to_do(folder, tmp_path, capsys):
    assert report_command(["compare", str(folder), str(folder)]) == 0
    told = capsys.readouterr().out
    assert (
        "search test, ndcg@10: A sup-cross-full-cls@50 and B sup-cross-full-cls@50 differ" in told
    )
    assert report_command(["cost", str(folder)]) == 2
    assert "times are in its results.csv" in capsys.readouterr().err
    (tmp_path / "queries.txt").write_text("what flies ?\n")
    assert heads_command(["predict", str(folder), str(tmp_path / "queries.txt")]) == 2
    assert "add --corpus FILE" in capsys.readouterr().err
    words = ["predict", str(folder), str(tmp_path / "queries.txt"), "--top-k", "3"]
    assert heads_command(words) == 2
    assert "--top-k: has no effect; add --corpus FILE" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [(), ("--columns", "Frage")])
def test_queries_are_in_a_table_too(folder, files, tmp_path, capsys, columns):
    header = columns[1] if columns else "query"
    content = f"nr\t{header}\n1\twhat flies ?\n2\tthe old dog\n"
    (tmp_path / "queries.tsv").write_text(content)
    words = ["predict", str(folder), str(tmp_path / "queries.tsv"), *files[1:]]
    assert heads_command([*words, *columns, "--top-k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split("\t")[:2] for line in lines] == [
        ["2", "1"],
        ["2", "2"],
        ["3", "1"],
        ["3", "2"],
    ]


def test_a_table_of_queries_with_other_names_is_refused(folder, files, tmp_path, capsys):
    (tmp_path / "queries.tsv").write_text("nr\tFrage\n1\twhat flies ?\n2\tthe old dog\n")
    words = ["predict", str(folder), str(tmp_path / "queries.tsv"), *files[1:]]
    assert heads_command(words) == 2
    assert "or name the column: --columns NAME" in capsys.readouterr().err


def test_a_threshold_leaves_out_what_the_cross_encoder_learned(folder, tmp_path, capsys):
    queries = [text.replace("the ", "a ").replace(" .", " ?") for text in CORPUS]
    learnt = [(queries[row], CORPUS[row], 1) for row in range(40)]
    others = [(queries[row], CORPUS[row + row % 2], (row + 1) % 2) for row in range(46, 86)]
    lines = ["query\ttext\trelevant", *("\t".join(map(str, row)) for row in learnt + others)]
    (tmp_path / "labelled.tsv").write_text("\n".join(lines) + "\n")
    words = ["threshold", str(folder), str(tmp_path / "labelled.tsv")]
    assert heads_command([*words, "--cell", "none-search-bi-frozen-concat-42"]) == 0
    assert "40 of 80 pairs are left out" in capsys.readouterr().err


def test_duplicates_in_both_directions_do_not_find_themselves(tiny_checkpoint, tmp_path):
    asked = list(dict.fromkeys(toy_sentences(40, seed=5)))[:24]
    pairs = [(asked[at], asked[at ^ 1]) for at in range(24)]
    content = "".join("\t".join(pair) + "\n" for pair in [("query", "text"), *pairs])
    (tmp_path / "twins.tsv").write_text(content)
    words = ["--pairs", str(tmp_path / "twins.tsv"), "--select", "train", "--reader", "bi", "late"]
    assert toy_runs.run(tiny_checkpoint, "bundled", tmp_path / "run", *words) == 0
    splits = read_search([str(tmp_path / "twins.tsv")], learns=False).splits
    for cell in RunFolder(tmp_path / "run").cells():
        rows, scores = RunFolder(tmp_path / "run").ranking(cell, splits.test, splits.corpus)
        texts = [[splits.corpus[row].text for row in best] for best in rows]
        assert all(q.text == best[-1] for q, best in zip(splits.test, texts, strict=True))
        assert np.isneginf(scores[:, -1]).all() and np.isfinite(scores[:, :-1]).all()

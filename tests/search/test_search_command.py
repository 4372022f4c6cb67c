"""`python -m search` as users call it: index, query, pairs, and everything that can be wrong."""

import io
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import real_data, toy_sentences
from indexing import command, write_lines
from sentence_transformers.util import semantic_search

from data.tasks import read_sts
from minbert.encoder import SentenceEncoder
from minbert.fast.int8 import check_int8
from runtime.errors import MachineError
from runtime.options import parse
from search import query as query_module
from search.__main__ import main
from search.options import (
    HELP,
    INDEX_ABOUT,
    PAIRS_ABOUT,
    QUERY_ABOUT,
    IndexOptions,
    PairsOptions,
    QueryOptions,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return toy_sentences(40, 5)


@pytest.fixture(scope="module")
def index(tmp_path_factory, tiny_checkpoint, texts) -> Path:
    folder = tmp_path_factory.mktemp("search")
    (folder / "t.txt").write_text("".join(f"{text}\n" for text in texts))
    words = ("index", folder / "t.txt", "--out", folder / "i", "--backbone", tiny_checkpoint)
    assert command(*words) == 0
    return folder / "i"


def hits_of(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_query_finds_what_numpy_finds(index, texts, tiny_checkpoint, capsys):
    queries = ["the old cat sees a dog .", texts[3]]
    assert command("query", index, *queries, "--top-k", "7", "--json") == 0
    encoder = SentenceEncoder.from_pretrained(
        str(tiny_checkpoint), device="cpu", precision="float32"
    )
    vectors = encoder.encode([*queries, *texts]).astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[:2] @ vectors[2:].T
    for found, query, own in zip(hits_of(capsys), queries, cosines, strict=True):
        order = np.argsort(-own, kind="stable")[:7]
        assert found["query"] == query
        assert [hit["id"] for hit in found["hits"]] == [str(row + 1) for row in order]
        assert [hit["text"] for hit in found["hits"]] == [texts[row] for row in order]
        assert [hit["cosine"] for hit in found["hits"]] == pytest.approx(own[order], abs=1e-6)


def test_real_sentences_are_found_as_sentence_transformers_finds_them(tmp_path, capsys):
    path = real_data("cs224n") / "sts-dev.csv"
    texts = [text for pair in read_sts(path)[:100] for text in pair.texts]  # some of them twice
    queries = [*texts[:5], " ".join(texts[7].split()[::2])]
    (tmp_path / "t.txt").write_text("".join(f"{text.strip()}\n" for text in texts))
    assert command("index", tmp_path / "t.txt", "--out", tmp_path / "i", "--backbone", "mini") == 0
    capsys.readouterr()
    assert command("query", tmp_path / "i", *queries, "--json", "--top-k", "25") == 0
    encoder = SentenceEncoder.from_pretrained("mini", device="cpu", precision="float32")
    vectors = encoder.encode([*queries, *texts], convert_to_tensor=True)
    theirs = semantic_search(vectors[:6], vectors[6:], top_k=25)
    for found, expected in zip(hits_of(capsys), theirs, strict=True):
        cosines = [hit["cosine"] for hit in found["hits"]]
        assert cosines == pytest.approx([hit["score"] for hit in expected], abs=1e-5)
        ids = {hit["id"] for hit in found["hits"][:20]}
        assert ids <= {str(hit["corpus_id"] + 1) for hit in expected}


def test_queries_come_one_per_line_from_stdin(index, texts, capsys, monkeypatch):
    given = io.TextIOWrapper(io.BytesIO(f"{texts[0]}\n\n  {texts[1]} \n".encode()))
    monkeypatch.setattr(sys, "stdin", given)
    assert command("query", index, "--top-k", "1", "--json") == 0
    assert [found["query"] for found in hits_of(capsys)] == texts[:2]


def test_texts_come_from_stdin_and_are_appended(tmp_path, tiny_checkpoint, monkeypatch, capsys):
    for given, more in ((b"a cat\n", ["--backbone", tiny_checkpoint]), (b"a dog\n", ["--append"])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        assert command("index", "-", "--out", tmp_path / "i", *more) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"2 texts, 1 of them new, 32 dimensions: {tmp_path / 'i'}"
    assert command("query", tmp_path / "i", "a dog", "--json", "--top-k", "9") == 0
    (found,) = hits_of(capsys)
    assert [(hit["id"], hit["text"]) for hit in found["hits"]] == [("2", "a dog"), ("1", "a cat")]


def test_an_index_is_found_by_its_encoder_from_any_folder(tmp_path, tiny_checkpoint, monkeypatch):
    shutil.copytree(tiny_checkpoint, tmp_path / "bert")
    write_lines(tmp_path / "t.txt", 3)
    monkeypatch.chdir(tmp_path)
    assert command("index", "t.txt", "--out", "i", "--backbone", "bert", "--pooling", "avg") == 0
    monkeypatch.chdir(ROOT)
    assert command("query", tmp_path / "i", "a cat", "--json") == 0


def test_pairs_lists_the_most_similar(tmp_path, tiny_checkpoint, capsys):
    (tmp_path / "t.tsv").write_text("x\ta cat\ny\tthe storm and the train .\nz\ta cat\n")
    words = ("--out", tmp_path / "i", "--backbone", tiny_checkpoint, "--ids")
    assert command("index", tmp_path / "t.tsv", *words) == 0
    capsys.readouterr()
    assert command("pairs", tmp_path / "i", "--threshold", "1") == 0
    pair, last = capsys.readouterr().out.splitlines()
    assert pair == "1.0000  x  z  a cat | a cat"
    assert last == f"1 pair(s) of cosine 1 or more: {tmp_path / 'i'}"
    assert command("pairs", tmp_path / "i", "--threshold", "-1", "--json") == 0
    ids = [(pair["first"]["id"], pair["second"]["id"]) for pair in hits_of(capsys)]
    assert ids[0] == ("x", "z") and sorted(ids) == [("x", "y"), ("x", "z"), ("y", "z")]


def test_all_pairs_are_printed_beyond_the_top(index, capsys):
    assert command("pairs", index, "--threshold", "-1", "--json", "--all", "--top", "3") == 0
    rows = [(int(p["first"]["id"]), int(p["second"]["id"])) for p in hits_of(capsys)]
    assert sorted(rows) == [(i, j) for i in range(1, 41) for j in range(i + 1, 41)]
    assert command("pairs", index, "--threshold", "-1", "--all", "--top", "3") == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("780 pair(s) of cosine -1 or more: ")


def test_control_characters_of_texts_do_not_reach_the_terminal(tmp_path, tiny_checkpoint, capsys):
    evil = "\x1b[2J\x1b]0;owned\x07cat\r\u202edog\x9b"
    (tmp_path / "t.tsv").write_text(f"i\x1bd\t{evil}\n2\t{evil}\n", encoding="utf-8")
    words = ("--out", tmp_path / "i", "--backbone", tiny_checkpoint, "--ids")
    assert command("index", tmp_path / "t.tsv", *words) == 0
    for words in (("query", tmp_path / "i", evil), ("pairs", tmp_path / "i")):
        for more in ((), ("--json",)):
            assert command(*words, *more) == 0
            printed = capsys.readouterr().out
            assert "cat" in printed and all(c.isprintable() or c == "\n" for c in printed)


def refused(capsys, *words) -> str:
    """Return the one line with which a command line is refused."""
    assert command(*words) == 2
    printed = capsys.readouterr()
    assert not printed.out and printed.err.startswith("error: ") and printed.err.count("\n") == 1
    return printed.err


def test_what_cannot_be_used_is_refused_in_one_line(
    index, tmp_path, tiny_checkpoint, capsys, monkeypatch
):
    write_lines(tmp_path / "t.txt", 3)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "empty.txt").write_text("\n \n")
    new = ("--out", tmp_path / "new", "--backbone", tiny_checkpoint)
    assert "no index" in refused(capsys, "query", tmp_path / "absent", "x")
    assert "no index" in refused(capsys, "pairs", tmp_path)
    assert "absent.txt: cannot be read" in refused(capsys, "index", tmp_path / "absent.txt", *new)
    assert "latin.txt:1: byte 0xe9" in refused(capsys, "index", tmp_path / "latin.txt", *new)
    assert "empty.txt: is empty" in refused(capsys, "index", tmp_path / "empty.txt", *new)
    assert "cannot be read" in refused(capsys, "index", tmp_path, *new)
    monkeypatch.setattr(sys, "stdin", None)  # as a shell's <&- leaves it
    assert "stdin: is empty" in refused(capsys, "index", "-", *new)
    assert "holds other files and no index" in refused(
        capsys, "index", tmp_path / "t.txt", "--out", tmp_path, "--backbone", tiny_checkpoint
    )
    assert "another encoder" in refused(
        capsys, "index", tmp_path / "t.txt", "--append", "--out", index, "--backbone", "mini"
    )
    assert "holds other texts" in refused(capsys, "index", tmp_path / "t.txt", "--out", index)
    assert "query ''" in refused(capsys, "query", index, " ")
    assert "'a\\udcff'" in refused(capsys, "query", index, "a\udcff")


def test_an_encoder_that_changed_is_refused(tmp_path, tiny_checkpoint, tiny_encoder, capsys):
    shutil.copytree(tiny_checkpoint, tmp_path / "bert")
    write_lines(tmp_path / "t.txt", 3)
    words = ("--out", tmp_path / "i", "--backbone", tmp_path / "bert")
    assert command("index", tmp_path / "t.txt", *words) == 0
    capsys.readouterr()
    tiny_encoder.model.embeddings.word_embeddings.weight.data[7] += 1
    shutil.rmtree(tmp_path / "bert")
    tiny_encoder.save(tmp_path / "bert")
    assert "not the encoder that made" in refused(capsys, "query", tmp_path / "i", "a cat")
    shutil.rmtree(tmp_path / "bert")
    assert "no such folder" in refused(capsys, "query", tmp_path / "i", "a cat")


def test_the_table_names_ranks_ids_and_the_index(index, texts, capsys, monkeypatch):
    monkeypatch.setattr(query_module.time, "perf_counter", lambda: 1.0)
    assert command("query", index, texts[3], "--top-k", "2") == 0
    query, header, first, second, empty, last = capsys.readouterr().out.splitlines()
    assert query == f"query: {texts[3]}" and header.split() == ["rank", "cosine", "id", "text"]
    assert first.split(maxsplit=3)[:2] == ["1", "1.000"] and first.endswith(texts[3])
    assert second.startswith("   2") and empty == ""
    assert last == f"1 query, 40 texts, 0.00 s: {index}"


@pytest.mark.parametrize("words", ["", "find", "--top-k 3 query"])
def test_without_a_command_it_is_explained(words, capsys):
    assert main(words.split()) == 2
    assert capsys.readouterr().err.startswith("usage: python -m search")
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == f"{HELP}\n"


@pytest.mark.parametrize(
    ("options", "about"),
    [(IndexOptions, INDEX_ABOUT), (QueryOptions, QUERY_ABOUT), (PairsOptions, PAIRS_ABOUT)],
)
def test_examples_parse(options, about):
    name = about["prog"].split()[-1]
    examples = re.findall(
        rf"^  .*python -m search {name} ([^<>\n]+)", f"{about['epilog']}\n{HELP}", re.MULTILINE
    )
    assert len(examples) > 2 or options is PairsOptions
    for example in examples:
        assert parse(options, shlex.split(example))


def test_ids_of_lines_are_not_those_of_vectors(capsys):
    with pytest.raises(SystemExit):
        command("index", "t.tsv", "--vectors", "v", "--ids", "--out", "i")
    assert "--ids: with --vectors, the ids are those of the vectors" in capsys.readouterr().err


def test_an_index_in_int8_is_queried_in_int8_only(tmp_path, tiny_checkpoint, capsys):
    try:
        check_int8(torch.device("cpu"))
    except MachineError as error:
        pytest.skip(str(error))
    texts = write_lines(tmp_path / "t.txt", 12)
    source = [tmp_path / "t.txt", "--backbone", tiny_checkpoint]
    for precision in ("int8", "float32"):
        out = tmp_path / precision
        assert command("index", *source, "--out", out, precision=precision) == 0
    capsys.readouterr()
    assert command("query", tmp_path / "int8", texts[4], "--json", precision="int8") == 0
    best = json.loads(capsys.readouterr().out)["hits"][0]
    assert best["text"] == texts[4] and best["cosine"] == pytest.approx(1, abs=1e-6)
    for made, asked, advice in (
        ("int8", "bfloat16", "give --precision int8"),
        ("float32", "int8", "give --precision float32 or bfloat16, not int8"),
    ):
        assert command("query", tmp_path / made, texts[4], precision=asked) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and advice in error


def test_a_machine_without_int8_is_one_line(tmp_path, tiny_checkpoint, capsys, monkeypatch):
    write_lines(tmp_path / "t.txt", 3)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    words = ["index", tmp_path / "t.txt", "--out", tmp_path / "i", "--backbone", tiny_checkpoint]
    assert command(*words, precision="int8") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "neither VNNI nor AMX; use --precision auto" in error

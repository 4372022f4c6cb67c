"""`python -m search` as users call it: index, query, pairs, and everything that can be wrong."""

import io
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_sentences
from indexing import command, write_lines
from sentence_transformers.util import semantic_search

from search import query as query_module
from search.__main__ import main
from search.options import HELP


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


@pytest.fixture
def stdin(monkeypatch):
    return lambda raw: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def hits_of(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_query_finds_what_sentence_transformers_finds(index, texts, tiny_encoder, capsys, stdin):
    queries = ["the old cat sees a dog .", texts[3]]
    assert command("query", index, *queries, "--top-k", "7", "--json") == 0
    answers = hits_of(capsys)
    vectors = tiny_encoder.encode([*queries, *texts], convert_to_tensor=True)
    for answer, query, hits in zip(
        answers, queries, semantic_search(*vectors.split([2, 40])), strict=True
    ):
        assert answer["query"] == query
        rows = [hit["corpus_id"] for hit in hits[:7]]
        assert [hit["id"] for hit in answer["hits"]] == [str(row + 1) for row in rows]
        assert [hit["text"] for hit in answer["hits"]] == [texts[row] for row in rows]
        cosines = [hit["cosine"] for hit in answer["hits"]]
        assert cosines == pytest.approx([hit["score"] for hit in hits[:7]], abs=1e-6)
    stdin(f"{queries[0]}\n\n  {queries[1]} \n".encode())
    assert command("query", index, "--top-k", "7", "--json") == 0
    assert hits_of(capsys) == answers


def test_texts_come_from_stdin_and_are_appended(tmp_path, tiny_checkpoint, stdin, capsys):
    for given, more in ((b"a cat\n", ["--backbone", tiny_checkpoint]), (b"a dog\n", ["--append"])):
        stdin(given)
        assert command("index", "-", "--out", tmp_path / "i", *more) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"2 texts, 1 of them new, 32 dimensions: {tmp_path / 'i'}"
    assert command("query", tmp_path / "i", "a dog", "--json", "--top-k", "9") == 0
    (answer,) = hits_of(capsys)
    assert [(hit["id"], hit["text"]) for hit in answer["hits"]] == [("2", "a dog"), ("1", "a cat")]


def test_pairs_lists_the_most_similar_or_all(tmp_path, tiny_checkpoint, capsys):
    (tmp_path / "t.tsv").write_text("x\ta cat\ny\tthe storm and the train .\nz\ta cat\n")
    words = ("--out", tmp_path / "i", "--backbone", tiny_checkpoint, "--ids")
    assert command("index", tmp_path / "t.tsv", *words) == 0
    capsys.readouterr()
    assert command("pairs", tmp_path / "i", "--threshold", "1") == 0
    pair, last = capsys.readouterr().out.splitlines()
    assert pair == "1.0000  x  z  a cat | a cat"
    assert last == f"1 pair(s) of cosine 1 or more: {tmp_path / 'i'}"
    assert command("pairs", tmp_path / "i", "--threshold", "-1", "--top", "2") == 0
    *pairs, last = capsys.readouterr().out.splitlines()
    assert len(pairs) == 2 and "2 pair(s) of cosine -1 or more, cut by --top: " in last
    all_of_them = ("--threshold", "-1", "--json", "--all", "--top", "2")
    assert command("pairs", tmp_path / "i", *all_of_them) == 0
    ids = [(pair["first"]["id"], pair["second"]["id"]) for pair in hits_of(capsys)]
    assert sorted(ids) == [("x", "y"), ("x", "z"), ("y", "z")]


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
    for file, said in (
        ("absent.txt", "absent.txt: cannot be read"),
        ("latin.txt", "latin.txt:1: byte 0xe9"),
        ("empty.txt", "empty.txt: is empty"),
        (".", "cannot be read"),
    ):
        assert said in refused(capsys, "index", tmp_path / file, *new)
    here = ("index", tmp_path / "t.txt", "--out")
    for words, said in (
        (("query", tmp_path / "absent", "x"), "no index"),
        (("pairs", tmp_path), "no index"),
        ((*here, tmp_path, "--backbone", tiny_checkpoint), "holds other files and no index"),
        ((*here, index, "--append", "--backbone", "mini"), "another encoder"),
        ((*here, index), "holds other texts"),
        (("query", index, " "), "query ''"),
        (("query", index, "a\udcff"), "'a\\udcff'"),
    ):
        assert said in refused(capsys, *words)
    monkeypatch.setattr(sys, "stdin", None)  # as a shell's <&- leaves it
    assert "stdin: is empty" in refused(capsys, "index", "-", *new)
    with pytest.raises(SystemExit) as end:
        command("index", "t.txt", "--vectors", "v", "--out", "i")
    assert end.value.code == 2
    assert "error: --vectors was removed in 1.1: leave it out" in capsys.readouterr().err


def test_the_encoder_is_found_from_any_folder_unless_it_changed(
    tmp_path, tiny_checkpoint, tiny_encoder, capsys, monkeypatch
):
    shutil.copytree(tiny_checkpoint, tmp_path / "bert")
    write_lines(tmp_path / "t.txt", 3)
    monkeypatch.chdir(tmp_path)
    assert command("index", "t.txt", "--out", "i", "--backbone", "bert", "--pooling", "avg") == 0
    monkeypatch.chdir("/")
    assert command("query", tmp_path / "i", "a cat", "--json") == 0
    capsys.readouterr()
    tiny_encoder.model.embeddings.word_embeddings.weight.data[7] += 1
    shutil.rmtree(tmp_path / "bert")
    assert "no such folder" in refused(capsys, "query", tmp_path / "i", "a cat")
    tiny_encoder.save(tmp_path / "bert")
    assert "not the encoder that built" in refused(capsys, "query", tmp_path / "i", "a cat")


def test_the_table_names_ranks_ids_and_the_index(index, texts, capsys, monkeypatch):
    monkeypatch.setattr(query_module.time, "perf_counter", lambda: 1.0)
    assert command("query", index, texts[3], "--top-k", "2") == 0
    query, header, first, second, empty, last = capsys.readouterr().out.splitlines()
    assert query == f"query: {texts[3]}" and header.split() == ["rank", "cosine", "id", "text"]
    assert first.split(maxsplit=3)[:2] == ["1", "1.000"] and first.endswith(texts[3])
    assert second.startswith("   2") and empty == ""
    assert last == f"1 query, 40 texts, 0.00 s: {index}"


def test_without_a_command_it_is_explained(capsys):
    for words, told in (([], ""), (["find"], "error: no command 'find'\n")):
        assert main(words) == 2
        assert capsys.readouterr().err == f"{HELP}\n{told}"
    assert main(["--help"]) == 0 and capsys.readouterr().out == f"{HELP}\n"


def test_a_threshold_comes_from_labelled_pairs_and_pairs_takes_it(
    index, tiny_encoder, tmp_path, capsys
):
    texts = toy_sentences(200, 9)
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    vectors = [tiny_encoder.encode(list(side)) for side in zip(*pairs, strict=True)]
    left, right = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in vectors)
    cosines = (left * right).sum(axis=1)
    labels = np.where(cosines >= np.median(cosines), "yes", "no")
    path = tmp_path / "labelled.csv"
    rows = [f'"{a}","{b}",{y}\n' for (a, b), y in zip(pairs, labels, strict=True)]
    path.write_text("text1,text2,label\n" + "".join(rows))
    capsys.readouterr()
    assert main(["threshold", str(index), str(path), "--precision", "0.9", "--device", "cpu"]) == 0
    _, row, *_, last = capsys.readouterr().out.splitlines()
    threshold, precision, *_ = row.split()
    assert float(precision) > 0.85 and row.endswith("precision of 0.9 or more")
    assert float(threshold) == pytest.approx(np.median(cosines), abs=0.05)
    words = last.removeprefix("then: python -m search ").split()
    assert words == ["pairs", str(index), "--threshold", threshold] and command(*words) == 0
    path.write_text("text1,text2,label\n" + "".join(rows[:8]))
    capsys.readouterr()
    assert "pair(s), expected at least 10; label more" in refused(capsys, "threshold", index, path)

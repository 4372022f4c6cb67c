"""Finished heads leave their run: they predict new texts, and other libraries read them."""

import dataclasses
import importlib.util
import json
import re
import shutil
import warnings

import numpy as np
import pytest
from conftest import toy_sentences
from toy_runs import cells_of

import heads
from baselines.isbert import InfoEncoder, TokenFeatures
from data.tasks import TASKS, read_task, split_file
from heads.__main__ import main
from heads.export import export_folder
from heads.graph import PACKAGES, write_graph
from heads.saved import find_cell
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError


def written(folder, name, task, split="dev") -> list[float]:
    """Return the predictions that the run itself wrote."""
    path = folder / "predictions" / name / f"{task}-{split}-output.csv"
    return [float(line.rsplit(" , ", 1)[1]) for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("cell", ["sst", "para", "none-sts-cross-full-interaction-42"])
def test_a_file_of_texts_gets_the_runs_own_predictions(
    toy_grid, toy_data, tmp_path, cell, capsys, monkeypatch
):
    monkeypatch.setattr("heads.predict.PIECE", 7)
    found = find_cell(toy_grid, cell)
    task = TASKS[found.task]
    rows = read_task(toy_data, task.name).dev
    named = split_file(toy_data, task, "dev")
    bare = tmp_path / "bare.tsv"
    bare.write_text("".join("\t".join(row.texts) + "\n\n" for row in rows), "utf-8")
    out = tmp_path / "new" / "out.tsv"
    expected = written(toy_grid, found.name, task.name)
    words = ["predict", str(toy_grid), "--cell", cell, "--device", "cpu"]
    assert main([*words, str(named), "--out", str(out)]) == 0
    numbers = ["--columns", "1", "2"] if task.is_pair else []
    assert main([*words, str(bare), *numbers]) == 0
    printed = capsys.readouterr()
    assert printed.err.count(f"cell {found.name}\n") == 2
    ids = {out.read_text(): [row.id for row in rows]}
    ids[printed.out] = [str(2 * number + 1) for number in range(len(rows))]
    for text, own in ids.items():
        header, *lines = [line.split("\t") for line in text.splitlines()]
        columns = dict(zip(header, zip(*lines, strict=True), strict=True))
        assert list(columns["id"]) == own
        np.testing.assert_allclose(np.array(columns[task.label], float), expected, atol=1e-5)
        if task.label_kind == "binary":
            assert [float(p) > 0.5 for p in columns["probability"]] == [v == 1 for v in expected]
        if task.label_kind == "classes":
            soft = np.array([columns[f"p{number}"] for number in range(5)], float)
            assert soft.argmax(axis=0).tolist() == expected
            np.testing.assert_allclose(soft.sum(axis=0), 1, atol=1e-5)

    again = heads.load(toy_grid, cell, "cpu").predict([row.texts for row in rows])
    np.testing.assert_allclose(again, expected, atol=1e-5)


def test_a_script_may_give_single_texts_and_none_at_all(toy_grid, toy_data):
    head = heads.load(str(toy_grid), "sst", "cpu")
    texts = [row.texts[0] for row in read_task(toy_data, "sst").dev]
    assert head.predict(texts).tolist() == head.predict([(text,) for text in texts]).tolist()
    assert len(head.predict([])) == 0
    with pytest.raises(UserError, match=r"example 1 has 2 text\(s\); expected 1, as sentence"):
        head.predict(["a", ("a", "b")])


def test_probabilities_are_given_on_request(toy_grid, toy_data):
    for name, classes in (("sst", 5), ("para", 0)):
        head = heads.load(toy_grid, name, "cpu")
        texts = [row.texts for row in read_task(toy_data, name).dev]
        soft = head.predict(texts, probabilities=True)
        assert soft.shape == ((len(texts), 5) if classes else (len(texts),))
        hard = soft.argmax(axis=1) if classes else soft > 0.5
        assert hard.tolist() == head.predict(texts).tolist()
        assert head.predict([], probabilities=True).shape == ((0, 5) if classes else (0,))
    with pytest.raises(UserError, match="sts: its head predicts scores, not probabilities"):
        heads.load(toy_grid, "sts", "cpu").predict([("a", "b")], probabilities=True)


def test_a_threshold_of_a_head_is_measured(toy_grid, tmp_path, capsys):
    texts = toy_sentences(120, 6)
    rows = [
        f"{a}\t{b}\t{n % 2}" for n, (a, b) in enumerate(zip(texts[::2], texts[1::2], strict=True))
    ]
    path = tmp_path / "labelled.tsv"
    path.write_text("\n".join(["sentence1\tsentence2\tlabel", *rows, ""]))
    words = ["threshold", str(toy_grid), str(path), "--device", "cpu", "--cell"]
    assert main([*words, "para"]) == 0
    head, row, *_, last = capsys.readouterr().out.splitlines()
    assert head.split() == ["threshold", "precision", "recall", "chosen", "for"]
    assert 0 <= float(row.split()[0]) <= 1 and row.endswith("best F1")
    assert "column probability of: python -m heads predict" in last
    assert main([*words, "sst"]) == 2
    assert "a threshold is for the scores of pairs" in capsys.readouterr().err
    path.write_text("\n".join(["sentence1\tsentence2\tlabel", *rows[:12], ""]))
    assert main([*words, "sts"]) == 2
    assert "6 positive pair(s), expected at least 10; label more" in capsys.readouterr().err


def test_export_takes_the_best_cell_that_has_the_form(toy_grid, tmp_path, capsys):
    assert main(["export", str(toy_grid), "--cell", "para", "--out", str(tmp_path / "out")]) == 0
    name = capsys.readouterr().err.splitlines()[-1].split()[1].rstrip(",")
    cells = [c for c in cells_of(toy_grid) if c.name.split("-")[1:3] == ["para", "bi"]]
    scores = {c.name: c.metrics["accuracy"] for c in cells if c.split == "dev"}
    assert scores[name] == max(scores.values())


def test_results_that_were_edited_do_not_choose_a_cell(toy_grid, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(toy_grid, run, symlinks=True)
    results = json.loads((run / "results.json").read_text())
    results[0]["metrics"][TASKS[results[0]["task"]].main_metric] = 0.999
    (run / "results.json").write_text(json.dumps(results))
    with pytest.raises(
        UserError, match=r"has changed since it was measured; run the command again"
    ):
        find_cell(run, None)


def test_the_best_cell_is_the_one_that_scores_best_on_dev(toy_grid):
    cells = [cell for cell in cells_of(toy_grid) if cell.task == "sts" and cell.split == "dev"]
    scores = {cell.name: cell.metrics["pearson"] for cell in cells}
    assert find_cell(toy_grid, "sts").name == max(scores, key=lambda name: scores[name] or -2)


BI = [
    "sup-sst-bi-frozen-interaction-42",
    "none-para-bi-full-interaction-42",
    "sup-sts-bi-frozen-interaction-42",
]


@pytest.mark.parametrize("name", BI)
def test_an_exported_bi_encoder_is_a_sentence_transformer_with_a_card_whose_program_predicts(
    toy_grid, toy_data, tmp_path, name, caplog, capsys, monkeypatch
):
    SentenceTransformer = pytest.importorskip("sentence_transformers").SentenceTransformer
    out = tmp_path / "taken"
    for _ in range(2):  # the second time it replaces what the first one wrote
        assert main(["export", str(toy_grid), "--cell", name, "--out", str(out)]) == 0
    head = heads.load(toy_grid, name, "cpu")
    texts = toy_sentences(20, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theirs = SentenceTransformer(str(out), device="cpu")
    assert not caplog.records and "MISSING" not in capsys.readouterr().err
    np.testing.assert_allclose(theirs.encode(texts), head.encoder.encode(texts), atol=1e-5)

    card = (out / "README.md").read_text()
    cell = next(cell for cell in cells_of(toy_grid) if cell.name == name)
    assert ("The best epoch was chosen on dev." in card) == (cell.select == "dev")
    metric = TASKS[cell.task].main_metric
    score, around = cell.metrics[metric], cell.interval[metric]
    assert f"{score:.3f}" + (f" [{around['low']:.3f}, " if around else " |") in card
    assert f"| data | {toy_data.name}, task {cell.task} |" in card and str(tmp_path) not in card
    example = ("a first text", "a second one")[: TASKS[cell.task].num_texts]
    program = "\n".join(re.findall(r"```python\n(.*?)```", card, re.DOTALL))
    told = {}
    monkeypatch.chdir(tmp_path)
    exec(program, told)
    assert float(told["prediction"][0]) == pytest.approx(head.predict([example])[0], abs=1e-5)


def test_a_head_on_embeddings_side_by_side_gets_them_with_their_lengths(toy_grid, tmp_path):
    name = "none-sts-bi-full-interaction-42"
    head = heads.load(toy_grid, name, "cpu")
    head.encoder.normalize = True
    for form, length in ("concat", None), ("interaction", 1.0):
        features = dataclasses.replace(head.features, form=form)
        taken = dataclasses.replace(head, features=features)
        export_folder(find_cell(toy_grid, name), taken, tmp_path / form)
        own = SentenceEncoder.from_pretrained(str(tmp_path / form), device="cpu")
        assert own.normalize is (length == 1.0) and head.encoder.normalize


def test_what_cannot_be_exported_is_told_in_one_line(toy_grid, tmp_path, capsys):
    words = ["export", str(toy_grid), "--cell"]
    out = tmp_path / "out"
    assert main([*words, "none-sts-cross-full-interaction-42", "--out", str(out)]) == 2
    told = "CrossEncoder has no head on interaction features; train with --features cls, or give"
    assert told in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*words, "sst"])
    assert "nothing to write; give --out DIR or --onnx FILE" in capsys.readouterr().err
    (tmp_path / "mine.txt").touch()
    pairs = tmp_path / "mine.txt"
    assert main(["predict", *words[1:], "sst", str(pairs), "--out", str(tmp_path)]) == 2
    assert f"error: {tmp_path}: is a folder; name a file" in capsys.readouterr().err
    assert main([*words, "sst", "--out", str(tmp_path)]) == 2
    assert "exists and is no checkpoint" in capsys.readouterr().err
    head = heads.load(toy_grid, BI[-1], "cpu")
    head = dataclasses.replace(head, encoder=InfoEncoder.around(head.encoder, TokenFeatures(32)))
    with pytest.raises(UserError, match=r"no form of IS-BERT's convolutions"):
        export_folder(find_cell(toy_grid, BI[-1]), head, out)
    if all(importlib.util.find_spec(package) for package in PACKAGES):
        with pytest.raises(UserError, match="only bi- and cross-encoders can be"):
            write_graph(head, out)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


PAIR = "sentence1\tsentence2\nthe cat\tthe dog\n"
WRONG = {
    "absent": (None, "absent.tsv: cannot be read"),
    "empty": ("\n", "empty.tsv: is empty; expected a header line and rows"),
    "one field": (PAIR + "the cat\n", "one field.tsv:3: 1 tab-separated field(s), expected 2"),
    "three": (PAIR + "a\tb\tc\n", "three.tsv:3: 3 tab-separated field(s), expected 2"),
    "none": ("the cat\tthe dog\n", "or, without a header: --columns 1 2"),
    "half a header": ("id\tsentence1\nx\ta\n", "half a header.tsv:1: no column 'sentence2'"),
    "short row": ("sentence1\tsentence2\na\tb\nc\n", "short row.tsv:3: 1 tab-separated field(s)"),
    "Latin-1": (PAIR.encode() + b"caf\xe9\tb\n", "Latin-1.tsv:3: byte 0xe9 is not valid UTF-8"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_cannot_be_read_is_told_by_line_and_nothing_is_written(
    toy_grid, tmp_path, capsys, name
):
    content, told = WRONG[name]
    path, out = tmp_path / f"{name}.tsv", tmp_path / "out.tsv"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["predict", str(toy_grid), str(path), "--cell", "sts", "--out", str(out)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ") and told in error and not out.exists()
    assert main(["predict", str(toy_grid), str(path), "--cell", "sts"]) == 2
    assert capsys.readouterr().out == ""


def test_a_run_without_the_cell_says_which_it_has(toy_grid, tmp_path):
    with pytest.raises(
        UserError, match=r"no finished cell with a head 'none-sts'; it has .*-sst-.*, none-sts-"
    ):
        find_cell(toy_grid, "none-sts")
    with pytest.raises(UserError, match="several tasks; give --cell sst or --cell para or"):
        find_cell(toy_grid, None)
    with pytest.raises(UserError, match=r"no results\.json in it; give the folder of a run"):
        find_cell(tmp_path, None)
    (tmp_path / "results.json").write_text(json.dumps([{"task": "sts"}]))
    with pytest.raises(UserError, match=r"results\.json: not a run's results"):
        find_cell(tmp_path, None)
    (tmp_path / "results.json").write_text("[]")
    with pytest.raises(UserError, match="no finished cell in its heads/"):
        find_cell(tmp_path, None)


def test_no_command_writes_over_what_it_reads(toy_grid, tmp_path, capsys):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the cat\tthe dog\n")
    before = {path: path.read_bytes() for path in (pairs, toy_grid / "results.json")}
    backbone = next(path for path in sorted((toy_grid / "backbones").iterdir()))
    for words in (
        ["predict", toy_grid, pairs, "--cell", "sts", "--out", pairs],
        ["predict", toy_grid, pairs, "--cell", "sts", "--out", toy_grid / "results.json"],
        ["export", toy_grid, "--cell", "sts", "--out", backbone],
    ):
        assert main([str(word) for word in words]) == 2
        assert "would be overwritten" in capsys.readouterr().err
    assert all(path.read_bytes() == content for path, content in before.items())


def test_scores_that_were_edited_everywhere_choose_no_cell(toy_grid, tmp_path, capsys):
    """The list of a training's files says what was measured."""
    run = shutil.copytree(toy_grid, tmp_path / "run", symlinks=True)
    results = next(iter(sorted(run.glob("trainings/*/results.json"))))
    for path in (results, run / "results.json"):
        entries = json.loads(path.read_text())
        key = json.loads(results.read_text())[0]["key"]
        for entry in entries:
            if entry["key"] == key:
                entry["metrics"] = dict.fromkeys(entry["metrics"], 0.99)
        path.write_text(json.dumps(entries))
    (tmp_path / "texts.txt").write_text("the cat\n")
    assert main(["predict", str(run), str(tmp_path / "texts.txt"), "--cell", "sst"]) == 2
    err = capsys.readouterr().err
    assert f"{results.parent}: results.json has changed; delete this folder" in err

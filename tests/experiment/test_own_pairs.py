"""A table of the user's own, from --pairs to page, predictions and export; settings of it."""

import json
import lzma
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_runs
from conftest import COSINES, toy_sentences
from safetensors.torch import load_file, save_file

import heads
import run_multitask
from data.examples import DataError
from experiment.settings import Settings, parse_options
from heads.__main__ import main as heads_main
from minbert.encode.__main__ import main as encode_main
from report.__main__ import main as report_main
from report.compare import compare
from report.costs import cost_lines, measure_run
from report.page.write import write_page
from runtime.errors import UserError

# By task and what it is about.
LABELS = {
    "paraphrase of pairs": ("no", "yes"),
    "similarity of pairs": ("1", "3.5", "7"),
    "classes of texts": ("bad", "good", "so so"),
    "classes of pairs": ("contradiction", "entailment", "Neutral"),
}


def write_table(path, kind):
    """Write 60 rows whose labels are of a task."""
    number = 1 if kind == "classes of texts" else 2
    # SimCSE reads its texts back from a file, whatever they begin with.
    # Nothing but the encoder tells which texts are equal: they have accents.
    columns = [
        [f"[[{i}]] é {s}" for i, s in enumerate(toy_sentences(60, n))] for n in range(number)
    ]
    names = ("text_a", "text_b")[:number] if number == 2 else ("review",)
    labels = [LABELS[kind][i % len(LABELS[kind])] for i in range(60)]
    rows = zip(*columns, labels, strict=True)
    lines = ["\t".join((*names, "verdict")), *map("\t".join, rows)]
    path.write_text("\n".join(lines) + "\n")
    return (*names, "verdict")


@pytest.fixture(scope="module", params=LABELS)
def own_run(request, tiny_checkpoint, tmp_path_factory):
    """Return the kind of rows, the table, the run folder, and what a run printed."""
    folder = tmp_path_factory.mktemp(request.param)
    columns = write_table(folder / "my.tsv", request.param)
    lines = []
    settings = toy_runs.small(
        tiny_checkpoint, "bundled", folder / "run", pairs=str(folder / "my.tsv"),
        columns=columns, pretrain="unsup", reader=("bi", "late", "cross"),
    )  # fmt: skip
    toy_runs.compare(settings, lines.append)
    return request.param, folder / "my.tsv", folder / "run", "\n".join(lines)


def test_a_table_becomes_cells_verdict_and_page(own_run, tmp_path):
    kind, _path, run, printed = own_run
    task, items = kind.split(" of ")
    assert f"data      my.tsv: 60 {items}, label 'verdict'" in printed
    assert "split 48/6/6 by connected texts" in printed
    assert "unsup: the texts of the train part" in printed
    cells = toy_runs.cells_of(run)
    readers = {"bi"} if items == "texts" else {"bi", "late", "cross"}
    assert {cell.reader for cell in cells} == readers
    assert {cell.task for cell in cells} == {task} and {cell.n for cell in cells} == {6}
    assert {cell.split for cell in cells} == {"dev", "test"}
    assert all(cell.overlap["sentences"] == 0 for cell in cells)  # SimCSE read train only
    page = write_page(run).read_text().lower()
    for word in ("quora", "sentiment", "sts-", "synthetic"):
        assert word not in page and word not in printed.lower()
    for output in run.glob("predictions/*/*-output.csv"):
        assert output.name in (f"{task}-dev-output.csv", f"{task}-test-output.csv")
        header, *rows = output.read_text().splitlines()
        assert header == "id \t verdict "
        if task != "similarity":
            assert {row.split(" , ")[1].strip() for row in rows} <= {*LABELS[kind]}
    costs = measure_run(run, 0.01, "cpu")
    assert {c["task"] for c in costs["cells"]} == {task}
    assert f"one {items[:-1]} " in "\n".join(cost_lines(costs))
    if task == "classes":
        assert f"with 3 classes ({', '.join(f'20 {word}' for word in LABELS[kind])})" in printed
        assert all(
            "f1" in c.interval and len(c.calibration["bins"]) and not c.threshold for c in cells
        )
        assert "word overlap" not in printed


def test_predictions_are_in_the_words_of_the_table(own_run, tmp_path, capsys):
    kind, _path, run, _ = own_run
    task, items = kind.split(" of ")
    new = tmp_path / "new.csv"
    header = "review" if items == "texts" else "text_a,text_b"
    new.write_text(f"{header}\n" + ("a kite\n" if items == "texts" else "a kite,the wind\n") * 3)
    for cell in {cell.name: cell for cell in toy_runs.cells_of(run)}:
        assert heads_main(["predict", str(run), str(new), "--cell", cell, "--device", "cpu"]) == 0
        names, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
        assert names[:2] == ["id", "verdict"] and len(rows) == 3
        for row in rows:
            if task == "similarity":
                assert 1 <= float(row[1]) <= 7
            else:
                assert row[1] in LABELS[kind]
        if task == "classes":
            assert names[2:] == [f"p_{word}" for word in LABELS[kind]]
            likeliest = int(np.argmax([float(value) for value in rows[0][2:]]))
            assert rows[0][1] == LABELS[kind][likeliest]
    if task == "classes":
        words = ["threshold", str(run), str(new), "--cell", cell, "--device", "cpu"]
        assert heads_main(words) == 2
        assert "; a threshold is for the scores of pairs" in capsys.readouterr().err
    cell = next(cell.name for cell in toy_runs.cells_of(run) if cell.reader == "bi")
    out = tmp_path / "out"
    assert heads_main(["export", str(run), "--cell", cell, "--out", str(out)]) == 0
    card = (out / "README.md").read_text()
    assert str(out.parent) not in card  # nothing of this machine
    wanted = f"labels = {[*LABELS[kind]]}"
    if task == "similarity":
        wanted = "prediction = 1 + 6 * logits[:, 0].sigmoid()"
    assert wanted in card and "my.tsv" in card
    assert ("sentence-similarity" in card) == (
        kind in ("paraphrase of pairs", "similarity of pairs")
    )


def test_a_cross_encoder_of_classes_is_exported_with_their_names_and_comes_back(
    tiny_checkpoint, tmp_path, capsys
):
    """sentence-transformers gives the same logits, and so does a run with --tune none."""
    cross_encoder = pytest.importorskip("sentence_transformers").CrossEncoder
    table, run = tmp_path / "my.tsv", tmp_path / "run"
    names = write_table(table, "classes of pairs")
    how = {"pairs": str(table), "columns": names, "reader": "cross"}
    toy_runs.compare(
        toy_runs.small(tiny_checkpoint, "bundled", run, **how, features="cls", tune="full")
    )
    out = tmp_path / "out"
    assert heads_main(["export", str(run), "--out", str(out)]) == 0
    config = json.loads((out / "config.json").read_text())
    assert [*config["id2label"].values()] == [*LABELS["classes of pairs"]]
    texts = [("a kite", "the wind"), ("the sea is cold", "a man walks")]
    head = heads.load(run, device="cpu")
    theirs = cross_encoder(str(out), device="cpu").predict(texts)
    np.testing.assert_allclose(theirs, head.logits(texts), atol=1e-5)
    # The checkpoint of other people may have another order of the classes.
    weights = load_file(out / "model.safetensors")
    order = [2, 0, 1]
    for name in ("classifier.weight", "classifier.bias"):
        weights[name] = weights[name][order].contiguous()
    save_file(weights, out / "model.safetensors", {"format": "pt"})
    words = [LABELS["classes of pairs"][at].upper() for at in order]
    config["id2label"] = {str(at): word for at, word in enumerate(words)}
    (out / "config.json").write_text(json.dumps(config))
    (out / "SHA256SUMS").unlink()
    toy_runs.compare(toy_runs.small(out, "bundled", tmp_path / "as it is", **how, tune="none"))
    again = heads.load(tmp_path / "as it is", device="cpu")
    np.testing.assert_allclose(again.logits(texts), head.logits(texts), atol=1e-5)


def test_a_threshold_is_not_measured_on_rows_that_the_head_learnt_from(
    tiny_checkpoint, tmp_path, capsys
):
    first, second = toy_sentences(300, 3), toy_sentences(300, 4)
    rows = [
        f"{n} {a}\t{n} {b}\t{n % 2}" for n, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    table = tmp_path / "my.tsv"
    table.write_text("\n".join(["text1\ttext2\tlabel", *rows]) + "\n")
    settings = toy_runs.small(tiny_checkpoint, "bundled", tmp_path / "run", pairs=str(table))
    toy_runs.compare(settings)
    words = ["threshold", str(tmp_path / "run"), str(table), "--device", "cpu"]
    assert heads_main(words) == 0
    said = capsys.readouterr()
    assert "240 of 300 pairs are left out: the head was trained on one of their texts" in said.err
    assert "Chosen on 30 pairs, measured on 30 others" in said.out
    changed = [*rows, *(f"new {row}" for row in rows[:40])]
    table.write_text("\n".join(["text1\ttext2\tlabel", *changed]) + "\n")
    assert heads_main(words) == 2  # other rows would be train
    assert "changed since" in capsys.readouterr().err
    table.unlink()
    others = tmp_path / "others.tsv"
    others.write_text("\n".join(["text1\ttext2\tlabel", *rows[:40]]) + "\n")
    assert heads_main([*words[:2], str(others), *words[3:]]) == 0  # the table is gone
    assert "Chosen on 20 pairs" in capsys.readouterr().out


ROOT = Path(__file__).parents[2]
PARTS = ("train", "dev", "test")
README = "".join(
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/start.md")
)


def shorten(folder):
    """Write parts of the included files that README names: the same words in a tenth of the time.

    All pairs of a text or a query and a relevant text are whole.
    """

    def copy(name, keep):
        path = folder / f"{name}.xz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with lzma.open(ROOT / path, "rt", encoding="utf-8") as file:
            lines = [line for number, line in enumerate(file) if keep(number, line)]
        with lzma.open(path, "wt", encoding="utf-8") as file:
            file.writelines(lines)
        return lines

    copy("quora-dev.csv", lambda number, _: number <= 200)
    asked = [copy(f"search/qrels/{part}.tsv", lambda n, _: n <= 20) for part in PARTS]
    wanted = {word for lines in asked for line in lines for word in line.split("\t")[:2]}
    for name in ("corpus", "queries"):
        copy(f"search/{name}.jsonl", lambda _, line: json.loads(line)["_id"] in wanted)


def test_the_readmes_blocks_run_as_pasted(tmp_path, monkeypatch, capfd):
    blocks = re.findall(r"<!-- runs as pasted: [^\n]* -->\n```bash\n(.*?)```", README, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(blocks) == 3 and len(lines) > 11
    monkeypatch.chdir(tmp_path)
    shorten(Path("data", "bundled"))
    monkeypatch.setattr("data.locate.BUNDLED", Path("data/bundled").absolute())
    programs = {"heads": heads_main, "report": report_main}
    programs["minbert.encode"] = encode_main
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[0] != "python":
            subprocess.run(["bash", "-c", line], check=True)
        elif words[1] == "-m":
            assert programs[words[2]](words[3:]) == 0, words
        else:
            assert run_multitask.main([*words[2:], "--cost-seconds", "0.1"]) == 0
    printed = capfd.readouterr().out
    assert "label 'is_duplicate' with" in printed, printed
    assert "\tprobability\n" in printed, printed
    assert Path("my-encoder/modules.json").is_file() and Path("vectors").is_dir()
    ((search,),) = [
        re.findall(r"<!-- runs as pasted: search -->\n```python\n(.*?)```", README, re.DOTALL)
    ]
    names: dict[str, Any] = {}
    exec(search, names)
    assert Path("my-search/modules.json").is_file()
    # The same texts and scores as from `heads predict`.
    answers = [line.split("\t") for line in printed.splitlines() if line.startswith("1\t")]
    best = [answer for answer in answers if len(answer) == 5]
    assert [answer[4] for answer in best] == [names["texts"][row] for row in names["rows"][0]]
    assert best[0][4] == "A boy carries a kite."
    assert [float(a[3]) for a in best] == pytest.approx(names["scores"][0].tolist(), abs=COSINES)


def test_a_table_that_moved_is_found_and_one_that_changed_is_refused(own_run, tmp_path):
    _kind, path, run, _ = own_run
    moved = shutil.copy(path, tmp_path / "moved.tsv")
    write_page(run, str(moved))
    compare(run, run, data=str(moved), gold=None, json_file=None)
    text = path.read_text()
    moved = tmp_path / "changed.tsv"
    moved.write_text(text.replace("0]] é the", "0]] é one"))
    with pytest.raises(DataError, match=r"changed\.tsv: changed since"):
        write_page(run, str(moved))
    with pytest.raises(DataError, match="not found; give its current path"):
        write_page(run, str(tmp_path / "gone.tsv"))


# --- settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": "a.tsv", "task": "sts"}, "the labels of --pairs determine the task"),
        ({"pairs": ("a", "b", "c", "d")}, "one to three files"),
        ({"pairs": ("a", "a")}, "the same file twice"),
        ({"pairs": ("a", "./a")}, "the same file twice"),
        ({"pairs": "a.tsv", "columns": ("a",)}, "FIRST SECOND LABEL, or TEXT LABEL"),
        ({"columns": ("a", "b")}, "has no effect; add --pairs FILE"),
        ({"task": "similarity"}, "requires a table; add --pairs FILE"),
        ({"pairs": "a.tsv", "tune": "joint"}, "--pairs is one task"),
        ({"data": __file__}, "--pairs " + __file__),
        ({"data": str(Path(__file__).parent)}, "contains none of ids-sst-train.csv"),
        ({"pairs": str(Path(__file__).parent)}, "a folder; give its tables, or --data"),
    ],
)
def test_settings_of_tables_that_do_not_combine_are_refused(given, message):
    with pytest.raises(UserError) as refusal:
        Settings(**given)
    assert message in str(refusal.value)


@pytest.mark.parametrize("flag", ["--pairs", "--data"])
def test_a_path_that_the_system_refuses_is_one_line(flag, capsys):
    with pytest.raises(SystemExit) as end:
        parse_options([flag, "x" * 300])
    assert end.value.code == 2 and "name too long; check the path" in capsys.readouterr().err


def test_a_folder_without_task_gives_the_tasks_that_are_there(toy_data, tmp_path):
    assert Settings().tasks == ("sst",)
    assert Settings(data=str(toy_data)).tasks == ("sst", "para", "sts")
    for name in ("sts-train.csv", "sts-dev.csv"):
        shutil.copy(toy_data / name, tmp_path / name)
    assert parse_options(["--data", str(tmp_path)]).tasks == ("sts",)


def test_the_folder_has_one_name_before_and_after_the_table_is_read():
    before = Settings(pairs="my.tsv")
    after = Settings(pairs="my.tsv", task="similarity")
    assert before.folder() == after.folder() and "_pairs_" in before.folder().name
    assert before.folder() != Settings(pairs="other.tsv").folder()


def test_a_run_dir_that_is_a_file_is_refused(tmp_path, tiny_checkpoint, capsys):
    write_table(path := tmp_path / "my.tsv", "paraphrase of pairs")
    before = path.read_bytes()
    words = ["--pairs", str(path), "--columns", "text_a", "text_b", "verdict"]
    words += ["--backbone", str(tiny_checkpoint), "--run-dir", str(path)]
    assert run_multitask.main(words) == 2
    assert f"--run-dir {path}: is a file; name a folder" in capsys.readouterr().err
    assert path.read_bytes() == before

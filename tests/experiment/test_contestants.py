"""A published cross-encoder beside our cells: as it is, tuned on, and taken away again."""

import json
import re

import numpy as np
import pytest
from conftest import toy_sentences
from families import checkpoint
from toy_runs import cells_of, run

import heads
import run_multitask
from data.tasks import TASKS, read_task
from heads.__main__ import main

sentence_transformers = pytest.importorskip("sentence_transformers")

# So small that no float changes: what is tuned on stays where it began.
STILL = ["--head-lr", "1e-12", "--backbone-lr", "0", "--backbone-dropout", "0"]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return the folders of tiny cross-encoders, by number of labels; they cut at 12 tokens."""
    folders = {}
    for labels in (1, 3, 5):
        folders[labels] = tmp_path_factory.mktemp("published") / str(labels)
        checkpoint(
            folders[labels], "roberta", "AutoModelForSequenceClassification", num_labels=labels
        )
        settings = folders[labels] / "tokenizer_config.json"
        stated = json.loads(settings.read_text()) | {"model_max_length": 12}
        settings.write_text(json.dumps(stated))
    return folders


@pytest.fixture(scope="module")
def finished(published, toy_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("contestants") / "run"
    words = ["--task", "sts", "para", "--reader", "bi", "cross", "--tune", "none", "full"]
    assert run(published[1], toy_data, folder, *words, "--features", "cls", *STILL) == 0
    return folder


def predict(folder, texts) -> np.ndarray:
    return sentence_transformers.CrossEncoder(str(folder), device="cpu").predict(texts)


@pytest.mark.parametrize("tune", ["none", "full"])
def test_a_contestant_scores_as_cross_encoder_does_and_is_tuned_on_from_there(
    finished, published, toy_data, tune, tmp_path, monkeypatch
):
    for task in "sts", "para":
        rows = [row.texts for row in read_task(toy_data, task).dev]
        expected = predict(published[1], rows)
        name = f"none-{task}-cross-{tune}-cls-42"
        head = heads.load(finished, name, "cpu")
        np.testing.assert_allclose(head.soft(rows), expected, atol=1e-5)
        written = finished / "predictions" / name / f"{task}-dev-output.csv"
        found = [float(line.rsplit(" , ", 1)[1]) for line in written.read_text().splitlines()[1:]]
        decided = expected if task == "sts" else expected > 0.5
        np.testing.assert_allclose(found, decided, atol=1e-4)

        out = tmp_path / task
        assert main(["export", str(finished), "--cell", name, "--out", str(out)]) == 0
        np.testing.assert_allclose(predict(out, rows), expected, atol=1e-5)
        card = (out / "README.md").read_text()
        cell = next(c for c in cells_of(finished) if c.name == name and c.split == "dev")
        assert f"{cell.metrics[TASKS[task].main_metric]:.3f}" in card
        told = {}
        monkeypatch.chdir(tmp_path)
        exec(re.search(r"```python\n(.*?)```", card, re.DOTALL).group(1), told)
        assert told["scores"] == pytest.approx(head.soft([("a first text", "a second one")]))


def test_the_table_says_which_was_trained_on_none_of_the_rows(finished):
    labels = {(c.task, c.reader, c.tune): c.labels for c in cells_of(finished)}
    assert labels["sts", "cross", "none"] == 0 < labels["sts", "cross", "full"]
    assert ("sts", "bi", "none") not in labels and ("sts", "bi", "full") in labels
    seen = {c.tune: c.overlap["sentences"] for c in cells_of(finished) if c.task == "sts"}
    assert seen["none"] == 0
    assert "published weights" in (finished / "report.html").read_text()


@pytest.mark.parametrize(
    ("labels", "words", "said"),
    [
        (1, "--task sts --reader bi", "a published head reads joined pairs; use --reader cross"),
        (3, "--task sts --reader cross", "has 3 labels, sts needs 1; --tune full trains"),
        (
            5,
            "--task sst --pooling avg",
            "sst reads [CLS], not avg; use --pooling cls_before_pooler",
        ),
    ],
)
def test_what_cannot_be_scored_as_published_is_told(
    published, toy_data, tmp_path, capsys, labels, words, said
):
    argv = ["--tune", "none", *words.split()]
    assert run(published[labels], toy_data, tmp_path / "run", *argv) == 2
    assert "error: --tune none: " in (error := capsys.readouterr().err) and said in error
    assert not (tmp_path / "run" / "heads").exists()


@pytest.mark.parametrize(
    ("labels", "features", "told"),
    [
        (1, "cls", "1 label; heads start from it: sts"),
        (1, "concat", "1 label; fresh heads are trained; --features cls --reader cross starts"),
        (3, "cls", "3 labels, which fit no task here; fresh heads are trained"),
    ],
)
def test_the_plan_says_what_becomes_of_the_backbones_own_head(
    published, toy_data, tmp_path, capsys, labels, features, told
):
    words = ["--task", "sts", "--reader", "cross", "--tune", "full", "--dry-run"]
    assert run(published[labels], toy_data, tmp_path / "r", *words, "--features", features) == 0
    assert f"published {told}" in capsys.readouterr().out


def test_a_published_head_is_for_as_many_classes_as_the_table_has(
    published, toy_data, tmp_path, capsys
):
    words = ["bad", "good", "so so"]
    rows = [f"{words[n % 3]}\t{n} {text}\n" for n, text in enumerate(toy_sentences(60))]
    table = tmp_path / "my.tsv"
    table.write_text("label\ttext\n" + "".join(rows))
    argv = ["--pairs", str(table), "--dry-run", "--tune", "none", "full", "--features", "cls"]
    argv += ["--pooling", "cls_before_pooler"]
    for labels, code in ((3, 0), (5, 2)):
        words = ["--backbone", str(published[labels]), "--run-dir", str(tmp_path / "r"), *argv]
        assert run_multitask.main(words) == code
    said = capsys.readouterr()
    assert "published 3 labels; heads start from it: classes" in said.out
    assert "has 5 labels, classes needs 3; --tune full trains a fresh one" in said.err

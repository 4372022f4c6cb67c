"""The comparison as functions: cells are returned, errors raised, and nothing is printed."""

import shutil

import pandas as pd
import pytest
import toy_runs

import heads
from data.examples import DataError
from experiment.opening import open_run
from experiment.plan import plan
from experiment.settings import Settings, check_headers, parse_options
from minbert.config import CheckpointError
from runtime.errors import UserError


def test_the_cells_returned_are_those_of_results_json(tiny_checkpoint, toy_data, tmp_path, capsys):
    settings = toy_runs.small(
        tiny_checkpoint, toy_data, tmp_path / "r", task=("sst", "sts"), reader=("bi", "cross")
    )
    cells = toy_runs.compare(settings)
    assert [cell.to_json() for cell in cells] == toy_runs.results(tmp_path / "r")
    assert len({cell.name for cell in cells}) == len(cells) == 3
    assert toy_runs.compare(settings) == cells  # found, not computed: the same seconds
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "error"), [("backbone", CheckpointError), ("data", DataError)])
def test_what_is_wrong_is_raised(name, error, tiny_checkpoint, toy_data, tmp_path):
    places = {"backbone": tiny_checkpoint, "data": toy_data} | {name: "./nowhere"}
    with pytest.raises(error, match="nowhere"):
        toy_runs.compare(toy_runs.small(*places.values(), tmp_path / "r"))


def test_a_dry_run_says_the_whole_plan_and_does_nothing(tiny_checkpoint, toy_data, tmp_path):
    lines = []
    grid = {"pretrain": ("none", "sup"), "task": "all", "reader": ("bi", "cross"), "seeds": 2}
    settings = toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "r", dry_run=True, **grid)
    assert toy_runs.compare(settings, lines.append) == []
    text = "\n".join(lines)
    for said in (
        *(str(tiny_checkpoint), str(toy_data), "cpu, float32 products", "nli_for_simcse.csv"),
        *("sst: 48 train, 16 dev, 8 test", "the best of 48 STS training pairs"),
        "20 head(s): sst bi-encoder, para bi-encoder, para cross-encoder, sts bi-encoder, sts",
        "SimCSE: none sup; encoder: frozen; 2 seed(s), interaction features, preset quick",
    ):
        assert said in text, said
    # What ships is named with how to have the original.
    shipped = plan(open_run(parse_options(["--task", "sts"])))
    for hint in ("--backbone bert-base-uncased", "--data cs224n"):
        assert hint in shipped and hint not in text
    assert not (tmp_path / "r").exists() and "not read" not in text


def test_the_plan_names_the_files_where_a_folder_leaves_a_choice(
    tiny_checkpoint, toy_data, tmp_path
):
    data = shutil.copytree(toy_data, tmp_path / "data")
    shutil.copy(data / "sts-dev.csv", data / "sts-test.csv")
    lines = []
    settings = toy_runs.small(tiny_checkpoint, data, tmp_path / "r", dry_run=True, task="sts")
    toy_runs.compare(settings, lines.append)
    said = "sts: reads sts-train.csv, sts-dev.csv, sts-test-student.csv; there too, and not read: "
    assert said + "sts-test.csv\n" in "\n".join(lines)


def test_a_data_frame_is_refused_in_one_line():
    table = pd.DataFrame({"sentence1": ["a"], "sentence2": ["b"], "label": [1]})
    for value in (table, [("a text", "another", 1)]):
        with pytest.raises(UserError, match="write a table to a file first"):
            Settings(pairs=value)


def test_objects_say_what_they_are_and_have_the_usual_names(
    tiny_checkpoint, toy_data, tmp_path, tiny_encoder
):
    settings = toy_runs.small(tiny_checkpoint, toy_data, tmp_path / "r", task="para")
    toy_runs.compare(settings)
    head = heads.load(tmp_path / "r", device="cpu")
    shown = "SentenceEncoder(3 layers of 32, pooling "
    assert repr(tiny_encoder).startswith(shown)
    assert repr(head).startswith("SavedHead(para: paraphrase yes/no, bi, SentenceEncoder(")
    pairs = [("a text", "another"), ("a text", "a text")]
    shares = head.predict_proba(pairs)
    assert shares.shape == (2, 2) and shares.sum(axis=1).tolist() == pytest.approx([1, 1])
    assert (shares.argmax(axis=1) == head.predict(pairs)).all()
    assert tiny_encoder.get_sentence_embedding_dimension() == tiny_encoder.encode("a").shape[0]
    tiny_encoder.save_pretrained(tmp_path / "saved")
    assert (tmp_path / "saved" / "model.safetensors").is_file()


def test_a_wrong_column_is_told_before_anything_is_loaded(tmp_path):
    (tmp_path / "my.tsv").write_text("sentence1\tsentence2\tlabel\na\tb\t1\n")
    settings = Settings(pairs=str(tmp_path / "my.tsv"), columns=("sentence1", "sentence9", "label"))
    with pytest.raises(DataError, match="no column 'sentence9'"):
        check_headers(settings)

"""The whole path on toy data: every stage, every cell, and everything a run leaves behind."""

import csv
import json
import re
import shutil

import numpy as np
import pytest
import torch
from data.cs224n import read_task
from heads.experiment import build_head, train_cell
from report.options import parse_options
from safetensors import safe_open
from safetensors.torch import load_file
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

import run_multitask
from evaluation.metrics import task_metrics
from evaluation.sts import sts_metrics
from heads.config import HeadConfig
from minbert.encoder import SentenceEncoder
from report.provenance import file_hash

KEYS = set("pretrain task encoder tune features backbone data seed split n metrics seconds".split())
SMALL = ["--simcse-steps", "4", "--eval-steps", "2", "--head-epochs", "2", "--device", "cpu"]
ALL = ["--pretrain", "none", "unsup", "sup", "--task", "all", "--encoder", "bi", "cross"]


def run(checkpoint, data, folder, *argv) -> int:
    files = ["--backbone", str(checkpoint), "--data", str(data), "--run-dir", str(folder)]
    return run_multitask.main(parse_options([*files, *SMALL, "--precision", "float32", *argv]))


def results(folder):
    return json.loads((folder / "results.json").read_text())


def hashes_of(folder):
    """Return the hash of every file below a folder."""
    return {path: file_hash(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def predicted(grid, cell, split):
    """Return the (id, value) fields of a prediction file, as text."""
    keys = ("pretrain", "task", "encoder", "tune", "features", "seed")
    name = "-".join(str(cell[key]) for key in keys)
    path = grid / "predictions" / name / f"{cell['task']}-{split}-output.csv"
    return [line.split(" , ") for line in path.read_text().splitlines()[1:]]


def numbers(cell):
    """Return all of a cell that a repetition must give again."""
    return {key: value for key, value in cell.items() if "second" not in key}


@pytest.fixture(scope="module")
def grid(tiny_checkpoint, toy_data, tmp_path_factory):
    """Run the report's table once, on toy data."""
    before = hashes_of(tiny_checkpoint)
    folder = tmp_path_factory.mktemp("grid") / "runs" / "table"
    assert run(tiny_checkpoint, toy_data, folder, *ALL) == 0
    assert hashes_of(tiny_checkpoint) == before
    return folder


def test_every_cell_of_the_grid_is_there_once(grid):
    cells = results(grid)
    assert all(KEYS <= cell.keys() for cell in cells)
    found = sorted((c["pretrain"], c["task"], c["encoder"], c["split"]) for c in cells)
    kinds = [("sst", "bi"), ("para", "bi"), ("para", "cross"), ("sts", "bi"), ("sts", "cross")]
    expected = [(p, t, k, "dev") for p in ("none", "unsup", "sup") for t, k in kinds]
    assert found == sorted(expected)


def test_csv_and_json_agree(grid):
    with (grid / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, cell in zip(rows, results(grid), strict=True):
        assert row["task"] == cell["task"] and int(row["n"]) == cell["n"]
        for name in ("accuracy", "f1", "pearson", "spearman"):
            assert row[name] == (
                "" if cell["metrics"][name] is None else str(cell["metrics"][name])
            )


def test_metrics_follow_from_the_prediction_files(grid, toy_data):
    headers = {
        "sst": "Predicted_Sentiment",
        "para": "Predicted_Is_Paraphrase",
        "sts": "Predicted_Similiary",
    }
    for cell in results(grid):
        name = "-".join(
            str(cell[key]) for key in ("pretrain", "task", "encoder", "tune", "features")
        )
        folder = grid / "predictions" / f"{name}-42"
        splits = read_task(toy_data, cell["task"])
        for split, examples in (("dev", splits.dev), ("test", splits.test)):
            path = folder / f"{cell['task']}-{split}-output.csv"
            header, *lines = path.read_text().splitlines()
            assert header == f"id \t {headers[cell['task']]} "
            fields = [line.split(" , ") for line in lines]
            assert [field[0] for field in fields] == [example.id for example in examples]
            if split == "dev":
                labels = np.array([example.label for example in examples], float)
                predictions = np.array([float(field[1]) for field in fields])
                metrics = dict(cell["metrics"])
                metrics.pop("cosine_spearman", None)  # of the encoder, not of the predictions
                again = task_metrics(cell["task"], predictions, labels)
                assert again == pytest.approx(metrics, nan_ok=False)


def test_the_bare_cosine_is_that_of_the_backbone(grid, toy_data):
    dev = read_task(toy_data, "sts").dev
    cells = [c for c in results(grid) if (c["task"], c["encoder"]) == ("sts", "bi")]
    for name, cell in zip(("none", "unsup-42", "sup-42"), cells, strict=True):
        folder = str(grid / "backbones" / name)
        encoder = SentenceEncoder.from_pretrained(folder, device="cpu", precision="float32")
        expected = sts_metrics(encoder.encode, dev)["spearman"]
        assert cell["metrics"]["cosine_spearman"] == pytest.approx(expected)


def test_config_holds_what_is_needed_to_repeat_the_run(grid, toy_data):
    config = json.loads((grid / "config.json").read_text())
    assert config["options"]["pretrain"] == ["none", "unsup", "sup"]
    assert config["simcse"]["sup"]["max_steps"] == 4
    assert config["heads"]["sts"]["num_epochs"] == 2
    assert config["sha256"]["unsup"] == file_hash(toy_data / "wiki1m_for_simcse.txt")
    assert config["packages"]["torch"] and config["python"] and config["precision"]


def test_curves_and_heads_and_backbones_are_there(grid):
    lines = [json.loads(line) for line in (grid / "metrics.jsonl").read_text().splitlines()]
    curves = {line["curve"] for line in lines}
    assert {"unsup-42", "sup-42", "sup-sts-cross-frozen-interaction-42"} <= curves
    with safe_open(grid / "heads" / "sup-sts-bi-frozen-interaction-42.safetensors", "pt") as file:
        assert file.metadata()["task"] == "sts"
        assert json.loads(file.metadata()["config"])["num_epochs"] == 2
    for name in ("unsup-42", "sup-42"):
        encoder = SentenceEncoder.from_pretrained(str(grid / "backbones" / name))
        assert encoder.encode(["the cat"]).shape == (1, 32)


def test_the_same_command_again_reuses_everything(
    grid, tiny_checkpoint, toy_data, monkeypatch, capsys
):
    before = results(grid)

    def fail(*_):
        raise AssertionError("an encoder was used again")

    monkeypatch.setattr(SentenceEncoder, "embed", fail)
    assert run(tiny_checkpoint, toy_data, grid, *ALL) == 0
    assert results(grid) == before
    assert capsys.readouterr().out.count("done earlier") == len(before)


def test_a_lost_cell_is_computed_to_the_same_numbers(grid, tiny_checkpoint, toy_data):
    before = results(grid)
    (grid / "results.json").write_text(json.dumps(before[1:]))
    assert run(tiny_checkpoint, toy_data, grid, *ALL) == 0
    assert [numbers(cell) for cell in results(grid)] == [numbers(cell) for cell in before]


def test_a_cell_whose_head_was_deleted_is_computed_again(grid, tiny_checkpoint, toy_data):
    before = results(grid)
    head = grid / "heads" / "sup-sts-bi-frozen-interaction-42.safetensors"
    tensors = load_file(head)
    head.unlink()
    assert run(tiny_checkpoint, toy_data, grid, *ALL) == 0
    again = load_file(head)
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
    assert [numbers(cell) for cell in results(grid)] == [numbers(cell) for cell in before]


def test_results_are_not_reused_beside_another_runs_head(tiny_checkpoint, toy_data, tmp_path):
    """A run with other settings was stopped after it had written its head and predictions."""
    folder = tmp_path / "r"
    argv = (tiny_checkpoint, toy_data, folder, "--task", "sts")
    assert run(*argv) == 0
    before = (folder / "results.json").read_bytes()
    (head,) = (folder / "heads").iterdir()
    weight = load_file(head)["layers.0.weight"]
    for stopped in (lambda: run(*argv, "--head-lr", "0.1"), lambda: head.write_bytes(b"cut")):
        stopped()
        (folder / "results.json").write_bytes(before)
        assert run(*argv) == 0
        assert torch.equal(load_file(head)["layers.0.weight"], weight)


def test_another_folder_gets_the_same_numbers(grid, tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "sup", "--task", "sts", "--encoder", "bi", "cross"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    expected = [c for c in results(grid) if (c["pretrain"], c["task"]) == ("sup", "sts")]
    for mine, theirs in zip(results(tmp_path / "r"), expected, strict=True):
        assert mine["metrics"] == theirs["metrics"]


def test_a_smaller_command_in_the_same_folder_loses_no_cell(tiny_checkpoint, toy_data, tmp_path):
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "sst", "sts") == 0
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "para") == 0
    assert {cell["task"] for cell in results(tmp_path / "r")} == {"sst", "sts", "para"}


def test_full_tuning_saves_the_changed_encoder(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--task", "sts", "--encoder", "cross", "--tune", "full", "--backbone-lr", "1e-3"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    (model,) = (tmp_path / "r" / "models").iterdir()
    tuned, start = (load_file(p / "model.safetensors") for p in (model, tiny_checkpoint))
    name = "encoder.layer.0.attention.self.query.weight"
    assert not np.array_equal(tuned[name], start[name])
    assert SentenceEncoder.from_pretrained(str(model)).encode(["the cat"]).shape == (1, 32)
    assert not list((tmp_path / "r").rglob("*.pt"))


def test_seeds_give_cells_and_a_spread(tiny_checkpoint, toy_data, tmp_path, capsys):
    argv = ["--task", "sts", "--pretrain", "sup", "--seeds", "2", "--seed", "5"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    assert [cell["seed"] for cell in results(tmp_path / "r")] == [5, 6]
    assert len(list((tmp_path / "backbones").iterdir())) == 2
    assert "±" in capsys.readouterr().out


def test_a_labelled_test_file_is_scored_as_its_own_split(tiny_checkpoint, toy_data, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "dev"):
        (data / f"sts-{split}.csv").write_text((toy_data / f"sts-{split}.csv").read_text())
    (data / "sts-test.csv").write_text((toy_data / "sts-dev.csv").read_text())
    assert run(tiny_checkpoint, data, tmp_path / "r", "--task", "sts") == 0
    dev, test = results(tmp_path / "r")
    assert (dev["split"], test["split"]) == ("dev", "test")
    assert dev["metrics"] == test["metrics"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--symmetric"],
        ["--mlm-weight", "0.1"],
        ["--hard-negative-weight", "2", "--temperature", "0.1"],
        ["--features", "concat"],
        *(["--pooling", p] for p in ("cls", "cls_before_pooler", "avg", "avg_top2")),
        ["--pooling", "avg_first_last", "--simcse-batch-size", "1000"],
        ["--simcse-batch-size", "2"],
    ],
)
def test_variants_run_to_the_end(flags, tiny_checkpoint, toy_data, tmp_path):
    argv = ["--pretrain", "unsup", "sup", "--task", "sts", "--encoder", "bi", "cross", *flags]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0
    if "--pooling" in flags:  # the tuned encoder says how it is to be pooled
        tuned = SentenceEncoder.from_pretrained(str(tmp_path / "r" / "backbones" / "sup-42"))
        assert tuned.stated_pooling == flags[1]
    for cell in results(tmp_path / "r"):
        assert cell["metrics"]["pearson"] is None or -1 <= cell["metrics"]["pearson"] <= 1


def test_pairs_without_hard_negatives_are_trained_on(tiny_checkpoint, toy_data, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("sent0,sent1\n" + "the cat sees a dog,a cat sees a dog\n" * 9)
    argv = ["--pretrain", "sup", "--sup-data", str(path), "--task", "sts"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0


def test_a_damaged_results_file_is_refused_not_overwritten(
    tiny_checkpoint, toy_data, tmp_path, capsys
):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "results.json").write_text('[{"half": ')
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "sts") == 2
    assert "results.json" in capsys.readouterr().err
    assert (tmp_path / "r" / "results.json").read_text() == '[{"half": '


def test_metrics_are_those_of_scikit_learn_and_scipy_on_the_prediction_files(grid, toy_data):
    for cell in results(grid):
        found = np.array([float(value) for _, value in predicted(grid, cell, "dev")])
        gold = np.array([row.label for row in read_task(toy_data, cell["task"]).dev], float)
        if cell["task"] == "sts":
            expected = {"pearson": pearsonr(found, gold)[0], "spearman": spearmanr(found, gold)[0]}
        else:
            average = "binary" if cell["task"] == "para" else "macro"
            f1 = f1_score(gold, found, average=average, zero_division=0)
            expected = {"accuracy": accuracy_score(gold, found), "f1": f1}
        for name in ("accuracy", "f1", "pearson", "spearman"):
            assert cell["metrics"][name] == pytest.approx(expected.get(name), abs=1e-12), name


def test_predictions_are_spelled_as_the_course_spells_them(grid):
    patterns = {"sst": r"[0-4] ?", "para": r"[01]\.0 ?", "sts": r"[0-5]\.\d+(e-\d+)? ?"}
    for cell in results(grid):
        for split, count in (("dev", 16), ("test", 8)):
            fields = predicted(grid, cell, split)
            assert len({row_id for row_id, _ in fields}) == len(fields) == count
            for _, value in fields:
                assert re.fullmatch(patterns[cell["task"]], value), (cell["task"], value)


def test_saved_heads_fit_into_a_freshly_built_head(grid):
    for cell in results(grid):
        keys = ("pretrain", "task", "encoder", "tune", "features", "seed")
        name = "-".join(str(cell[key]) for key in keys)
        path = grid / "heads" / f"{name}.safetensors"
        with safe_open(path, "pt") as file:
            about = file.metadata()
        assert (about["task"], about["encoder"]) == (cell["task"], cell["encoder"])
        config = HeadConfig(**json.loads(about["config"]))
        head = build_head(cell["task"], cell["encoder"], 32, config)
        head.load_state_dict(load_file(path))


@pytest.mark.parametrize("kind", ["bi", "cross"])
def test_training_a_head_leaves_a_frozen_encoder_as_it_was(kind, tiny_encoder, toy_data, tmp_path):
    before = {key: tensor.clone() for key, tensor in tiny_encoder.model.state_dict().items()}
    config = HeadConfig(num_epochs=2, learning_rate=0.1)
    splits = read_task(toy_data, "sts")
    train_cell(tiny_encoder, splits, "sts", kind, config, lambda found: float(found[0]), tmp_path)
    after = tiny_encoder.model.state_dict()
    assert after.keys() == before.keys()
    assert all(after[key].equal(tensor) for key, tensor in before.items())


def test_names_with_blanks_and_other_alphabets_work(tiny_checkpoint, toy_data, tmp_path):
    data = tmp_path / "données 漢 字"
    shutil.copytree(toy_data, data)
    folder = tmp_path / "my läufe" / "r 1"
    assert run(tiny_checkpoint, data, folder, "--pretrain", "sup", "--task", "sts") == 0
    assert results(folder)[0]["data"] == str(data)


def test_one_triplet_is_enough_to_run(tiny_checkpoint, toy_data, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("sent0,sent1,hard_neg\nthe cat,a cat,the dog\n")
    argv = ["--pretrain", "sup", "--sup-data", str(path), "--task", "sts"]
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", *argv) == 0


def test_a_checkpoint_named_as_run_folder_is_not_overwritten(tiny_checkpoint, toy_data, tmp_path):
    checkpoint = tmp_path / "bert"
    shutil.copytree(tiny_checkpoint, checkpoint)
    before = hashes_of(checkpoint)
    run(checkpoint, toy_data, checkpoint, "--task", "sts")
    assert {path: file_hash(path) for path in before} == before


def test_a_refused_run_leaves_the_older_config(tiny_checkpoint, toy_data, tmp_path):
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "results.json").write_text("[{")
    (folder / "config.json").write_text('{"options": {}}')
    assert run(tiny_checkpoint, toy_data, folder, "--task", "sts") == 2
    assert (folder / "config.json").read_text() == '{"options": {}}'


@pytest.mark.parametrize("size", [0, 100, 1000])
def test_a_truncated_cache_is_no_traceback(size, tiny_checkpoint, toy_data, tmp_path):
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "sts") == 0
    before = results(tmp_path / "r")[0]["metrics"]
    (tmp_path / "r" / "results.json").unlink()
    for path in (tmp_path / "cache").glob("*.npy"):
        path.write_bytes(path.read_bytes()[:size])
    code = run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "sts")
    assert code == 2 or results(tmp_path / "r")[0]["metrics"] == before


@pytest.mark.parametrize("pooling", ["cls", "avg"])
def test_a_chosen_pooling_needs_nothing_of_the_backbones_own(
    pooling, tiny_encoder, toy_data, tmp_path
):
    tiny_encoder.pooling, tiny_encoder.model.pooler = "avg", None
    tiny_encoder.save(tmp_path / "bert")
    own = {"embedding_dimension": 32, "pooling_mode": "max"}
    (tmp_path / "bert" / "1_Pooling" / "config.json").write_text(json.dumps(own))
    argv = ["--task", "sts", "--pretrain", "sup", "--pooling", pooling]
    assert run(tmp_path / "bert", toy_data, tmp_path / "r", *argv) == 0


def test_predictions_are_never_nan(tiny_checkpoint, toy_data, tmp_path):
    argv = ["--task", "sts", "--head-lr", "1e12", "--head-epochs", "1", "--head-batch-size", "999"]
    run(tiny_checkpoint, toy_data, tmp_path / "r", *argv)
    for path in (tmp_path / "r").rglob("*-output.csv"):
        assert "nan" not in path.read_text()

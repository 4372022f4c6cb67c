"""The main command compares: both encoders, and the bi-encoder before and after SimCSE."""

import json

import pytest
from toy_runs import SMALL, cells_of, numbers

import run_multitask
from experiment.grid import baseline, grid
from experiment.settings import Settings, parse_options
from report.judging import from_json

# As a user types it: no encoder, no --no-baseline.
DEFAULT = [
    *SMALL[: SMALL.index("--reader")],
    "--precision",
    "float32",
    "--pooling",
    "avg",
    "--select",
    "dev",
]


@pytest.fixture(scope="module")
def finished(tiny_checkpoint, toy_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline") / "r"
    files = ["--backbone", str(tiny_checkpoint), "--data", str(toy_data), "--run-dir", str(folder)]
    argv = [*files, *DEFAULT, "--pretrain", "sup", "--task", "all"]
    assert run_multitask.main(argv) == 0
    return folder


def test_the_default_trains_both_encoders_and_the_bi_encoder_without_simcse(finished):
    grid = dict.fromkeys((c.pretrain, c.task, c.reader) for c in cells_of(finished))
    before = [("none", task, "bi") for task in ("sst", "para", "sts")]
    after = [("sup", "sst", "bi")]
    after += [("sup", task, kind) for task in ("para", "sts") for kind in ("bi", "cross")]
    assert list(grid) == [*before, *after]


def test_its_cells_are_those_of_a_run_that_names_them(start, finished, tmp_path):
    named = ["--pretrain", "none", "--task", "all", "--pooling", "avg"]
    assert start(tmp_path / "r", *named) == 0
    own = [numbers(cell) for cell in cells_of(finished) if cell.pretrain == "none"]
    assert own == [numbers(cell) for cell in cells_of(tmp_path / "r")]


def test_the_difference_of_the_cosines_is_that_of_the_cells(finished):
    cells = {
        (c.pretrain, c.split): c.metrics["cosine_spearman"]
        for c in cells_of(finished)
        if (c.task, c.reader) == ("sts", "bi")
    }
    judged = from_json(json.loads((finished / "comparisons.json").read_text()))
    found = {
        each.split: versus
        for each in judged
        for versus in each.comparisons
        if versus.metric == "cosine_spearman"
    }
    assert set(found) == {split for _, split in cells}
    for split, versus in found.items():
        assert versus.a.startswith("none-bi") and versus.b.startswith("sup-bi")
        difference = cells["none", split] - cells["sup", split]
        assert versus.difference == pytest.approx(difference, abs=1e-6)
    # They are a question of their own: nothing else is adjusted for it.
    assert all(versus.p_holm == versus.p for versus in found.values())


def test_the_verdict_tells_both_answers_and_the_page_has_something_in_every_section(finished):
    page = " ".join((finished / "report.html").read_text().split())
    for words in (
        "the best cross-encoder",
        "Effect of supervised SimCSE on SST:",
        "Effect of supervised SimCSE on STS:",
        "cosine similarity ",
        "bi-encoder head ",
    ):
        assert words in page
    assert "nothing to compare" not in page
    after, before = (f"bi-encoder, {stage}" for stage in ("supervised SimCSE", "no SimCSE"))
    assert f"{after} − {before}" in page


@pytest.mark.parametrize(
    ("words", "tasks"),
    [
        ("--pretrain sup --task all", ["sst", "para", "sts"]),
        ("--pretrain unsup sup --task sts --tune full frozen", ["sts"]),
        ("--pretrain sup --task sst sts --reader cross", ["sst"]),
        ("--pretrain none sup --task sts", []),
        ("--task sts", []),
        ("--pretrain sup --task sts --tune full", []),
        ("--pretrain sup --task sts --no-baseline", []),
    ],
)
def test_the_baseline_is_where_a_frozen_bi_encoder_can_be_compared(words, tasks):
    settings = parse_options(words.split())
    assert baseline(settings) == tasks
    planned = [(stage.pretrain, stage.baseline) for stage in grid(settings)]
    assert planned == [("none", True)] * bool(tasks) + [(name, False) for name in settings.pretrain]


def test_the_baseline_has_the_most_labels_of_the_run():
    settings = Settings(pretrain="sup", task="sts", train_rows=("250", "1000"))
    (training,) = grid(settings)[0].trainings
    assert training.heads[0].cell.train_rows == "1000"
    assert Settings(pretrain="sup").folder() != Settings(pretrain="sup", no_baseline=True).folder()

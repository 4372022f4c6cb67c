"""The commands after a run: they parse, with the run's names, and name what the run has."""

import shlex
from pathlib import Path

import pytest
from made_cells import cell, para_cell

from report.next_steps import in_lines, next_steps


def steps(cells, words=(), **options):
    config = {"command": ["run_multitask.py", *words], "options": options}
    return {step.purpose: step.command for step in next_steps(Path("runs/my run"), cells, config)}


def test_commands_have_the_runs_names():
    own = [para_cell(threshold={"cosine": 0.8312})]
    found = steps(own, ["--pairs", "my.tsv"], pairs=["my.tsv"], backbone="mini-sts")
    run = "'runs/my run'"
    assert found == {
        "predict new texts": f"python -m heads predict {run} new.tsv",
        "choose the threshold for yes": f"python -m heads threshold {run} my.tsv",
        "use it elsewhere": f"python -m heads export {run} --out my-encoder",
        "use the cosine": f"python -m heads export {run} --out my-encoder   # yes from 0.831 on",
        "compare another encoder": (
            "python run_multitask.py --pairs my.tsv --backbone mini-sts mini"
        ),
    }


def test_columns_are_repeated_and_a_threshold_of_several_encoders_is_not_told():
    own = [para_cell(threshold={"cosine": value}) for value in (0.8, 0.9)]
    found = steps(own, pairs=["my.tsv"], columns=["1", "2", "3"])
    assert found["choose the threshold for yes"].endswith("my.tsv --columns 1 2 3")
    assert "use the cosine" not in found


def test_a_program_of_ones_own_is_not_run_again():
    config = {"command": ["my_script.py"], "options": {"backbone": "mini"}}
    told = [step.purpose for step in next_steps(Path("r"), [cell()], config)]
    assert "compare another encoder" not in told


def test_several_tasks_are_named_and_scores_need_a_limit():
    found = steps([cell(), para_cell()])
    assert found["predict new texts"].endswith(" --cell sts")
    assert "labelled.tsv --at SCORE --cell sts" in found["choose the threshold for yes"]


def test_a_run_is_not_written_over_by_the_next_one():
    words = ["--task", "sts", "--run-dir", "runs/x", "--resume"]
    found = steps([cell()], words, backbone="mini")["compare another encoder"]
    assert shlex.split(found)[2:] == ["--task", "sts", "--backbone", "mini", "mini-sts"]
    assert "compare another encoder" not in steps([cell()], ["--backbone", "mini"], backbone="mini")


@pytest.mark.parametrize(
    ("features", "form"), [("interaction", "--onnx my-head.onnx"), ("cls", "--out my-encoder")]
)
def test_a_cross_encoder_is_exported_in_the_form_that_it_has(features, form):
    found = steps([cell(reader="cross", features=features)])
    assert any(form in command for command in found.values())


def test_lines_are_aligned():
    first, *rest = in_lines(next_steps(Path("r"), [cell()], {"options": {}}))
    assert first == "Next:" and len({line.index("python -m") for line in rest}) == 1

"""The mean of two checkpoints, and what is refused."""

import json

import pytest
import torch
from conftest import toy_sentences
from transformers import BertForMaskedLM as Reference

from minbert import pretrain
from minbert.pretraining import average


@pytest.fixture(scope="module")
def legs(tmp_path_factory):
    """A checkpoint, one that was trained on from it, and one of another size; held-out text."""
    folder = tmp_path_factory.mktemp("legs")
    (folder / "text.txt").write_text("\n".join(toy_sentences(300)) + "\n")
    text = str(folder / "text.txt")
    flags = ["--corpus", text, "--valid", text, "--precision", "float32", "--device", "cpu"]
    flags += "--tokens 3072 --batch-size 32 --length 24 --warmup-steps 0".split()
    sizes = "--vocab-size 120 --layers 1 --hidden-size".split()
    one, two, wide = (str(folder / name) for name in ("one", "two", "wide"))
    assert pretrain.main([*flags, *sizes, "64", "--out", one]) == 0
    assert pretrain.main([*flags, "--init", one, "--out", two]) == 0
    assert pretrain.main([*flags, *sizes, "128", "--out", wide]) == 0
    return folder


def command(legs, first, second, out):
    valid = str(legs / "text.txt")
    return [str(legs / first), str(legs / second), "--valid", valid, "--out", str(out)]


def test_the_mean_is_that_of_every_weight(legs, tmp_path, capsys):
    assert average.main(command(legs, "one", "two", tmp_path / "mean")) == 0
    assert "perplexity" in capsys.readouterr().out
    one, two, mean = (
        Reference.from_pretrained(path).state_dict()
        for path in (legs / "one", legs / "two", tmp_path / "mean")
    )
    assert any(not torch.equal(one[name], two[name]) for name in one)
    for name, tensor in mean.items():
        expected = ((one[name].float() + two[name].float()) / 2).half()
        assert torch.equal(tensor.half(), expected), name
    notes = json.loads((tmp_path / "mean" / "training.json").read_text())
    assert notes["averaged"]["with"] == "one" and notes["averaged"]["valid_perplexity"] > 1
    assert notes["before"]["history"] and notes["config"]["init"] == "one"


def test_other_sizes_are_refused_in_one_line(legs, tmp_path, capsys):
    assert average.main(command(legs, "wide", "two", tmp_path / "mean")) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ") and "sizes" in error and "\n" not in error
    assert not (tmp_path / "mean").exists()

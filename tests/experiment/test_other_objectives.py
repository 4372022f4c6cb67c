"""The objectives that SimCSE is compared with, in a grid beside it."""

import pytest
import toy_runs
from conftest import toy_sentences

from baselines.isbert import InfoEncoder, load_tuned
from data.published import NLI_LABELS
from data.tasks import read_task
from evaluation.suites.sts import sts_metrics
from heads.saved import load_head

OTHERS = ("dual", "ct", "isbert", "sbert")


@pytest.fixture
def nli(tmp_path):
    """Return a file of labelled pairs."""
    texts = toy_sentences(61)
    rows = zip(texts[1:], texts, list(NLI_LABELS) * 20, strict=False)
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(["premise\thypothesis\tlabel", *map("\t".join, rows)]) + "\n")
    return path


def test_every_objective_makes_its_cells(tiny_checkpoint, toy_data, tmp_path, nli):
    folder = tmp_path / "runs" / "r"
    words = ["--pretrain", "none", *OTHERS, "--task", "sts"]
    command = (tiny_checkpoint, toy_data, folder, *words, "--sbert-data", str(nli))
    assert toy_runs.run(*command) == 0
    cells = toy_runs.cells_of(folder)
    assert [cell.pretrain for cell in cells] == ["none", *OTHERS]
    cosines = {cell.pretrain: cell.metrics["cosine_spearman"] for cell in cells}
    pairs = read_task(toy_data, "sts").dev
    for name in OTHERS:
        # What stands under the heads is what the stage left, with IS-BERT's convolutions.
        left = load_tuned(folder / "backbones" / f"{name}-42", "cpu", "float32")
        assert isinstance(left, InfoEncoder) == (name == "isbert")
        assert cosines[name] == pytest.approx(sts_metrics(left.encode, pairs)["spearman"])
    # A head over IS-BERT is opened with its convolutions.
    head = load_head(folder / "heads" / f"{cells[3].name}.safetensors", "cpu")
    lines = (folder / "predictions" / cells[3].name / "sts-dev-output.csv").read_text().splitlines()
    written = [float(line.split(" , ")[1]) for line in lines[1:]]
    assert head.soft([pair.texts for pair in pairs]) == pytest.approx(written, abs=1e-4)
    before = toy_runs.hashes_of(folder.parent / "backbones")
    assert toy_runs.run(*command) == 0
    assert toy_runs.hashes_of(folder.parent / "backbones") == before


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    "words",
    [
        ["--pretrain", "unsup"],
        ["--pretrain", "none", "dual"],
        ["--pretrain", "isbert"],
        ["--pretrain", "teacher", "--teacher", "mini"],
    ],
    ids=str,
)
def test_batches_of_one_are_refused_before_anything_is_trained(start, words, dry, tmp_path, capsys):
    assert start(tmp_path / "run", *words, "--simcse-batch-size", "1", *dry) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: --simcse-batch-size 1 ")
    assert printed.err.count("\n") == 1 and "cell" not in printed.out
    assert not list(tmp_path.rglob("*.safetensors"))

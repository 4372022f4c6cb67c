"""The objectives that SimCSE is compared with, in a grid beside it."""

import pytest
import toy_runs
from conftest import toy_sentences

from baselines.isbert import InfoEncoder, load_tuned
from data.published import NLI_LABELS
from data.tasks import read_task
from evaluation.cosine import sts_metrics
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


@pytest.mark.parametrize(
    "words",
    [
        ["--pretrain", "unsup"],
        ["--pretrain", "none", "dual"],
        ["--pretrain", "isbert"],
        ["--pretrain", "teacher", "--teacher", "mini", "--dry-run"],
    ],
    ids=str,
)
def test_batches_of_one_are_refused_before_anything_is_trained(start, words, tmp_path, capsys):
    assert start(tmp_path / "run", *words, "--simcse-batch-size", "1") == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("error: --simcse-batch-size 1 ")
    assert printed.err.count("\n") == 1 and "cell" not in printed.out
    assert not list(tmp_path.rglob("*.safetensors"))


def write_examples(path, columns, count):
    rows = (",".join(f"{name} {row}" for name in columns) for row in range(count))
    path.write_text("\n".join([",".join(columns), *rows]) + "\n")
    return str(path)


PAIR, TRIPLET = ("anchor", "positive"), ("anchor", "positive", "negative")


@pytest.mark.parametrize(
    ("columns", "count", "batch", "said"),
    [
        (PAIR, 5, 1, "--simcse-batch-size 1 leaves a batch without negatives; use 2 or more"),
        (PAIR, 1, 8, "has one example, which leaves a batch without negatives; give a file with"),
        (TRIPLET, 5, 1, None),  # the hard negative is one
        (TRIPLET, 1, 8, None),
    ],
)
def test_batches_of_one_example_need_a_hard_negative(
    start, columns, count, batch, said, tmp_path, capsys
):
    words = ["--pretrain", "sup", "--simcse-batch-size", str(batch), "--dry-run", "--sup-data"]
    code = start(tmp_path / "run", *words, write_examples(tmp_path / "s.csv", columns, count))
    assert code == (2 if said else 0) and (said or "") in capsys.readouterr().err


def test_a_sentence_by_itself_has_no_others_for_ct(start, tmp_path, capsys):
    words = ["--pretrain", "ct", "--dry-run", "--simcse-batch-size", "1", "--unsup-data"]
    (tmp_path / "s.txt").write_text("one sentence\n")
    assert start(tmp_path / "run", *words, str(tmp_path / "s.txt")) == 2
    assert "has only one sentence, so there are no" in capsys.readouterr().err
    (tmp_path / "s.txt").write_text("one sentence\nand another\n")
    assert start(tmp_path / "run", *words, str(tmp_path / "s.txt")) == 0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,b,c\n" * 150 + "a,,c\n", ":152: column 'positive' is empty"),
        ("a,b,c\n" * 150 + "a,b\n" * 5, ":152: 2 comma-separated field(s), expected 3"),
    ],
)
def test_a_dry_run_refuses_triplets_as_the_run_does(start, rows, said, tmp_path, capsys):
    path = tmp_path / "s.csv"
    path.write_text(f"anchor,positive,negative\n{rows}")
    for dry in ([], ["--dry-run"]):
        words = ["--pretrain", "sup", "--sup-data", str(path), *dry]
        assert start(tmp_path / "run", *words) == 2
        assert f"error: {path}{said}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()

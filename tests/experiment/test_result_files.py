"""Finished runs become result files: rows, verdicts, and the tables and claims of papers."""

import csv
import json

import numpy as np
import pytest
from scipy import stats
from toy_runs import cells_of, run

from minbert import __version__
from report.run_folder import RunFolder, read_curves
from runs import collect, papers
from runs.papers import judged, verdict
from runs.read import EVERY_TWO


@pytest.fixture
def results(tmp_path, monkeypatch, toy_data):
    """Return the folder of result files of this test."""
    monkeypatch.setenv("RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("RUNS", str(tmp_path))
    monkeypatch.setenv("DATA", str(toy_data))
    return tmp_path / "results"


def lines_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_becomes_rows_and_a_verdict(toy_grid, results, capsys):
    collect.main("twice", str(toy_grid), str(toy_grid))
    rows, config = lines_of(results / "twice.csv"), RunFolder(toy_grid).config()
    assert len(rows) == 2 * len(cells_of(toy_grid))
    for row, cell in zip(rows, cells_of(toy_grid), strict=False):
        assert (row["pearson"] or "None") == str(cell.metrics.get("pearson"))
        assert row["data"] == "DATA", "no path of this machine in a result"
        assert row["version"] == __version__ and row["machine"] == config["machine"]
        assert row["commit"] == (config["commit"] or "")
    text = (results / "twice.txt").read_text()
    assert text.count("STS (similarity 0-5): ") == 2 == text.count(f"\n\n{EVERY_TWO}\n")
    assert capsys.readouterr().out == f"{results}/twice.txt\n{results}/twice.csv\n"


def test_files_of_commands_get_version_and_machine(results, tmp_path):
    (tmp_path / "a.csv").write_text('x\n"a, b"\n')
    (tmp_path / "b.json").write_text('{"figures": [1]}')
    collect.main("a", str(tmp_path / "a.csv"))
    collect.main("b", str(tmp_path / "b.json"))
    (row,) = lines_of(results / "a.csv")
    figures = json.loads((results / "b.json").read_text())
    assert row["x"] == "a, b" and figures["figures"] == [1]
    assert row["version"] == figures["version"] == __version__
    assert row["machine"] == figures["machine"] and figures["commit"] == (row["commit"] or None)


def test_a_table_of_tunings_is_measured(toy_grid, results, monkeypatch):
    text = "T\nfrozen sts sup = 71.1\nalignment: full sts sup > frozen sst sup (why)\n"
    monkeypatch.setattr("sys.stdin", SimpleText(text))
    papers.main("tuned", f"{{tune}} {{task}} {{pretrain}}={toy_grid}=dev bi")
    cells = {
        f"{cell.tune} {cell.task} {cell.pretrain}": cell
        for cell in cells_of(toy_grid)
        if cell.split == "dev" and cell.reader == "bi"
    }
    lines = [line for line in lines_of(results / "tuned.csv") if line["row"].endswith(" sup")]
    assert [line["row"] for line in lines] == [name for name in cells if name.endswith(" sup")]
    assert len(lines) == 6
    last = [point for point in read_curves(toy_grid)["sup-42"] if "alignment" in point][-1]
    for line in lines:
        cosine = cells[line["row"]].metrics.get("cosine_spearman")
        assert line["best"] == ("" if cosine is None else str(cosine))
        assert [float(line[name]) for name in ("alignment", "uniformity")] == [
            last["alignment"], last["uniformity"]
        ]  # fmt: skip
        assert line["command"].startswith("python ") and line["version"] == __version__
    shown = (results / "tuned.txt").read_text()
    assert shown.startswith("tuned: T (1 seeds)\n| row") and "| 71.1 " in shown
    assert shown.endswith("\n  undecided: alignment: full sts sup > frozen sst sup: +0.000 (why)\n")


class SimpleText:
    """Standard input."""

    def __init__(self, text):
        self.read = lambda: text


def test_a_joint_training_has_rows_of_each_task(tiny_checkpoint, toy_data, tmp_path):
    folder = tmp_path / "joint"
    words = "--task sst sts --tune joint --schedule sequential --no-baseline --seeds 1"
    assert run(tiny_checkpoint, toy_data, folder, *words.split()) == 0
    cells = {cell.task: cell for cell in cells_of(folder) if cell.split == "dev"}
    sst, sts = papers.rows_of("{task}: joint", str(folder), "dev")
    assert (sst["row"], sts["row"]) == ("sst: joint", "sts: joint")
    assert sst["score"] == cells["sst"].metrics["accuracy"]
    assert sts["score"] == cells["sts"].metrics["pearson"]
    assert sst["before"] == cells["sst"].before["accuracy"]
    assert sts["before"] == cells["sts"].before["pearson"]
    assert not list(papers.rows_of("{task}", str(folder), "test"))


# --- claims

A = (0.70, 0.71, 0.72)
B = (0.80, 0.82, 0.81)
NOISY = (0.60, 0.90, 0.75)


def scores_of(**rows):
    return [
        {"row": row, "seed": seed, "best": value, "alignment": value}
        for row, values in rows.items()
        for seed, value in enumerate(values)
    ]


def line_on(claim, first, second):
    (line,) = judged([claim], scores_of(a=first, b=second))
    return line


@pytest.mark.parametrize(
    ("relation", "first", "second", "word"),
    [
        ("<", A, B, "holds"),
        (">", A, B, "does not hold"),
        (">", B, A, "holds"),
        ("<", B, A, "does not hold"),
        ("<", A, NOISY, "undecided"),
        (">", A, NOISY, "undecided"),
        ("~", A, A, "holds"),
        ("~", A, B, "does not hold"),
        ("~", B, A, "does not hold"),
        ("~", A, NOISY, "undecided"),
        ("<", A, A, "undecided"),
        ("<", A[:1], B[:1], "undecided"),
        ("~", A[:1], A[:1], "undecided"),
        ("<", A, (), "not measured"),
        ("<", A, (0.8, None, 0.8), "not measured"),
    ],
)
def test_verdicts(relation, first, second, word):
    line = line_on(f"a {relation} b (why)", first, second)
    assert line.startswith(f"  {word}: a {relation} b")


@pytest.mark.parametrize("seed", range(8))
def test_an_ordering_holds_where_the_paired_t_test_says_so(seed):
    draw = np.random.default_rng(seed)
    first, second = draw.normal(0.7, 0.02, 5), draw.normal(0.72, 0.02, 5)
    test = stats.ttest_rel(first, second)
    low, high = test.confidence_interval()
    significant = "holds" if test.statistic < 0 else "does not hold"
    word = significant if test.pvalue < 0.05 else "undecided"
    numbers = f"{(first - second).mean():+.3f}, 95% CI [{low:+.3f}, {high:+.3f}]"
    assert line_on("a < b (why)", first, second) == f"  {word}: a < b: {numbers} (why)"


def test_a_line_names_margin_and_measure_and_only_seeds_that_both_rows_have():
    assert line_on("a < b (why)", A, B[:1]) == "  undecided: a < b: -0.100 (why)"
    assert line_on("a < b (why)", A, B[:2]) == line_on("a < b (why)", A[:2], B[:2])
    line = line_on("alignment: a ~ b, within 0.5 (why)", A, B)
    assert line.startswith("  holds: alignment: a ~ b, within 0.5: -0.100, 95% CI [")
    with pytest.raises(ValueError, match="no claim: a => b"):
        line_on("a => b (why)", A, B)


def test_the_claims_of_a_table_are_corrected_together_by_holm():
    """Two claims hold together only if one of them has p < 0.025."""
    draw = np.random.default_rng(0)
    rows = {"a": np.zeros(5), "b": draw.normal(0.2, 0.01, 5), "c": draw.normal(0.1, 0.08, 5)}
    rows["c"] += 0.11 - rows["c"].mean()
    scores = scores_of(**rows)
    sure, unsure, never = "a < b (sure)", "a < c (unsure)", "a < a (never)"
    p = stats.ttest_rel(rows["a"], rows["c"]).pvalue
    assert 0.025 < p < 0.05
    assert judged([unsure], scores)[0].startswith("  holds: a < c: -0.110, 95% CI")
    first, second = judged([unsure, sure], scores)
    assert first.startswith("  holds: a < c: -0.110, 95% CI")
    assert second.startswith("  holds: a < b") and "97.5% CI" in second
    # Three are too many for the unsure one, unless the two others are decided before it.
    again, *_ = judged([unsure, never, sure], scores)
    interval = stats.ttest_rel(rows["a"], rows["c"]).confidence_interval(0.975)
    assert again == f"  undecided: a < c: -0.110, 97.5% CI [{interval.low:+.3f}, " + (
        f"{interval.high:+.3f}] (unsure)"
    )
    low = stats.ttest_rel(rows["a"], rows["c"], alternative="greater").confidence_interval(0.975)
    word = "holds" if low.low > -0.3 else "undecided"
    assert judged(["a ~ c, within 0.3 (alike)"], scores)[0].startswith(
        f"  {word}: a ~ c, within 0.3"
    )


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-0.01, 0.01, "holds"),
        (-0.011, 0.01, "undecided"),
        (-0.01, 0.011, "undecided"),
        (0.01, 0.02, "undecided"),
        (0.011, 0.02, "does not hold"),
        (-0.02, -0.01, "undecided"),
        (-0.02, -0.011, "does not hold"),
    ],
)
def test_the_margin_of_two_rows_that_are_alike(low, high, word):
    assert verdict("~", 0.01, low, high) == word

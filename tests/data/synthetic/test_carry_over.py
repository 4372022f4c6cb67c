"""What carries over: backbones of a run by objective and seed, on sets that are found by name."""

import shutil
from itertools import pairwise

import pytest
from scipy.stats import spearmanr

from data.synthetic.probes import carry_over
from data.tasks import read_task
from evaluation.sts import cosine_scores
from minbert.encoder import SentenceEncoder
from minbert.hub import MINI

pytestmark = pytest.mark.synthetic


@pytest.fixture
def run(tmp_path):
    """A run folder as experiment leaves it: links to encoders."""
    folder = tmp_path / "run" / "backbones"
    folder.mkdir(parents=True)
    for name in ("none", "sup-42", "sup-43"):
        (folder / name).symlink_to(MINI)
    return folder.parent


@pytest.fixture
def data(tmp_path):
    """CS224N's STS files, of a few rows."""
    folder = tmp_path / "data"
    folder.mkdir()
    words = ("kite", "boat", "cake", "bear", "lamp", "river")
    for part in ("train", "dev"):
        rows = ["\tid\tsentence1\tsentence2\tsimilarity\n"]
        for number, (one, other) in enumerate(pairwise(words)):
            rows.append(f"{number}\tx{number}\tA {one} here\tA {other} there\t{number}.0\n")
        (folder / f"sts-{part}.csv").write_text("".join(rows), "utf-8")
    return folder


def test_a_table_of_means_and_a_csv_of_seeds(run, data, tmp_path, capsys):
    out = tmp_path / "out.csv"
    # The other data lies anywhere below the folder.
    shutil.copytree(data, tmp_path / "other" / "course" / "cs224n")
    other = str(tmp_path / "other")
    options = [str(run), "--synthetic", str(data), "--data", other, "--csv", str(out)]
    assert carry_over.main(options) == 0
    pairs = read_task(data, "sts").dev
    encoder = SentenceEncoder.from_pretrained("mini")
    gold = [pair.label for pair in pairs]
    value = spearmanr(cosine_scores(encoder.encode_quietly, pairs), gold).statistic
    printed = capsys.readouterr()
    assert f"| none | {value:.3f} | {value:.3f} |" in printed.out
    assert f"| sup | {value:.3f} ± 0.000 |" in printed.out
    assert "STSBenchmark" in printed.err
    lines = out.read_text("utf-8").splitlines()
    assert lines[0] == "encoder,set,number,spearman" and len(lines) == 1 + 3 * 2
    assert lines[-1] == f"sup,CS224N dev,2,{value:.4f}"


def test_a_folder_without_backbones_is_refused(data, capsys):
    assert carry_over.main([str(data), "--synthetic", str(data), "--data", str(data)]) == 2
    assert "backbones/" in capsys.readouterr().err

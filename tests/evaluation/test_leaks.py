"""The leak audit finds copies whatever their case and punctuation."""

from pathlib import Path

from conftest import real_data
from toy_suites import write_toy_suites

from data.overlap import write_digests
from evaluation.leaks import LeakOptions, audit, main

STS = "\tid\tsentence1\tsentence2\tsimilarity\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_cs224n_train_holds_most_of_the_official_test_pairs():
    """943 of 1,379 (DESIGN), found by their texts alone."""
    real_data("sts/STSBenchmark/sts-test.csv")
    folder, file = str(real_data("sts")), real_data("cs224n/sts-train.csv")
    lines = list(audit(LeakOptions(trained_on=(file,), data=(folder,))))
    row = next(line for line in lines[-1].splitlines() if line.startswith("| STSBenchmark "))
    pairs = float(row.split("|")[-2].strip().rstrip("%"))
    # Some pairs occur twice in STS-Benchmark, so the share is a little higher.
    assert 100 * 943 / 1379 <= pairs < 72


def test_the_command_prints_shares_of_sentences_and_of_whole_pairs(tmp_path, capsys):
    folder = write_toy_suites(tmp_path / "sets")
    sentences = write(tmp_path / "train.txt", "the cat sees the dog .\n")
    pairs = "1\tx\tThe CAT sees the dog\tthe dog sees the cat\t3\n"
    whole = write(tmp_path / "sts.csv", STS + pairs)
    files = ["--trained-on", str(sentences), str(whole), "--data", str(folder)]
    assert main(files) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if line.startswith("| HANS"))
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells == ["HANS", "6", "33.3%", "0.0%", "33.3%", "16.7%"]
    write_digests(["The cat sees the dog."], tmp_path / "read.digests.xz")
    assert main(["--trained-on", str(tmp_path / "read.digests.xz"), "--data", str(folder)]) == 0
    assert "| HANS " in (out := capsys.readouterr().out) and "33.3% " in out
    wrong = {
        "cannot be read": ["--trained-on", str(tmp_path / "x"), "--data", str(folder)],
        "no evaluation set in": ["--trained-on", str(sentences), "--data", str(tmp_path / "no")],
    }
    for message, words in wrong.items():
        assert main(words) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1

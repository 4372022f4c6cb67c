"""Validity: orders, standard errors and tables, against scipy and scikit-learn."""

import csv
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import bootstrap, kendalltau, pearsonr, spearmanr
from sklearn.metrics import accuracy_score

from data.synthetic.probes import agreement, baselines, systems, validity
from data.synthetic.probes.agreement import Scores
from data.synthetic.vocabulary import lexicon
from evaluation.cosine import sts_metrics
from minbert.encoder import SentenceEncoder

pytestmark = pytest.mark.synthetic

REFERENCE = {
    "accuracy": lambda guess, truth: accuracy_score(truth, guess),
    "pearson": lambda guess, truth: pearsonr(guess, truth).statistic,
    "spearman": lambda guess, truth: spearmanr(guess, truth).statistic,
}


def drawn(metric, noise, rows=300, seed=0):
    """Return scores whose guesses are the truth and noise; labels have ties, as real ones do."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).integers(0, 6, rows).astype(float)
    guesses = truth + noise * rng.normal(size=rows)
    return Scores(metric, np.round(guesses) if metric == "accuracy" else guesses, truth)


@pytest.mark.parametrize("metric", agreement.METRICS)
def test_values_and_errors_are_those_of_scipy_and_scikit_learn(metric):
    scores = drawn(metric, 1.0)
    guess, truth = scores.guesses, scores.truth
    assert scores.value == pytest.approx(REFERENCE[metric](guess, truth))
    theirs = bootstrap(
        (guess, truth), lambda *sides: REFERENCE[metric](*sides), paired=True, vectorized=False,
        n_resamples=400, method="percentile", rng=1,
    )  # fmt: skip
    assert scores.error == pytest.approx(theirs.standard_error, rel=0.2)


def test_a_margin_over_rows_both_find_hard_is_surer_than_two_errors_say():
    easy = drawn("accuracy", 0.8)
    worse = replace(easy, guesses=easy.guesses.copy())
    right = np.flatnonzero(easy.guesses == easy.truth)[:6]
    worse.guesses[right] += 1
    ahead, error = agreement.margin(easy, worse)
    assert ahead == pytest.approx(6 / 300)
    # Six rows of three hundred differ: the paired error is that of their share.
    assert error == pytest.approx(np.sqrt(6 / 300 * (1 - 6 / 300) / 300), rel=0.2)
    assert error < np.hypot(easy.error, worse.error) / 2
    assert agreement.margin(easy, easy) == (0, 0)
    assert agreement.told_apart({"a": worse, "b": easy}, {"a": worse, "b": easy}) == (1, 1)
    assert agreement.told_apart({"a": easy, "b": worse}, {"a": worse, "b": easy}) == (0, 1)
    assert agreement.told_apart({"a": worse, "b": easy}, {"a": easy, "b": easy}) == (0, 0)


def test_tau_is_scipys():
    first = {str(n): drawn("pearson", 0.3 * (n + 1), seed=n) for n in range(7)}
    order = [3, 0, 1, 5, 4, 2, 6]
    second = {str(n): drawn("pearson", 0.3 * (order[n] + 1), seed=n + 50) for n in range(7)}
    ours = agreement.tau(first, second)
    values = [[scores[name].value for name in first] for scores in (first, second)]
    assert ours == kendalltau(*values).statistic
    assert agreement.tau(first, {**second, "only there": first["0"]}) == ours


def test_an_encoders_cosine_is_that_of_the_evaluation(tiny_checkpoint, toy_data, tmp_path):
    encoder = SentenceEncoder.from_pretrained(str(tiny_checkpoint), precision="float32")
    data = systems.read_data(toy_data)
    found = systems.encoder_scores(encoder, data, tmp_path)
    theirs = sts_metrics(encoder.encode_quietly, data.splits["sts"].dev)["spearman"]
    assert found["sts cosine"].value == pytest.approx(theirs, abs=1e-6)
    assert found["sts"].guesses.shape == found["sts cosine"].guesses.shape == (16,)
    assert data.part("sts") == "dev"  # the test file has no labels


def held_opinion(part, words=1):
    """Return an opinion of so many words that stands in this part only."""
    owners = [owner for owner, where in lexicon().held.items() if where == part]
    said = [owner.removeprefix("opinion ") for owner in owners if owner.startswith("opinion ")]
    return next(s for s in said if len(s.split()) == words and re.fullmatch("[a-z ]+", s))


def test_rows_that_hold_a_held_out_opinion_are_found_and_no_others():
    word, phrase = held_opinion("dev"), held_opinion("dev", 3)
    texts = [
        f"It was {word.upper()}, they said .", f"The plot {phrase} .", f"It was un{word}x .",
        f"It was {held_opinion('test')} .", f"The {lexicon().held_tokens('dev')[0]} was here .",
    ]  # fmt: skip
    rows = [[text] for text in texts]
    assert baselines.held_out("sst", "dev", rows).tolist() == [True, True, False, False, False]
    assert baselines.held_out("sst", "test", rows).tolist()[3]


@pytest.fixture(scope="module")
def turned(toy_data, tmp_path_factory):
    """The toy data with dev's similarities turned round: 5 becomes 0."""
    folder = tmp_path_factory.mktemp("turned")
    shutil.copytree(toy_data, folder, dirs_exist_ok=True)
    lines = (folder / "sts-dev.csv").read_text().splitlines()
    cells = [line.split("\t") for line in lines[1:]]
    rows = ["\t".join([*row[:-1], str(5 - float(row[-1]))]) for row in cells]
    (folder / "sts-dev.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    return folder


def command(checkpoint, synthetic, real, tmp_path):
    out = tmp_path / "table.csv"
    argv = ["--synthetic", str(synthetic), "--real", str(real), "--csv", str(out), "--cache"]
    argv += [str(tmp_path / "cache")]
    assert validity.main([f"tiny={checkpoint}", *argv]) == 0
    with out.open() as file:
        return list(csv.DictReader(file))


def test_the_command_finds_equal_orders_equal_and_turned_ones_opposite(
    tiny_checkpoint, toy_data, turned, tmp_path, capsys
):
    same = command(tiny_checkpoint, toy_data, toy_data, tmp_path)
    shown = capsys.readouterr().out
    names = ["word overlap", "TF-IDF", "random twin of tiny", "tiny"]
    cosines = [row for row in same if row["measure"] == "sts cosine"]
    assert [row["system"] for row in cosines] == names
    assert all(row["tau"] == "1.0000" and row["synthetic"] == row["real"] for row in cosines)
    assert [row["system"] for row in same if row["measure"] == "sts"] == names[1:]
    assert "sts cosine, spearman: Kendall's tau 1.00 over 4 systems\n" in shown
    assert "tells apart by 2 standard errors" in shown and "are ordered alike" in shown
    opposite = command(tiny_checkpoint, toy_data, turned, tmp_path)
    shown = capsys.readouterr().out
    cosines = [row for row in opposite if row["measure"] == "sts cosine"]
    assert all(row["tau"] == "-1.0000" for row in cosines)
    assert all(float(row["real"]) == -float(row["synthetic"]) for row in cosines)
    assert "sts cosine, spearman: Kendall's tau -1.00 over 4 systems\n" in shown


def test_what_is_missing_is_one_line(tiny_checkpoint, toy_data, tmp_path, capsys):
    there, nowhere = str(toy_data), str(tmp_path / "nowhere")
    for argv in (
        [str(tiny_checkpoint), "--synthetic", nowhere, "--real", there],
        [str(tiny_checkpoint), "--synthetic", there, "--real", nowhere],
        ["./nowhere", "--synthetic", there, "--real", there],
    ):
        assert validity.main([*argv, "--cache", str(tmp_path)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert lines[-1].startswith("error: ") and "nowhere" in lines[-1]
    with pytest.raises(SystemExit) as stop:
        validity.main(["--help"])
    assert stop.value.code == 0 and validity.__doc__.splitlines()[0] in capsys.readouterr().out

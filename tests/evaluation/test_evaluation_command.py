"""The command line end to end on toy sets: every suite, against numbers computed by hand here."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import real_checkpoint, real_data
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from toy_suites import write_toy_suites

from data.suites import read_sts_set
from evaluation import opening
from evaluation.command import evaluate
from evaluation.options import Options, parse_options
from minbert.encoder import SentenceEncoder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> Path:
    return write_toy_suites(tmp_path_factory.mktemp("toy_suites"))


def options(folder: Path, tmp_path: Path, *backbones: str, **more) -> Options:
    settings = {"data": (str(folder),), "device": "cpu", "precision": "float32"}
    return Options(backbone=backbones, run_dir=tmp_path / "runs", **(settings | more))


def cosines_by_row(first: np.ndarray, second: np.ndarray) -> list[float]:
    rows = zip(first, second, strict=True)
    return [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in rows]


def value(results: list, suite: str, metric: str, model: str = "tiny", part: str = "") -> float:
    (found,) = (
        r.value
        for r in results
        if (r.suite, r.metric, r.model, r.part) == (suite, metric, model, part)
    )
    return found


def test_all_suites_measure_what_their_files_hold(sets, tmp_path, tiny_checkpoint):
    said: list[str] = []
    asked = options(
        sets, tmp_path, str(tiny_checkpoint), json=tmp_path / "r.json", csv=tmp_path / "r.csv"
    )
    results = evaluate(asked, said.append)
    assert {result.suite for result in results} == {"sts", "transfer", "pairs", "hans", "geometry"}
    encoder = SentenceEncoder.from_pretrained(
        str(tiny_checkpoint), device="cpu", precision="float32"
    )
    pairs = read_sts_set(sets, "STSBenchmark")["test"]
    first, second = (encoder.encode([pair.texts[side] for pair in pairs]) for side in (0, 1))
    cosines = cosines_by_row(first, second)
    expected = spearmanr(cosines, [pair.label for pair in pairs])[0]
    (found,) = (
        r for r in results if (r.set, r.metric, r.suite) == ("STSBenchmark", "spearman", "sts")
    )
    assert found.value == pytest.approx(expected, abs=1e-6) and found.part == "all"
    # The last word of each MR sentence tells its class.
    assert value([r for r in results if r.set == "MR"], "transfer", "accuracy") > 0.8
    assert {r.model for r in results if r.suite == "hans"} == {
        "tiny, cosine", "tiny, bi head", "tiny, cross head",
    }  # fmt: skip
    swaps = value(results, "hans", "word-order swap", "tiny, bi head")
    assert swaps in (0, 1 / 3, 2 / 3, 1)
    with (tmp_path / "r.csv").open() as file:
        rows = list(csv.DictReader(file))
    written = json.loads((tmp_path / "r.json").read_text())["results"]
    assert len(rows) == len(written) == len(results)
    assert rows[0]["model"] == written[0]["model"] == "tiny"
    text = "\n".join(said)
    assert "STS12 (STS12-en-test)" in text and "Spearman x 100" in text
    assert said[-1].endswith(f"{tmp_path / 'r.json'}, {tmp_path / 'r.csv'}")


def test_a_bi_encoder_cannot_see_a_swap_of_equal_bags(sets, tmp_path, tiny_checkpoint):
    """A baseline that reads words without order calls a swapped pair what it calls a copy."""
    results = evaluate(
        options(sets, tmp_path, str(tiny_checkpoint), suite=("hans",), baselines=True),
        lambda line: None,
    )
    for model in ("word overlap, cosine", "TF-IDF, cosine"):
        entailed = value(results, "hans", "lexical_overlap, entailed", model)
        assert value(results, "hans", "word-order swap", model) == 1 - entailed
        assert value(results, "hans", "lexical_overlap, AUC", model) == 0.5


def test_each_distinct_text_is_encoded_once_and_kept(sets, tmp_path, tiny_checkpoint, monkeypatch):
    encoded: list[int] = []
    original = opening.frozen_embeddings

    def counting(encoder, fingerprint, features, items, folder):
        before = set(folder.glob("*.npy"))
        found = original(encoder, fingerprint, features, items, folder)
        encoded.append(len(items) if set(folder.glob("*.npy")) - before else 0)
        return found

    monkeypatch.setattr(opening, "frozen_embeddings", counting)
    asked = options(sets, tmp_path, str(tiny_checkpoint), suite=("sts", "pairs", "transfer"))
    first = evaluate(asked, lambda line: None)
    again = evaluate(asked, lambda line: None)
    assert encoded[0] > 100 and encoded[1:] == [0]
    assert first == again


def test_random_weights_have_a_row_of_their_own(sets, tmp_path, tiny_checkpoint):
    asked = options(
        sets, tmp_path, str(tiny_checkpoint), f"random:{tiny_checkpoint}", suite=("sts",)
    )
    results = evaluate(asked, lambda line: None)
    values = {r.model: r.value for r in results if r.metric == "spearman"}
    assert set(values) == {"tiny", "tiny, random weights"}
    assert len(set(values.values())) == 2


def test_two_folders_of_one_name_have_rows_of_their_own(tmp_path):
    first, second, other = (tmp_path / name for name in ("a/tuned", "b/tuned", "c"))
    for folder in (first, second, other):
        folder.mkdir(parents=True)
    names = [str(first), str(second), f"random:{other}", str(other), "princeton-nlp/sup", "mini"]
    assert opening.labels(names) == {
        str(first): str(first),
        str(second): str(second),
        f"random:{other}": "c, random weights",
        str(other): "c",
        "princeton-nlp/sup": "princeton-nlp/sup",
        "mini": "mini",
    }


def test_scores_stand_beside_those_on_what_was_not_trained_on(sets, tmp_path, tiny_checkpoint):
    pairs = read_sts_set(sets, "STSBenchmark")["test"]
    seen = tmp_path / "train.txt"
    seen.write_text("".join(f"{pair.text_a.upper()}\n" for pair in pairs[:20]))
    asked = options(
        sets, tmp_path, str(tiny_checkpoint), suite=("sts", "pairs"), trained_on=(seen,)
    )
    results = evaluate(asked, lambda line: None)
    found = next(r for r in results if r.set == "STSBenchmark" and r.metric == "spearman")
    assert found.seen >= 20 / 60
    hidden = {text.lower() for text in seen.read_text().splitlines()}
    rest = [p for p in pairs if not hidden & {p.text_a, p.text_b}]
    assert found.seen == pytest.approx(1 - len(rest) / len(pairs))
    clean = SentenceEncoder.from_pretrained(str(tiny_checkpoint), device="cpu", precision="float32")
    first, second = (clean.encode([p.texts[side] for p in rest]) for side in (0, 1))
    cosines = cosines_by_row(first, second)
    assert found.unseen == pytest.approx(spearmanr(cosines, [p.label for p in rest])[0], abs=1e-6)


def test_a_folder_without_sets_is_one_line_and_code_2(tmp_path, tiny_checkpoint):
    command = [
        *(sys.executable, "-m", "evaluation", "--backbone", str(tiny_checkpoint)),
        *("--data", str(tmp_path), "--suite", "sts"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no set of sts in ") and done.stderr.count("\n") == 1
    assert "python -m data.download sts" in done.stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--suite", "nli"], "invalid choice: 'nli'"),
        ([], "required: --backbone"),
        (["--backbone", "mini", "--seed", "-1"], "'-1'"),
    ],
)
def test_wrong_flags_are_refused(flags, words, capsys):
    with pytest.raises(SystemExit) as stopped:
        parse_options(flags)
    assert stopped.value.code == 2 and words in capsys.readouterr().err


# MTEB's results repository, Spearman x 100 of all subsets as one.
PUBLISHED = {"STS12": 72.4, "STS13": 80.6, "STS14": 75.6, "STSBenchmark": 82.03}


def test_the_published_numbers_of_minilm(tmp_path):
    """STS12-14 and STS-B within 0.1 of MTEB's; STS-B computed here by sentence-transformers too."""
    folder = real_data("sts")
    results = evaluate(
        options(
            folder, tmp_path, str(real_checkpoint()), suite=("sts",), sets=tuple(PUBLISHED),
            precision="auto",
        ),
        lambda line: None,
    )  # fmt: skip
    found = {r.set: 100 * r.value for r in results if r.metric == "spearman" and r.part == "all"}
    for name, published in PUBLISHED.items():
        assert found[name] == pytest.approx(published, abs=0.1), name
    pairs = read_sts_set(folder, "STSBenchmark")["test"]
    peer = SentenceTransformer(str(real_checkpoint()), device="cpu")
    first, second = (
        peer.encode([pair.texts[side] for pair in pairs], normalize_embeddings=True)
        for side in (0, 1)
    )
    independent = spearmanr((first * second).sum(axis=1), [p.label for p in pairs])[0]
    assert found["STSBenchmark"] == pytest.approx(100 * independent, abs=0.1)

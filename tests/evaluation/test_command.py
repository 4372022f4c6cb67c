"""The command line end to end on toy sets: every suite, against numbers computed by hand here."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import real_checkpoint, real_data
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score
from toy_suites import write_toy_suites

from baselines.words import tfidf, word_overlap
from data.examples import Sentence, SentencePair
from data.overlap import overlap, write_digests
from data.published import HANS_LABELS
from data.suites import read_hans, read_sts_set
from evaluation import models
from evaluation.command import evaluate
from evaluation.cosine import cosine_scores
from evaluation.metrics import best_threshold
from evaluation.models import seen_by
from evaluation.options import EvaluationOptions
from evaluation.suites import hans, transfer
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.hub import MINI
from runtime.errors import UserError


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> Path:
    return write_toy_suites(tmp_path_factory.mktemp("toy_suites"))


def options(folder: Path, tmp_path: Path, *backbones: str, **more) -> EvaluationOptions:
    settings = {"data": (str(folder),), "device": "cpu", "precision": "float32"}
    return EvaluationOptions(backbone=backbones, run_dir=tmp_path / "runs", **(settings | more))


def spearman_of(checkpoint: Path, pairs: list) -> float:
    """Return what the sts suite measures of an encoder, computed row by row."""
    encoder = SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")
    first, second = (encoder.encode([pair.texts[side] for pair in pairs]) for side in (0, 1))
    rows = zip(first, second, strict=True)
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in rows]
    return float(spearmanr(cosines, [pair.label for pair in pairs])[0])


def value(results: list, suite: str, metric: str, model: str = "tiny", part: str = "") -> float:
    wanted = (suite, metric, model, part)
    (only,) = (r.value for r in results if (r.suite, r.metric, r.model, r.part) == wanted)
    return only


def quiet(line: str) -> None: ...


def test_results_never_replace_a_set(sets, tmp_path, tiny_checkpoint):
    """A file of results that lies among the sets may be written again."""
    folder = tmp_path / "sets"
    shutil.copytree(sets, folder)
    train = folder / "MRPC" / "msr_paraphrase_train.txt"
    before = train.read_bytes()
    asked = options(folder, tmp_path, str(tiny_checkpoint), suite=("geometry",))
    for name in ("csv", "json"):
        with pytest.raises(UserError, match="a file of --data"):
            evaluate(replace(asked, **{name: train}), quiet)
    assert train.read_bytes() == before
    results = replace(asked, csv=folder / "results.csv", json=folder / "results.json")
    for _ in range(2):
        evaluate(results, quiet)


def test_all_suites_measure_what_their_files_hold(sets, tmp_path, tiny_checkpoint, monkeypatch):
    monkeypatch.setattr(transfer, "FOLDS", 3)
    lines: list[str] = []
    files = {"json": tmp_path / "r.json", "csv": tmp_path / "r.csv", "predictions": tmp_path / "p"}
    results = evaluate(options(sets, tmp_path, str(tiny_checkpoint), **files), lines.append)
    assert {result.suite for result in results} == {"sts", "transfer", "pairs", "hans", "geometry"}
    expected = spearman_of(tiny_checkpoint, read_sts_set(sets, "STSBenchmark")["test"])
    own = [r for r in results if r.set == "STSBenchmark"]
    assert value(own, "sts", "spearman", part="all") == pytest.approx(expected, abs=1e-6)
    # The last word of each MR sentence tells its class.
    assert value([r for r in results if r.set == "MR"], "transfer", "accuracy") > 0.8
    judges = {f"tiny, {judge}" for judge in ("cosine", "bi head", "cross head")}
    assert {r.model for r in results if r.suite == "hans"} == judges
    # The threshold is 0.5 for heads, whose rows add up to all six pairs.
    for judge in judges:
        swaps = value(results, "hans", "word-order swap", judge)
        copies = value(results, "hans", "lexical_overlap, entailed", judge)
        accuracy = value(results, "hans", "accuracy", judge)
        assert accuracy == (swaps + copies) / 2
        # The NLI pairs that were not learnt from, and HANS's own format.
        assert 0 <= value(results, "hans", "NLI, held out", judge) <= 1
        name = judge.replace(", ", "-").replace(" ", "-")
        header, *called = (tmp_path / "p" / f"HANS-{name}.txt").read_text().split()
        pairs = read_hans(sets)
        assert header == "pairID,gold_label" and len(called) == len(pairs)
        right = [
            line == f"{p.id},{HANS_LABELS[int(p.label)]}"
            for line, p in zip(called, pairs, strict=True)
        ]
        assert np.mean(right) == pytest.approx(accuracy)
    # The threshold of the cosine is the best one of the first nine tenths of the NLI pairs.
    nli = hans.read([sets], "HANS").train
    tenth = len(nli) // 10
    encoder = SentenceEncoder.from_pretrained(tiny_checkpoint, device="cpu", precision="float32")
    cosines, labels = cosine_scores(encoder.encode, nli), np.array([p.label for p in nli]) > 0
    threshold = best_threshold(cosines[:-tenth], labels[:-tenth], "accuracy")
    expected = accuracy_score(labels[-tenth:], cosines[-tenth:] >= threshold)
    assert value(results, "hans", "NLI, held out", "tiny, cosine") == pytest.approx(expected)
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    written = json.loads((tmp_path / "r.json").read_text())["results"]
    assert len(rows) == len(written) == len(results)
    assert rows[0]["model"] == written[0]["model"] == "tiny"
    text = "\n".join(lines)
    assert "STS12 (STS12-en-test)" in text and "Spearman x 100" in text
    upright = next(table for table in lines if "HANS, accuracy and area" in table)
    assert max(map(len, upright.splitlines())) <= 80 and "| cosine | bi head |" in upright
    assert "| lexical_overlap/" in next(table for table in lines if "by subcase" in table)
    assert lines[-1].endswith(f"{tmp_path / 'r.json'}, {tmp_path / 'r.csv'}")


def test_a_bag_of_words_cannot_see_a_swap(sets, tmp_path, tiny_checkpoint, monkeypatch):
    """A baseline that reads words without order calls a swapped pair what it calls a copy."""
    monkeypatch.setattr(models, "baselines", lambda *_: [word_overlap(), tfidf()])
    monkeypatch.setattr(models, "trained_baselines", lambda *_: [])
    results = evaluate(
        options(sets, tmp_path, str(tiny_checkpoint), suite=("hans",), baselines=True),
        quiet,
    )
    for model in ("word overlap, similarity", "TF-IDF, cosine"):
        entailed = value(results, "hans", "lexical_overlap, entailed", model)
        assert value(results, "hans", "word-order swap", model) == 1 - entailed
        assert value(results, "hans", "word-order swap, AUC", model) == 0.5


def test_texts_are_encoded_once_and_random_weights_have_a_row_of_their_own(
    sets, tmp_path, tiny_checkpoint
):
    names = str(tiny_checkpoint), f"random:{tiny_checkpoint}"
    asked = options(sets, tmp_path, *names, suite=("sts", "pairs"))
    first = evaluate(asked, quiet)
    cached = sorted((tmp_path / "runs").rglob("*.npy"))
    assert evaluate(asked, quiet) == first
    assert sorted((tmp_path / "runs").rglob("*.npy")) == cached and len(cached) == 2
    values = {r.model: r.value for r in first if r.metric == "spearman"}
    assert set(values) == {"tiny", "tiny, random weights"} and len(set(values.values())) == 2


def test_two_folders_of_one_name_have_rows_of_their_own(tmp_path):
    first, second, other = (tmp_path / name for name in ("a/tuned", "b/tuned", "c"))
    for folder in (first, second, other):
        folder.mkdir(parents=True)
    names = [str(first), str(second), f"random:{other}", str(other), "princeton-nlp/sup", "mini"]
    assert models.labels(names) == {
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
    results = evaluate(asked, quiet)
    found = next(r for r in results if r.set == "STSBenchmark" and r.metric == "spearman")
    assert found.seen >= 20 / 60
    hidden = {text.lower() for text in seen.read_text().splitlines()}
    rest = [p for p in pairs if not hidden & {p.text_a, p.text_b}]
    assert found.seen == pytest.approx(1 - len(rest) / len(pairs))
    assert found.unseen == pytest.approx(spearman_of(tiny_checkpoint, rest), abs=1e-6)
    # Without --trained-on nothing is known of this checkpoint, so nothing is said.
    asked = options(sets, tmp_path, str(tiny_checkpoint), suite=("sts",))
    assert {(r.seen, r.unseen) for r in evaluate(asked, quiet)} == {(None, None)}


def test_trained_baselines_are_tuned_once_and_know_their_texts(
    sets, toy_data, tmp_path, tiny_checkpoint, monkeypatch
):
    quick = {
        name: replace(recipe, max_steps=2, eval_steps=1)
        for name, recipe in models.ALL_PRESETS["quick"].items()
    }
    monkeypatch.setattr(models, "ALL_PRESETS", {"quick": quick})
    monkeypatch.setattr(models, "baselines", lambda *_: [])
    data = {"data": (str(sets), str(toy_data)), "suite": ("sts",), "baselines": True}
    asked = options(sets, tmp_path, str(tiny_checkpoint), **data)
    results = evaluate(asked, quiet)
    names = {r.model for r in results}
    assert names >= {f"tiny, {words}" for words in models.TRAINED.values()}
    tuned = set((tmp_path / "runs/backbones").iterdir())
    assert len(tuned) == 6
    notes = json.loads(
        next(f for f in tuned if f.name.startswith("sup")).joinpath("training.json").read_text()
    )
    assert notes["trained_on"] == str(toy_data / "nli_for_simcse.csv")
    assert notes["selected_by"] == str(toy_data) and notes["best_score"] is not None
    # The toy sets are of the same sentences as the NLI pairs that SBERT was trained on.
    asked_of = ("tiny, SBERT", "STSBenchmark", "spearman")
    (sbert,) = (r for r in results if (r.model, r.set, r.metric) == asked_of)
    assert sbert.seen == 1.0 and sbert.unseen is None
    before = {folder: folder.stat().st_mtime_ns for folder in tuned}
    again = models.trained_baselines(str(tiny_checkpoint), asked, quiet)
    assert {folder for _, folder in again} == tuned
    assert {folder: folder.stat().st_mtime_ns for folder in tuned} == before


def test_baselines_are_trained_on_the_files_that_are_named(
    sets, toy_data, tmp_path, tiny_checkpoint, monkeypatch
):
    monkeypatch.setattr(
        models, "tuned_backbone", lambda objective, *_, **__: tmp_path / objective.name
    )
    named = {"unsup_data": tmp_path / "own.txt", "sup_data": tmp_path / "own.csv"}
    for path, name in zip(
        named.values(), ("wiki1m_for_simcse.txt", "nli_for_simcse.csv"), strict=True
    ):
        path.write_bytes((toy_data / name).read_bytes())
    asked = options(sets, tmp_path, str(tiny_checkpoint), baselines=True, **named)
    lines: list[str] = []
    assert list(models.trained_baselines(str(tiny_checkpoint), asked, lines.append))
    assert f"tuning    unsup on {named['unsup_data']}" in lines
    assert f"tuning    sup on {named['sup_data']}" in lines


def test_what_a_tuned_encoder_was_tuned_from_counts_too(toy_data, tmp_path, tiny_checkpoint):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, before, file in (
        (first, tiny_checkpoint, "nli_for_simcse.csv"),
        (second, first, "wiki1m_for_simcse.txt"),
    ):
        folder.mkdir()
        notes = {"backbone": str(before), "trained_on": str(toy_data / file)}
        (folder / "training.json").write_text(json.dumps(notes))
    seen = seen_by(str(second), ())
    triplet = (toy_data / "nli_for_simcse.csv").read_text().splitlines()[1].split(",")
    assert overlap([SentencePair("", triplet[0], triplet[1])], seen).share_pairs == 1
    sentence = (toy_data / "wiki1m_for_simcse.txt").read_text().splitlines()[0]
    assert overlap([Sentence("", sentence)], seen).share_sentences == 1
    assert not len(seen_by(f"random:{second}", ()).texts)
    (second / "training.json").write_text('{"trained_on": 5}')
    with pytest.raises(CheckpointError, match="trained_on is 5"):
        seen_by(str(second), ())


def test_digests_beside_the_weights_count_as_seen(tmp_path, caplog):
    (tmp_path / "training.json").write_text('{"trained_on": "read.digests.xz"}')
    assert not len(seen_by(str(tmp_path), ()).digests)
    assert "names read.digests.xz, which no longer exists" in caplog.text
    write_digests(["A kite."], tmp_path / "read.digests.xz")
    (tmp_path / "copy").mkdir()
    for file in tmp_path.glob("*.*"):
        (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    assert overlap([Sentence("", "a kite")], seen_by(str(tmp_path / "copy"), ())).shared.all()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"json": Path(".")}, "is a folder"),
        (
            {"backbone": (str(MINI),), "csv": MINI / "config.json"},
            "config.json: would be overwritten",
        ),
        ({"backbone": (str(MINI),), "predictions": MINI}, "mini: would be overwritten"),
        ({"glove": Path("none.txt")}, "none.txt: no such file"),
        ({"sup_data": Path("gone.csv")}, "gone.csv: no such file"),
        ({"data": ("no-such-folder",)}, "--data no-such-folder: no such folder"),
        (
            {"data": ("{empty}",), "suite": ("sts",)},
            "no set of sts in .*python -m data.download sts",
        ),
        ({"sets": ("STS99",)}, "--sets STS99: unknown"),
        ({"sets": ("STSBenchmark", "STS13")}, "--sets: not in .*: STS13"),
        ({"backbone": ("mini", "./nothing")}, "nothing: no such folder"),
        (
            {"data": ("{one_class}",), "suite": ("transfer",)},
            "MRPC: training rows by class are class 1: 20",
        ),
    ],
)
def test_wrong_input_is_one_line(more, words, sets, tmp_path, tiny_checkpoint):
    one_class, empty = tmp_path / "one_class", tmp_path / "empty"
    shutil.copytree(sets / "MRPC", one_class)
    train = one_class / "msr_paraphrase_train.txt"
    rows = train.read_text().splitlines()
    train.write_text("\n".join([rows[0], *(r for r in rows[1:] if r.startswith("1"))]) + "\n")
    empty.mkdir()
    asked = replace(options(sets, tmp_path, str(tiny_checkpoint)), **more)
    folders = (name.format(empty=empty, one_class=one_class) for name in asked.data)
    asked = replace(asked, data=tuple(folders))
    said: list[str] = []
    with pytest.raises(UserError, match=words) as error:
        evaluate(asked, said.append)
    assert "\n" not in str(error.value)
    # Only one class is found by measuring.
    assert any(line.startswith("model") for line in said) == ("one_class" in str(more))


def test_hans_without_nli_pairs_has_areas_under_the_curve_only(sets, tmp_path, tiny_checkpoint):
    folder = tmp_path / "hans"
    folder.mkdir()
    shutil.copy(sets / "heuristics_evaluation_set.txt", folder)
    results = evaluate(options(folder, tmp_path, str(tiny_checkpoint), suite=("hans",)), quiet)
    assert {r.model for r in results} == {"tiny, cosine"}
    measured = {r.metric for r in results if r.value is not None}
    assert measured == {"lexical_overlap, AUC", "word-order swap, AUC"}


def test_the_published_number_of_minilm(tmp_path):
    """STS-B within 0.1 of MTEB's results repository, Spearman x 100."""
    asked = EvaluationOptions(
        backbone=(str(real_checkpoint()),),
        data=(str(real_data("sts")),),
        suite=("sts",),
        sets=("STSBenchmark",),
        run_dir=tmp_path / "runs",
    )
    results = evaluate(asked, quiet)
    assert 100 * value(results, "sts", "spearman", results[0].model, "all") == pytest.approx(
        82.03, abs=0.1
    )

"""What is asked together is adjusted together; what is written and read again stays the same."""

import json
from dataclasses import replace

import numpy as np
import pytest
from made_cells import cell, para_cell

from data.examples import SentencePair
from data.tasks import TASKS, Splits
from evaluation import intervals
from evaluation.clusters import alone
from evaluation.metrics import task_metrics
from evaluation.significance import holm
from report.floors import OVERLAP, is_floor, overlap_calls
from report.judging import (
    Scored,
    System,
    from_json,
    judge,
    judge_cells,
    read_judged,
    to_json,
)
from report.run_folder import COMPARISONS, RunFolder
from report.table import results_table
from report.verdict import verdict_of

DRAW = np.random.default_rng(0)
N = 60
GOOD, BAD = (0.5, 0.5), (3.0, 3.0)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 100)


def test_a_split_is_adjusted_over_tasks_by_main_metric_and_others_apart():
    gold = DRAW.integers(0, 6, 40).astype(float)
    scores = {name: {1: gold + DRAW.normal(0, 1 + k / 3, 40)} for k, name in enumerate("abc")}
    para = (gold > 2).astype(float)
    calls = {"a": {1: para}, "b": {1: (scores["a"][1] > 2).astype(float)}}
    cosines = {name: scores[name] for name in "ab"}
    judged = judge(
        [
            Scored("sts", "dev", scores, gold, alone(40), cosines=cosines),
            Scored("para", "dev", calls, para, alone(40)),
            Scored("para", "test", calls, para, alone(40)),
        ]
    )
    entries = to_json(judged)["comparisons"]
    families = {
        "main": {("sts", "pearson"), ("para", "accuracy")},
        "other": {("sts", "spearman"), ("para", "f1")},
        "cosine": {("sts", "cosine_spearman")},
    }
    for split, sizes in (("dev", (4, 4, 1)), ("test", (1, 1, 0))):
        for metrics, size in zip(families.values(), sizes, strict=True):
            family = [
                entry for entry in entries
                if entry["split"] == split and (entry["task"], entry["metric"]) in metrics
            ]  # fmt: skip
            assert len(family) == size
            assert [entry["p_holm"] for entry in family] == holm([e["p"] for e in family])
    # The cosines are compared by Spearman's correlation.
    (cosine,) = (e for e in entries if e["metric"] == "cosine_spearman")
    (same,) = (e for e in entries if (e["metric"], e["a"], e["b"]) == ("spearman", "a", "b"))
    assert (cosine["difference"], cosine["p"]) == (same["difference"], same["p"])
    assert [place.question.best for place in judged] == [{}] * 3 and verdict_of(judged) == (
        "",
        "",
        [],
    )


def judged_cells(noises, splits=("dev", "test"), seeds=(1,), task="sts"):
    """Return cells and what was judged of them by split; scores are labels and noise.

    Args:
        noises: (pretrain, encoder, tune) -> the noise's standard deviation, on dev and on test.
    """
    draw = np.random.default_rng(2)
    make = cell if task == "sts" else para_cell
    cells, scored = [], []
    for k, split in enumerate(splits):
        gold = draw.integers(0, 6 if task == "sts" else 2, N).astype(float)
        systems = {}
        for (pretrain, encoder, tune), noise in noises.items():
            for seed in seeds:
                own = make(pretrain=pretrain, reader=encoder, tune=tune, split=split, seed=seed)
                scores = gold + draw.normal(0, noise[k], N)
                values = scores if task == "sts" else (scores > 0.5).astype(float)
                systems.setdefault(own.system, {})[seed] = values
                cells.append(own)
        scored.append(Scored(task, split, systems, gold, alone(N)))
    return cells, {place.split: place for place in judge(scored, cells)}


def test_the_best_are_chosen_on_dev_and_the_question_is_about_test():
    noises = {
        ("none", "cross", "frozen"): (0.6, 3.0), ("sup", "cross", "frozen"): (3.0, 0.1),
        ("none", "bi", "frozen"): (3.0, 0.1), ("sup", "bi", "frozen"): (0.5, 3.0),
        ("sup", "bi", "full"): (2.0, 0.1), ("ct", "bi", "frozen"): BAD,
    }  # fmt: skip
    _, judged = judged_cells(noises)
    question = judged["test"].question
    best = {"bi": "sup-bi-frozen-concat", "cross": "none-cross-frozen-concat"}
    assert list(question.best.items()) == list(best.items()) and question.chosen_on == "dev"
    assert question.systems["sup-bi-full-concat"] == System("sup", "bi", "full")
    assert len(question.systems) == 6 and judged["dev"].question.best == {}
    frozen = "none-bi-frozen-concat"
    assert question.changes == tuple((frozen, f"{s}-bi-frozen-concat") for s in ("sup", "ct"))

    final = [v for v in judged["test"].comparisons if v.metric == "pearson"]
    (asked,) = (versus for versus in final if versus.p_holm is None)
    assert {asked.a, asked.b} == set(best.values()) and asked.p is not None
    # What SimCSE changed in the frozen bi-encoder is a family of its own.
    changed = [v for v in final if (v.a, v.b) in question.changes]
    assert [v.p_holm for v in changed] == holm([v.p for v in changed]) and len(changed) == 2
    others = [v for v in final if v != asked and v not in changed]
    assert [v.p_holm for v in others] == holm([v.p for v in others]) and len(others) == 12
    assert all(v.p_holm is not None for v in judged["dev"].comparisons)  # which chose them


def test_the_best_of_the_scored_rows_are_compared_with_correction():
    noises = {("none", "cross", "frozen"): GOOD, ("none", "bi", "frozen"): GOOD}
    _, judged = judged_cells(noises | {("sup", "bi", "frozen"): BAD}, ("dev",))
    assert judged["dev"].question.chosen_on == "dev"
    final = [v for v in judged["dev"].comparisons if v.metric == "pearson"]
    changed = [v for v in final if (v.a, v.b) in judged["dev"].question.changes]
    others = [v for v in final if v not in changed]
    assert [v.p_holm for v in others] == holm([v.p for v in others]) and len(others) == 2


def test_three_readers_are_adjusted_together_and_without_test_labels_dev_is_asked():
    noises = {("none", reader, "frozen"): GOOD for reader in ("cross", "bi", "late")}
    _, judged = judged_cells(noises, ("dev",), seeds=(1, 2), task="para")
    question = judged["dev"].question
    assert list(question.best) == ["bi", "late", "cross"] and question.chosen_on == ""
    final = [v for v in judged["dev"].comparisons if v.metric == "accuracy"]
    assert [v.p_holm for v in final] == holm([v.p for v in final]) and len(final) == 3
    assert question.changes == ()


def test_a_metric_without_a_value_is_neither_best_nor_compared():
    cells = [cell(split="test", reader=reader) for reader in ("bi", "cross")]
    cells.append(cell(split="test", reader="cross", tune="full"))
    gold = np.arange(N) % 6.0
    systems = {c.system: {1: np.ones(N)} for c in cells[:2]} | {cells[2].system: {1: -gold}}
    (judged,) = judge([Scored("sts", "test", systems, gold, alone(N))], cells)
    assert judged.question.best == {"bi": cells[0].system, "cross": cells[2].system}
    assert judged.question.chosen_on == "test"
    words = " ".join(verdict_of([judged]).paragraphs)
    assert "cannot be compared" in words and "nan" not in words and "None" not in words


@pytest.fixture
def run(tmp_path):
    """Two seeds of both encoders on thirty pairs, in a run folder."""
    pairs = [SentencePair(f"p{i}", f"x{i}", f"y{i}", float(i % 6)) for i in range(30)]
    labels = np.array([pair.label for pair in pairs])
    cells, folder = [], RunFolder(tmp_path)
    for reader in ("bi", "cross"):
        for seed in (1, 2):
            own = cell(reader=reader, seed=seed, split="test", n=30)
            scores = labels + DRAW.normal(0, 0.3 if reader == "cross" else 3, 30)
            ids = [pair.id for pair in pairs]
            folder.write_predictions(own.name, TASKS["sts"], "test", ids, scores)
            folder.write_soft(own, ids, cosines=scores / 5)
            metrics = task_metrics("sts", folder.predictions(own, pairs), labels)
            cells.append(replace(own, metrics=metrics))
    return cells, {"sts": Splits([], [], pairs)}, folder


def test_a_runs_cells_are_judged_by_their_files_and_the_table_has_their_intervals(run):
    cells, splits, folder = run
    (judged,) = judge_cells(cells, splits, folder)
    assert {estimate.seeds for estimate in judged.estimates} == {(1, 2)}
    pairs = {(versus.a, versus.b) for versus in judged.comparisons}
    both = "sup-bi-frozen-concat", "sup-cross-frozen-concat"
    assert pairs == {both, *((system, floor) for system in both for floor in (OVERLAP, "cosine"))}
    assert len(judged.scores("cosine_spearman")) == 2
    for own in cells:  # a tuned encoder has cosines of its own for each head
        (folder.predictions_path(own).parent).rename(
            folder.path / "predictions" / replace(own, tune="full").name
        )
    (tuned,) = judge_cells([replace(own, tune="full") for own in cells], splits, folder)
    assert tuned.scores("cosine_spearman") == {} and len(tuned.estimates) == 6
    rows = results_table(cells, [judged]).splitlines()[3:]
    *systems, overlap, cosine = judged.scores("pearson").values()
    for row, estimate in zip(rows, [*systems, overlap, cosine], strict=True):
        if estimate.interval:
            assert f"[{estimate.interval.low:.3f}, {estimate.interval.high:.3f}]" in row
    assert overlap.mean is None and "word overlap" in rows[2] and "undefined" in rows[2]
    assert rows[3].startswith("| cosine ")
    assert "[" not in results_table(cells)


WORDS = ["a red bird", "the bird is red", "a green frog", "birds", "red frog", "frog"]
OTHERS = ["the red bird", "is it red", "of a green frog", "frogs", "a bird", "frog frog"]
SHARES = [1.0, 0.5, 1.0, 0.0, 0.0, 1.0]  # of content words


def test_word_overlap_is_a_row_that_needs_no_training(tmp_path):
    """It is in a family of its own, with a threshold of the training pairs."""
    texts = list(zip(WORDS, OTHERS, strict=True)) * 10
    pairs = [
        SentencePair(f"p{i}", f"{a} {i}x", f"{b} {i}y", float(i % 2))
        for i, (a, b) in enumerate(texts)
    ]
    train = [SentencePair(f"t{i}", a, b, float(share > 0.5)) for i, (a, b), share in zip(
        range(6), texts[:6], SHARES, strict=True)]  # fmt: skip
    assert overlap_calls("sts", train, []).tolist() == SHARES
    scored = [replace(p, text_a=f"{p.text_a} kite", text_b=f"{p.text_b} kite") for p in train]
    shares = overlap_calls("sts", scored, train)
    assert overlap_calls("para", scored, train).tolist() == (shares == 1).astype(float).tolist()
    # Training pairs with a text that is scored do not choose the threshold: these are all wrong.
    wrong = [replace(pair, label=1 - pair.label) for pair in scored] * 3
    assert (
        overlap_calls("para", scored, train + wrong) == overlap_calls("para", scored, train)
    ).all()
    assert overlap_calls("para", train, train) is overlap_calls("para", train, []) is None
    assert overlap_calls("sst", train, train) is None
    folder, cells = RunFolder(tmp_path), []
    for reader in ("bi", "late", "cross"):
        own = para_cell(reader=reader, split="test", n=60)
        calls = np.array([pair.label for pair in pairs])
        calls[: 3 * len(reader)] = 1 - calls[: 3 * len(reader)]
        folder.write_predictions(
            own.name, TASKS["para"], "test", [pair.id for pair in pairs], calls
        )
        cells.append(own)
    (judged,) = judge_cells(cells, {"para": Splits(train, [], pairs)}, folder)
    accuracy = [v for v in judged.comparisons if v.metric == "accuracy"]
    floor, main = ([v for v in accuracy if is_floor(v.b) == side] for side in (True, False))
    assert {v.b for v in floor} == {OVERLAP, "always no"}
    for family, size in ((floor, 7), (main, 3)):  # word overlap is compared with "always no", too
        assert [v.p_holm for v in family] == holm([v.p for v in family]) and len(family) == size
        for v in family:
            if v.interval:  # not of two systems that answer alike
                assert v.decided == (v.interval.low > 0 or v.interval.high < 0)
    assert not [v for v in judged.comparisons if v.metric == "f1" and v.b == OVERLAP]
    assert OVERLAP not in judged.question.systems
    *_, row, always = results_table(cells, [judged]).splitlines()
    assert always.startswith("| always no ")
    overlap = judged.scores("accuracy")[OVERLAP]
    gold = np.array([pair.label for pair in pairs])
    calls = overlap_calls("para", pairs, train)
    assert overlap.mean == (calls == gold).mean() and f"| {overlap.mean:.3f} " in row
    assert row.startswith("| word overlap |")
    assert "than word overlap" not in " ".join(verdict_of([judged]).paragraphs)


def test_a_run_reads_what_it_wrote_of_exactly_its_cells(run):
    cells, splits, folder = run
    judged = judge_cells(cells, splits, folder)
    content = to_json(judged)
    assert from_json(json.loads(json.dumps(content, allow_nan=False))) == judged
    assert content["level"] == 0.95
    folder.write_json(COMPARISONS, content)
    assert read_judged(folder, cells) == judged
    moved = replace(cells[0], metrics=cells[0].metrics | {"pearson": 0.5})
    added = replace(cells[0], pretrain="none")
    unknown = replace(cells[0], metrics=cells[0].metrics | {"pearson": None})
    for others in (cells[:3], [moved, *cells[1:]], [*cells, added], [unknown, *cells[1:]]):
        assert read_judged(folder, others) is None
    entry = '{"level": 0.95, "estimates": [{"task": "sts"}], "comparisons": []}'
    old = json.dumps({key: content[key] for key in list(content)[:3]})  # 1.0 had no questions
    for text in ("", "[]", '{"level": 0.9, "estimates": [], "comparisons": []}', entry, old):
        (folder.path / COMPARISONS).write_text(text)
        assert read_judged(folder, cells) is None
    (folder.path / COMPARISONS).unlink()
    assert read_judged(folder, cells) is None

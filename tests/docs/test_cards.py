"""The model card and the data card are true: their tables are the recorded results."""

import csv
import json
import re
import statistics
from pathlib import Path

import pytest

from minbert.pretraining.options import PretrainConfig

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
MODEL_CARD = (ROOT / "minbert" / "mini" / "README.md").read_text(encoding="utf-8")
DATA_CARD = (ROOT / "data" / "bundled" / "README.md").read_text(encoding="utf-8")
MAIN = {"sst": "accuracy", "para": "accuracy", "sts": "pearson"}
COLUMNS = (("sst", "bi"), ("para", "bi"), ("para", "cross"), ("sts", "bi"), ("sts", "cross"))


def table(page: str, name: str) -> list[list[str]]:
    """Return the body of the table behind a mark, cell by cell."""
    lines = page.split(f"<!-- table: {name} -->\n")[1].split("\n\n")[0].strip().splitlines()
    return [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines[2:]]


def cells(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measured(
    name: str, pretrain: str, tune: str, task: str, encoder: str, metric: str | None = None
) -> list[float]:
    """Return a metric (the task's main one) on the test split, one value a seed."""
    wanted = {"pretrain": pretrain, "tune": tune, "task": task, "encoder": encoder}
    wanted["split"] = "test"
    rows = [row for row in cells(name) if all(row[key] == wanted[key] for key in wanted)]
    return [float(row[metric or MAIN[task]]) for row in rows]


def spread(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.3f}"


# row of the data card's table: the run, contrastive stage and tuning behind it
SYSTEMS = {
    "random encoder, frozen": ("bundled-random", "none", "frozen"),
    "mini, frozen": ("bundled-mini", "none", "frozen"),
    "mini + unsup, frozen": ("bundled-mini", "unsup", "frozen"),
    "mini + sup, frozen": ("bundled-mini", "sup", "frozen"),
    "mini-sts, frozen": ("bundled-mini-sts", "none", "frozen"),
    "mini, fully tuned": ("bundled-full", "none", "full"),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_data_card_shows_what_was_measured(system):
    (row,) = [row for row in table(DATA_CARD, "systems") if row[0] == system]
    for shown, (task, encoder) in zip(row[1:-1], COLUMNS, strict=True):
        values = measured(*SYSTEMS[system], task, encoder)
        assert shown == spread(values), (task, encoder)
        assert max(values) <= 0.97, "a cell at the ceiling teaches nothing"


@pytest.mark.parametrize(
    "baseline", ["majority", "word overlap", "TF-IDF, linear", "TF-IDF, 256 wide"]
)
def test_the_data_card_shows_the_baselines(baseline):
    lines = (RESULTS / "bundled-baselines.txt").read_text(encoding="utf-8").splitlines()
    (row,) = [row for row in table(DATA_CARD, "systems") if row[0] == baseline]
    for task, shown in (("sst", row[1]), ("para", row[2]), ("sts", row[4])):
        found = [line.split()[-1] for line in lines if re.match(rf"{task} +{baseline} ", line)]
        assert shown == (found[0] if found else "-")


def test_the_model_card_shows_the_yardstick():
    names = ("yardstick", "yardstick-sts", "yardstick-mrpc")
    rows = {row["set"]: row for name in names for row in cells(name)}
    (shown,) = [row for row in table(MODEL_CARD, "yardstick") if row[0] == "mini"]
    metrics = {"SST-2": ["accuracy"], "STS-B": ["pearson", "spearman"], "MRPC": ["accuracy", "f1"]}
    for cell, (name, wanted) in zip(shown[1:], metrics.items(), strict=True):
        assert cell == " / ".join(f"{float(rows[name][f'test_{one}']):.3f}" for one in wanted)


def test_the_data_card_shows_the_seeds():
    for pretrain, *row in table(DATA_CARD, "seeds"):
        for shown, metric in zip(row, ("pearson", "cosine_spearman"), strict=True):
            values = measured("bundled-seeds", pretrain, "frozen", "sts", "bi", metric)
            assert len(values) == 5 and shown == spread(values)


def test_the_model_card_shows_the_probes():
    others = {row["encoder"]: row["para"] for row in cells("probe-more")}
    for shown, row in zip(table(MODEL_CARD, "probes"), cells("probe"), strict=True):
        name, sst, para, unseen, *rest = row.values()
        values = [sst, para, unseen, others.pop(name, None), *rest]
        assert shown == [
            name,
            *("-" if value is None else f"{float(value):.3f}" for value in values),
        ]
    assert not others


def curve(notes: dict) -> tuple[int, dict[str, dict]]:
    """Return the tokens of a checkpoint's whole training, and its records by million tokens."""
    tokens, records = curve(notes["before"]) if "before" in notes else (0, {})
    per_step = PretrainConfig(**notes["config"]).tokens_per_step
    for record in notes["history"]:
        records[f"{(tokens + record['step'] * per_step) / 1e6:.1f}"] = record
    return tokens + notes["history"][-1]["step"] * per_step, records


def test_the_model_card_shows_the_curve():
    notes = json.loads((ROOT / "minbert" / "mini" / "training.json").read_text(encoding="utf-8"))
    tokens, records = curve(notes)
    assert f"| Tokens seen | {tokens / 1e6:.0f} million" in MODEL_CARD
    rows = table(MODEL_CARD, "curve")
    for _, millions, loss, perplexity, accuracy, spans, twins in rows:
        record = records[millions.split()[0]]
        assert twins == (f"{record['valid_twin_accuracy']:.3f}" if twins else "")
        assert (loss, accuracy) == (f"{record['loss']:.2f}", f"{record['valid_accuracy']:.3f}")
        assert perplexity == f"{record['valid_perplexity']:.1f}"
        assert spans == (f"{record['valid_span_accuracy']:.3f}" if spans else "")
    mean = notes["averaged"]  # what ships is the mean of two of these checkpoints
    told = f"perplexity {mean['valid_perplexity']:.1f}, accuracy {mean['valid_accuracy']:.3f} on"
    assert told in MODEL_CARD


def test_the_card_of_mini_sts_shows_the_curve():
    folder = ROOT / "minbert" / "mini_sts"
    notes = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    records = {record["step"]: record for record in notes["history"]}
    for step, loss, neighbour, dev in table((folder / "README.md").read_text("utf-8"), "curve"):
        record = records[int(step.replace(",", ""))]
        assert [loss, neighbour, dev] == [
            f"{record['loss']:.2f}",
            f"{record['accuracy']:.3f}",
            f"{record['dev_score']:.3f}",
        ]


def test_the_data_card_shows_the_shortcuts():
    lines = (RESULTS / "bundled-shortcuts.txt").read_text(encoding="utf-8").splitlines()
    para = {line[6:56].strip(): line.split()[-2:] for line in lines if line.startswith("para")}
    shown = {row[0]: row[-1] for row in table(DATA_CARD, "shortcuts")}
    pairs = {
        "first text alone": "first text alone",
        "second text alone": "second text alone",
        "lengths": "lengths",
        "function words": "function words",
        "linear model over words of both": "words, linear",
    }
    for mine, theirs in pairs.items():
        assert shown[mine] == para[theirs][0]
    (same,) = [values for name, values in para.items() if name.startswith("mean label of")]
    assert shown["duplicates among pairs with the same words / among others"] == " / ".join(
        value.lstrip("0") for value in same
    )


def test_the_data_card_shows_what_carries_over():
    rows = cells("carry-over")
    for encoder, *shown in table(DATA_CARD, "carry-over"):
        for title, value in zip(dict.fromkeys(row["set"] for row in rows), shown, strict=True):
            found = [
                float(row["spearman"])
                for row in rows
                if (row["encoder"], row["set"]) == (encoder, title)
            ]
            assert value == spread(found)


def test_the_data_card_shows_its_validity():
    rows = cells("validity")
    for system, *shown in table(DATA_CARD, "validity"):
        for measure, value in zip(("sts cosine", "sst", "para", "sts"), shown, strict=True):
            here = [row for row in rows if row["measure"] == measure]
            if system == "τ":
                assert value == f"{float(here[0]['tau']):.2f}"
                continue
            found = [row for row in here if row["system"] == system]
            sides = [f"{float(row[side]):.3f}" for row in found for side in ("synthetic", "real")]
            assert value == (" / ".join(sides) or "-")

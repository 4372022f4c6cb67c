"""The costs of the readers of a finished run: one pair, many pairs, a search.

A bi-encoder reads every text once and then compares stored embeddings; a cross-encoder reads every
pair. Cells that differ only in their weights cost the same, so each task and reader is measured
once, in the cell with the best dev score.

Legend: N texts or pairs, H the size of an embedding.
"""

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from data.examples import DataError
from data.tasks import EVERY_ROW, TASKS
from heads.config import READERS, with_reader
from report.cell import Cell, of_most_labels
from report.rows import ScoredRows
from report.run_folder import COSTS, RunFolder
from runtime.files import read_json, write_text
from runtime.progress import progress
from runtime.streams import Say

# Pages read costs without torch.
if TYPE_CHECKING:
    from heads.saved import SavedHead

FIRST, MOST = 16, 2**20  # items: the smallest and the largest measured amount
FACTOR = 4  # from one amount to the next: all smaller amounts together cost a third of the largest
ROUNDS = 3  # of the largest amount
READING = 0.9  # share of a head's seconds for reading; the rest is for comparisons
SINGLES = 9  # examples that are timed one by one
SEARCHED = 10_000  # texts of the reported search
TYPICAL = 1000  # examples to measure costs on
SAMPLE = 512  # distinct compared texts; their values do not affect the speed
BLOCK = 4096  # pairs compared at a time
LONGER = 60  # suggested seconds per head if the machine was busy
# Durations below so many seconds are written in a unit of so many.
UNITS = ((1e-3, 1e-6, "µs"), (1, 1e-3, "ms"), (120, 1, "s"), (7200, 60, "min"))

Texts = tuple[str, ...]
Cost = dict[str, Any]  # of one head, as in costs.json: see `cost_of`
# For separately read texts: N texts -> stored representations; and the representations of the first
# and second texts of N pairs -> logits (N,).
Separate = tuple[Callable[[Sequence[str]], Any], Callable[[Any, Any], np.ndarray]]


# --- measuring


def rates(work: Callable[[int], object], budget: float, first: int = FIRST) -> list[float]:
    """Return the items per second of `work(items)`, for each round of the largest amount.

    Amounts grow from `first` until ROUNDS rounds of the next one would exceed the rest of `budget`
    seconds. The smallest amount always has at least one round.
    """
    started = time.perf_counter()
    work(first)  # not timed: the first call warms up
    amount = first
    while True:
        seconds = _seconds(work, amount)
        left = budget - (time.perf_counter() - started)
        if amount >= MOST or ROUNDS * FACTOR * seconds > left:
            break
        amount *= FACTOR
    further = ROUNDS - 1 if (ROUNDS - 1) * seconds <= left else 0
    return [amount / s for s in (seconds, *(_seconds(work, amount) for _ in range(further)))]


def seconds_of_one(work: Callable[[int], object]) -> list[float]:
    """Return the seconds of `work(1)`, `work(2)`, ... after `work(0)`."""
    work(0)
    return [_seconds(work, number) for number in range(1, SINGLES + 1)]


def _seconds(work: Callable[[int], object], items: int) -> float:
    begun = time.perf_counter()
    work(items)
    return max(time.perf_counter() - begun, 1e-9)  # the clock may not advance during small work


def speeds(
    examples: Sequence[Texts],
    budget: float,
    score: Callable[[Sequence[Texts]], np.ndarray],
    separate: Separate | None = None,
) -> Cost:
    """Return the speeds of a head that scores N examples -> logits, in about `budget` seconds.

    Each speed is the median of its rounds; `spread` has the smallest and the largest. Separately
    read texts are encoded in twice the amounts in which pairs are scored. Larger batches are faster
    per token, so smaller amounts would make the bi-encoder look slow.
    """
    singles = seconds_of_one(lambda number: score([examples[number % len(examples)]]))
    rounds = {"milliseconds": [1000 * seconds for seconds in singles]}
    reading = READING * budget  # of every reader, so their amounts are alike
    size = None
    if separate is None:
        rounds["examples_per_second"] = rates(lambda n: score(_cycled(examples, n)), reading)
    else:
        encode, compare = separate
        texts = [text for pair in examples for text in pair]
        rounds["texts_per_second"] = rates(lambda n: encode(_cycled(texts, n)), reading, 2 * FIRST)
        # A repeated sample: products of equal rows take as long as any others.
        kept = encode(texts[:SAMPLE])  # (N, H), or of each text its tokens' (T, H)
        block: Any = _cycled(kept, BLOCK)
        if isinstance(kept, np.ndarray):
            block = np.stack(block)

        def compare_all(n: int) -> None:
            for start in range(0, n, BLOCK):
                part = block[: n - start]
                compare(part, part)

        rounds["comparisons_per_second"] = rates(compare_all, budget - reading)
        size = sum(text.nbytes for text in kept) / len(kept)
    medians = {name: median(values) for name, values in rounds.items()}
    spread = {name: [min(values), max(values)] for name, values in rounds.items()}
    if separate is not None:
        # A pair needs the encoding of both texts and a comparison.
        medians["examples_per_second"] = _pairs_per_second(medians)
        spread["examples_per_second"] = [
            _pairs_per_second({name: values[end] for name, values in spread.items()})
            for end in (0, 1)
        ]
    return {
        **dict.fromkeys(("texts_per_second", "comparisons_per_second")),
        **medians,
        "bytes_per_text": size,
        "spread": spread,
    }


def _pairs_per_second(speeds: Mapping[str, float]) -> float:
    return 1 / (2 / speeds["texts_per_second"] + 1 / speeds["comparisons_per_second"])


def _cycled(items: Sequence[Any], count: int) -> list[Any]:
    return [items[place % len(items)] for place in range(count)]


def cost_of(head: "SavedHead", examples: Sequence[Texts], budget: float) -> Cost:
    """Return the cost of one head on one encoder on this machine, from raw text to prediction.

    The convolutions of IS-BERT are not among the operations.

    Returns:
        reader: `bi`, `late` or `cross`.
        passes, tokens, flops: per example, on average; passes of the encoder, operations of
            encoder and head.
        parameters: of the encoder.
        milliseconds: of a single example.
        examples_per_second: in batches; for separately encoded texts computed from the two speeds
            below.
        texts_per_second: separately encoded texts; None if texts are not stored.
        comparisons_per_second: of stored texts, by the head; None likewise.
        bytes_per_text: stored bytes; None likewise.
        spread: the smallest and the largest measured value of each time and speed above, which are
            medians.
    """
    from heads.maxsim import compared, token_states
    from minbert.flops import encoder_flops, linear_flops

    if head.reader == "bi":  # each text by itself, with the checkpoint's default prompt
        singles = [(text,) for texts in examples for text in texts]
        lengths = head.features.tokenize(head.encoder, singles).lengths
    elif head.features.alone:
        lengths = head.encoder.tokenize([text for texts in examples for text in texts]).lengths
    else:
        lengths = head.features.tokenize(head.encoder, examples).lengths
    model = head.encoder.model
    flops = encoder_flops(lengths, model.config, pooler=model.pooler is not None)
    separate: Separate | None = None
    if len(examples[0]) == 2 and head.reader == "bi":
        separate = (
            lambda texts: head.embed([(text,) for text in texts]),
            lambda first, second: head.judge([first, second]),
        )
    elif head.reader == "late":
        separate = (
            lambda texts: token_states(head.encoder, texts),
            lambda first, second: head.judge([compared(first, second)]),
        )
    return {
        "reader": head.reader,
        "passes": len(lengths) // len(examples),
        "tokens": float(lengths.sum() / len(examples)),
        "flops": flops / len(examples) + linear_flops(head.head),
        "parameters": sum(tensor.numel() for tensor in model.parameters()),
        **speeds(examples, budget, head.logits, separate),
    }


# --- a run


def add_costs(run: Path, seconds: float, device: str, say: Say) -> None:
    """Measure the best cells of a run in about `seconds` in total, and print their costs.

    Existing costs of these cells, perhaps of a longer measurement, are kept. 0 seconds measure
    nothing.

    Raises:
        UserError, OSError: as `measure_run`, or the file cannot be written.
    """
    if not seconds:
        return
    folder = RunFolder(run, read_only=True)
    if any(cell.task == "search" for cell in folder.cells()):
        return  # its times were measured with its rankings
    best = best_cells(folder)
    try:
        costs = read_costs(run / COSTS)
        lines = cost_lines(costs)
        measured = {(cell["cell"], cell["key"]) for cell in costs["cells"]}
        known = {(cell.name, cell.key) for cell in best} <= measured
    except (OSError, ValueError, KeyError, TypeError):
        known = False  # no costs, or none that a page can show
    if not known:
        costs = measure_run(run, seconds / len(best), device)
        lines = cost_lines(costs)
    say("\n" + "\n".join(lines))
    if not known:
        write_costs(run / COSTS, costs, say)


def read_costs(path: Path) -> dict[str, Any]:
    """Return the content of a costs.json.

    Raises:
        OSError, ValueError, KeyError, TypeError: it cannot be read, or is none.
    """
    costs = read_json(path)
    cells = [cell | {"cost": with_reader(cell["cost"])} for cell in costs["cells"]]
    return {**costs, "cells": cells}


def write_costs(path: Path, costs: dict[str, Any], say: Say) -> None:
    """Write the result of `measure_run`, and print its path."""
    write_text(path, json.dumps(costs, indent=2, allow_nan=False) + "\n")
    say(f"Cost details: {path}")


def measure_run(run: Path, budget: float, device: str) -> dict[str, Any]:
    """Return the content of costs.json: the costs of the best heads of a run.

    Args:
        run: the folder of a finished run; its data and backbones must not have moved.
        budget: seconds per cell.
        device: `auto`, `cpu` or `cuda`.

    Returns:
        machine: its name, cores, device, precision of the products, threads, and the load average
            of the minute before (or None), since other programs slow the measured work.
        cells: one per task and reader, with its name, key and task, and its cost (`cost_of`).
        break_even: task -> pairs per text from which the bi-encoder is cheaper, None for never.

    Raises:
        DataError, CheckpointError: not a run's folder, or something that it names is gone.
    """
    import torch

    from heads.saved import load_head

    folder = RunFolder(run, read_only=True)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    best = best_cells(folder)
    scored = ScoredRows(folder, best)
    texts = {}
    for name in dict.fromkeys(cell.task for cell in best):
        dev = scored.examples(name, next(cell.split for cell in best if cell.task == name))
        # The same examples every time, drawn from all of the file.
        rows = np.random.default_rng(0).permutation(len(dev))[:TYPICAL]
        texts[name] = [dev[row].texts for row in rows]
    cells = []
    with progress("costs", len(best), "head") as bar:
        for cell in best:
            head = load_head(folder.head_path(cell.name), device)
            cost = cost_of(head, texts[cell.task], budget)
            names = {"cell": cell.name, "key": cell.key, "task": cell.task, "model": cell.model}
            cells.append({**names, "cost": cost})
            bar.update()
    return {
        "run": str(run),
        "machine": {
            "name": f"{platform.machine()}, {platform.system()}",
            "cores": os.cpu_count(),
            "device": str(head.encoder.device),
            "precision": str(head.encoder.dtype).removeprefix("torch."),
            "threads": torch.get_num_threads(),
            "load": load,
        },
        "budget": budget,
        "cells": cells,
        "break_even": break_evens(cells),
    }


def best_cells(run: RunFolder) -> list[Cell]:
    """Return the best cell on dev, or in folds, for each task, reader and encoder."""
    rivals: dict[tuple[str, str, str], list[Cell]] = {}
    finished = run.cells()
    if any(cell.task == "search" for cell in finished):
        raise DataError(f"{run.path}: is a search, whose times are in its results.csv")
    for cell in of_most_labels(finished):
        if cell.split in ("dev", EVERY_ROW):
            # Joint training also has an sst head on the cross-encoder; it reads as a bi-encoder.
            rivals.setdefault((cell.task, cell.reads_as, cell.model), []).append(cell)
    if not rivals:
        raise DataError(f"{run.path}: no finished cells; give the folder of a finished run")
    return [max(cells, key=_score) for cells in rivals.values()]


def _score(cell: Cell) -> float:
    score = cell.metrics[TASKS[cell.task].main_metric]
    return -1.0 if score is None else score


# --- what follows from the speeds


def break_evens(cells: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return `break_even` of each task of pairs that has a bi-encoder and a cross-encoder.

    With several encoders there is no such number.
    """
    if any(cell.get("model") for cell in cells):
        return {}
    costs = {(cell["task"], cell["cost"]["reader"]): cell["cost"] for cell in cells}
    return {
        task: break_even(costs[task, "bi"], costs[task, "cross"])
        for task, reader in costs
        if reader == "bi" and (task, "cross") in costs and TASKS[task].is_pair
    }


def break_even(bi: Cost, cross: Cost) -> float | None:
    """Return the pairs per text from which the bi-encoder takes less time; None if never.

    The value is 1 if each text is in one pair, and N - 1 if N texts are all compared with each
    other. Encoding a text takes e seconds, a comparison c, and a pair in the cross-encoder x. With
    P pairs of N texts, each text is in 2P/N pairs, and N e + P c < P x if 2P/N > 2e / (x - c).
    """
    saved = 1 / cross["examples_per_second"] - 1 / bi["comparisons_per_second"]
    return float(2 / bi["texts_per_second"] / saved) if saved > 0 else None


def search_seconds(cost: Cost) -> float | None:
    """Return the seconds to search for one text among SEARCHED, from the measured speeds.

    A cross-encoder reads SEARCHED pairs. The others encode the text and compare it with the
    SEARCHED stored texts. None if texts are not stored.
    """
    if cost["reader"] == "cross":
        return float(SEARCHED / cost["examples_per_second"])
    if cost["comparisons_per_second"] is None:
        return None
    # These milliseconds include encoding both texts of one pair.
    one_text = cost["milliseconds"] / 1000 / cost["passes"]
    return float(one_text + SEARCHED / cost["comparisons_per_second"])


def search_spread(cost: Cost) -> tuple[float, float] | None:
    """Return the shortest and the longest search by the measured speeds; None if unknown."""
    spread = cost.get("spread", {})  # not stored by 1.0
    ends: list[Any] = []
    for fast in (True, False):
        # The fastest round has the fewest milliseconds, and the most items per second.
        speeds = {
            name: (min if fast == (name == "milliseconds") else max)(values)
            for name, values in spread.items()
        }
        ends.append(search_seconds(cost | speeds))
    return (ends[0], ends[1]) if spread and None not in ends else None


# --- costs.json in words


def cost_lines(costs: dict[str, Any]) -> list[str]:
    """Return the costs of each reader, a table per task, from the content of costs.json.

    Raises:
        KeyError: the content is not a run's costs.
    """
    by_task: dict[str, dict[str, Cost]] = {}
    for cell in costs["cells"]:
        name = " ".join(filter(None, (cell.get("model"), READERS[cell["cost"]["reader"]])))
        by_task.setdefault(cell["task"], {})[name] = cell["cost"]
    lines = []
    for task, of_task in by_task.items():
        lines += [f"Cost ({task}; {measured_on(costs)}):", "", *_table(of_task)]
        if task in costs["break_even"]:
            lines.append(cheaper(costs["break_even"][task]))
        lines.append("")
    return lines[:-1]


def _table(named: Mapping[str, Cost]) -> list[str]:
    costs = list(named.values())
    item = "pair" if any(map(search_seconds, costs)) else "text"  # single texts have no search
    rows = [["", *named]]
    if len({cost.get("parameters") for cost in costs}) > 1:
        rows.append(["million parameters", *(f"{cost['parameters'] / 1e6:.1f}" for cost in costs)])
    rows += [
        [f"one {item}", *(in_words(cost["milliseconds"] / 1000) for cost in costs)],
        [f"{item}s per second, batched", *(f"{c['examples_per_second']:,.0f}" for c in costs)],
    ]
    notes = []
    if item == "pair":
        marks = ["" if cost["reader"] == "cross" else "*" for cost in costs]
        searches = [in_words(search_seconds(cost) or 0) for cost in costs]
        words = [f"~{search}{mark}" for search, mark in zip(searches, marks, strict=True)]
        rows.append([f"search {SEARCHED:,} texts", *words])
        notes = [f"{'* with precomputed embeddings. ' if any(marks) else ''}~ = extrapolated."]
    widths = [max(map(len, column)) + 4 for column in zip(*rows, strict=True)]
    lines = [
        "".join(entry.ljust(width) for entry, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return lines + notes


def cheaper(pairs: float | None) -> str:
    """Return a sentence on the pairs per text from which the bi-encoder is cheaper."""
    if pairs is None:
        return (
            "The cross-encoder is always cheaper here: scoring two stored embeddings takes as "
            "long as reading the pair."
        )
    if pairs < 1.05:  # since a text is in at least one pair
        return "The bi-encoder is cheaper even if every text is used only once."
    return f"In batches, the bi-encoder is cheaper once a text is in {pairs:.1f} or more pairs."


def measured_on(costs: dict[str, Any]) -> str:
    """Return the machine that costs.json was measured on, and whether it was busy.

    Raises:
        KeyError: the content does not state the machine.
    """
    machine = costs["machine"]
    threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
    about = "{name}, {device}, {precision}, ".format(**machine) + threads
    load, cores = machine["load"], machine["cores"]
    if load is None:
        return about
    about += f", load {load:.1f} on {cores} cores"
    if is_busy(costs):
        again = f"python -m report cost {costs['run']} --budget {LONGER}"
        about += f" - machine busy, timings unreliable; repeat with: {again}"
    return about


def is_busy(costs: dict[str, Any]) -> bool:
    """Return whether other programs ran while the costs were measured."""
    load, cores = costs["machine"]["load"], costs["machine"]["cores"]
    return bool(load is not None and cores and load > cores)


def in_words(seconds: float) -> str:
    """Return a duration in words: `40 µs`, `3.2 ms`, `5.0 s`, `12 min`, `65 h`, `90 days`."""
    for limit, unit, name in UNITS:
        if seconds < limit:
            return f"{seconds / unit:.{1 if seconds < 10 * unit else 0}f} {name}"
    hours = seconds / 3600
    return f"{hours:.0f} h" if hours < 100 else f"{hours / 24:,.0f} days"

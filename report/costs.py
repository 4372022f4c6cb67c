"""The heads of a finished run, opened and measured: what each costs.

Cells that differ in weights alone cost the same, so each task and encoder is measured once, in the
cell with the best dev score. `costs.json` of the run folder keeps the numbers, from which the
command's tables and the page's figures are made.
"""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import torch

from data.examples import DataError
from data.locate import data_folder
from data.tasks import TASKS, split_file
from evaluation.costs import (
    Cost,
    Reader,
    break_even,
    cost_sentences,
    measure_cost,
    measured_on,
    story,
)
from heads.maxsim import compared, token_states
from heads.saved import SavedHead, load_head
from minbert.flops import encoder_flops, linear_flops
from report.cell import Cell, of_most_labels
from report.run_folder import COSTS, RunFolder
from runtime.files import read_json, write_text
from runtime.progress import progress
from runtime.streams import Say

TYPICAL = 1000  # examples that costs are measured on


def add_costs(run: Path, seconds: float, device: str, say: Say) -> None:
    """Measure a run that has just ended, in about `seconds` in all, and say what it costs.

    Nothing is measured where costs of its best cells are there, perhaps of a longer measurement.

    Args:
        run: the folder.
        seconds: shared by the cells that are measured; 0 measures nothing.
        device: `auto`, `cpu` or `cuda`.
        say: called with the costs in words, and where costs.json is.

    Raises:
        UserError, OSError: as `measure_run`, or the file cannot be written.
    """
    if not seconds:
        return
    best = best_cells(RunFolder(run, read_only=True))
    try:
        costs = read_json(run / COSTS)
        measured_on(costs)
        cost_sentences(costs)
        known = {cell.name for cell in best} <= {cell["cell"] for cell in costs["cells"]}
    except (OSError, ValueError, KeyError, TypeError):
        known = False  # none, or nothing that a page could show
    if not known:
        costs = measure_run(run, seconds / len(best), device, lambda line: None)
    for sentence in cost_sentences(costs):
        say(f"\n{fill(sentence, 100, break_on_hyphens=False)}")
    if not known:
        say("")
        write_costs(run / COSTS, costs, say)


def write_costs(path: Path, costs: dict[str, Any], say: Say) -> None:
    """Write what `measure_run` returned, and say where it is."""
    write_text(path, json.dumps(costs, indent=2, allow_nan=False) + "\n")
    say(f"costs     {path}")


def measure_run(run: Path, budget: float, device: str, say: Say) -> dict[str, Any]:
    """Measure the heads of a run, each for about `budget` seconds.

    Args:
        run: the folder of a finished run; its data and backbones must still be where they were.
        budget: seconds per cell.
        device: `auto`, `cpu` or `cuda`.
        say: called with what is being done.

    Returns:
        The content of costs.json:
        run: the folder.
        machine: its name, cores, device, precision of the products, threads, and the load average
            of the minute before (or None).
        budget: as given.
        cells: one per task and encoder, with its name, task and `evaluation.costs.Cost`.
        break_even: task -> pairs per text from which the bi-encoder is cheaper, None for never.
        story: the most similar two of 10,000 sentences in one sentence; "" without both encoders.

    Raises:
        DataError, CheckpointError: not a run's folder, or something that it names is gone.
    """
    folder = RunFolder(run, read_only=True)
    best = best_cells(folder)
    home = data_folder(best[0].data)
    names = list(dict.fromkeys(cell.task for cell in best))
    texts = {}
    for name in names:
        dev = TASKS[name].read(split_file(home, TASKS[name], "dev"))
        # The same examples every time, drawn from all of the file.
        rows = np.random.default_rng(0).permutation(len(dev))[:TYPICAL]
        texts[name] = [dev[row].texts for row in rows]
    machine: dict[str, Any] = {}
    measured: list[tuple[Cell, Cost]] = []
    with progress("costs", len(best), "head") as bar:
        for cell in best:
            say(f"measuring {cell.name}")
            head = load_head(folder.head_path(cell.name), device)
            machine = machine or _machine(head)
            own = texts[cell.task]
            measured.append((cell, measure_cost(reader_of(head, own), own, budget)))
            bar.update()
    of_kind = {(cell.task, cost.encoder): cost for cell, cost in measured}
    break_evens, stories = {}, []
    for name in names:
        if (name, "bi") not in of_kind or (name, "cross") not in of_kind:
            continue
        bi, cross = of_kind[name, "bi"], of_kind[name, "cross"]
        break_evens[name] = break_even(bi, cross)
        stories.append((TASKS[name].label_kind != "score", story(bi, cross)))
    return {
        "run": str(run),
        "machine": machine,
        "budget": budget,
        "cells": [{"cell": c.name, "task": c.task, "cost": asdict(cost)} for c, cost in measured],
        "break_even": break_evens,
        # Of a similarity task, of another one if there is none.
        "story": min(stories, key=lambda each: each[0])[1] if stories else "",
    }


def best_cells(run: RunFolder) -> list[Cell]:
    """Return, for each task and encoder, the cell with the best dev score."""
    best: dict[tuple[str, str], Cell] = {}
    for cell in of_most_labels(run.cells()):
        # Joint training has a sst head on the cross-encoder, too, which reads as a bi-encoder does.
        place = cell.task, cell.reader
        if cell.split == "dev" and (place not in best or _score(cell) > _score(best[place])):
            best[place] = cell
    if not best:
        raise DataError(f"{run.path}: no finished cells; give the folder of a finished run")
    return list(best.values())


def _score(cell: Cell) -> float:
    score = cell.metrics[TASKS[cell.task].main_metric]
    return -1.0 if score is None else score


def _machine(head: SavedHead) -> dict[str, Any]:
    return {
        "name": f"{platform.machine()}, {platform.system()}",
        "cores": os.cpu_count(),
        "device": str(head.encoder.device),
        "precision": str(head.encoder.dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        # What other programs do at the same time slows all that is measured.
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def reader_of(head: SavedHead, examples: Sequence[tuple[str, ...]]) -> Reader:
    """Return a saved head as functions, with tokens and operations of these examples on average.

    The convolutions of IS-BERT are not among the operations.
    """
    if head.features.alone:
        lengths = head.encoder.tokenize([text for texts in examples for text in texts]).lengths
    else:
        lengths = head.features.tokenize(head.encoder, examples).lengths
    model = head.encoder.model
    flops = encoder_flops(lengths, model.config, pooler=model.pooler is not None)
    # What is kept of texts that are read alone, and how the head compares them.
    ways: dict[str, tuple[Any, Any]] = {
        "bi": (lambda texts: head.embed([(text,) for text in texts]), lambda *c: head.judge(c)),
        "late": (partial(token_states, head.encoder), lambda *c: head.judge([compared(*c)])),
        "cross": (None, None),
    }
    return Reader(
        head.reader,
        len(lengths) // len(examples),
        float(lengths.sum() / len(examples)),
        flops / len(examples) + linear_flops(head.head),
        head.logits,
        *ways[head.reader],
    )

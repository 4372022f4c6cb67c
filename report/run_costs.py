"""The heads of a finished run, opened and measured: what each costs, and how well both rank.

Cells that differ in weights alone cost the same, so each task and encoder is measured once, in the
cell with the best dev score. Reads: a run folder, its data, heads. Feeds: `python -m report cost`.
"""

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from baselines.isbert import load_tuned
from data.examples import DataError, Example
from data.locate import data_folder
from data.tasks import TASKS, Splits, read_task, split_file
from evaluation.cost import Cost, Reader, break_even, measure_cost, story
from evaluation.geometry import unit
from evaluation.reranking import (
    DEPTHS,
    FEWEST,
    Ranking,
    Retrieval,
    compare_rankings,
    retrieval_of,
)
from evaluation.scoring import is_labelled
from heads.saved import SavedHead, load_head
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops, linear_flops
from report.cell import Cell
from report.run_folder import RunFolder

TYPICAL = 1000  # examples that costs are measured on
MOST_QUERIES = 200

Say = Callable[[str], None]


@dataclass(frozen=True)
class CellCost:
    """A measured cell."""

    cell: str
    task: str
    cost: Cost


@dataclass(frozen=True)
class RankingCost:
    """Both encoders on one retrieval task."""

    task: str
    bi: str  # the name of the cell
    cross: str
    queries: int
    candidates: int
    rankings: list[Ranking]


@dataclass(frozen=True)
class RunCosts:
    """All that is measured of a run, on one machine.

    Attributes:
        run: the folder.
        machine: its name, cores, device, precision of the products, threads, and the load average
            of the minute before (or None).
        budget: seconds that each cell was measured for, about.
        cells: one per task and encoder.
        break_even: task -> pairs per text from which the bi-encoder is cheaper, None for never.
        story: the most similar two of 10,000 sentences in one sentence; "" without both encoders.
        retrieval: None without both encoders on a task of labelled paraphrases, or not measured.
    """

    run: str
    machine: dict[str, Any]
    budget: float
    cells: list[CellCost]
    break_even: dict[str, float | None]
    story: str
    retrieval: RankingCost | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return asdict(self)


def measure_run(
    run_folder: Path, budget: float, device: str, say: Say, ranking: bool = True
) -> RunCosts:
    """Measure the heads of a run, each for about `budget` seconds.

    Args:
        run_folder: of a finished run; its data and backbones must still be where they were.
        budget: seconds per cell, and for the rankings.
        device: `auto`, `cpu` or `cuda`.
        say: called with what is being done.
        ranking: whether to rank, too. All candidates are encoded, whatever the budget.

    Raises:
        DataError, CheckpointError: not a run's folder, or something that it names is gone.
    """
    run = RunFolder(run_folder, read_only=True)
    best = best_cells(run)
    folder = data_folder(best[0].data)

    def opened(name: str) -> SavedHead:
        return load_head(run.head_path(name), load_tuned, device)

    machine: dict[str, Any] = {}
    cells = []
    for cell in best:
        say(f"measuring {cell.name}")
        head = opened(cell.name)
        machine = machine or _machine(head.encoder)
        dev = TASKS[cell.task].read(split_file(folder, TASKS[cell.task], "dev"))
        texts = [example.texts for example in _typical(dev)]
        cells.append(
            CellCost(cell.name, cell.task, measure_cost(reader_of(head, texts), texts, budget))
        )
    both = _of_both(cells)
    even = {task: break_even(bi.cost, cross.cost) for task, (bi, cross) in both.items()}
    retrieval = None
    for task in (task for task in both if ranking and TASKS[task].kind == "binary"):
        say(f"ranking   {task}")
        bi, cross = (opened(found.cell) for found in both[task])
        if ranked := _ranked(read_task(folder, task), bi, cross, budget):
            retrieval = RankingCost(task, both[task][0].cell, both[task][1].cell, *ranked)
    return RunCosts(str(run_folder), machine, budget, cells, even, _story(both), retrieval)


def _machine(encoder: SentenceEncoder) -> dict[str, Any]:
    return {
        "name": f"{platform.machine()}, {platform.system()}",
        "cores": os.cpu_count(),
        "device": str(encoder.device),
        "precision": str(encoder.dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        # What other programs do at the same time slows all that is measured.
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _story(both: dict[str, tuple[CellCost, CellCost]]) -> str:
    """Return the story of a similarity task, of another one if there is none, else ""."""
    for task in sorted(both, key=lambda task: TASKS[task].kind != "score"):
        bi, cross = both[task]
        return story(bi.cost, cross.cost)
    return ""


def _of_both(cells: Sequence[CellCost]) -> dict[str, tuple[CellCost, CellCost]]:
    """Return the bi- and the cross-encoder's cell of each task that has both."""
    found = {(cell.task, cell.cost.encoder): cell for cell in cells}
    tasks = [task for task, encoder in found if encoder == "cross" and (task, "bi") in found]
    return {task: (found[task, "bi"], found[task, "cross"]) for task in tasks}


def reader_of(head: SavedHead, examples: Sequence[tuple[str, ...]]) -> Reader:
    """Return a saved head as functions, with tokens and operations of these examples on average.

    The convolutions of IS-BERT are not among the operations.
    """
    items = [item for texts in examples for item in head.features.items(texts)]
    lengths = head.features.tokenize(head.encoder, items).lengths
    model = head.encoder.model
    flops = encoder_flops(lengths, model.config, pooler=model.pooler is not None)
    is_bi = head.kind != "cross"
    return Reader(
        head.kind,
        len(items) // len(examples),
        float(lengths.sum() / len(examples)),
        flops / len(examples) + linear_flops(head.head),
        head.logits,
        (lambda texts: head.embed([(text,) for text in texts])) if is_bi else None,
        (lambda first, second: head.judge([first, second])) if is_bi else None,
    )


def _ranked(
    splits: Splits, bi: SavedHead, cross: SavedHead, budget: float
) -> tuple[int, int, list[Ranking]] | None:
    """Return the numbers of queries and candidates, and how both rank; None without queries.

    The pairs are those of the test split, or of the dev split where that has no labels.
    """
    pairs = splits.test if is_labelled(splits.test) else splits.dev
    task = _affordable(retrieval_of(pairs), cross, budget)
    if not task.queries:
        return None
    candidates = unit(bi.embed([(text,) for text in task.candidates]))
    started = time.perf_counter()
    queries = unit(bi.embed([(text,) for text in task.queries]))
    similarities = queries @ candidates.T
    seconds = (time.perf_counter() - started) / len(queries)
    rankings = compare_rankings(task, similarities, seconds, cross.logits, budget)
    return len(queries), len(candidates), rankings


def _affordable(retrieval: Retrieval, cross: SavedHead, budget: float) -> Retrieval:
    """Return the task with as many queries as the cross-encoder re-ranks within the budget."""
    pairs = [(query, retrieval.candidates[0]) for query in retrieval.queries[:FEWEST]] * 10
    if not pairs:
        return retrieval
    started = time.perf_counter()
    cross.logits(pairs)
    each = max(DEPTHS) * (time.perf_counter() - started) / len(pairs)
    return retrieval.first(min(MOST_QUERIES, max(FEWEST, int(budget / each))))


def best_cells(run: RunFolder) -> list[Cell]:
    """Return, for each task and encoder, the cell with the best dev score.

    A distilled bi-encoder differs from a bi-encoder in its weights alone, and costs the same.
    """
    best: dict[tuple[str, str], Cell] = {}
    for cell in run.cells():
        # Joint training has a sst head on the cross-encoder, too, which reads as a bi-encoder does.
        place = cell.task, cell.encoder if TASKS[cell.task].is_pair else "bi"
        known = cell.split == "dev" and cell.encoder != "distilled"
        if known and (place not in best or _score(cell) > _score(best[place])):
            best[place] = cell
    if not best:
        raise DataError(f"{run.path}: no finished cells; give the folder of a finished run")
    return list(best.values())


def _score(cell: Cell) -> float:
    found = cell.metrics[TASKS[cell.task].main_metric]
    return -1.0 if found is None else found


def _typical(examples: Sequence[Example]) -> list[Example]:
    """Return some of many examples, drawn the same way every time."""
    rows = np.random.default_rng(0).permutation(len(examples))[:TYPICAL]
    return [examples[row] for row in rows]

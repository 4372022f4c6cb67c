"""Growth of time and memory at 10 and 100 times the size; no peers, and one round of long works.

If the rate is constant, the work grows linearly. The number of comparisons in a run grows with the
square of the number of systems. Predictions are random; they cost as much as real ones.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engine import Figure, Side, Work, expect
from benchmarks.inputs import Bench, made_sentences
from benchmarks.search import QUERIES, K, blocks, vectors
from benchmarks.training import our_trainer
from data.overlap import Seen
from data.tasks import TASKS, Splits
from evaluation.metrics import labels_of
from evaluation.nearest import top_k
from evaluation.scoring import score_split
from minbert.encoder import SentenceEncoder
from minbert.flops import encoder_flops
from minbert.hub import MINI
from report.cell import Cell
from report.judging import judge_cells, to_json
from report.page.curves import look_of
from report.page.figure import draw, in_light_colours, legend
from report.page.write import write_page
from report.run_folder import COMPARISONS, RunFolder
from simcse.train import SimCSETrainer

SENTENCES = (1_000, 10_000, 100_000)
LENGTHS = (8, 32, 64, 128)
TOKENS = 32_768  # of every length
STEPS = (3, 30, 300)
VECTORS = (10_000, 100_000, 1_000_000)
ROWS = (400, 4_000, 40_000)
SYSTEMS = (2, 20, 200)
FEW_ROWS, FEW_SYSTEMS = 1_000, 6  # where the other number grows
ACCURACY = 0.8
TASK = TASKS["para"]


def growth(bench: Bench) -> Iterator[Work]:
    """Yield the work at each size: sentences, their tokens, steps, vectors, rows, systems."""
    yield from _encoding(bench)
    texts = made_sentences(64 * 20, random.Random(2))
    for steps in STEPS:
        train = partial(_train, our_trainer(MINI, [texts], 64, bench), steps)
        rounds = _rounds(bench, steps, STEPS)
        yield _alone(f"{steps} unsup steps, mini", "steps", steps, train, rounds)
    rows = vectors(max(VECTORS))
    queries = rows[:: len(rows) // QUERIES]
    for count in VECTORS:
        title = f"{K} nearest of {len(queries)} queries among {count:,} vectors"
        search = partial(top_k, queries, blocks(rows[:count]), K)
        yield _alone(title, "vectors", count, search, _rounds(bench, count, VECTORS))
    for count in ROWS:
        run = made_run(bench.scratch / f"rows-{count}", count, FEW_SYSTEMS)
        title = f"score, compare and draw {FEW_SYSTEMS} systems on {count:,} pairs"
        yield _alone(title, "pairs", count, run, _rounds(bench, count, ROWS))
    for count in SYSTEMS:
        run = made_run(bench.scratch / f"systems-{count}", FEW_ROWS, count)
        title = f"score, compare and draw {count} systems on {FEW_ROWS:,} pairs"
        yield _alone(title, "systems", count, run, _rounds(bench, count, SYSTEMS))


def _rounds(bench: Bench, size: int, sizes: Sequence[int]) -> int:
    """Return the rounds of a size: one of the largest, which takes minutes."""
    return 1 if size == max(sizes) else bench.rounds


def _train(trainer: SimCSETrainer, steps: int) -> None:
    for _ in range(steps):
        trainer._train_step()


def _encoding(bench: Bench) -> Iterator[Work]:
    encoder = SentenceEncoder.from_pretrained("mini", device=str(bench.device))
    texts = made_sentences(max(SENTENCES), random.Random(1))
    for count in SENTENCES:
        rounds = _rounds(bench, count, SENTENCES)
        yield _encode(f"encode {count:,} sentences, mini", encoder, texts[:count], rounds)
    words = dict.fromkeys(" ".join(texts[:20_000]).split())
    known = [word for word in words if len(encoder.tokenizer([word])[0]) == 3]
    for length in LENGTHS:
        draw = random.Random(length)  # words of one piece each, and the two special tokens
        lines = [" ".join(draw.choices(known, k=length - 2)) for _ in range(TOKENS // length)]
        expect(set(encoder.tokenize(lines).lengths) == {length}, f"lines of {length} tokens")
        title = f"encode, {length} tokens each, mini"
        yield replace(
            _encode(title, encoder, lines, bench.rounds),
            unit="tokens",
            amounts=[TOKENS] * bench.rounds,
        )


def _encode(title: str, encoder: SentenceEncoder, texts: list[str], rounds: int) -> Work:
    side = Side("minbert", lambda r: encoder.encode(texts), encoder.dtype)
    lengths = encoder.tokenize(list(dict.fromkeys(texts))).lengths
    flops = encoder_flops(lengths, encoder.model.config)
    return Work(title, "sentences", [len(texts)] * rounds, [side], [flops] * rounds)


def _alone(title: str, unit: str, amount: int, run: Callable[[], Any], rounds: int) -> Work:
    """Return a work with only our side."""
    return Work(title, unit, [amount] * rounds, [Side("minbert", lambda r: run())])


def made_run(folder: Path, rows: int, systems: int) -> Callable[[], None]:
    """Return the work of a run after training its heads: scores, comparisons, page."""
    draw = np.random.default_rng(rows)
    lines = ["\t".join(["", "id", *TASK.texts, TASK.label])]
    for row, label in enumerate(draw.integers(0, 2, rows)):
        texts = [f"the {row} cats of {name}" for name in TASK.texts]
        lines.append("\t".join([str(row), f"row{row}", *texts, str(label)]))
    data = folder / "data" / TASK.files[1]
    data.parent.mkdir(parents=True)
    data.write_text("\n".join(lines) + "\n")
    examples = TASK.read(data)
    labels = labels_of(examples)
    right = draw.random((systems, rows)) < ACCURACY

    def finish() -> None:
        run, cells = RunFolder(folder / "run"), []
        for number, hits in enumerate(right):
            predictions = np.where(hits, labels, 1 - labels)
            scores = score_split(TASK.name, examples, predictions, Seen())
            cell = Cell(
                pretrain=f"stage{number}",
                task=TASK.name,
                encoder="bi",
                tune="frozen",
                features="interaction",
                backbone="mini",
                data=str(data.parent),
                seed=1,
                split="dev",
                seconds=1.0,
                sentences_per_second=1.0,
                key=str(number),
                **scores,
            )
            ids = [example.id for example in examples]
            run.write_predictions(cell.name, TASK, cell.split, ids, predictions)
            run.write_soft(cell, ids, soft=predictions)
            cells.append(cell)
        options = {"data": str(data.parent), "backbone": "mini", "simcse": {}}
        run.write_json("config.json", {"command": [], "options": options, "sha256": {}})
        run.write_results(cells)
        judged = judge_cells(cells, {TASK.name: Splits([], examples, [])}, run)
        run.write_json(COMPARISONS, to_json(judged))
        write_page(run.path)

    return finish


def drawn(figures: Sequence[Figure]) -> str:
    """Return a figure as SVG: growth of the seconds by growth of the size."""
    by_unit: dict[str, list[Figure]] = {}
    for figure in figures:
        by_unit.setdefault(figure.unit, []).append(figure)

    def paint(axes: Any) -> None:
        for unit, growing in by_unit.items():
            first = growing[0]
            if len({figure.amount for figure in growing}) > 1:
                sizes = [figure.amount / first.amount for figure in growing]
                seconds = [figure.seconds / first.seconds for figure in growing]
                axes.plot(sizes, seconds, marker="o", ms=4, **look_of(len(axes.lines), unit))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("times the size")
        axes.set_ylabel("times the seconds")
        legend(axes)

    said = "Lines of the seconds of each work by its size, both beside the smallest."
    return in_light_colours(draw("growth", "Growth", said, None, paint).svg)

"""SimCSE-tuned BERT, frozen, with heads for sentiment, paraphrase and STS: bi- or cross-encoder?

    python run_multitask.py --pretrain sup --task sts --encoder bi cross
    python run_multitask.py --pretrain none unsup sup --task all --encoder bi cross --seeds 3

One command is a grid of cells (pretrain x task x encoder x seed). The story of a cell:
data -> contrastive tuning -> freeze -> head -> metrics -> runs/<name>/.
"""

import sys

from report.interrupt import INTERRUPTED, leave_on_interrupt, raise_on_interrupt
from report.options import given_settings, parse_options

# Before the heavy imports, so that --help, mistyped flags and Ctrl-C answer at once.
OPTIONS = parse_options() if __name__ == "__main__" else None
if OPTIONS:
    leave_on_interrupt()

import argparse
import logging
from collections import deque
from copy import deepcopy
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

import minbert
from data.cs224n import read_task
from data.examples import DataError
from data.locate import data_folder, iter_training_texts, simcse_file
from data.overlap import Seen
from data.selection import selection_pairs
from evaluation.metrics import MAIN_METRIC, task_metrics
from evaluation.scoring import is_labelled, score_split
from evaluation.sts import sts_metrics
from heads.config import TASKS, HeadConfig, head_config
from heads.experiment import save_head, train_cell
from minbert.checkpoint import find_checkpoint, read_about
from minbert.config import CheckpointError
from minbert.distributed import (
    MachineError,
    is_main,
    join_processes,
    leave_processes,
    main_first,
    rank,
    world_size,
)
from minbert.encoder import SentenceEncoder
from minbert.runtime import TrainingError, choose_device, choose_precision
from report.phenomena import contrasts
from report.provenance import digest, file_hash, provenance
from report.run_folder import Cell, RunFolder, run_name
from report.table import results_table
from simcse.config import SimCSEConfig, simcse_config
from simcse.stage import loading_pooling, read_notes, tuned_backbone
from simcse.train import check_settings


class Inputs:
    """What the command line names, found, checked and read before anything is computed."""

    def __init__(self, args: argparse.Namespace):
        tasks = TASKS if "all" in args.task else tuple(dict.fromkeys(args.task))
        with main_first():  # what is not there yet is made or fetched once
            self.data_folder = data_folder(args.data)
            self.backbone = find_checkpoint(args.backbone)
        self.splits = {task: read_task(self.data_folder, task) for task in tasks}
        self.pretrains = tuple(dict.fromkeys(args.pretrain))
        named = {"unsup": args.unsup_data, "sup": args.sup_data}
        self.simcse_files = {
            pretrain: simcse_file(pretrain, named[pretrain], self.data_folder)
            for pretrain in self.pretrains
            if pretrain != "none"
        }
        self.selection = selection_pairs(self.data_folder) if self.simcse_files else []
        # Sentiment reads one text: there is nothing to cross.
        kinds = tuple(dict.fromkeys(args.encoder))
        self.grid = [(t, k) for t in tasks for k in (("bi",) if t == "sst" else kinds)]
        self.seeds = range(args.seed, args.seed + args.seeds)

    def check(self, args: argparse.Namespace) -> None:
        """Read what only later stages need, so that a fault in it shows before hours of work.

        Raises:
            DataError, CheckpointError, MachineError, TrainingError: as those stages would.
        """
        untuned = "none" in self.pretrains
        pooling = args.pooling if untuned else loading_pooling(args.pooling)
        encoder = SentenceEncoder.from_pretrained(
            str(self.backbone), pooling, args.device, args.precision
        )
        if any(kind == "cross" for _, kind in self.grid):
            encoder.tokenize(["a"], ["pair"])  # refused by a backbone of one segment
        for pretrain, path in self.simcse_files.items():
            check_settings(encoder, simcse_settings(args, pretrain, self.seeds[0]))
            deque(iter_training_texts(pretrain, path), maxlen=0)

    @cached_property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of everything that is trained on, chosen by or scored."""
        hashes = {pretrain: file_hash(path) for pretrain, path in self.simcse_files.items()}
        hashes["selection"] = digest([asdict(pair) for pair in self.selection])
        for task, splits in self.splits.items():
            rows = (*splits.train, *splits.dev, *splits.test)
            hashes[task] = digest([asdict(example) for example in rows])
        return hashes

    def seen(self, pretrain: str, task: str) -> Seen:
        """Return every text and pair that a cell's training or selection reads."""
        seen = deepcopy(self._seen_in_tuning[pretrain])
        seen.add_examples(self.splits[task].train)
        return seen

    @cached_property
    def _seen_in_tuning(self) -> dict[str, Seen]:
        seen = {pretrain: Seen() for pretrain in self.pretrains}
        for pretrain, path in self.simcse_files.items():
            texts = iter_training_texts(pretrain, path)
            seen[pretrain].add_texts(
                tqdm(texts, "leak audit", unit="text", delay=2, disable=None if is_main() else True)
            )
            seen[pretrain].add_examples(self.selection)
        return seen


def main(args: argparse.Namespace) -> int:
    """Run a command line; return its exit code."""
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        return run(args)
    except (DataError, CheckpointError, MachineError, TrainingError, OSError) as error:
        who = "error" if is_main() else f"process {rank()} stopped"
        print(f"{who}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if is_main():
            print(INTERRUPTED, file=sys.stderr)
        return 130
    finally:
        leave_processes()


def run(args: argparse.Namespace) -> int:
    """The story: each contrastive tuning, then each head on it; results come as they are made."""
    join_processes(args.device)
    if args.threads:
        torch.set_num_threads(args.threads)
    choose_device(args.device)
    for line in bundled_notes(args):
        print(line, flush=True)
    inputs = Inputs(args)
    path = Path(args.run_dir) if args.run_dir else Path("runs") / run_name(vars(args))
    folder = RunFolder(path, read_only=not is_main())
    print(describe(args, inputs, folder), flush=True)
    if args.dry_run:
        return 0
    inputs.check(args)
    earlier = folder.finished_cells(args.backbone, args.data)
    folder.write_json("config.json", run_config(args, inputs))
    cells: list[Cell] = []
    for seed in inputs.seeds:
        for pretrain in inputs.pretrains:
            backbone = tuned(args, inputs, pretrain, seed, folder)
            for task, kind in inputs.grid:
                cells += cell(args, inputs, folder, backbone, (pretrain, task, kind, seed), earlier)
                folder.write_results(cells, earlier)
    print(results_table(cells))
    if found := contrasts(cells):
        print("where the encoders differ (all of it in phenomena.csv):", *found, sep="\n  ")
    print(f"results, predictions, heads and curves: {folder.path}")
    return 0


def tuned(
    args: argparse.Namespace, inputs: Inputs, pretrain: str, seed: int, folder: RunFolder
) -> Path:
    """Return the checkpoint of one contrastive tuning, made now or by an earlier run."""
    if pretrain == "none":
        folder.link("backbones/none", inputs.backbone)
        return inputs.backbone

    def dev_score(encoder: SentenceEncoder) -> float:
        spearman = sts_metrics(encoder.encode_quietly, inputs.selection)["spearman"]
        return -1.0 if spearman is None else spearman  # constant vectors rank nothing

    print(f"tuning    {pretrain}, seed {seed}", flush=True)
    backbone = tuned_backbone(
        pretrain,
        inputs.backbone,
        inputs.simcse_files[pretrain],
        simcse_settings(args, pretrain, seed),
        folder.path.parent / "backbones",
        dev_score if inputs.selection else None,
        {key: inputs.hashes[key] for key in (pretrain, "selection")},
        args.device,
        args.precision,
        args.resume,
    )
    folder.link(f"backbones/{pretrain}-{seed}", backbone)
    notes = read_notes(backbone)
    folder.add_curve(f"{pretrain}-{seed}", notes["history"])
    score = "no dev check" if notes["best_score"] is None else f"dev {notes['best_score']:.4f}"
    print(f"          {score}, {notes['seconds']:.0f} s: {backbone}", flush=True)
    return backbone


def cell(
    args: argparse.Namespace,
    inputs: Inputs,
    folder: RunFolder,
    backbone: Path,
    coordinates: tuple[str, str, str, int],
    earlier: dict[str, list[Cell]],
) -> list[Cell]:
    """Return the records of one cell, one a labelled split, computed now or by an earlier run."""
    pretrain, task, kind, seed = coordinates
    config = head_settings(args, task, seed)
    pooling = args.pooling if pretrain == "none" else None  # a tuned checkpoint knows its own
    encoder = SentenceEncoder.from_pretrained(str(backbone), pooling, args.device, args.precision)
    key = cell_key(encoder, config, inputs, (pretrain, task, kind))
    name = f"{pretrain}-{task}-{kind}-{args.tune}-{args.features}-{seed}"
    head_path = folder.path / "heads" / f"{name}.safetensors"
    if key in earlier and read_about(head_path).get("key") == key:
        print(f"cell      {name}: done earlier", flush=True)
        return earlier[key]
    print(f"cell      {name}", flush=True)
    splits = inputs.splits[task]
    labels = np.array([example.label for example in splits.dev], np.float64)
    result = train_cell(
        encoder,
        splits,
        task,
        kind,
        config,
        lambda predictions: task_metrics(task, predictions, labels)[MAIN_METRIC[task]],
        folder.path.parent / "cache",
        folder.state_path(name, key),
        args.resume,
    )
    if args.tune == "full" and is_main():
        encoder.save(folder.path / "models" / name, {"head": name, "history": result.history})
    folder.add_curve(name, result.history)
    record = {
        "key": key,
        "pretrain": pretrain,
        "task": task,
        "encoder": kind,
        "tune": args.tune,
        "features": args.features,
        "backbone": args.backbone,
        "data": args.data,
        "seed": seed,
        "seconds": result.seconds,
        "sentences_per_second": result.sentences_per_second,
    }
    for split, predictions in result.predictions.items():
        ids = [example.id for example in getattr(splits, split)]
        folder.write_predictions(name, task, split, ids, predictions)
    save_head(result.head, head_path, task, kind, config, key)  # last: it vouches for the others
    return scored(record, inputs, encoder, result.predictions)


def scored(
    record: Cell, inputs: Inputs, encoder: SentenceEncoder, predictions: dict[str, np.ndarray]
) -> list[Cell]:
    """Return the cell's record with the scores of each labelled split."""
    task = record["task"]
    seen = inputs.seen(record["pretrain"], task)
    records = []
    for split, predicted in predictions.items():
        examples = getattr(inputs.splits[task], split)
        if is_labelled(examples):
            scores = score_split(task, examples, predicted, seen)
            if (task, record["encoder"]) == ("sts", "bi"):  # what it knows without any head
                bare = sts_metrics(encoder.encode_quietly, examples)
                scores["metrics"]["cosine_spearman"] = bare["spearman"]
            records.append({**record, "split": split, **scores})
    return records


def bundled_notes(args: argparse.Namespace) -> list[str]:
    """Return what to know of the parts that come along, and how to have the originals."""
    notes = {
        "mini": "the small BERT that comes along; for the original: --backbone bert-base-uncased",
        "bundled": "a made data set that comes along; for the course's: --data cs224n",
    }
    named = [name for name in (args.backbone, args.data) if not Path(name).is_dir()]
    return [f"{name:10}{notes[name]}" for name in named if name in notes]


def cell_key(
    encoder: SentenceEncoder, config: HeadConfig, inputs: Inputs, names: tuple[str, str, str]
) -> str:
    """Return a hash of all that decides a cell's numbers."""
    pretrain, task, kind = names
    model = asdict(encoder.model.config)  # dropout too, for --tune full
    settings = (encoder.fingerprint(), model, asdict(config), task, kind, inputs.hashes[task])
    seen = [inputs.hashes[name] for name in (pretrain, "selection") if pretrain != "none"]
    return digest([*settings, *seen, minbert.__version__, world_size()])[:16]


def describe(args: argparse.Namespace, inputs: Inputs, folder: RunFolder) -> str:
    """Return the plan, for people."""
    device = choose_device(args.device)
    precision = str(choose_precision(args.precision, device)).removeprefix("torch.")
    lines = [
        f"backbone  {args.backbone} ({inputs.backbone})",
        f"machine   {device}, {precision} products, {torch.get_num_threads()} threads"
        + (f", {world_size()} processes" if world_size() > 1 else ""),
        f"data      {inputs.data_folder}",
    ]
    for task, splits in inputs.splits.items():
        sizes = f"{len(splits.train)} train, {len(splits.dev)} dev, {len(splits.test)} test"
        lines.append(f"          {task}: {sizes}")
    lines += [f"          {name}: {path}" for name, path in inputs.simcse_files.items()]
    if inputs.simcse_files:
        chosen = f"the best of {len(inputs.selection)} STS training pairs"
        lines.append(f"          checkpoint kept: {chosen if inputs.selection else 'the last'}")
    cells = " ".join(f"{task}/{kind}" for task, kind in inputs.grid)
    lines.append(
        f"cells     {len(inputs.seeds)} seed(s) x {' '.join(inputs.pretrains)} x {cells}; "
        f"{args.tune}, {args.features} features, preset {args.preset}"
    )
    return "\n".join([*lines, f"folder    {folder.path}"])


def run_config(args: argparse.Namespace, inputs: Inputs) -> dict[str, Any]:
    """Return all that is needed to repeat the run."""
    device = choose_device(args.device)
    seed = inputs.seeds[0]
    return {
        "command": sys.argv,
        "options": vars(args),
        "simcse": {name: asdict(simcse_settings(args, name, seed)) for name in inputs.simcse_files},
        "heads": {task: asdict(head_settings(args, task, seed)) for task in inputs.splits},
        "device": str(device),
        "precision": str(choose_precision(args.precision, device)),
        "threads": torch.get_num_threads(),
        "processes": world_size(),
        "sha256": inputs.hashes,
        **provenance(),
    }


def simcse_settings(args: argparse.Namespace, pretrain: str, seed: int) -> SimCSEConfig:
    """Return the contrastive stage's settings: the preset's, with the flags over them."""
    given = given_settings(args, "simcse")
    if "num_epochs" in given:
        given.setdefault("max_steps", None)  # else the preset's few steps would end the epochs
    config = simcse_config(args.preset, pretrain)
    return replace(config, seed=seed, pooling=args.pooling, **given)


def head_settings(args: argparse.Namespace, task: str, seed: int) -> HeadConfig:
    """Return a head's settings: the preset's, with the flags over them."""
    config = head_config(args.preset, args.tune, task)
    return replace(config, seed=seed, features=args.features, **given_settings(args, "head"))


if __name__ == "__main__":
    assert OPTIONS is not None
    raise_on_interrupt()
    # A terminal without "±" shows "?" instead of failing after an hour's work. (To mypy, stdout may
    # be any TextIO.)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main(OPTIONS))

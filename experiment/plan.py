"""The plan of a run in words, and everything needed to repeat it."""

import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from baselines.config import ALL_PRESETS
from data.tasks import TASKS, files_in_doubt
from experiment.cells import parts_to_try
from experiment.opening import Run
from experiment.settings import SMALL
from heads.config import RATES, READERS, head_config
from heads.published import fitting_labels
from minbert.classifier import stated_labels
from minbert.sentence_format import read_pooling
from report.run_folder import provenance
from runtime.options import shown_value
from runtime.processes import world_size
from runtime.store import FORMATS

PAYS = 1000  # labels from which fine-tuning was better than a frozen encoder
# Texts whose word pieces are counted, and from when on a vocabulary does not fit them: English
# texts have hardly any unknown pieces in an English vocabulary, and about 1.2 pieces a word.
SAMPLED, MOST_UNKNOWN, MOST_PIECES = 1000, 0.05, 2.0
NOTES = {
    "mini": 'using the included model "mini"; for BERT-base: --backbone bert-base-uncased',
    "mini-sts": 'using the included model "mini-sts", which was distilled from a sentence encoder',
    "bundled": "using the included synthetic data; for the course's: --data cs224n",
}
SELECTED = {
    "train": "chosen by a part of train that shares no text with the rest, dev or test",
    "dev": "chosen by dev, as in the course (--select train: by a part of train)",
    "last": "all of them: none is chosen (--select last)",
}
BY_QUERIES = "chosen by a fifth of the train queries; then all of them train"


def plan(run: Run) -> str:
    """Return the plan in words."""
    settings = run.settings
    precision = str(run.dtype).removeprefix("torch.")
    # Notes on the included model and data, if they are used.
    named = [*settings.backbone]
    if not run.about or run.files:
        named.append(settings.data)
    named = [name for name in named if not Path(name).is_dir()]
    lines = [f"note      {NOTES[name]}" for name in named if name in NOTES]
    lines += [
        *(f"backbone  {settings.models[m]} ({c})" for m, c in run.checkpoints.items()),
        *(line for model in settings.models for line in _language(run, model)),
        f"machine   {run.device}, {precision} products, {threads_in_words()}"
        + (f", {world_size()} processes" if world_size() > 1 else ""),
        f"data      {run.about or run.data_folder}",
    ]
    lines += _data(run)
    if "search" in run.splits:
        lines += _cut_texts(run)
    heads = [
        (stage.baseline, f"{head.cell.task} {READERS[head.cell.reads_as]}")
        for stage in run.stages
        for training in stage.trainings
        for head in training.heads
    ]
    planned = [name for baseline, name in heads if not baseline]
    compared = [name for baseline, name in heads if baseline]
    lines.append(
        f"to train  {len(planned)} head(s): {', '.join(dict.fromkeys(planned))}; SimCSE: "
        f"{' '.join(settings.pretrain)}; encoder: {' '.join(settings.tunings)}; "
        f"{settings.seeds} seed(s), {settings.features} features, preset {settings.preset}"
    )
    if compared:
        names = ", ".join(dict.fromkeys(compared))
        lines.append(
            f"baseline  {len(compared)} head(s): {names} without SimCSE (--no-baseline skips this)"
        )
    if set(settings.tune) != {"none"}:
        lines += [f"published {words}" for words in _published_heads(run)]
    if settings.train_rows != ("all",):
        lines.append(f"labels    {' '.join(settings.train_rows)}")
    lines += choice_in_words(run)
    few = [len(splits.train) for splits in run.splits.values() if not splits.corpus]
    if "full" in settings.tune and few and min(few) < PAYS and settings.train_rows == ("all",):
        lines.append(
            f"note      with fewer than {PAYS:,} labels, fine-tuning has not paid in our "
            "measurements (docs/answer.md); --tune frozen takes seconds"
        )
    return "\n".join([*lines, f"folder    {settings.folder()}"])


def threads_in_words() -> str:
    """Return `1 thread` or `2 threads`."""
    threads = torch.get_num_threads()
    return "1 thread" if threads == 1 else f"{threads} threads"


def _data(run: Run) -> list[str]:
    """Return the sizes of the tasks and the files of the contrastive stages."""
    settings = run.settings
    lines: list[str] = []
    if len(settings.pairs) == 1 and settings.why_no_folds and "search" not in run.splits:
        lines.append(f"folds     none: {settings.why_no_folds}")
    for task, splits in run.splits.items():
        sizes = f"{len(splits.train)} train, {len(splits.dev)} dev, {len(splits.test)} test"
        if run.about:
            continue
        lines.append(f"          {task}: {sizes}")
        if choice := files_in_doubt(run.data_folder, TASKS[task]):
            lines.append(f"          {task}: {choice}")
    lines += [f"          {name}: {path}" for name, path in run.files.items()]
    lines += [f"          {name}: the texts of the train part" for name in run.on_train]
    if run.files or run.on_train:
        of = "" if run.about else " STS"
        chosen = f"the best of {len(run.selection)}{of} training pairs"
        lines.append(f"          checkpoint kept: {chosen if run.selection else 'the last'}")
    return lines


def _cut_texts(run: Run) -> list[str]:
    """Return how many texts of a search are longer than an encoder reads, for each encoder."""
    texts = [document.text for document in run.splits["search"].corpus]
    lines = []
    for model, tokenizer in run.tokenizers.items():
        checkpoint = run.checkpoints[model]
        stated = read_pooling(checkpoint).max_length or tokenizer.stated_length
        positions = checkpoint.bert_config.num_positions
        most = min(positions, stated or positions)
        cut = int((tokenizer(texts, None, 2**20).lengths > most).sum())
        if cut:
            name = f" of {model}" if model else ""
            lines.append(
                f"cut       {cut:,} of {len(texts):,} texts have more than the {most} word pieces"
                f"{name}; only their beginning is read"
            )
    return lines


def _language(run: Run, model: str) -> list[str]:
    """Return a warning if the encoder's vocabulary does not fit the texts, [] if it does."""
    texts = (
        text
        for splits in run.splits.values()
        for example in (*splits.corpus, *splits.train)
        for text in ([example.text] if splits.corpus else example.texts)
    )
    unknown, pieces = run.tokenizers[model].vocabulary_fit(list(islice(texts, SAMPLED)))
    name = Path(run.settings.models[model]).name
    if unknown > MOST_UNKNOWN:
        fault = f"{unknown:.0%} of the word pieces are unknown to {name}"
    elif pieces > MOST_PIECES:
        fault = f"{name} cuts a word into {pieces:.1f} pieces on average"
    else:
        return []
    return [f"warning   {fault}; its vocabulary is probably that of another language"]


def _published_heads(run: Run) -> list[str]:
    """Return how training uses the published head of each backbone that has one."""
    stated = {model: stated_labels(place) for model, place in run.checkpoints.items()}
    return [
        (f"{model}: " if model else "") + _published_head(run, labels)
        for model, labels in stated.items()
        if labels is not None
    ]


def _published_head(run: Run, labels: int) -> str:
    """Return how training uses the backbone's published head of `labels` logits."""
    fitting = [task for task in run.splits if labels in fitting_labels(run.record(task))]
    count = f"{labels} label{'s' if labels > 1 else ''}"
    if not fitting:
        return f"{count}, which fit no task here; fresh heads are trained"
    if run.settings.features != "cls":
        return f"{count}; fresh heads are trained; --features cls --reader cross starts from it"
    fresh = [task for task in run.splits if task not in fitting]
    end = f"; a fresh head for {' '.join(fresh)}" if fresh else ""
    return f"{count}; heads start from it: {' '.join(fitting)}{end}"


def choice_in_words(run: Run) -> list[str]:
    """Return how epochs and rates are chosen, where nothing can be, and which rates are too high.

    Raises:
        UserError: the user names several rates, and there are too few held-out rows.
        CheckpointError: the backbone's config.json is missing or damaged.
    """
    settings, select = run.settings, SELECTED[run.settings.select]
    stage = next(stage for stage in run.stages if not stage.baseline)
    heads = [head for training in stage.trainings for head in training.heads]
    is_search = "search" in run.splits
    if is_search:  # its other readers are not trained
        heads = [head for head in heads if head.cell.reader == "cross" and head.cell.tune != "none"]
        if not heads:
            return []
        select = BY_QUERIES if settings.select == "train" else select
    lines: dict[str, None] = {}  # each once, in order
    rates: tuple[float, ...] = ()  # to choose from
    given: dict[str, float] = {}  # the encoder's rate where there is no choice, by how it is tuned
    for head in heads:
        cell, splits = head.cell, run.splits[head.cell.task]
        one = splits.folds[0] if splits.folds else splits  # folds differ little
        has_parts = is_search or bool(parts_to_try(head, one, bool(settings.rates)))
        if head.tries and not has_parts:
            few = "too few rows share no text with the others to choose by; all epochs are run"
            lines[f"          {cell.task}{cell.few}: {few}"] = None
        if has_parts and head.rates:
            rates = head.rates
        elif cell.tune not in ("frozen", "none"):
            given[cell.tune] = head.config.backbone_learning_rate
    chosen = [f"epochs    {select}"]
    if rates:
        words = " ".join(map(shown_value, rates))
        chosen.append(f"rates     {words}: {len(rates)} trainings before that of a tuned cell")
    return [*chosen, *lines, *_all_too_high(run, given)]


def _all_too_high(run: Run, given: dict[str, float]) -> list[str]:
    """Return the lines of `_too_high` of all encoders."""
    return [line for model in run.settings.models for line in _too_high(run, model, given)]


def _too_high(run: Run, model: str, given: dict[str, float]) -> list[str]:
    """Return a line if quick's rate is used for an encoder that is too large for it, or []."""
    settings = run.settings
    backbone = run.checkpoints[model].bert_config
    size = backbone.hidden_size, backbone.num_hidden_layers
    if settings.preset != "quick" or (size[0] <= SMALL[0] and size[1] <= SMALL[1]):
        return []
    too_high = []
    for name, config in run.simcse_configs.items():
        rate = config.learning_rate
        published = ALL_PRESETS["report"][name].learning_rate
        if rate == ALL_PRESETS["quick"][name].learning_rate != published:
            too_high.append(f"{name} {shown_value(rate)} (--simcse-lr {shown_value(published)})")
    lower = f"--backbone-lr {shown_value(min(RATES))}"
    for tune, rate in given.items():
        if rate == head_config("quick", tune, "").backbone_learning_rate:
            named = settings.rates and not tune.startswith("joint")
            too_high.append(
                f"{tune} {shown_value(rate)} ({'leave out --rates' if named else lower})"
            )
    return [
        f"warning   quick's rates are for encoders up to {SMALL[0]} wide, {SMALL[1]} layers; "
        f"{model or 'this one'} has {size[0]}, {size[1]}: {', '.join(too_high)}"
    ][: len(too_high)]


def run_config(run: Run) -> dict[str, Any]:
    """Return everything needed to repeat the run: the content of config.json."""
    settings = run.settings
    heads = {
        f"{head.cell.task} {head.cell.tune}": asdict(head.config)
        for stage in reversed(run.stages)  # those of the first seed
        for training in stage.trainings
        for head in training.heads
    }
    joint = {"joint": list(map(asdict, settings.joints))} if "joint" in settings.tune else {}
    simcse = {name: asdict(config) for name, config in run.simcse_configs.items()}
    return {
        "format": FORMATS["training"],
        "command": sys.argv,
        "directory": str(Path.cwd()),  # where relative paths of the options begin
        "options": settings.to_json(),
        "simcse": simcse,
        "heads": heads,
        **joint,
        "device": str(run.device),
        "precision": str(run.dtype),
        "threads": torch.get_num_threads(),
        "processes": world_size(),
        "sha256": run.digests,
        **provenance(),
    }

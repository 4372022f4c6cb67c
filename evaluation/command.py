"""One evaluation: find sets, open models one after the other, print tables, write files."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

import torch

from data.examples import DataError
from data.locate import data_folder
from evaluation.models import check_sources, open_models
from evaluation.options import EvaluationOptions
from evaluation.suites.measured import LoadedSet, Model
from evaluation.suites.results import COLUMNS, Result, averages, shown_table
from evaluation.suites.table import SUITES, find_sets, measure
from evaluation.table import csv_text
from runtime.errors import TrainingError
from runtime.files import texts_digest, write_text
from runtime.progress import progress
from runtime.streams import Say


def evaluate(options: EvaluationOptions, say: Say = print) -> list[Result]:
    """Measure all models on all available sets; return all results, as in the files.

    Raises:
        UserError: an option's model or file cannot be used; the message is one line.
        OSError: a result file cannot be written.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    options = replace(options, suite=tuple(dict.fromkeys(options.suite)))
    check_sources(options)
    sets = _find_sets(options, say)
    # Each distinct text is encoded once per encoder, for all sets.
    texts = list(dict.fromkeys(text for loaded in sets for text in loaded.texts()))
    say(f"measuring {len(sets)} sets, {len(texts):,} distinct texts")
    results: list[Result] = []
    try:
        for model in open_models(options, texts, say):
            say(f"model     {model.embedder.name}")
            results += _measured(model, sets, say)
    finally:  # results from before an error are printed and saved
        for suite in options.suite:
            of_suite = [result for result in results if result.suite == suite]
            for shown in SUITES[suite].shown:
                over_sets = list(averages(of_suite, shown))
                results += over_sets
                if table := shown_table([*of_suite, *over_sets], shown):
                    say(f"\n{table}")
        _write(options, results, texts)
    written = [str(path) for path in (options.json, options.csv) if path]
    where = ", ".join(written) or "not written (--json FILE, --csv FILE)"
    say(f"\n{len(results):,} results: {where}")
    return results


def _find_sets(options: EvaluationOptions, say: Say) -> list[LoadedSet]:
    """Return the available sets; print the missing ones and the names of their files."""
    folders = [data_folder(name) for name in options.data]
    for name, folder in zip(options.data, folders, strict=True):
        if not folder.is_dir():
            raise DataError(f"--data {name}: no such folder")
    sets, missing = find_sets(options.suite, options.sets, folders)
    where = ", ".join(options.data)
    if options.sets and missing:
        wanted = "; ".join(name for names in missing.values() for name in names)
        raise DataError(f"--sets: not in {where}: {wanted}")
    for suite, absent in missing.items():
        say(f"{suite}: not in {where}, left out: {'; '.join(absent)}")
    if not sets:
        raise DataError(
            f"no set of {', '.join(options.suite)} in {where}; fetch published sets with: "
            "python -m data.download sts transfer hans"
        )
    return sets


def _measured(model: Model, sets: Sequence[LoadedSet], say: Say) -> Iterator[Result]:
    """Yield the results of one model; print the sets that it cannot be fitted to."""
    with progress("evaluate", len(sets), "set") as bar:
        for loaded in sets:
            bar.set_postfix_str(loaded.name)
            try:
                yield from measure(model, loaded)
            except TrainingError as error:
                say(f"left out  {model.embedder.name} on {loaded.name}: {error}")
            bar.update()


def _write(options: EvaluationOptions, results: list[Result], texts: list[str]) -> None:
    if options.csv:
        rows = [list(result.row().values()) for result in results]
        write_text(options.csv, csv_text(COLUMNS, rows))
    if options.json:
        about = {
            "options": asdict(options),
            "texts": texts_digest("", texts),
            "results": [result.row() for result in results],
        }
        text = json.dumps(about, indent=1, allow_nan=False, default=str)
        write_text(options.json, text + "\n")

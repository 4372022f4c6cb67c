"""One evaluation: sets found, models opened one after the other, tables printed, files written.

Reads: everything here. Feeds: the command line and your own scripts.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import torch

from data.examples import DataError
from data.locate import data_folder
from evaluation.measures import Model
from evaluation.opening import Say, check_sources, open_models
from evaluation.options import Options
from evaluation.results import Result, shown_table, to_csv, to_json
from evaluation.suites import SUITES, Material, find_sets
from runtime.digests import texts_digest
from runtime.errors import TrainingError
from runtime.files import write_text
from runtime.progress import progress


def evaluate(options: Options, say: Say = print) -> list[Result]:
    """Measure all models on all sets that are found.

    Args:
        options: the command line's.
        say: called with every line of output.

    Returns:
        All results, models in order, as in the files.

    Raises:
        UserError: something that the options name cannot be used; the message is one line.
        OSError: a result file cannot be written.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    options = replace(options, suite=tuple(dict.fromkeys(options.suite)))
    check_sources(options)
    found = _find_sets(options, say)
    # Each distinct text is encoded once per encoder, whichever sets it is in.
    texts = list(dict.fromkeys(text for material in found for text in material.texts()))
    say(f"measuring {len(found)} sets, {len(texts):,} distinct texts")
    results: list[Result] = []
    try:
        for model in open_models(options, texts, say):
            say(f"model     {model.embedder.name}")
            results += _measured(model, found, say)
    finally:  # what was measured before an error is shown and kept
        _show(options, results, say)
        _write(options, results, texts)
    written = [str(path) for path in (options.json, options.csv) if path]
    where = ", ".join(written) or "not written (--json FILE, --csv FILE)"
    say(f"\n{len(results):,} results: {where}")
    return results


def _find_sets(options: Options, say: Say) -> list[Material]:
    """Return the sets that are there; name those that are not, and what was looked for."""
    folders = [data_folder(name) for name in options.data]
    for name, folder in zip(options.data, folders, strict=True):
        if not folder.is_dir():
            raise DataError(f"--data {name}: no such folder")
    found, missing = find_sets(options.suite, options.sets, folders)
    where = ", ".join(options.data)
    for suite in dict.fromkeys(one.suite for one in missing):
        absent = [f"{one.set} ({one.looked_for})" for one in missing if one.suite == suite]
        say(f"{suite}: not in {where}, left out: {'; '.join(absent)}")
    if not found:
        raise DataError(
            f"no set of {', '.join(options.suite)} in {where}; fetch published sets with: "
            "python -m data.download sts transfer hans"
        )
    return found


def _measured(model: Model, sets: list[Material], say: Say) -> Iterator[Result]:
    """Yield the results of one model; a set that it cannot be fitted to is named."""
    with progress("evaluate", len(sets), "set") as bar:
        for material in sets:
            bar.set_postfix_str(material.set)
            try:
                yield from material.measure(model)
            except TrainingError as error:
                say(f"left out  {model.embedder.name} on {material.set}: {error}")
            bar.update()


def _show(options: Options, results: list[Result], say: Say) -> None:
    for suite in options.suite:
        own = [result for result in results if result.suite == suite]
        for shown in SUITES[suite].shown:
            if table := shown_table(own, shown):
                say(f"\n{table}")


def _write(options: Options, results: list[Result], texts: list[str]) -> None:
    if options.csv:
        write_text(options.csv, to_csv(results))
    if options.json:
        shown = {n: _plain(value) for n, value in asdict(options).items()}
        about = {"options": shown, "texts": texts_digest("", texts), "results": to_json(results)}
        write_text(options.json, json.dumps(about, indent=1, allow_nan=False) + "\n")


def _plain(value: object) -> object:
    """Return paths as text, alone or in tuples."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value

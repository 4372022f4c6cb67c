"""One evaluation: sets found, models opened one after the other, tables printed, files written.

Reads: everything here. Feeds: the command line and your own scripts.
"""

import json
from dataclasses import asdict
from pathlib import Path

import torch

from data.examples import DataError
from data.fetch.locate import data_folder
from evaluation.opening import Say, open_models
from evaluation.options import Options
from evaluation.results import Result, shown_table, to_csv, to_json
from evaluation.suites import SUITES, find_sets
from runtime.digests import texts_digest
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
    folders = [data_folder(name) for name in options.data]
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
    # Each distinct text is encoded once per encoder, whichever sets it is in.
    texts = list(dict.fromkeys(text for material in found for text in material.texts()))
    say(f"measuring {len(found)} sets, {len(texts):,} distinct texts")
    results: list[Result] = []
    for model in open_models(options, texts, say):
        say(f"model     {model.embedder.name}")
        with progress("evaluate", len(found), "set") as bar:
            for material in found:
                bar.set_postfix_str(material.set)
                results += material.measure(model)
                bar.update()
    _write(options, results, texts)
    for suite in options.suite:
        own = [result for result in results if result.suite == suite]
        for shown in SUITES[suite].shown:
            if table := shown_table(own, shown):
                say(f"\n{table}")
    written = [str(path) for path in (options.json, options.csv) if path]
    where = ", ".join(written) or "not written (--json FILE, --csv FILE)"
    say(f"\n{len(results):,} results: {where}")
    return results


def _write(options: Options, results: list[Result], texts: list[str]) -> None:
    if options.csv:
        write_text(options.csv, to_csv(results))
    if options.json:
        shown = {n: _plain(value) for n, value in asdict(options).items()}
        about = {"options": shown, "texts": texts_digest("", texts), "results": to_json(results)}
        write_text(options.json, json.dumps(about, indent=1) + "\n")


def _plain(value: object) -> object:
    """Return paths as text, alone or in tuples."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value

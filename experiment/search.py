"""A search: its readers, and the scores of their rankings.

The bi-encoder finds texts by cosine, late interaction by MaxSim; neither is trained with labels. A
cross-encoder reads each query together with the texts that the bi-encoder found. It learns from the
answers of the train queries, and from texts that the bi-encoder ranks high though they are none.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from data.examples import Query, Sentence
from data.overlap import Overlap, overlap
from data.search import own_rows, query_clusters
from data.selection import Parts
from data.tasks import Splits, Task
from evaluation.ranking import MOST, measures, own_last, reranked
from evaluation.scoring import scores_of
from evaluation.search import Finder, by_cosine, by_maxsim, read_again
from experiment.grid import PlannedHead, Training
from experiment.mining import pairs_to_learn, parts_by_query, task_of_pairs
from experiment.opening import Run, Tuned, as_loaded
from experiment.rows import FittedCell
from heads.features import FEATURES
from heads.heads import build_head
from heads.saved import save_head
from heads.train import HeadTask, reading_speed
from report.cell import Cell
from report.run_folder import MODEL, RunFolder
from runtime.processes import apart, is_main
from runtime.store import Work

SPEED_PAIRS = 128  # on which the speed of a published cross-encoder is measured


@dataclass(frozen=True)
class Search:
    """A search to be scored: its head, its data, and how texts are found."""

    head: PlannedHead
    splits: Splits
    record: Task
    find: Finder

    @property
    def corpus(self) -> list[str]:
        return [document.text for document in self.splits.corpus]

    @property
    def scored(self) -> list[tuple[str, list[Query]]]:
        """Return the splits that are scored, with their queries."""
        named = ("dev", self.splits.dev), ("test", self.splits.test)
        return [(name, queries) for name, queries in named if queries]

    @property
    def training(self) -> Training:
        """Return the training of the cross-encoder, on pairs."""
        cell = replace(self.head.cell, task="paraphrase")
        return Training((replace(self.head, cell=cell),))

    def pairs(self) -> tuple[dict[str, Splits], list[list[Parts]]]:
        """Return the pairs that the cross-encoder learns from, and parts of them to choose by."""
        queries, seed, learns = (
            self.splits.train,
            self.head.cell.seed,
            self.head.cell.tune != "none",
        )
        asked = queries or self.scored[0][1]
        pairs = pairs_to_learn(asked, self.splits.corpus, self.find, seed)
        record = task_of_pairs(self.record)
        # A published cross-encoder learns nothing; some pairs show how fast it reads.
        splits = Splits(pairs, [] if learns else pairs[:SPEED_PAIRS], [], record)
        parts = parts_by_query(pairs, asked, seed) if learns and self.head.tries else []
        return {"paraphrase": splits}, [parts]


def open_search(opened: Run, training: Training, tuned: Tuned) -> Search:
    """Return the search of a training; the trainings of an encoder share its embedded corpus.

    A published cross-encoder reads the texts that the first encoder of the run finds.
    """
    (head,) = training.heads
    splits = opened.splits["search"]
    published = head.cell.tune == "none"
    by = by_maxsim if head.cell.reader == "late" else by_cosine
    if (by, published) not in tuned.finders:
        encoder = tuned.encoder.freeze()
        if published:
            encoder = as_loaded(next(iter(opened.untuned.values())), opened.settings.pooling)
        texts = [document.text for document in splits.corpus]
        tuned.finders[by, published] = by(encoder, texts)
    return Search(head, splits, opened.record("search"), tuned.finders[by, published])


# --- scores


def write_search(
    opened: Run, training: Training, search: Search, fitted: FittedCell | None, work: Work
) -> None:
    """Rank the corpus for the scored queries, and fill the folder of a training."""
    if not is_main():
        return
    folder, cell = RunFolder(work.folder), search.head.cell
    queries = [query for _, of_split in search.scored for query in of_split]
    texts = [query.text for query in queries]
    with apart():
        own = own_rows(queries, search.splits.corpus)
        found = search.find(texts, MOST + max(map(len, own)))
        rows, scores = (values[:, :MOST] for values in own_last(found.rows, found.scores, own))
        times = {0: 0.0}
        if fitted is None:
            head_task = bare_head_task(search)
            head = build_head(search.record, cell.reader, 1, "concat")  # it has no weights
        else:
            head_task, head = fitted.head_task, fitted.fitted.head
            features = FEATURES["cross"](head_task.config.features)
            encoder, corpus = fitted.encoder, search.corpus
            scores, times = read_again(encoder, head, features, texts, corpus, rows)
            _, scores = own_last(rows[:, : scores.shape[1]], scores, own)
        if cell.reader != "late":
            save_head(head, folder.head_path(cell.name), head_task, key=work.key, stage=cell.stage)
        cells: list[Cell] = []
        start, about = 0, of_training(fitted)
        for split, of_split in search.scored:
            part = slice(start, start + len(of_split))
            start += len(of_split)
            ranked, of_rows = rows[part], scores[part]
            folder.write_ranking(cell.name, split, of_split, search.splits.corpus, ranked, of_rows)
            # The same for all depths.
            clusters, nothing = query_clusters(of_split), np.zeros(len(of_split))
            shared = seen_of(opened, search, of_split, fitted)
            for depth, milliseconds in times.items():
                values = measures(reranked(ranked, of_rows, depth), of_split)  # (Q, 4)
                cells.append(
                    Cell(
                        **asdict(cell),
                        split=split,
                        key=work.key,
                        search={
                            "depth": depth,
                            "milliseconds": found.milliseconds + milliseconds,
                            "megabytes": found.megabytes,
                            "finds": finding_cell(opened, search.head),
                        },
                        **scores_of("search", values, nothing, clusters, shared),
                        **about,
                    )
                )
        if fitted is not None:
            folder.add_curve(cell.name, fitted.fitted.history)
        folder.write_results(cells)
        if fitted is not None and not training.frozen:
            fitted.encoder.save(folder.path / MODEL, {"heads": [cell.name]})


def bare_head_task(search: Search) -> HeadTask:
    """Return the task of a bi-encoder, which learns nothing: its head is the cosine."""
    head = search.head
    nothing = replace(search.splits, train=[], dev=[], test=[], corpus=(), task=search.record)
    return HeadTask("search", head.cell.reader, head.config, nothing, lambda predictions: None)


def finding_cell(opened: Run, head: PlannedHead) -> str:
    """Return the name of the cell of the bi-encoder that finds the texts of a head."""
    cell = replace(head.cell, reader="bi", tune="frozen", features="concat")
    if head.cell.tune == "none":
        first = next(iter(opened.untuned))
        cell = replace(cell, model=first, backbone=opened.settings.models[first])
    return cell.name


def seen_of(
    opened: Run, search: Search, queries: Sequence[Query], fitted: FittedCell | None
) -> Overlap:
    """Return which queries were seen in training; a bi-encoder learns nothing from train."""
    asked, learnt = (
        [Sentence(query.id, query.text) for query in part]
        for part in (queries, search.splits.train if fitted else [])
    )
    return overlap(asked, opened.seen_by(search.head.cell.stage, learnt))


def of_training(fitted: FittedCell | None) -> dict[str, Any]:
    """Return the fields of a cell about the training of its head, which a bi-encoder has not."""
    if fitted is None:
        return {"seconds": 0.0, "sentences_per_second": 0.0, "labels": 0}
    head, chosen = fitted.fitted, fitted.chosen
    return {
        "seconds": head.seconds,
        "sentences_per_second": reading_speed(fitted.encoder, head.head, fitted.head_task),
        "steps": head.steps,
        "labels": len(fitted.head_task.splits.train),
        "choice": asdict(chosen.choice) if chosen else {},
    }

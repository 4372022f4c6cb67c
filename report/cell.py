"""A cell of the comparison: one head and its scores on one split.

Keys of results.json, columns of results.csv and phenomena.csv, rows of the table and file names
all derive from its fields.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from statistics import mean
from typing import Any

from data.tasks import EVERY_ROW, RANKING, TASKS
from evaluation.metrics import AVERAGE_PRECISION, COSINE, METRICS, Metrics
from heads.config import READERS, with_reader

METRIC_COLUMNS = (*METRICS, AVERAGE_PRECISION, COSINE)  # of results.csv
SEARCH_COLUMNS = ("depth", "milliseconds", "megabytes")  # likewise, of a search
# Names state train_rows only if it is not `all`, and the encoder only if a run has several.
NOT_IN_NAME = ("pretrain", "backbone", "data", "train_rows", "model")
ALL = "all"
# The setting of a row of phenomena.csv, which has a column per reader.
SIDE_BY_SIDE = ("task", "split", "pretrain", "tune", "features")


def stage_name(model: str, pretrain: str) -> str:
    """Return the name of an encoder: `sup`, or with its short name `mini+sup`."""
    return f"{model}+{pretrain}" if model else pretrain


@dataclass(frozen=True)
class Coordinates:
    """The position of a head in the grid."""

    pretrain: str
    task: str
    reader: str
    tune: str
    features: str
    backbone: str
    data: str
    seed: int
    # The number of labelled training examples, or `all`.
    train_rows: str = field(default=ALL, kw_only=True)
    # The short name of the backbone in a run of several, else "".
    model: str = field(default="", kw_only=True)

    @property
    def stage(self) -> str:
        """Return the name of the encoder under the head: `sup`, or among several `mini+sup`."""
        return stage_name(self.model, self.pretrain)

    @property
    def name(self) -> str:
        """Return the name of the head's files, `sup-sts-bi-frozen-interaction-42`.

        With 250 training examples it is `sup-sts-bi-frozen-interaction-42-250rows`.
        """
        names = [f.name for f in fields(Coordinates) if f.name not in NOT_IN_NAME]
        return "-".join([self.stage, *(str(getattr(self, name)) for name in names)]) + self.few

    @property
    def few(self) -> str:
        """Return the suffix of names if training did not use all examples."""
        return "" if self.train_rows == ALL else f"-{self.train_rows}rows"

    @property
    def reads_as(self) -> str:
        """Return the reader: always `bi` for single texts."""
        return self.reader if TASKS[self.task].is_pair else "bi"


@dataclass(frozen=True)
class Cell(Coordinates):
    """The scores of one head on one split: an entry of results.json."""

    split: str
    n: int
    metrics: Metrics
    seconds: float
    sentences_per_second: float
    key: str  # a hash of everything that determines the numbers
    overlap: dict[str, Any] = field(default_factory=dict)
    phenomena: dict[str, dict[str, float]] = field(default_factory=dict)
    interval: dict[str, Any] = field(default_factory=dict)  # metric -> low, high, method; or None
    threshold: dict[str, Any] = field(default_factory=dict)  # of evaluation.scoring
    calibration: dict[str, Any] = field(default_factory=dict)
    both_orders: dict[str, Any] = field(default_factory=dict)  # of a cross-encoder
    # metric -> value directly after the task's phase of a sequential joint training.
    before: dict[str, Any] = field(default_factory=dict)
    labels: int | None = None  # number of training examples; not stored up to 0.14.0
    steps: int | None = None  # of training; not stored up to 1.0
    select: str | None = None  # of heads.config.SELECT; not stored up to 1.0
    # The fields of heads.choice.Choice: epochs, and the rate of a tuned encoder, chosen on a part
    # of train; with `--select dev` the epochs are those of the trials. {} if there were none.
    choice: dict[str, Any] = field(default_factory=dict)
    # COSINE for [CLS] states, for a frozen bi-encoder whose embeddings are means.
    cls_cosine: float | None = None
    # Of a search: `depth`, how many texts were read again in order to rank them, 0 for none;
    # `milliseconds` per query; `megabytes` of the vectors of the corpus; `finds`, the name of the
    # cell that found the texts to rank again.
    search: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> "Cell":
        """Return a cell of results.json.

        Raises:
            KeyError, TypeError, ValueError, AttributeError, OverflowError: a required value is
                missing, has the wrong type, or is too large for a float.
        """
        names = {field.name for field in fields(cls)}
        raw = with_reader(raw)
        if "rates" in raw:  # up to 1.0: the chosen rate and the candidates
            tried = raw["rates"].get("tried", [])
            score = max((one["score"] for one in tried if one["score"] is not None), default=None)
            raw = {"choice": raw["rates"] and raw["rates"] | {"score": score}} | raw
        cell = cls(**{name: value for name, value in raw.items() if name in names})
        cell._check()
        return cell

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def row(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the cell as a row of results.csv, by column."""
        values = asdict(self) | {name: self.metrics.get(name) for name in METRIC_COLUMNS}
        values["rate"] = self.choice.get("rate")
        values |= self.search | {name: self.metrics.get(name) for name in RANKING}
        return {name: values.get(name) for name in columns}

    @property
    def system(self) -> str:
        """Return the name of the compared system, without the seed: `sup-bi-frozen-interaction`.

        A cross-encoder that ranks the best 50 texts of a search again ends in `@50`.
        """
        depth = f"@{self.depth}" if self.depth else ""
        return "-".join((self.stage, self.reader, self.tune, self.features)) + self.few + depth

    @property
    def depth(self) -> int:
        """Return how many texts of a search were read again in order to rank them."""
        return int(self.search.get("depth", 0))

    def place(self) -> tuple[str, str, int]:
        """Return the identifier of a cell in a run folder: the head's name, split and depth."""
        return self.name, self.split, self.depth

    def _check(self) -> None:
        words = [field.name for field in fields(Coordinates) if field.type is str]
        for name in (*words, "split", "key"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is {getattr(self, name)!r}")
        if self.reader not in READERS:
            raise ValueError(f"reader is {self.reader!r}")
        if not isinstance(self.seed, int):
            raise TypeError(f"seed is {self.seed!r}")
        numbers: list[Any] = [self.n, self.seconds, self.sentences_per_second]
        numbers += [self.overlap["sentences"], *self.overlap["metrics_on_rest"].values()]
        numbers += [self.metrics[name] for name in METRICS]
        numbers += [self.metrics.get(COSINE), self.cls_cosine]
        for tag in self.phenomena.values():
            numbers += [tag["n"], tag["error"]]
        for interval in filter(None, self.interval.values()):
            numbers += [interval["low"], interval["high"]]
        numbers.append(self.steps)
        if self.choice != {}:
            tried = self.choice["tried"]
            numbers += [self.choice[name] for name in ("rate", "score")]
            numbers += [one[name] for one in tried for name in ("rate", "score")]
        for number in numbers:
            if number is not None:
                float(number)


def csv_columns(cells: Sequence[Cell] = ()) -> list[str]:
    """Return the columns of results.csv in their order; those of a search only for a search."""
    # Fields with a single value, without the key, which has no meaning for readers.
    names = [
        f.name
        for f in fields(Cell)
        if f.type in (str, int, float) and f.name not in ("key", "model")
    ]
    costs = names.index("seconds")
    metrics: tuple[str, ...] = METRIC_COLUMNS
    if any(cell.search for cell in cells):
        metrics = (*RANKING, *SEARCH_COLUMNS)
    return [*names[:costs], *metrics, *names[costs:], "steps", "rate"]


def rows_of(split: str) -> str:
    """Return a split in words."""
    return "all rows" if split == EVERY_ROW else split


def best_known(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the test split of each task whose test split has labels, else all."""
    tested = {cell.task for cell in cells if cell.split == "test"}
    return [cell for cell in cells if cell.split == "test" or cell.task not in tested]


def of_most_labels(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of each task with the most training labels, for the verdict."""

    def labels(cell: Cell) -> float:
        return float("inf") if cell.train_rows == ALL else int(cell.train_rows)

    most: dict[str, float] = {}
    for cell in cells:
        most[cell.task] = max(labels(cell), most.get(cell.task, 0.0))
    return [cell for cell in cells if labels(cell) == most[cell.task]]


def by_system(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells of each system on each split of a task, grouped over seeds."""
    systems: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        systems.setdefault((cell.task, cell.split, cell.system), []).append(cell)
    return list(systems.values())


def phenomena_rows(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the rows of phenomena.csv: one per setting and tag, with each reader's mean error.

    An error is a share of wrong rows (classes) or a mean distance from the gold score, averaged
    over seeds. `bi` and `cross` are always present; a reader that was not run has None.
    """
    errors: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    readers = dict.fromkeys(["bi", "cross", *(cell.reader for cell in cells)])
    for cell in cells:
        for tag, rows in cell.phenomena.items():
            setting = (*(getattr(cell, name) for name in SIDE_BY_SIDE), tag, rows["n"])
            of_readers = errors.setdefault(setting, {kind: [] for kind in readers})
            of_readers[cell.reader].append(rows["error"])
    header = (*SIDE_BY_SIDE, "phenomenon", "n")
    return [
        dict(zip(header, setting, strict=True))
        | {reader: mean(values) if values else None for reader, values in of_readers.items()}
        for setting, of_readers in errors.items()
    ]

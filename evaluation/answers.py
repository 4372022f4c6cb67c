"""Answer queries with the encoders of a finished search: `python -m heads predict --corpus`."""

from collections.abc import Sequence
from pathlib import Path

from data.corpus import read_corpus
from data.examples import DataError
from evaluation.ranking import MOST, best_first
from evaluation.search import by_cosine, read_again
from heads.predict import open_one_text, write_table
from heads.saved import FinishedCell, load_head
from runtime.files import check_outputs
from runtime.streams import printable

AGAIN = 50  # texts that a cross-encoder reads for a query, if not more are asked for
HEADER = "query-id\trank\tcorpus-id\tscore\ttext"


def answer_file(
    cell: FinishedCell,
    path: Path,
    corpus: Path,
    k: int,
    out: Path | None,
    named: Sequence[str],
    device: str,
) -> None:
    """Write the k best texts of a corpus for each query of a file, or print them.

    A bi-encoder ranks by cosine. A cross-encoder reads the best texts of the bi-encoder of its run
    again; their scores are its own. `named` has the name or number of the column of queries.

    Raises:
        UserError: a file cannot be read, or the cell is not of a search.
    """
    check_outputs([out], [path, corpus])
    if cell.task != "search":
        raise DataError(f"{cell.name}: is no cell of a search; leave out --corpus")
    if not 1 <= k <= MOST:
        raise DataError(f"--top-k {k}: expected 1 to {MOST}")
    name = cell.scores[0]["search"]["finds"]
    documents = read_corpus(corpus)
    texts = [document.text for document in documents]
    finding = load_head(cell.path.with_name(f"{name}.safetensors"), device)
    column = finding.task.texts[0]  # its name in the run's table
    asked = [
        (row.get("id", "").strip() or str(line), row[column].strip())
        for line, row in open_one_text(path, column, named).rows()
        if row[column].strip()
    ]
    if not asked:
        raise DataError(f"{path}: no queries in it; write one per line")
    queries = [query for _, query in asked]
    found = by_cosine(finding.encoder, texts)(queries, max(AGAIN, k))
    rows, scores = found.rows, found.scores
    if name != cell.name:
        head = load_head(cell.path, device)
        parts = head.encoder, head.head, head.features
        scores, _ = read_again(*parts, queries, texts, rows, [rows.shape[1]])
        rows, scores = best_first(rows, scores)
    lines = []
    for (id, _), best, of_query in zip(asked, rows[:, :k].tolist(), scores[:, :k], strict=True):
        for rank, (row, score) in enumerate(zip(best, of_query, strict=True), 1):
            fields = (id, str(rank), documents[row].id, f"{score:.6f}", texts[row])
            lines.append("\t".join(map(printable, fields)))
    write_table(HEADER, iter(lines), out)

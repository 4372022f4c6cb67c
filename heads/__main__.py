"""A finished run's heads taken away: `python -m heads predict | threshold | export`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.commands import begin, run_command
from runtime.errors import UserError
from runtime.options import option, parse
from runtime.streams import printable

OVERVIEW = """\
Use the heads that a run of run_multitask.py has trained.

  predict    score new texts with a trained head
  threshold  choose the probability above which a pair is positive
  export     write a folder for sentence-transformers, or a graph for ONNX Runtime

examples:
  python -m heads predict runs/sts pairs.tsv
  python -m heads threshold runs/para labelled.tsv --precision 0.95
  python -m heads export runs/sts --out my-encoder
"""

# Options of several commands.
RUN: Any = {"help": "the folder of a finished run", "flag": "run", "metavar": "RUN"}
CELL: Any = {
    "help": "name of a cell, as in RUN/heads/, or of a task, for its best cell on "
    "the part of train that chose its epochs (not needed if the run has one task)",
    "metavar": "NAME",
}


@dataclass(frozen=True)
class PredictOptions:
    """Flags of `heads predict`."""

    run: Path = option(**RUN)
    file: Path = option(help="the texts, in one of these forms", flag="file", metavar="FILE")
    cell: str | None = option(None, **CELL)
    columns: tuple[str, ...] = option(
        (),
        "names of the columns of texts, or numbers without a header: FIRST SECOND, or TEXT",
        metavar="NAME",
    )
    corpus: Path | None = option(
        None,
        "of a search: the texts to search, one per line or a table; FILE has the queries",
        metavar="FILE",
    )
    top_k: int | None = option(
        None, "texts to find for each query of --corpus (default: 10)", least=1, most=100
    )
    out: Path | None = option(None, "file to write (default: standard output)", metavar="FILE")
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "cuda"), rare=True)
    threads: int = option(
        0, "CPU threads; 0: the default of PyTorch", least=0, most=4096, rare=True
    )


def predict_command(words: Sequence[str]) -> None:
    """Predict the texts of a file."""
    options = parse(
        PredictOptions,
        words,
        prog="python -m heads predict",
        description="""\
Score new texts with a head that run_multitask.py has trained. Files of any size are
read in chunks.

FILE is a table in UTF-8, also compressed (.gz, .xz, .bz2): separated by tabs, commas
or semicolons, or JSON lines. The columns of texts have the names of the run's table,
usual names (sentence1 and sentence2, or sentence) or those of --columns; id is
optional, else an id is a line number. Single texts may also stand one per line.

The output has a header and a line per row: id; similarity, or is_duplicate and its
probability, or sentiment and the probability of each class. With --corpus, a line per
query and text that was found. The default is then the bi-encoder; a cross-encoder that
--cell names reads the 50 best texts of the bi-encoder again.""",
        epilog="""\
examples:
  python -m heads predict runs/sts pairs.tsv
  python -m heads predict runs/faq queries.txt --corpus answers.txt --top-k 10
  python -m heads predict runs/all reviews.txt.gz --cell sst --out predicted.tsv
  from a script: heads.load("runs/sts").predict([("a first text", "a second one")])
  with probabilities, for paraphrases and classes: predict(pairs, probabilities=True)

Exit codes: 0 success, 2 invalid input, 130 interrupted, 1 a bug in this project.""",
    )
    # Loaded after the flags are parsed, so --help and errors in flags are fast.
    import torch

    from heads.predict import predict_file
    from heads.saved import find_cell, load_head, why_not_first
    from runtime.files import check_outputs

    if options.threads:
        torch.set_num_threads(options.threads)
    # Only the bi-encoder of a search finds texts by itself.
    why_not = why_not_first if options.corpus else lambda path: ""
    cell = find_cell(options.run, options.cell, why_not)
    check_outputs([options.out], [options.file, *cell.files])
    # Standard output holds only the table, for the next program in a pipe.
    print(f"cell {cell.name}", file=sys.stderr)
    if options.corpus:
        from evaluation.answers import answer_file

        k, out = options.top_k or 10, options.out
        answer_file(cell, options.file, options.corpus, k, out, options.columns, options.device)
        return
    if options.top_k:
        raise UserError("--top-k: has no effect; add --corpus FILE")
    head = load_head(cell.path, options.device)
    try:
        predict_file(head, options.file, options.out, options.columns)
    except UserError as error:
        if cell.task == "search":  # a file of queries
            raise UserError(f"{error}; to search for queries, add --corpus FILE") from None
        raise


@dataclass(frozen=True)
class ThresholdOptions:
    """Flags of `heads threshold`."""

    run: Path = option(**RUN)
    file: Path = option(help="labelled pairs, as described above", flag="file", metavar="LABELLED")
    cell: str | None = option(None, **CELL)
    precision: float | None = option(
        None, "precision to reach, at the highest recall (default: the best F1)", least=0.01, most=1
    )
    at: float | None = option(
        None, "labels are scores; pairs of this score or more are positive", metavar="SCORE"
    )
    columns: tuple[str, ...] = option(
        (),
        "names of the columns, or numbers without a header: FIRST SECOND LABEL",
        metavar="NAME",
    )
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "cuda"), rare=True)
    threads: int = option(
        0, "CPU threads; 0: the default of PyTorch", least=0, most=4096, rare=True
    )


def threshold_command(words: Sequence[str]) -> None:
    """Find the threshold of a head on labelled pairs."""
    options = parse(
        ThresholdOptions,
        words,
        prog="python -m heads threshold",
        description="""\
Print the threshold from which a head should call a pair positive: a probability, or a
similarity.

LABELLED is a table of pairs, separated by tabs, commas or semicolons, or JSON lines:
two texts, and a label that is 0 or 1, or yes or no. Pairs with a text that the head was
trained on are left out and counted, because its scores on them are too good.
You can therefore use the table of the run again. If it was scored in folds, all of
its pairs are used, with the scores of the heads that were trained without their texts.

The threshold is chosen on half of the pairs. Precision and recall are measured on the
other half, with 95% intervals. No text is in both halves.""",
        epilog="""\
examples:
  python -m heads threshold runs/para labelled.tsv
  python -m heads threshold runs/mine my.tsv --precision 0.9   # the run's own table
  python -m heads threshold runs/all labelled.csv --cell para --precision 0.95

Exit codes: 0 success, 2 invalid input, 130 interrupted, 1 a bug in this project.""",
    )
    import torch

    from data.examples import DataError
    from data.pairs import read_labelled
    from evaluation.threshold import find_threshold, reason
    from heads.saved import find_cell, load_head, why_no_threshold
    from heads.unseen import unseen_scores

    if options.threads:
        torch.set_num_threads(options.threads)
    cell = find_cell(options.run, options.cell, why_no_threshold)
    if problem := why_no_threshold(cell.path):
        raise DataError(f"{cell.name}: {problem}")
    head = load_head(cell.path, options.device)
    labelled = read_labelled(options.file, head.task, options.columns, options.at)
    pairs, scores = unseen_scores(labelled, cell, head)  # (N,)
    if left_out := len(labelled) - len(pairs):
        count = f"{left_out:,} of {len(labelled):,} pairs are left out"
        print(f"{count}: the head was trained on one of their texts", file=sys.stderr)
    if not pairs:
        raise DataError(f"{options.file}: no other pairs are in it; label some with other texts")
    print(f"cell {cell.name}", file=sys.stderr)
    found = find_threshold(pairs, scores, options.precision, str(options.file))
    print(found.table(reason(options.precision)))
    column = "probability" if head.task.label_kind == "binary" else head.task.label
    command = f"python -m heads predict {options.run} FILE --cell {cell.name}"
    print(printable(f"for the column {column} of: {command}"))


@dataclass(frozen=True)
class ExportOptions:
    """Flags of `heads export`."""

    run: Path = option(**RUN)
    cell: str | None = option(None, **CELL)
    out: Path | None = option(
        None, "a folder for sentence-transformers and transformers", metavar="DIR"
    )
    onnx: Path | None = option(
        None, "one graph from token ids to scores; also writes its tokenizer", metavar="FILE"
    )

    def __post_init__(self) -> None:
        if not (self.out or self.onnx):
            raise UserError("nothing to write; give --out DIR or --onnx FILE")


def export_command(words: Sequence[str]) -> None:
    """Write a cell in the formats of other libraries."""
    options = parse(
        ExportOptions,
        words,
        prog="python -m heads export",
        description="""Export a trained encoder and head for other libraries.

--out writes a folder. A bi-encoder's folder has the head's weights and the encoder,
which SentenceTransformer(DIR) loads with equal embeddings. The folder of a cross-encoder
trained with --features cls is loaded by CrossEncoder(DIR) and
AutoModelForSequenceClassification, with equal scores. A model card has data, scores, the
run's command, and a program that predicts. The default is the best cell that has the form.

--onnx writes encoder and head of a bi- or cross-encoder as one graph for ONNX Runtime.
Inputs are int64, with any number of rows and any length: input_ids and attention_mask
(for pairs of a bi-encoder with _1 and _2), and token_type_ids for a cross-encoder
(except RoBERTa). Outputs are logits and scores (or probabilities).
FILE.tokenizer.json is for the library `tokenizers`; it truncates and pads.
FILE.example.py scores texts with both; it needs onnxruntime, tokenizers and numpy only.
Needs: pip install onnx onnxscript onnxruntime""",
        epilog="""examples:
  python -m heads export runs/sts --out my-sts
  python -m heads export runs/sts --cell sup-sts-cross-full-cls-42 --out my-cross
  python -m heads export runs/sts --cell sup-sts-cross-full-interaction-42 --onnx sts.onnx

Exit codes: 0 success, 2 invalid input, 130 interrupted, 1 a bug in this project.""",
    )
    from heads.export import export_folder, why_no_folder
    from heads.graph import need_packages, why_no_graph, write_graph
    from heads.saved import find_cell, load_head
    from runtime.files import check_outputs

    # Before an encoder is opened, and before --out is written.
    if options.onnx:
        need_packages()

    def why_not(path: Path) -> str:
        head = load_head(path, "cpu")
        problems = [why_no_folder(head) if options.out else ""]
        problems.append(why_no_graph(head) if options.onnx else "")
        return next(filter(None, problems), "")

    cell = find_cell(options.run, options.cell, why_not)
    if cell.name != options.cell:
        print(f"cell {cell.name}, the best that has this form", file=sys.stderr)
    check_outputs([options.onnx, options.out], cell.files)
    # Weights are copied and a graph is traced, which needs no GPU.
    head = load_head(cell.path, "cpu")
    if options.out:
        export_folder(cell, head, options.out)
        print(f"{cell.name}: {options.out}")
    if options.onnx:
        beside = write_graph(head, options.onnx)
        print(f"{cell.name}: {', '.join(map(str, (options.onnx, *beside)))}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    commands = {
        "predict": predict_command,
        "threshold": threshold_command,
        "export": export_command,
    }
    return run_command("python -m heads", commands, argv, overview=OVERVIEW)


if __name__ == "__main__":
    begin()
    sys.exit(main())

"""The scripts in runs/: commands that parse, each result file made once, claims as published.

A script is run with a `python` that only writes down what it is asked to do.
"""

import json
import os
import subprocess
import sys
from functools import partial

import pytest

from benchmarks.options import Options as BenchmarkOptions
from data.synthetic.probes import baselines, carry_over, validity
from data.triplets import Options as TripletOptions
from evaluation.options import EvaluationOptions
from experiment.settings import parse_options
from runs.papers import CLAIM, PUBLISHED, WITHIN, judged
from runs.read import RESULTS, ROOT, read
from runtime.options import parse

SCRIPTS = sorted(path.name for path in ROOT.glob("runs/*.sh") if path.name != "setup.sh")
RUNS = [*SCRIPTS, "results.sh paper", "performance.sh avx512", "performance.sh avx2"]
RECORDS = {"coverage.csv"}  # of version 1.1.0; what made them is gone
PARSERS = {
    "run_multitask.py": parse_options,
    "evaluation": partial(parse, EvaluationOptions),
    "benchmarks": partial(parse, BenchmarkOptions),
    "data.triplets": partial(parse, TripletOptions),
    "data.synthetic.probes.baselines": partial(parse, baselines.Options),
    "data.synthetic.probes.shortcuts": partial(parse, baselines.Options),
    "data.synthetic.probes.carry_over": partial(parse, carry_over.Options),
    "data.synthetic.probes.validity": partial(parse, validity.Options),
}
# Words and standard input go to files of $LOG; a script reads no output but MiniLM's path.
STUB = """#!/bin/sh
call="$LOG/$(ls "$LOG" | grep -c words)"
for word in "$@"; do printf '%s\\n' "$word"; done > "$call.words"
case "$1 $2" in "- "*|"-m runs.papers") cat > "$call.text";; *) echo "$LOG";; esac
exit "${CODE:-0}"
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a script: the process, and what it asked of python."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(STUB)
    (tmp_path / "bin" / "python").chmod(0o755)
    (tmp_path / "data").mkdir()

    def call(script, **environment):
        log = tmp_path / "log"
        subprocess.run(["rm", "-rf", log], check=True)
        log.mkdir()
        places = {"LOG": log, "RUNS": tmp_path / "runs", "DATA": tmp_path / "data"}
        path = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", *f"runs/{script}".split()],
            cwd=ROOT,
            env={**os.environ, **path, **places, **environment},
            capture_output=True,
            text=True,
        )
        calls = sorted(log.glob("*.words"), key=lambda path: int(path.stem))
        texts = [path.with_suffix(".text") for path in calls]
        return done, [
            (path.read_text().splitlines(), text.read_text() if text.exists() else "")
            for path, text in zip(calls, texts, strict=True)
        ]

    return call


@pytest.mark.parametrize("script", [*SCRIPTS, "setup.sh"])
def test_bash_reads_a_script(script):
    subprocess.run(["bash", "-n", f"runs/{script}"], cwd=ROOT, check=True)


@pytest.mark.parametrize("script", RUNS)
def test_a_scripts_commands_are_commands(script, run):
    done, calls = run(script)
    assert done.returncode == 0, done.stderr
    written, rows = set(), set()
    for words, text in calls:
        program, *flags = words[1:] if words[0] == "-m" else words
        if program in ("runs.collect", "runs.papers"):
            # What it reads, a command before it has written.
            sources = {source.split("=")[1] if "=" in source else source for source in flags[1:]}
            assert sources and sources <= written
        elif program == "-":
            compile(text, script, "exec")
        elif program != "-c":
            options = PARSERS[program](flags)
            written |= set(flags)
            if program == "run_multitask.py":
                assert options.resume and options.run_dir  # a stop loses at most a cell
                # No row of a table is another one under a second name.
                row = (options.run_dir.parent, *flags[: flags.index("--run-dir")])
                assert row not in rows
                rows.add(row)


@pytest.mark.parametrize("scale", ["", " paper"])
def test_rows_of_a_papers_table_have_one_recipe(scale, run):
    _, calls = run(f"results.sh{scale}")
    rows = [
        parse_options(words[1:])
        for words, _ in calls
        if words[0] == "run_multitask.py" and "--threads" in words
    ]
    assert len(rows) == (31 if scale else 45)
    for row in rows:
        assert row.seeds == (3 if scale or "joint" in row.tune else 5) and row.threads == 1
        table = row.run_dir.parent.name
        if table not in ("ablate-report", "ablate-forgetting"):
            (pretrain,) = row.pretrain
            config = row.simcse_config(pretrain, 7)
            # The best checkpoint and the last state both have a point on the curve.
            assert config.eval_steps % config.geometry_steps == 0
            assert row.tasks == ("sts",) and row.reader == ("bi",)


def test_every_result_file_is_made_by_one_script_or_is_a_record(run, tmp_path):
    made = []
    for script in [*SCRIPTS, "performance.sh avx512", "performance.sh avx2"]:
        _, calls = run(script)
        made += [words[2] for words, _ in calls if words[1] in ("runs.collect", "runs.papers")]
    files = {path.stem for path in RESULTS.iterdir() if path.name not in RECORDS}
    assert sorted(made) == sorted(files)
    # All figures of the pages that are drawn from runs.
    figures = {path.name for path in (tmp_path / "runs" / "results").glob("*.svg")}
    assert figures == {path.name for path in ROOT.glob("docs/*.svg")} - {"architecture.svg"}


def test_a_script_goes_on_where_it_stopped(run, tmp_path):
    done, calls = run("readme.sh", CODE="130")
    assert done.returncode == 130 and len(calls) == 1
    results = tmp_path / "runs" / "results"
    for name in ("first-run", "own-pairs", "bundled-mini", "bundled-mini-sts", "bundled-cls"):
        (results / f"{name}.csv").touch()
    done, calls = run("readme.sh")
    assert done.stdout.count("there: ") == 5
    assert [words[-1] for words, _ in calls] == ["--resume", f"{tmp_path}/runs/bundled-tuned"]


def test_missing_data_is_one_line(run):
    done, calls = run("answer.sh", DATA="nosuch")
    assert (done.returncode, calls, done.stderr.count("\n")) == (2, [], 1)
    assert done.stderr.startswith("error: DATA=FOLDER bash runs/answer.sh needs ")
    done, calls = run("evaluation.sh", CODE="1")
    assert done.returncode == 2 and len(calls) == 1 and "pip install" in done.stderr


# --- claims


def papers_of(calls):
    """Return the published numbers and the claims of each paper's table."""
    tables = {}
    for words, text in calls:
        if words[1] == "runs.papers":
            title, *lines = text.splitlines()
            published = {
                match[1]: float(match[2]) for match in map(PUBLISHED.fullmatch, lines) if match
            }
            claims = [line for line in lines if not PUBLISHED.fullmatch(line)]
            assert title and published and claims
            tables[words[2]] = published, claims
    return tables


@pytest.mark.parametrize("scale", ["", " paper"])
def test_claims_are_what_was_published(scale, run):
    _, calls = run(f"results.sh{scale}")
    tables = papers_of(calls)
    assert len(tables) == (5 if scale else 8)
    for name, (published, claims) in tables.items():
        rows = {line["row"] for line in read(f"{name.replace('paper-', 'ablate-')}.csv")}
        assert published.keys() <= rows
        for claim in claims:
            of, row, relation, other, within, _ = CLAIM.fullmatch(claim).groups()
            assert {row, other} <= rows and row != other
            if of or row not in published or other not in published:
                continue
            difference = published[row] - published[other]
            if relation == "~":  # published in percent
                assert abs(difference) <= 100 * float(within or WITHIN), claim
            else:
                assert (difference < 0) == (relation == "<") and difference, claim


def test_the_records_have_the_verdicts_on_these_claims(run):
    _, calls = run("results.sh")
    for name, (_, claims) in papers_of(calls).items():
        text = (RESULTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        assert judged(claims, read(f"{name}.csv")) == [x for x in text if x.startswith("  ")], name


# --- programs that stand in a script


def heredoc(calls, word):
    """Return the program that a script gives to `python -` with this word in its arguments."""
    (found,) = [text for words, text in calls if words[0] == "-" and word in " ".join(words)]
    return found


def done_by_python(program, *words):
    """Return what a program prints."""
    command = [sys.executable, "-", *map(str, words)]
    return subprocess.run(
        command, cwd=ROOT, input=program, capture_output=True, text=True, check=True
    ).stdout


def test_a_figure_of_a_report_becomes_a_file(run, tmp_path):
    _, calls = run("answer.sh")
    names = ("sts-none--full", "sts-none--frozen")
    svgs = [f'<svg aria-labelledby="labels-{name}-title x">{name}</svg>' for name in names]
    (tmp_path / "report.html").write_text("\n".join(svgs))
    figure = done_by_python(heredoc(calls, "report.html"), tmp_path / "report.html")
    assert figure == f"{svgs[1]}\n"


def test_the_ways_of_tunings_become_a_figure(run, tmp_path):
    _, calls = run("results.sh")
    for label in ("0", "fixed 0.1"):
        (tmp_path / label).mkdir()
        states = [{"alignment": 0.2 * k, "uniformity": -k} for k in (1, 2)]
        lines = [json.dumps({"curve": "unsup-42", "step": k} | s) for k, s in enumerate(states)]
        (tmp_path / label / "metrics.jsonl").write_text("\n".join(lines))
    svg = done_by_python(heredoc(calls, "ablate-dropout"), tmp_path, "0", "fixed 0.1")
    assert svg.startswith("<svg") and "#8b3a8b" in svg and "var(" not in svg
    assert "fixed 0.1" in svg


def test_quoras_pairs_are_joined(run, tmp_path):
    _, calls = run("answer.sh")
    data = tmp_path / "data"
    for name in ("cs224n", "quora"):
        (data / name).mkdir()
    for name in ("train", "dev"):
        rows = "\tid\tsentence1\tsentence2\tis_duplicate\n0\ta\tOne?\tTwo?\t1.0\n"
        (data / "cs224n" / f"quora-{name}.csv").write_text(rows)
    tokenised = "Why do n't we ( you ) ask `` him '' ?\tI can not .\t0\n"
    (data / "quora" / "labelled_pairs.tsv").write_text(f"a\tb\tlabel\n{tokenised}")
    done_by_python(heredoc(calls, "quora.part"), data, tmp_path)
    header = "id\tsentence1\tsentence2\tis_duplicate"
    first = "a\tOne?\tTwo?\t1.0"
    assert (tmp_path / "quora-dev.csv").read_text().splitlines() == [header, first]
    more = 'l0\t"Why don\'t we (you) ask ""him""?"\tI cannot.\t0'
    assert (tmp_path / "quora-train.csv").read_text().splitlines() == [header, first, more]

"""One command makes every table: its records are true, and it goes on where it was stopped."""

import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial

import pytest

import run_multitask
from benchmarks.options import Options as BenchmarkOptions
from data.sentences import Options as SentenceOptions
from data.synthetic.probes import baselines, carry_over, validity
from evaluation.options import EvaluationOptions
from experiment import pages, reproduce
from experiment.ablate.__main__ import chosen
from experiment.ablate.recipes import AblateOptions, words_of
from experiment.records import DATA, GPU, MINILM, RECORDS, Record
from experiment.settings import parse_options
from heads.train import HeadTrainer
from minbert import __version__
from runtime.options import parse

ROOT = pages.ROOT
PARSERS = {
    "run_multitask.py": parse_options,
    "evaluation": partial(parse, EvaluationOptions),
    "experiment.ablate": partial(parse, AblateOptions),
    "benchmarks": partial(parse, BenchmarkOptions),
    "data.sentences": partial(parse, SentenceOptions),
    "data.synthetic.probes.baselines": partial(parse, baselines.Options),
    "data.synthetic.probes.shortcuts": partial(parse, baselines.Options),
    "data.synthetic.probes.carry_over": partial(parse, carry_over.Options),
    "data.synthetic.probes.validity": partial(parse, validity.Options),
}
PLACES = {"OUT": "out", "RUNS": "runs", "DATA": "data", "MINILM": "minilm"}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_records_commands_are_commands(record):
    for command in record.commands:
        python, *words = reproduce.words_of(command, PLACES)
        assert python == "python" and "$" not in " ".join(words)
        program, *flags = words[1:] if words[0] == "-m" else words
        options = PARSERS[program](flags)
        if program == "run_multitask.py":
            assert options.resume and options.run_dir  # a stop loses at most a cell
        if program == "experiment.ablate":
            forms = {source.partition("=")[0] for source in options.sources}
            for table in chosen(options):
                for row in table.rows:  # none is left out
                    assert words_of(row, table, options) and set(row.made.split()[:1]) <= forms
    if record.quick:
        assert not record.needs and "--tune" not in " ".join(record.commands)


def shown_on(page):
    """Return the records behind a page's tables, and those whose files its text names."""
    names = set()
    for kind, found, _ in pages.MARKED.findall(page):
        names |= set(found.split())
        if kind == "systems":
            names |= {run for run, _ in pages.SYSTEMS.values()}
    names |= set(pages.QUOTED.findall(page))
    files = re.findall(r"`docs/results/([\w*-]+)\.(?:csv|json)`", page)
    return names | {name for name in RECORDS if any(fnmatch(name, file) for file in files)}


def test_what_records_need_follows_from_their_commands():
    needs = {name: record.needs for name, record in RECORDS.items()}
    assert needs["bundled-mini"] == () and needs["mini-real-curves"] == (DATA,)
    assert needs["frozen"] == needs["benchmarks"] == (DATA, MINILM)
    assert needs["growth"] == (MINILM,) and needs["paper-report"] == (GPU,)


def test_pages_and_records_name_each_other():
    shown = {}
    for path in pages.pages():
        page = path.relative_to(ROOT).as_posix()
        for name in shown_on(path.read_text(encoding="utf-8")) & set(RECORDS):
            shown.setdefault(name, set()).add(page)
    for record in RECORDS.values():
        assert shown.get(record.name, set()) == set(record.pages), record.name
        assert bool(record.pages) != (GPU in record.needs)
        assert record.figure is None or (ROOT / record.figure[1]).is_file()
    files = {path.stem for path in pages.RESULTS.iterdir() if path.suffix != ".svg"}
    assert files <= set(RECORDS), "a result file that no record makes"
    text = "".join(path.read_text(encoding="utf-8") for path in pages.pages())
    kinds = {kind for kind, *_ in pages.MARKED.findall(text)}
    assert pages.KINDS.keys() | {"evaluation"} <= kinds, "a kind of table that no page has"


@pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.name)
def test_a_page_shows_the_result_files(path):
    page = path.read_text(encoding="utf-8")
    assert pages.filled(page) == page, "python -m experiment.reproduce --pages"


def test_all_results_are_of_this_version():
    for record in RECORDS.values():
        assert GPU in record.needs or reproduce.versions_of(record) == {__version__}, record.name


def test_the_list_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None\nfrom experiment.reproduce import main\n"
    code += "sys.exit(main(['--list']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"\n{name} " in done.stdout for name in RECORDS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--only frozen --data nosuch", "--data nosuch: no such folder"),
        ("--only mini-real-curves", "--data DIR"),
        ("--only mini-real-curves --data docs", "no cs224n in"),
        ("--only nosuch", "--only nosuch: no such record"),
    ],
)
def test_what_is_missing_is_one_line(words, told, capsys, monkeypatch):
    monkeypatch.setattr(reproduce, "execute", None)  # nothing is run
    monkeypatch.setattr(reproduce, "versions_of", lambda record: set())  # and nothing is there
    assert reproduce.main(words.split()) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ") and told in said.err and said.err.count("\n") == 1


PAGE = """# A page
<!-- full: tiny -->
| task | encoder | pretrain | n | pearson | seen |
|---|---|---|---|---|---|
| old | row | that | goes | - | - |

Text.
"""


@pytest.fixture
def tiny(tiny_checkpoint, toy_data, tmp_path, monkeypatch):
    """Return a record of two tiny runs, in a project of one page."""
    words = f"--task sts --backbone {tiny_checkpoint} --data $DATA --device cpu --head-epochs 2"
    words += " --precision float32 --cost-seconds 0 --threads 1"
    command = "python run_multitask.py {} --encoder {} --run-dir $OUT/{} --resume"
    commands = tuple(command.format(words, how, n) for n, how in enumerate(("bi", "cross"), 1))
    record = Record("tiny", ("README.md",), commands)
    monkeypatch.setattr(reproduce, "RECORDS", {"tiny": record})
    monkeypatch.setattr(reproduce, "RUNS", tmp_path / "runs" / __version__)
    for module in (pages, reproduce):
        monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text(PAGE)
    return ["--data", str(toy_data)], tmp_path


def rows_of(folder):
    return list(csv.DictReader((folder / "results" / "tiny.csv").open()))


def in_this_process(words):
    assert words[:2] == ["python", "run_multitask.py"]
    return run_multitask.main(words[2:])


def test_a_record_is_made_once_and_fills_its_page(tiny, capfd, monkeypatch):
    words, folder = tiny
    assert reproduce.main(words) == 0
    rows = rows_of(folder)
    assert [row["encoder"] for row in rows] == ["bi", "cross"]
    for row in rows:
        assert row["version"] == __version__ and row["commit"] and row["machine"]
        assert float(row["seconds"]) > 0 and int(row["threads"]) > 0 and row["minutes"]
        assert row["data"] == "DATA", "no path of this machine in a result"
    said = capfd.readouterr().out
    assert said.splitlines()[-1].startswith("results: ")
    verdicts = (folder / "results" / "tiny.txt").read_text()
    assert verdicts.count("STS (similarity 0-5): ") == 2
    assert all(line in said for line in verdicts.splitlines())
    page = (folder / "README.md").read_text()
    shown = f"| sts | bi | none | {rows[0]['n']} | {float(rows[0]['pearson']):.3f} |"
    assert shown in page and "old" not in page and page.endswith("\n\nText.\n")
    monkeypatch.setattr(reproduce, "execute", None)  # of this version: not made again
    assert reproduce.main(words) == 0
    assert (folder / "README.md").read_text() == page


def test_an_interrupted_record_goes_on(tiny, monkeypatch):
    words, folder = tiny
    executed = []

    def execute(command):
        executed.append(command)
        return in_this_process(command)

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "execute", execute)
    with monkeypatch.context() as patched:
        patched.setattr(HeadTrainer, "run", stop)
        assert reproduce.main(words) == 130
    assert len(executed) == 1 and not (folder / "results").exists()
    assert (folder / "README.md").read_text() == PAGE
    assert reproduce.main(words) == 0
    assert len(executed) == 3 and len(rows_of(folder)) == 2
    # One run was whole when the second was stopped: it is not trained again.
    (folder / "results" / "tiny.csv").unlink()
    monkeypatch.setattr(HeadTrainer, "run", stop)
    assert reproduce.main(words) == 0


def test_a_record_that_fails_is_named_and_the_others_are_made(tiny, capsys, monkeypatch):
    words, folder = tiny
    (record,) = reproduce.RECORDS.values()
    broken = Record("broken", ("README.md",), ("python nosuch.py",))
    monkeypatch.setattr(reproduce, "RECORDS", {"broken": broken, "tiny": record})
    codes = {"nosuch.py": 2}
    monkeypatch.setattr(
        reproduce, "execute", lambda command: codes.get(command[1]) or in_this_process(command)
    )
    assert reproduce.main(words) == 2
    assert "failed     broken: exit code 2 of python nosuch.py" in capsys.readouterr().out
    assert len(rows_of(folder)) == 2


def test_a_record_without_its_verdict_is_not_made_yet(tiny, capsys, monkeypatch):
    words, folder = tiny
    monkeypatch.setattr(reproduce, "execute", in_this_process)
    with monkeypatch.context() as patched:
        patched.setattr(reproduce, "in_words", lambda record, out: {}["cells"])
        assert reproduce.main(words) == 2
    assert "failed     tiny: its result cannot be read" in capsys.readouterr().out
    assert not (folder / "results").exists()
    assert reproduce.main(words) == 0 and len(rows_of(folder)) == 2


def test_what_other_commands_left_is_no_part_of_a_record(tiny, monkeypatch):
    words, folder = tiny
    monkeypatch.setattr(reproduce, "execute", in_this_process)
    assert reproduce.main(words) == 0
    (record,) = reproduce.RECORDS.values()
    monkeypatch.setattr(
        reproduce, "RECORDS", {"tiny": replace(record, commands=record.commands[:1])}
    )
    (folder / "results" / "tiny.csv").unlink()
    assert reproduce.main(words) == 0
    assert [row["encoder"] for row in rows_of(folder)] == ["bi"]


def test_seconds_and_commit_are_of_all_calls(tiny, monkeypatch):
    words, folder = tiny
    monkeypatch.setattr(reproduce, "commit_of_code", lambda: "aaa")
    monkeypatch.setattr(reproduce, "execute", lambda command: 2)
    assert reproduce.main(words) == 2
    notes = folder / "runs" / __version__ / "tiny" / reproduce.NOTES
    notes.write_text(json.dumps({**json.loads(notes.read_text()), "seconds": 6000.0}))
    monkeypatch.setattr(reproduce, "commit_of_code", lambda: "bbb")
    monkeypatch.setattr(reproduce, "execute", in_this_process)
    assert reproduce.main(words) == 0
    for row in rows_of(folder):
        assert float(row["minutes"]) >= 100 and row["commit"] == "aaa..bbb"
        assert row["threads"] == "1", "as its commands say"


def test_runs_that_another_record_reads_are_made_again_where_they_are_gone(
    tiny, capsys, monkeypatch
):
    words, folder = tiny
    monkeypatch.setattr(reproduce, "execute", in_this_process)
    assert reproduce.main(words) == 0
    (record,) = reproduce.RECORDS.values()
    reader = Record("reader", ("README.md",), ("python reader.py $RUNS/tiny/1",))
    monkeypatch.setattr(reproduce, "RECORDS", {"tiny": record, "reader": reader})
    shutil.rmtree(folder / "runs")
    assert reproduce.main([*words, "--only", "reader"]) == 2
    assert "reader: reads the runs of tiny; name that one, too" in capsys.readouterr().err
    codes = {"reader.py": 2}
    monkeypatch.setattr(
        reproduce, "execute", lambda command: codes.get(command[1]) or in_this_process(command)
    )
    assert reproduce.main(words) == 2
    assert (folder / "runs" / __version__ / "tiny" / "1").is_dir()
    assert "failed     reader: exit code 2" in capsys.readouterr().out

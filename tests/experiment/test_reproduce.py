"""One command makes every table: from commands to result files and pages, from where it stopped."""

import csv
import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import pytest
from toy_runs import cells_of

import run_multitask
from experiment import ablate, pages, reproduce
from experiment.tables import HEAD, MORE, TABLES, TUNING, Claim, Row, Table
from heads.train import HeadTrainer
from minbert import __version__
from report.run_folder import read_curves
from runtime.errors import UserError

ROOT = pages.ROOT


def shown_on(page):
    """Return the result files behind a page's tables, and those that its text names."""
    names = set()
    for kind, words, _ in pages.MARKED.findall(page):
        names |= set(words.split())
        if kind == "systems":
            names |= {run for run, _ in pages.SYSTEMS.values()}
    names |= set(pages.QUOTED.findall(page))
    files = re.findall(r"`docs/results/([\w*-]+)\.(?:csv|json)`", page)
    return names | {name for name in TABLES if any(fnmatch(name, file) for file in files)}


def test_pages_and_tables_name_each_other():
    shown = {}
    for path in pages.pages():
        page = path.relative_to(ROOT).as_posix()
        for name in shown_on(path.read_text(encoding="utf-8")) & set(TABLES):
            shown.setdefault(name, set()).add(page)
    for table in TABLES.values():
        assert shown.get(table.name, set()) == set(table.pages), table.name
        assert bool(table.pages) == bool(reproduce.versions_of(table))
        assert not table.figure or (ROOT / table.figure[1]).is_file()
    files = {path.stem for path in pages.RESULTS.iterdir() if path.suffix != ".svg"}
    assert files <= set(TABLES), "a result file that no table makes"
    text = "".join(path.read_text(encoding="utf-8") for path in pages.pages())
    kinds = {kind for kind, *_ in pages.MARKED.findall(text)}
    assert pages.KINDS.keys() | {"evaluation"} <= kinds, "a kind of table that no page has"


@pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.name)
def test_a_page_shows_the_result_files(path):
    page = path.read_text(encoding="utf-8")
    assert pages.filled(page) == page, "python -m experiment.reproduce --pages"


def test_results_are_of_this_version():
    for table in TABLES.values():
        if table.pages:
            assert reproduce.versions_of(table) == {__version__}, table.name


def test_the_list_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None\nfrom experiment.reproduce import main\n"
    code += "sys.exit(main(['--list']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"\n{name} " in done.stdout for name in TABLES)


def test_the_commands_of_a_table_that_is_named_are_listed(capsys):
    assert reproduce.main(["--list", "--only", "ablate-poolers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines[2:-1]] == TABLES["ablate-poolers"].commands
    assert ablate.main(["mlp"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ") and told.count("\n") == 1 and "experiment.reproduce" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--only carry-over --data nosuch", "--data nosuch: no such folder"),
        ("--only selection-dev", "--data DIR"),
        ("--only selection-dev --data docs", "no cs224n in"),
        ("--only nosuch", "--only nosuch: no such table"),
    ],
)
def test_what_is_missing_is_one_line(words, message, capsys, monkeypatch):
    monkeypatch.setattr(reproduce, "execute", None)  # nothing is run
    monkeypatch.setattr(reproduce, "versions_of", lambda table: set())  # and nothing is there
    assert reproduce.main(words.split()) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: ") and message in said.err and said.err.count("\n") == 1


def test_the_weights_of_minilm_have_their_own_name(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "RUNS", tmp_path / "runs")
    package = SimpleNamespace(origin=str(tmp_path / "package" / "__init__.py"))
    (tmp_path / "package" / "model").mkdir(parents=True)
    monkeypatch.setattr(reproduce, "find_spec", lambda name: package)
    places = reproduce.places_of([TABLES["first-run"], TABLES["growth"]], None)
    weights = tmp_path / "runs" / "all-MiniLM-L6-v2"
    assert places == {"RUNS": str(tmp_path / "runs"), "MINILM": str(weights)}
    assert weights.resolve() == tmp_path / "package" / "model"
    monkeypatch.setattr(reproduce, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="growth needs the weights of all-MiniLM-L6-v2: pip"):
        reproduce.places_of([TABLES["growth"]], None)


@pytest.mark.parametrize("there", [False, True])
def test_what_needs_a_gpu_is_run_if_it_is_named_and_there_is_one(there, capsys, monkeypatch):
    made = []
    monkeypatch.setattr(reproduce, "gpu_is_there", lambda: there)
    monkeypatch.setattr(reproduce, "make", lambda table, *rest: made.append(table.name) or "")
    monkeypatch.setattr(reproduce, "fill_pages", list)
    assert reproduce.main(["--only", "paper-poolers"]) == 0
    assert made == ["paper-poolers"] * there
    assert ("paper-poolers: needs a GPU" in capsys.readouterr().out) != there
    monkeypatch.setattr(reproduce, "versions_of", lambda table: {__version__})
    assert reproduce.main([]) == 0 and made == ["paper-poolers"] * there


def test_the_speed_page_states_no_disturbed_speed(monkeypatch):
    def side(work, name, disturbed, ratio):
        rate = {"rate": 100.0, "unit": "pairs", "ratio": ratio, "peak_share": 0.5, "quality": None}
        return {"work": work, "side": name, **rate, "disturbed": disturbed}

    sides = [side("a", "ours", False, 1.0), side("a", "peer", True, 2.0)]
    sides += [side("b", "ours", True, 1.0), side("b", "peer", False, 2.0)]
    monkeypatch.setattr(pages, "figures", lambda name: sides)
    lines = [line[2:5] for line in pages.speed([], [["a"], ["b"]], "speeds")]
    assert lines[0] == ["100.0 pairs", "1.00", "50%"]
    assert lines[1] == lines[2] == ["disturbed", "-", "-"]
    assert lines[3] == ["100.0 pairs", "-", "50%"]  # the ratio is to ours
    with pytest.raises(LookupError, match="speeds has no figures of gone"):
        pages.speed([], [["a"], ["gone"]], "speeds")


def test_differences_are_shown_by_encoder_and_in_either_order(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    (tmp_path / "a.csv").write_text("backbone,tune\nmini,full\nmini,full\nsts,frozen\n")
    pair = "none-bi-full-interaction - none-late-full-interaction"
    (tmp_path / "a.txt").write_text(
        "Verdict.\n\nevery two systems:\n"
        f"sts, dev, pearson: {pair}: -0.012 [-0.021, -0.003] (98% CI)"
        f"\nsts, dev, cosine_spearman: {pair}: +0.000 [-0.010, 0.000]\n"
        "sts, dev, pearson: none-bi-full-interaction - word overlap: +0.108 [0.078, 0.137]"
        "\n\nVerdict.\n\nevery two systems:\n"
        f"para, dev, accuracy: {pair}: +0.500 [0.400, 0.600]\n"
        f"sts, dev, pearson: {pair}: +0.300 [0.200, 0.400]"
    )
    header = ["encoder", "tune", "late minus bi", "bi minus late", "late minus bi, no head"]
    shown = pages.differences(header, [["sts", "frozen"], ["mini", "full"]], "sts", "a")
    minus, plus, bare = "-0.300 [-0.400, -0.200]", "0.300 [0.200, 0.400]", "0.000 [0.000, 0.010]"
    assert shown[0] == ["sts", "frozen", minus, plus, "-"]
    minus, plus = "-0.012 [-0.021, -0.003]", "0.012 [0.003, 0.021]"
    assert shown[1] == ["mini", "full", plus, minus, bare]


@pytest.mark.parametrize("kind", ["bfloat16", "avx2", "vnni"])
def test_speeds_of_another_processor_are_not_measured_here(kind, capsys, monkeypatch):
    made = []
    monkeypatch.setattr("runtime.device.processor_kind", lambda: kind)
    monkeypatch.setattr(reproduce, "places_of", lambda tables, data: {})
    monkeypatch.setattr(reproduce, "versions_of", lambda table: set())
    monkeypatch.setattr(reproduce, "make", lambda table, *rest: made.append(table.name) or "")
    monkeypatch.setattr(reproduce, "fill_pages", list)
    assert reproduce.main(["--only", "benchmarks", "benchmarks-avx2"]) == 0
    assert made == {"bfloat16": ["benchmarks"], "avx2": ["benchmarks-avx2"], "vnni": []}[kind]
    assert capsys.readouterr().out.count("needs a processor of the kind ") == 2 - len(made)


PAGE = """# A page
<!-- curves: sts tiny -->
| encoder | tune | reader | all |
|---|---|---|---|
| NAME | frozen | bi | - |
| NAME | frozen | cross | - |

Text.
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that puts tables into a project of one page, in place of all others."""
    monkeypatch.setattr(reproduce, "RUNS", tmp_path / "runs" / __version__)
    for module in (pages, reproduce):
        monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(reproduce, "execute", in_this_process)
    (tmp_path / "README.md").write_text("No table.")

    def use(*tables):
        monkeypatch.setattr(reproduce, "TABLES", {table.name: table for table in tables})
        return tmp_path

    return use


def in_this_process(words, threads=None, log=None):
    """Run a command; those of no program of ours end with the code that is their last word."""
    if words[1] != "run_multitask.py":
        return 2
    return run_multitask.main(words[2:])


@pytest.fixture
def command(tiny_checkpoint):
    words = f"--backbone {tiny_checkpoint} --data $DATA --device cpu --precision float32"
    return f"python run_multitask.py {words} --threads 1 --head-epochs 2"


@pytest.fixture
def tiny(command, project, toy_data, tiny_checkpoint):
    """Return a table of two tiny runs, the words that make it, and the project's folder."""
    rows = tuple(Row(f"{command} --task sts --encoder {reader}") for reader in ("bi", "cross"))
    table = Table("tiny", rows, ("README.md",))
    folder = project(table)
    (folder / "README.md").write_text(PAGE.replace("NAME", str(tiny_checkpoint)))
    return table, ["--data", str(toy_data)], folder


def rows_of(folder, name="tiny"):
    return list(csv.DictReader((folder / "results" / f"{name}.csv").open()))


def test_a_table_is_made_once_and_fills_its_page(tiny, capsys, monkeypatch):
    _, words, folder = tiny
    assert reproduce.main(words) == 0
    rows = rows_of(folder)
    assert [row["encoder"] for row in rows] == ["bi", "cross"]
    for row in rows:
        assert row["version"] == __version__ and row["machine"] and row["threads"] == "1"
        assert float(row["seconds"]) > 0 and row["minutes"]
        assert row["data"] == "DATA", "no path of this machine in a result"
    said = capsys.readouterr().out
    assert said.splitlines()[-1].startswith("results: ")
    text = (folder / "results" / "tiny.txt").read_text()
    assert text.count("STS (similarity 0-5): ") == 2
    verdict = text.partition("every two systems:")[0]
    assert [line for line in verdict.splitlines() if line not in said] == []
    page = (folder / "README.md").read_text()
    shown = f"| {rows[0]['backbone']} | frozen | bi | {float(rows[0]['pearson']):.3f} |"
    assert shown in page and "| - |" not in page and page.endswith("\n\nText.\n")
    monkeypatch.setattr(reproduce, "execute", None)  # of this version: not made again
    assert reproduce.main(words) == 0
    assert (folder / "README.md").read_text() == page
    # Without its result file it is put together again from the rows that were kept.
    (folder / "results" / "tiny.csv").unlink()
    assert reproduce.main(words) == 0 and rows_of(folder) == rows


def test_an_interrupted_table_goes_on(tiny, monkeypatch):
    _, words, folder = tiny
    executed = []

    def execute(command, *rest):
        executed.append(command)
        return in_this_process(command, *rest)

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "execute", execute)
    monkeypatch.setattr(reproduce, "commit_of_code", lambda: "aaa")
    with monkeypatch.context() as patched:
        patched.setattr("report.page.write.add_costs_and_page", stop)  # the heads are trained
        assert reproduce.main(words) == 130
    assert len(executed) == 1 and not (folder / "results").exists()
    assert "| cross | - |" in (folder / "README.md").read_text()

    # Seconds and commits are those of all calls, and what was trained is not trained again.
    (state,) = (reproduce.RUNS / "tiny" / "rows").glob("*.state.pt")
    state.write_text(json.dumps({**json.loads(state.read_text()), "seconds": 6000.0}))
    monkeypatch.setattr(reproduce, "commit_of_code", lambda: "bbb")
    with monkeypatch.context() as patched:
        patched.setattr(HeadTrainer, "run", stop)
        assert reproduce.main(words) == 130  # in the second row
    assert len(executed) == 3 and not (folder / "results").exists()
    assert reproduce.main(words) == 0 and len(executed) == 4
    first, second = rows_of(folder)
    assert float(first["minutes"]) >= 100 and float(second["seconds"]) < 6000
    assert (first["commit"], second["commit"]) == ("aaa..bbb", "bbb")


def test_a_table_that_fails_is_named_and_made_when_its_fault_is_mended(
    tiny, capsys, monkeypatch, project
):
    table, words, folder = tiny
    broken = Table("broken", (Row("python nosuch.py && python run_multitask.py"),))
    project(broken, table)
    with monkeypatch.context() as patched:
        patched.setattr(reproduce, "text_of", lambda table, results: {}["cells"])
        assert reproduce.main(words) == 2
    said = capsys.readouterr().out
    assert "failed     broken: exit code 2 of python nosuch.py\n" in said
    assert "failed     tiny: its result cannot be read" in said
    assert not (folder / "results").exists()  # without its verdict a table is not made yet
    assert reproduce.main(words) == 2 and len(rows_of(folder)) == 2
    assert "failed     broken; run the same command to try again\n" in capsys.readouterr().out


TOGETHER = """import os, sys, time
mine, other, *flags = sys.argv[1:]
open(mine, "w").close()
print("threads", os.environ["OMP_NUM_THREADS"])
while not os.path.exists(other):  # by themselves they would wait for good
    time.sleep(0.01)
open(flags[-1], "w").write("pearson\\n0.5\\n")
"""
ALONE = """import os, sys, time
os.mkdir(sys.argv[1])  # fails while another command is here
time.sleep(0.2)
os.rmdir(sys.argv[1])
open(sys.argv[-1], "w").write("pearson\\n0.5\\n")
"""
EXECUTE = reproduce.execute


def test_jobs_run_side_by_side(project, capsys, monkeypatch):
    pair = Table("pair", (Row("python both.py a b"), Row("python both.py b a")))
    writers = Row("python alone.py $RUNS/run/1"), Row("python alone.py  $RUNS/run/1")
    broken = Table("broken", (Row("python nosuch.py"),))
    timed = Table("timed", (Row("python -m benchmarks"),))
    folder = project(pair, Table("writers", writers), broken, timed)
    (folder / "both.py").write_text(TOGETHER)
    (folder / "alone.py").write_text(ALONE)
    (reproduce.RUNS / "run").mkdir(parents=True)
    executed = []

    def execute(words, threads=None, log=None):
        executed.append((words[-1], threads))
        return EXECUTE(words, threads, log)

    monkeypatch.setattr(reproduce, "execute", execute)
    monkeypatch.setattr(reproduce, "cores", lambda: 6)
    assert reproduce.main(["--jobs", "2"]) == 2
    assert len(rows_of(folder, "pair")) == len(rows_of(folder, "writers")) == 2
    assert {row["threads"] for row in rows_of(folder, "pair")} == {"3"}
    log = reproduce.RUNS / "pair" / "1.log"
    assert log.read_text() == "threads 3\n"
    said = capsys.readouterr().out
    assert f"running    pair: output in {log}\n" in said
    assert "done       pair, command 2 of 2\n" in said and "done       broken" not in said
    assert "failed     broken: exit code 2 of python nosuch.py" in said
    # A fault is met once. Benchmarks come last, with all threads and nothing beside them.
    assert len(executed) == 6 and [threads for _, threads in executed] == [3] * 5 + [None]
    assert "failed     broken timed; run the same command to try again\n" in said


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_result_that_cannot_be_read_fails_its_table_only(jobs, project, capsys, monkeypatch):
    folder = project(
        Table("broken", (Row("python write.py bad"),)), Table("whole", (Row("python write.py a"),))
    )
    content = "b'\\xff' if 'bad' in sys.argv else b'a\\n1\\n'"
    (folder / "write.py").write_text(f"import sys\nopen(sys.argv[-1], 'wb').write({content})\n")
    monkeypatch.setattr(reproduce, "execute", EXECUTE)
    assert reproduce.main(["--jobs", jobs]) == 2
    assert "failed     broken: its result cannot be read (UnicodeDecodeError" in (
        capsys.readouterr().out
    )
    assert len(rows_of(folder, "whole")) == 1


def test_jobs_can_be_interrupted(project, monkeypatch):
    folder = project(Table("rows", tuple(Row(f"python {number}.py") for number in range(9))))
    executed = []

    def execute(words, threads=None, log=None):
        executed.append(words)
        return 130

    monkeypatch.setattr(reproduce, "execute", execute)
    assert reproduce.main(["--jobs", "2"]) == 130
    assert len(executed) < 9 and not (folder / "results").exists()


def test_a_command_that_waited_for_an_interrupted_one_does_not_begin(project, monkeypatch):
    rows = tuple(Row(f"python {number}.py $RUNS/shared/1") for number in range(3))
    project(*(Table(f"t{number}", (row,)) for number, row in enumerate(rows)))
    (reproduce.RUNS / "shared").mkdir(parents=True)
    executed, holds = [], threading.Event()

    def execute(words, threads=None, log=None):
        executed.append(words)
        holds.set()
        interrupted.wait(10)
        return 130

    class Pool(ThreadPoolExecutor):
        def submit(self, *args):
            future = super().submit(*args)
            holds.wait(10)  # Ctrl-C comes when one command runs and the others wait for it
            future.result = interrupt
            return future

    def interrupt(*_):
        raise KeyboardInterrupt

    interrupted = threading.Event()
    monkeypatch.setattr(reproduce, "execute", execute)
    monkeypatch.setattr(reproduce, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(reproduce, "Event", lambda: interrupted)
    assert reproduce.main(["--jobs", "3"]) == 130
    assert len(executed) == 1


def test_a_folder_is_emptied_for_another_command_and_kept_for_another_tables(project, monkeypatch):
    codes = iter([130, 0, 0, 0])
    seen = []

    def execute(words, threads=None, log=None):
        out = Path(words[words.index("--csv") + 1]).parent
        seen.append(sorted(path.name for path in out.iterdir()))
        (out / words[1]).touch()
        (out / "result.csv").write_text("a\n1\n")
        return next(codes)

    monkeypatch.setattr(reproduce, "execute", execute)
    a, b = (Table("t", (Row(f"python {name}.py"),)) for name in "ab")
    folder = project(a)
    (reproduce.RUNS / "t" / "1").mkdir(parents=True)
    (reproduce.RUNS / "t" / "1" / "made for another table").touch()
    assert reproduce.main([]) == 130
    project(b)
    assert reproduce.main([]) == 0
    (folder / "results" / "t.csv").unlink()
    project(a)  # its interrupted run is gone
    assert reproduce.main([]) == 0
    assert seen == [["made for another table"], [], []]


def test_the_record_of_a_continued_command_names_both_ways(project, monkeypatch):
    codes = iter([130, 0])

    def execute(words, threads=None, log=None):
        Path(words[words.index("--csv") + 1]).write_text("a\n1\n")
        return next(codes)

    monkeypatch.setattr(reproduce, "execute", execute)
    monkeypatch.setattr(reproduce, "cores", lambda: 10)
    folder = project(Table("t", (Row("python a.py"),)))
    assert reproduce.main(["--jobs", "2"]) == 130
    assert reproduce.main(["--jobs", "5"]) == 0
    (row,) = rows_of(folder, "t")
    assert row["threads"] == "5..2" and ".." not in row["machine"]


def test_weights_of_a_papers_table_stay_until_it_is_made(project, command, toy_data, monkeypatch):
    words = f"{command} --task sts --encoder bi --no-baseline"
    rows = tuple(Row(f"{words} --seed {seed}", str(seed)) for seed in (1, 2))
    project(Table("paper", rows, columns=("best",)))
    weights = reproduce.RUNS / "paper" / "backbones" / "of-both"
    there = []

    def execute(words, threads=None, log=None):
        there.append(weights.exists())
        weights.mkdir(parents=True, exist_ok=True)
        return in_this_process(words)

    monkeypatch.setattr(reproduce, "execute", execute)
    assert reproduce.main(["--data", str(toy_data)]) == 0
    assert there == [False, True] and not weights.parent.exists()


def test_a_row_may_be_read_from_the_run_of_another_table(project, command, toy_data, capsys):
    """Its command continues that run, where nothing is left to compute."""
    words = f"{command} --task sts --encoder bi cross"
    run = "--run-dir $RUNS/first/1 --cost-seconds 0 --resume"
    rows = (Row(f"{words} {run}", "a", cell="none-sts-bi"), Row(f"{words} --seed 1", "b"))
    project(Table("first", (Row(words),)), Table("second", rows, columns=("score",)))
    assert reproduce.main(["--data", str(toy_data)]) == 0
    assert capsys.readouterr().out.count(": done earlier") == 2
    first = rows_of(reproduce.ROOT, "first")
    second = rows_of(reproduce.ROOT, "second")
    scores = [row["pearson"] for row in first if row["split"] == "dev" and row["encoder"] == "bi"]
    assert [row["score"] for row in second if row["row"] == "a"] == scores


def test_commands_are_run_by_this_python_in_the_projects_folder():
    code = "import os, sys; sys.exit(7 * os.path.isfile('run_multitask.py'))"
    assert reproduce.execute(["python", "-c", code]) == 7


def test_the_commit_says_whether_code_differs(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert reproduce.commit_of_code() == ""
    author = ["-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init"], [*author, "commit", "--allow-empty", "-m", "empty"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "page.md").touch()
    commit = reproduce.commit_of_code()
    assert re.fullmatch("[0-9a-f]{12}", commit)
    (tmp_path / "code.py").touch()
    assert reproduce.commit_of_code() == f"{commit}-dirty"


def test_a_figure_of_a_runs_page_becomes_a_file(project):
    table = Table("drawn", (Row("python x.py"),), figure=("report.html#lines", "figure.svg"))
    project(table)
    page = reproduce.folder_of(table, 0) / "report.html"
    page.parent.mkdir(parents=True)
    svgs = [f'<svg aria-labelledby="{name}-title x">{name}</svg>' for name in ("bars", "lines")]
    page.write_text("\n".join(svgs))
    assert reproduce.figure_of(table) == f"{svgs[1]}\n"
    with pytest.raises(LookupError, match="no figure dots"):
        reproduce.figure_of(replace(table, figure=("report.html#dots", "figure.svg")))


def test_other_commands_and_other_data_are_other_rows(tiny, project, toy_data, tmp_path):
    table, words, folder = tiny
    assert reproduce.main(words) == 0
    earlier = rows_of(folder)
    # Another command begins in an empty folder: a run folder belongs to one command.
    changed = replace(table, rows=(table.rows[1],))
    project(changed)
    (folder / "results" / "tiny.csv").unlink()
    (folder / "README.md").write_text("No table.")
    assert reproduce.main(words) == 0
    assert [row["encoder"] for row in rows_of(folder)] == ["cross"]
    assert rows_of(folder)[0]["pearson"] == earlier[1]["pearson"]

    copy = tmp_path / "data"
    copy.mkdir()
    for path in toy_data.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    first, second = (reproduce.hashes_of("$DATA", {"DATA": str(p)}) for p in (toy_data, copy))
    assert first == second
    (copy / "new").write_text("x")
    assert reproduce.hashes_of("$DATA", {"DATA": str(copy)}) != first
    assert reproduce.hashes_of("$DATA/new $OUT", {"DATA": str(copy)}).keys() == {"$DATA/new"}


# --- tables of papers


def test_a_table_of_tunings_is_measured(command, project, toy_data, capsys, monkeypatch):
    tuned = f"{command} --pretrain unsup --task sts --encoder bi --no-baseline --seeds 2 "
    tuned += "--simcse-steps 4 --eval-steps 2 --geometry-steps 2 --simcse-dropout"
    rows = (Row(f"{tuned} 0", "0", 71.1), Row(f"{tuned} 0.5", "0.5"))
    figure, claims = ("trajectory", "figure.svg"), (Claim("0", MORE, "0.5", "why"),)
    table = Table(
        "tuned", rows, figure=figure, title="T", reading="R.", columns=TUNING, claims=claims
    )
    folder = project(table)
    assert reproduce.main(["--data", str(toy_data)]) == 0
    lines = rows_of(folder, "tuned")
    assert [(line["row"], line["seed"], line["published"]) for line in lines] == [
        ("0", "42", "71.1"), ("0", "43", "71.1"), ("0.5", "42", ""), ("0.5", "43", "")
    ]  # fmt: skip
    runs = reproduce.RUNS / "tuned"
    for line in lines:
        run = runs / ("1" if line["row"] == "0" else "2")
        assert line["command"].startswith("python run_multitask.py ") and "$" not in line["command"]
        (cell,) = [c for c in cells_of(run) if c.split == "dev" and c.seed == int(line["seed"])]
        assert float(line["best"]) == cell.metrics["cosine_spearman"]
        curve = read_curves(run)[f"unsup-{line['seed']}"]
        last = [point for point in curve if "alignment" in point][-1]
        assert [float(line[name]) for name in TUNING[1:]] == [last[name] for name in TUNING[1:]]
    # A table needs no weights.
    assert not (runs / "backbones").exists() and not (runs / "cache").exists()
    text = (folder / "results" / "tuned.txt").read_text()
    assert text.startswith("tuned: T (2 seeds)\n| row") and ": 0 > 0.5: " in text
    assert f"{text}\nR.\n" in capsys.readouterr().out
    svg = (folder / "figure.svg").read_text()
    assert svg.startswith("<svg") and "#8b3a8b" in svg and "var(" not in svg


def test_rows_of_one_command_are_cells_of_one_run(command, project, toy_data, monkeypatch):
    joint = f"{command} --task sst sts --encoder bi --tune joint --schedule sequential"
    rows = (Row(joint, "sst: joint", cell="none-sst"), Row(joint, "sts: joint", cell="none-sts"))
    table = Table("joint", rows, columns=HEAD, held_out=True)
    folder = project(table)
    words = ["--data", str(toy_data)]
    assert reproduce.main(words) == 0
    cells = {cell.task: cell for cell in cells_of(reproduce.RUNS / "joint" / "1")}
    sst, sts = rows_of(folder, "joint")
    assert (sst["row"], sts["row"]) == ("sst: joint", "sts: joint")
    assert float(sst["score"]) == cells["sst"].metrics["accuracy"]
    assert float(sts["score"]) == cells["sts"].metrics["pearson"]
    assert float(sst["before"]) == cells["sst"].before["accuracy"]
    assert float(sts["before"]) == cells["sts"].before["pearson"]

    # The test split is scored on where it has labels, if the table says so; toy data have dev only.
    both = [*cells.values(), *(replace(cell, split="test", seed=7) for cell in cells.values())]
    monkeypatch.setattr("report.run_folder.RunFolder.cells", lambda folder: both)
    out = reproduce.RUNS / "joint" / "1"
    for held_out, seed in ((True, 7), (False, 42)):
        scores = reproduce.scores_of(replace(table, held_out=held_out), joint, out)
        assert [line["seed"] for line in scores] == [seed] * 2

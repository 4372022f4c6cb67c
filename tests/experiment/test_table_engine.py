"""The tables as data: rows are commands, claims agree with what was published; their verdicts."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.options import Options as BenchmarkOptions
from data.synthetic.probes import baselines, carry_over, validity
from data.triplets import Options as TripletOptions
from evaluation import coverage
from evaluation.options import EvaluationOptions
from experiment import quora, reproduce
from experiment.settings import parse_options
from experiment.tables import (
    ALIKE,
    DATA,
    FAILS,
    GPU,
    HEAD,
    HOLDS,
    LESS,
    MINILM,
    MORE,
    TABLES,
    TUNING,
    UNDECIDED,
    UNMEASURED,
    Claim,
    judged,
    read_tables,
    verdict,
)
from runtime.options import parse

PARSERS = {
    "run_multitask.py": parse_options,
    "evaluation": partial(parse, EvaluationOptions),
    "evaluation.coverage": partial(parse, coverage.Options),
    "experiment.quora": partial(parse, quora.Options),
    "benchmarks": partial(parse, BenchmarkOptions),
    "data.triplets": partial(parse, TripletOptions),
    "data.synthetic.probes.baselines": partial(parse, baselines.Options),
    "data.synthetic.probes.shortcuts": partial(parse, baselines.Options),
    "data.synthetic.probes.carry_over": partial(parse, carry_over.Options),
    "data.synthetic.probes.validity": partial(parse, validity.Options),
}
PLACES = {"OUT": "out", "RUNS": "runs", "DATA": "data", "MINILM": "minilm"}
PAPERS = [table for table in TABLES.values() if table.columns]


def parsed(command):
    """Return what the parts of a row's command say, by program."""
    options = []
    for part in reproduce.parts_of(command):
        python, *words = reproduce.words_of(part, PLACES)
        assert python == "python" and "$" not in " ".join(words)
        program, *flags = words[1:] if words[0] == "-m" else words
        options.append((program, PARSERS[program](flags)))
    return options


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_tables_commands_are_commands(table):
    for command in table.commands:
        parts = parsed(command)
        for program, options in parts:
            if program == "run_multitask.py":
                assert options.resume and options.run_dir  # a stop loses at most a cell
        program, settings = parts[-1]
        if program == "run_multitask.py":
            named = reproduce.run_named(command)  # its results are read from another table's run
            assert settings.run_dir == (Path("runs", named) if named else Path("out"))
        else:
            file = settings.json if program == "benchmarks" else settings.csv
            assert file == Path("out") / (
                "result.json" if program == "benchmarks" else "result.csv"
            )
        if not table.columns:
            continue
        tuned = "--tune" in command
        assert program == "run_multitask.py"
        assert settings.seeds == (3 if tuned or GPU in table.needs else 5)
        assert GPU in table.needs or settings.threads == 1 or reproduce.run_named(command)
        if table.columns == TUNING:
            (pretrain,) = settings.pretrain
            config = settings.simcse_config(pretrain, 7)
            # The best checkpoint and the last state both have a point on the curve.
            assert config.eval_steps % config.geometry_steps == 0
            assert settings.tasks == ("sts",) and settings.encoder == ("bi",)
    if table.quick:
        assert not table.needs and "--tune" not in " ".join(table.commands)


def test_what_tables_need_follows_from_their_commands():
    needs = {name: table.needs for name, table in TABLES.items()}
    assert needs["bundled-mini"] == () and needs["selection-dev"] == (DATA,)
    assert needs["curves-sts-frozen"] == (DATA, MINILM)
    assert needs["benchmarks"] == (DATA, MINILM, "bfloat16")
    assert needs["benchmarks-avx2"] == (DATA, MINILM, "avx2")
    assert needs["growth"] == (MINILM,)
    assert needs["paper-report"] == needs["paper-poolers"] == (GPU,)


@pytest.mark.parametrize("table", PAPERS, ids=lambda table: table.name)
def test_a_papers_table_is_well_formed(table):
    published = {row.label: row.published for row in table.rows}
    assert len(published) == len(table.rows) and table.reading and table.source and table.claims
    # No row is another one under a second name.
    assert len({(row.command, row.cell) for row in table.rows}) == len(table.rows)
    for claim in table.claims:
        assert claim.row != claim.other and claim.of in table.columns and claim.why
        row, other = published[claim.row], published[claim.other]
        if claim.of != table.columns[0] or row is None or other is None:
            continue
        # What is expected is what was published.
        if claim.relation == ALIKE:  # published in percent
            assert abs(row - other) <= 100 * claim.within, claim
        else:
            assert (row < other) == (claim.relation == LESS) and row != other, claim


FILE = """
[words]
SIZE = "--steps $N"
N = "40"
[words.large]
N = "400"
[small]
columns = ["score", "before"]
command = "python $SIZE --out $OUT.csv"
rows = [{ label = "a" }, { label = "sst: b", published = 0.5, flags = "--x", cell = "none" }]
[small.claims]
"why" = ["a ~ sst: b, within 0.5", "before: sst: b > a"]
[large]
like = "small"
scale = "large"
pages = ["README.md"]
[one]
command = "python one.py"
"""


def test_a_file_is_tables_with_their_words_spelled_out(tmp_path):
    path = tmp_path / "tables.toml"
    path.write_text(FILE)
    tables = read_tables(path)
    small, large = tables["small"], tables["large"]
    assert small.commands == [
        "python --steps 40 --out $OUT.csv", "python --steps 40 --out $OUT.csv --x"
    ]  # fmt: skip
    assert large.commands == [command.replace("40", "400") for command in small.commands]
    assert small.claims == large.claims == (
        Claim("a", ALIKE, "sst: b", "why", "score", 0.5),
        Claim("sst: b", MORE, "a", "why", "before"),
    )  # fmt: skip
    assert (small.pages, large.pages) == ((), ("README.md",)) and small.columns == HEAD
    assert small.rows[1].published == 0.5 and small.rows[1].cell == "none"
    assert tables["one"].commands == ["python one.py"] and not tables["one"].columns
    path.write_text(FILE.replace("b > a", "b => a"))
    with pytest.raises(ValueError, match="no claim"):
        read_tables(path)


# --- claims

A = (0.70, 0.71, 0.72)
B = (0.80, 0.82, 0.81)
NOISY = (0.60, 0.90, 0.75)


def line_on(relation, first, second, **more):
    scores = [
        {"row": row, "seed": seed, "best": value, "alignment": value}
        for row, values in (("a", first), ("b", second))
        for seed, value in enumerate(values)
    ]
    (line,) = judged([Claim("a", relation, "b", "why", **more)], scores)
    return line


@pytest.mark.parametrize(
    ("relation", "first", "second", "word"),
    [
        (LESS, A, B, HOLDS),
        (MORE, A, B, FAILS),
        (MORE, B, A, HOLDS),
        (LESS, B, A, FAILS),
        (LESS, A, NOISY, UNDECIDED),
        (MORE, A, NOISY, UNDECIDED),
        (ALIKE, A, A, HOLDS),
        (ALIKE, A, B, FAILS),
        (ALIKE, B, A, FAILS),
        (ALIKE, A, NOISY, UNDECIDED),
        (LESS, A, A, UNDECIDED),
        (LESS, A[:1], B[:1], UNDECIDED),
        (ALIKE, A[:1], A[:1], UNDECIDED),
        (LESS, A, (), UNMEASURED),
        (LESS, A, (0.8, None, 0.8), UNMEASURED),
    ],
)
def test_verdicts(relation, first, second, word):
    assert line_on(relation, first, second).startswith(f"  {word}: a {relation} b")


@pytest.mark.parametrize("seed", range(8))
def test_an_ordering_holds_where_the_paired_t_test_says_so(seed):
    draw = np.random.default_rng(seed)
    first, second = draw.normal(0.7, 0.02, 5), draw.normal(0.72, 0.02, 5)
    test = stats.ttest_rel(first, second)
    low, high = test.confidence_interval()
    significant = HOLDS if test.statistic < 0 else FAILS
    word = significant if test.pvalue < 0.05 else UNDECIDED
    numbers = f"{(first - second).mean():+.3f}, 95% CI [{low:+.3f}, {high:+.3f}]"
    assert line_on(LESS, first, second) == f"  {word}: a < b: {numbers} (why)"


def test_a_line_names_margin_and_measure_and_only_seeds_that_both_rows_have():
    assert line_on(LESS, A, B[:1]) == "  undecided: a < b: -0.100 (why)"
    assert line_on(LESS, A, B[:2]) == line_on(LESS, A[:2], B[:2])
    line = line_on(ALIKE, A, B, within=0.5, of="alignment")
    assert line.startswith("  holds: alignment: a ~ b, within 0.5: -0.100, 95% CI [")


def test_the_claims_of_a_table_are_corrected_together_by_holm():
    """Two claims hold together only if one of them has p < 0.025."""
    draw = np.random.default_rng(0)
    rows = {"a": np.zeros(5), "b": draw.normal(0.2, 0.01, 5), "c": draw.normal(0.1, 0.08, 5)}
    rows["c"] += 0.11 - rows["c"].mean()
    scores = [
        {"row": row, "seed": seed, "best": value}
        for row, values in rows.items()
        for seed, value in enumerate(values)
    ]
    sure, unsure = Claim("a", LESS, "b", "sure"), Claim("a", LESS, "c", "unsure")
    alike = Claim("a", ALIKE, "c", "alike", within=0.3)
    p = stats.ttest_rel(rows["a"], rows["c"]).pvalue
    assert 0.025 < p < 0.05
    assert judged([unsure], scores)[0].startswith(f"  {HOLDS}: a < c: -0.110, 95% CI")
    first, second = judged([unsure, sure], scores)
    assert first.startswith(f"  {HOLDS}: a < c: -0.110, 95% CI")
    assert second.startswith(f"  {HOLDS}: a < b") and "97.5% CI" in second
    # Three are too many for the unsure one, unless the two others are decided before it.
    again, *_ = judged([unsure, Claim("a", LESS, "a", "never"), sure], scores)
    interval = stats.ttest_rel(rows["a"], rows["c"]).confidence_interval(0.975)
    assert again == f"  {UNDECIDED}: a < c: -0.110, 97.5% CI [{interval.low:+.3f}, " + (
        f"{interval.high:+.3f}] (unsure)"
    )
    low = stats.ttest_rel(rows["a"], rows["c"], alternative="greater").confidence_interval(0.975)
    expected = HOLDS if low.low > -0.3 else UNDECIDED
    assert judged([alike], scores)[0].startswith(f"  {expected}: a ~ c, within 0.3")


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-0.01, 0.01, HOLDS),
        (-0.011, 0.01, UNDECIDED),
        (-0.01, 0.011, UNDECIDED),
        (0.01, 0.02, UNDECIDED),
        (0.011, 0.02, FAILS),
        (-0.02, -0.01, UNDECIDED),
        (-0.02, -0.011, FAILS),
    ],
)
def test_the_margin_of_two_rows_that_are_alike(low, high, word):
    assert verdict(Claim("a", ALIKE, "b", "why", within=0.01), low, high) == word

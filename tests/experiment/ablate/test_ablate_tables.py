"""The tables as data: every row is a command, every claim agrees with the published numbers."""

from dataclasses import replace

import pytest

from experiment.ablate.recipes import TABLES, AblateOptions, words_of
from experiment.ablate.table import ALIKE, HEAD, TUNING, Expectation, read_tables
from experiment.settings import parse_options

ROWS = [(table, row) for table in TABLES.values() for row in table.rows]


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_a_rows_words_are_a_command(scale):
    options = AblateOptions(scale=scale, documents="documents.txt", threads=1, rate_factor=0.1)
    for table, row in ROWS:
        settings = parse_options(words_of(row, table, options))
        assert settings.threads == 1 and settings.pretrain == (row.pretrain,)
        if table.columns == HEAD:
            assert row.label.partition(":")[0] in settings.tasks
        if table.columns == TUNING:
            config = settings.simcse_config(row.pretrain, 7)
            plain = words_of(row, table, AblateOptions(scale=scale, documents="documents.txt"))
            rate = parse_options(plain).simcse_config(row.pretrain, 7).learning_rate
            assert config.learning_rate == pytest.approx(rate / 10)
            # The best checkpoint and the last state both have a point on the curve.
            assert config.eval_steps == config.geometry_steps


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_is_well_formed(table):
    labels = [row.label for row in table.rows]
    assert len(set(labels)) == len(labels) and table.reading and table.source
    assert TABLES[table.name] is table and table.expected
    # SimCSE's appendix gives no numbers for batch sizes.
    assert table.name == "batch-size" or any(row.published is not None for row in table.rows)
    # No row is another one under a second name; of a joint training there is one per task.
    recipes = [
        replace(row, label=row.label.partition(":")[0], published=None) for row in table.rows
    ]
    if table.columns == TUNING:
        recipes = [replace(recipe, label="") for recipe in recipes]
    assert len(set(recipes)) == len(recipes)
    for one in table.expected:
        assert {one.row, one.other} <= set(labels) and one.row != one.other
        assert one.of in table.columns and one.why


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_what_is_expected_is_what_was_published(table):
    published = {row.label: row.published for row in table.rows}
    for one in table.expected:
        row, other = published[one.row], published[one.other]
        if one.of != table.columns[0] or row is None or other is None:
            continue
        if one.relation == ALIKE:  # published in percent
            assert abs(row - other) <= 100 * one.within, one
        else:
            assert (row < other) == (one.relation == "<") and row != other, one


FILE = """
[one]
title = "T"
source = "S"
reading = "R"
columns = ["score"]
rows = [{ label = "a" }, { label = "sst: b", published = 0.5, pretrain = "sup" }]
[one.claims]
"why" = ["a ~ sst: b, within 0.5", "before: sst: b > a"]
"""


def test_a_file_is_tables_and_a_formula_a_claim(tmp_path):
    path = tmp_path / "tables.toml"
    path.write_text(FILE)
    table = read_tables(path)["one"]
    assert table.columns == HEAD and table.rows[1].published == 0.5
    first, second = table.expected
    assert first == Expectation("a", ALIKE, "sst: b", "why", "score", 0.5)
    assert second == Expectation("sst: b", ">", "a", "why", "before")
    path.write_text(FILE.replace(" > ", " => "))
    with pytest.raises(ValueError, match="no claim"):
        read_tables(path)

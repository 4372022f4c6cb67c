"""The tables as data: every row is a command, every claim agrees with the published numbers."""

import shlex
from dataclasses import fields

import pytest

from experiment.ablate.recipes import SCALES, TABLES, AblateOptions, settings_of, words_of
from experiment.ablate.table import ALIKE, LESS, TUNING
from experiment.settings import parse_options
from simcse.config import SimCSEConfig

KNOWN = {found.name for found in fields(SimCSEConfig)}
ROWS = [(table, row) for table in TABLES.values() for row in table.rows if table.columns == TUNING]


@pytest.mark.parametrize("scale", SCALES)
def test_a_rows_command_gives_its_settings(scale):
    for table, row in ROWS:
        assert set(row.simcse) <= KNOWN
        options = AblateOptions(scale=scale, documents="documents.txt", threads=1)
        settings = settings_of(row, table, options, 7, "triplets.csv")
        if row in (table.rows[0], table.rows[-1]):
            assert parse_options(shlex.split(shlex.join(words_of(settings)))) == settings
        config = settings.simcse_config(row.pretrain, 7)
        assert all(getattr(config, name) == value for name, value in row.simcse.items())
        # The best checkpoint and the last state both have a point on the curve.
        assert config.eval_steps == config.geometry_steps and config.seed == 7


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_is_well_formed(table):
    labels = [row.label for row in table.rows]
    assert len(set(labels)) == len(labels) and table.reading and table.source
    assert TABLES[table.name] is table and table.expected
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
            assert (row < other) == (one.relation == LESS) and row != other, one


def test_all_rows_of_a_quick_table_see_equally_many_examples():
    table = TABLES["batch-size"]
    seen = []
    for row in table.rows:
        config = settings_of(row, table, AblateOptions(), 1).simcse_config("unsup", 1)
        seen.append(config.batch_size * config.max_steps)
    assert len(set(seen)) == 1 and len(seen) == 6

"""The table says what applies, what is undefined and what was seen; seeds join into one row."""

from made_cells import METRICS, cell, para_cell

from report.table import results_table


def row(cells) -> dict[str, str]:
    """Return the only row of a table, by column."""
    header, _, body = results_table(cells).splitlines()
    split = [[field.strip() for field in line.split("|")[1:-1]] for line in (header, body)]
    return dict(zip(*split, strict=True))


def test_table_shows_metrics_that_apply_and_dashes_elsewhere():
    shown = row([cell()])
    assert (shown["accuracy"], shown["pearson"], shown["spearman"]) == ("-", "0.500", "0.250")
    assert shown["cosine"] == "undefined"  # of an earlier version, which did not measure it
    assert (shown["seen"], shown["on unseen"], shown["n"]) == ("25.0%", "0.400", "9")


def test_table_shows_the_bare_cosine_of_bi_encoders_alone():
    bare = cell(metrics={**METRICS, "cosine_spearman": 0.75})
    assert row([bare])["cosine"] == "0.750"
    assert row([cell(encoder="cross")])["cosine"] == "-"


def test_table_says_undefined_for_a_constant_prediction():
    assert row([cell(metrics=dict.fromkeys(METRICS))])["pearson"] == "undefined"


def test_table_joins_seeds_into_mean_and_deviation():
    other = cell(seed=2, metrics={**METRICS, "pearson": 0.7})
    assert row([cell(), other])["pearson"] == "0.600 ± 0.141"


def test_seeds_join_into_one_row_and_splits_do_not():
    cells = [para_cell(), para_cell(seed=2), para_cell(split="test")]
    table = results_table(cells).splitlines()
    assert len(table) == 2 + 2
    assert "±" in table[2] and "±" not in table[3]

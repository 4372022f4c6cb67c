"""docs/reliability.md: its counts are those that the campaigns wrote."""

import csv

import pytest
from campaigns.outcomes import GOOD
from test_readme import PAGES, ROOT, table

CAMPAIGNS = ("kill", "inputs", "artefacts", "disk", "environments")


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_the_table_is_what_was_counted(campaign):
    with (ROOT / "docs" / "results" / f"reliability-{campaign}.csv").open() as file:
        counted = [(row["outcome"], int(row["trials"])) for row in csv.DictReader(file)]
    _, rows = table(PAGES["docs/reliability.md"], "table: reliability")
    told = [row for row in rows if row[0].split(",")[0] == campaign]
    trials, good = (
        sum(int(row[column].split(" ")[0].replace(",", "")) for row in told) for column in (2, 3)
    )
    assert trials == sum(count for _, count in counted)
    assert good == sum(count for outcome, count in counted if outcome in GOOD)

"""Sentences of the pages state no number of their own: it stands in a result file or a table.

Of numbers those with three decimals are looked for, and every interval.
"""

import re

import pytest

from experiment.pages import RESULTS, ROOT, lines_of

PAGES = ("README.md", "docs/results.md", "docs/answer.md", "data/bundled/README.md")
INTERVAL = re.compile(r"\[((?:below )?-?[\d.,]+), ((?:not within )?-?[\d.,]+)\]")
NUMBER = re.compile(r"(?<![\d.])\d\.\d{3}(?!\d)")


def plain(text):
    """Return a text with one kind of minus, without plus signs and line ends."""
    return re.sub(r"\s+", " ", text).replace("−", "-").replace(", +", ", ").replace("[+", "[")


def parts_of(name):
    """Return the sentences and the tables of a page, without blocks of code."""
    page = re.sub(r"```.*?```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = page.splitlines()
    prose, tables = ([line for line in lines if line.startswith("|") == kind] for kind in (0, 1))
    return plain("\n".join(prose)), plain("\n".join(tables))


def turned(low, high):
    """Return the interval of the opposite difference."""
    return tuple(end.removeprefix("-") if end[0] == "-" else f"-{end}" for end in (high, low))


TEXTS = plain("\n".join(path.read_text(encoding="utf-8") for path in RESULTS.glob("*.txt")))


@pytest.mark.parametrize("name", PAGES)
def test_every_interval_is_in_a_result_file(name):
    found = INTERVAL.findall(TEXTS)
    known = {*found, *(turned(low, high) for low, high in found if low[-1].isdigit())}
    stated = [one for part in parts_of(name) for one in INTERVAL.findall(part)]
    assert [one for one in stated if one not in known] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_sentence_is_in_a_table_or_a_result_file(name):
    known = set(NUMBER.findall(TEXTS))
    for page in PAGES:
        known |= set(NUMBER.findall(parts_of(page)[1]))
    prose = INTERVAL.sub("", parts_of(name)[0])
    stated = NUMBER.findall(prose)
    assert [one for one in stated if one not in known] == []
    assert stated or name in ("README.md", "docs/answer.md")  # whose numbers stand in tables


def test_what_the_evaluation_page_says_of_intervals_was_simulated():
    said = plain((ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8"))
    held, errors = re.search(
        r"at least (\d+)% of the intervals .* at most ([\d.]+)% of", said
    ).groups()
    lines = lines_of(RESULTS / "coverage.csv")
    of_seeds = {line["what"]: line["covered"] for line in lines if " seeds, " in line["what"]}
    settings = [line for line in lines if line["what"] not in of_seeds]
    assert all(float(line["covered"]) >= float(held) / 100 for line in settings)
    assert all(float(line["error"] or 0) <= float(errors) / 100 for line in settings)
    assert len(settings) > 10 and len(of_seeds) == 9
    sentences = {
        "60": r"cover (\d+)% with two seeds, (\d+)% with three and (\d+)% with five",
        "80": r"account for 80%, (\d+)%, (\d+)% and (\d+)%",
    }
    for share, stated in sentences.items():
        covered = [
            float(of_seeds[f"{seeds} seeds, {share}% of the variance"]) for seeds in (2, 3, 5)
        ]
        assert [f"{100 * one:.0f}" for one in covered] == list(re.search(stated, said).groups())

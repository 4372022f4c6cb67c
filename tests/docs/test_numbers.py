"""The pages state the numbers of the result files: in tables, in verdicts and in sentences.

Of numbers in sentences those with three decimals are looked for, and every interval.
"""

import json
import re

import pytest

from runs import fill, read
from runs.read import RESULTS, ROOT
from runtime.errors import UserError

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


@pytest.mark.parametrize("path", fill.pages(), ids=lambda path: path.name)
def test_a_page_shows_the_result_files(path):
    page = path.read_text(encoding="utf-8")
    assert fill.filled(page) == page, "python -m runs.fill"


PAGE = """# A page

<!-- verdict: first-run -->
```
No difference.
```

<!-- results: para bundled-mini.csv bundled-tuned.csv bundled-mini-sts.csv; published: none -->
| encoder | tune | reader | all | f1 | published |
|---|---|---|---|---|---|
| mini | frozen | bi | 0.1 | | 0.771 |
| mini-sts | full | cross | 0.2 | 0.3 | - |

Text of 0.123.
"""


def test_a_page_is_filled_and_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fill, "ROOT", tmp_path)
    page = tmp_path / "README.md"
    page.write_text(PAGE)
    monkeypatch.setattr("sys.argv", ["fill", "--check"])
    assert fill.main() == 1 and page.read_text() == PAGE
    monkeypatch.setattr("sys.argv", ["fill"])
    assert fill.main() == 0
    assert capsys.readouterr().out == "differs from docs/results/: README.md\nfilled: README.md\n"
    text = page.read_text()
    assert "| mini | frozen | bi | 0.649 ± 0.004 | 0." in text and text.count("| 0.771 |") == 1
    assert "| mini-sts | full | cross | -   | -   | - |" in text  # the files have no such cells
    assert "No difference." not in text and "are equivalent, within" in text
    assert text.endswith("\n\nText of 0.123.\n")
    monkeypatch.setattr("sys.argv", ["fill", "--check"])
    assert fill.main() == 0 and capsys.readouterr().out == ""


@pytest.mark.parametrize("word", ["| mini |", "| bi |", " para ", "| f1 |"])
def test_an_unknown_word_of_a_table_is_an_error(word):
    with pytest.raises(UserError, match="not in these files: nosuch"):
        fill.filled(PAGE.replace(word, re.sub(r"\w+", "nosuch", word)))


def test_every_number_of_a_table_follows_its_result_file(monkeypatch):
    """A filled page with one number changed differs, whatever table the number is in."""
    for path in fill.pages():
        page = path.read_text(encoding="utf-8")
        for mark in fill.TABLE.finditer(page):
            head, _, row, *_ = mark[2].splitlines()
            titles = fill.cells_of(head)
            named = {title for title in titles if title in fill.NAMING}
            assert named and named != set(titles)
            kept = {part.split(": ")[0] for part in mark[1].split("; ") if part.endswith(": none")}
            for place, title in enumerate(titles):
                if title not in named | kept:
                    cells = row.split("|")
                    cells[place + 1] = " 9.999 "
                    changed = mark[0].replace(f"{row}\n", f"{'|'.join(cells)}\n")
                    assert fill.filled(changed).split() == mark[0].split(), (path.name, title)


def test_no_record_is_older_than_the_last_version():
    """The golden numbers show that this version gives the same as the one before."""
    released = re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    for path in RESULTS.iterdir():
        if path.suffix == ".csv":
            stamps = [line["version"] for line in read.table(path.name)]
        elif path.suffix == ".json":
            stamps = [json.loads(path.read_text())["version"]]
        else:
            continue
        assert stamps and set(stamps) <= {*released[:2]}, path.name


def test_the_speed_page_states_no_disturbed_speed():
    def side(work, name, disturbed, ratio):
        rate = {"rate": 100.0, "unit": "pairs", "ratio": ratio, "peak_share": 0.5, "quality": None}
        return {"work": work, "side": name, **rate, "disturbed": disturbed}

    sides = [side("a", "ours", False, 1.0), side("a", "peer", True, 2.0)]
    sides += [side("b", "ours", True, 1.0), side("b", "peer", False, 2.0)]
    lines = list(read._speeds(sides))
    columns = ("per second", "ratio", "of peak")
    shown = [[read.spread([line], column) for column in columns] for line in lines]
    assert shown[0] == ["100.0 pairs", "1.00", "50%"]
    assert shown[1] == shown[2] == ["disturbed", "-", "-"]
    assert shown[3] == ["100.0 pairs", "-", "50%"]  # the ratio is to ours


def test_differences_are_shown_by_encoder_and_in_either_order(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "RESULTS", tmp_path)
    rows = "backbone,tune\nmini,full\nmini,full\nsmall,frozen\n"
    (tmp_path / "two-runs.csv").write_text(rows)
    pair = "none-bi-full-interaction - none-late-full-interaction"
    (tmp_path / "two-runs.txt").write_text(
        "Verdict.\n\nevery two systems:\n"
        f"sts, dev, pearson: {pair}: -0.012 [-0.021, -0.003] (98% CI)"
        f"\nsts, dev, cosine_spearman: {pair}: +0.000 [-0.010, 0.000]\n"
        "sts, dev, pearson: none-bi-full-interaction - word overlap: +0.108 [0.078, 0.137]"
        "\n\nVerdict.\n\nevery two systems:\n"
        f"para, dev, accuracy: {pair}: +0.500 [0.400, 0.600]\n"
        f"sts, dev, pearson: {pair}: +0.300 [0.200, 0.400]"
    )
    titles = ["late minus bi", "bi minus late", "late minus bi, no head"]
    shown = [
        [fill.number("sts two-runs.txt", title, names) for title in titles]
        for names in (["small", "frozen"], ["mini", "full"])
    ]
    minus, plus = "-0.300 [-0.400, -0.200]", "0.300 [0.200, 0.400]"
    assert shown[0] == [minus, plus, "-"]
    minus, plus, bare = "-0.012 [-0.021, -0.003]", "0.012 [0.003, 0.021]", "0.000 [0.000, 0.010]"
    assert shown[1] == [plus, minus, bare]


def test_what_the_evaluation_page_says_of_intervals_was_simulated():
    said = plain((ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8"))
    held, errors = re.search(
        r"at least (\d+)% of the intervals .* at most ([\d.]+)% of", said
    ).groups()
    lines = read.table("coverage.csv")
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

"""The page of a run: whole, self-contained, escaped, complete for every kind of run.

In a real browser it fits, sorts, pages and filters, and nothing fails.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import browser
import numpy as np
import pytest
from made_run import EVIL, TAGS, add_costs, made_run

from data.examples import DataError
from evaluation import intervals
from report import finished
from report.__main__ import main
from report.finished import FinishedRun
from report.page.sections import most_surprising
from report.page.write import PAGE, write_page
from report.rating_groups import in_lines, rating_groups
from report.run_folder import COMPARISONS

VOID = {"meta", "link", "br", "input", "img", "hr"}
MOST_BYTES = 3_000_000
NAME = '"><b>$x'  # of a stage, as a foreign run may have


class Document(HTMLParser):
    """Reads a page: its elements with their attributes, nesting checked, and its text."""

    def __init__(self, source: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """Return all that is shown, its white space collapsed."""
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Path:
    # Three stages have so many comparisons that their table has two pages.
    run = made_run(tmp_path_factory.mktemp("full"), pretrains=("none", "sup", NAME))
    add_costs(run)
    write_page(run)
    return run


@pytest.fixture
def source(full) -> str:
    return (full / PAGE).read_text()


@pytest.fixture
def document(source) -> Document:
    return Document(source)


def test_every_part_is_there_and_every_name_leads_somewhere(document, source):
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    sections = [at["id"] for at in document.all("section")]
    assert sections == "answer scores where cost training words".split() and "filter" in ids
    assert len(ids) == len(set(ids)) and not any(" " in id for id in ids)
    assert len(source.encode()) < MOST_BYTES
    assert {attributes["href"] for attributes in document.all("a")} <= {f"#{id}" for id in ids}
    for _, attributes in document.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set((attributes.get(name) or "").split()) <= set(ids)


def test_the_numbers_of_the_run_are_there(full, document):
    """One number of each section, from the files of the run."""
    run = FinishedRun.read(full)
    (place,) = [place for place in run.judged if (place.task, place.split) == ("sts", "test")]
    pearson, versus = place.scores("pearson")["none-bi-frozen-concat"], place.comparisons[0]
    bounds = f"[{pearson.interval.low:.3f}, {pearson.interval.high:.3f}]".replace("-", "−")
    for words in (f"{pearson.mean:.3f}", bounds, f"{abs(versus.difference):.3f}"):
        assert words in document.text
    costs = "m & co, cpu", "~20 s", "~13 ms", "detection: In batches, the bi-encoder is cheaper"
    for words in (*costs, '"simcse": {'):
        assert words in document.text
    sure = [int(percent) for percent in re.findall(r"\((\d+)% sure\)", document.text)]
    assert min(sure) >= 50 and max(sure) <= 100  # two classes


def test_nothing_outside_is_referred_to(source, document):
    loading = ("src", "href", "xlink:href", "action", "srcset", "poster", "data")
    for tag, attributes in document.elements:
        for name in loading:
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, name, value)
    assert not re.search(r"@import|url\((?!#)", source)
    others = set(re.findall(r"https?://[^\s\"'<>]+", source))
    assert others <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_texts_and_names_of_others_stay_texts(source, document):
    assert EVIL not in source and "<b>" not in source
    assert EVIL in document.text and TAGS[2] in document.text and NAME in document.text
    assert len(document.all("script")) == 1


def test_figures_and_tables_can_be_heard(source, document):
    svgs = document.all("svg")
    assert len(svgs) == len(document.all("figure")) > 5
    texts = {a["id"]: tag for tag, a in document.elements if tag in ("title", "desc") and "id" in a}
    for svg in svgs:
        assert svg["role"] == "img"
        title, description = svg["aria-labelledby"].split()
        assert (texts[title], texts[description]) == ("title", "desc")
    assert len(document.all("table")) == len(document.all("caption"))
    assert {heading["scope"] for heading in document.all("th")} == {"col", "row"}
    for svg in re.findall(r"<svg.*?</svg>", source, re.S):
        assert not re.search(r"#[0-9a-f]{6}", svg), "a colour of its own"
        assert "var(--" in svg


def test_the_answer_comes_first_and_is_that_of_the_terminal(full, document, capsys):
    assert main(["html", str(full)]) == 0
    *verdict, last = capsys.readouterr().out.splitlines()
    assert last == f"Report: {full / PAGE} (open in a browser)"
    words = " ".join(" ".join(verdict).split())
    headline, rest = (" ".join(part.split()) for part in "\n".join(verdict).split("\n\n", 1))
    assert -1 < document.text.find(headline) < document.text.find(rest)
    assert "the best bi-encoder" in words and "means over 2 seeds" in words
    assert max(map(len, verdict)) <= 100 and "  cosine similarity   0." in "\n".join(verdict)


@pytest.mark.parametrize(
    "shape",
    [
        {"tasks": ("sts",), "pretrains": ("none",), "encoders": ("bi",), "seeds": (1,)},
        {"tasks": ("sst", "para"), "splits": ("dev",), "soft": False, "n": 2, "seeds": (1,)},
    ],
    ids=["one cell", "two rows without probabilities"],
)
def test_every_kind_of_run_has_a_page(shape, tmp_path):
    run = made_run(tmp_path, **shape)
    document = Document(write_page(run).read_text())
    ids = {attributes.get("id") for attributes in document.all("figure")}
    several = len(shape.get("encoders", "12")) > 1
    assert {id for id in ids if "scores" in id} == {
        f"scores-{t}" for t in shape["tasks"] if several
    }
    # A section says something, or is not there.
    assert "where" not in {at.get("id") for at in document.all("section")}
    assert "python -m report cost" in document.text and not document.all("form")
    assert "nan" not in document.text.lower().split()


def test_the_page_shows_how_simcse_spreads_cosines(tmp_path):
    run = made_run(tmp_path, tasks=("sts",), seeds=(1,), splits=("dev",), n=150)
    document = Document(write_page(run).read_text())
    assert "simcse" in {at.get("id") for at in document.all("section")}
    assert "cosines-sts" in {at.get("id") for at in document.all("figure")}
    lines = in_lines(rating_groups(*_parts(FinishedRun.read(run))))
    assert len(lines) == 1 and lines[0] in document.text


def _parts(run):
    return run.cells, run.splits, run.folder


def test_a_page_computes_no_statistics_that_the_run_has_written(full, source, monkeypatch):
    judged = FinishedRun.read(full).judged
    (full / COMPARISONS).rename(full / "kept")
    (full / COMPARISONS).write_text("{}")
    with monkeypatch.context() as few:
        few.setattr(intervals, "RESAMPLES", 50)  # as in `made_run`
        assert FinishedRun.read(full).judged == judged  # computed
    (full / "kept").rename(full / COMPARISONS)
    monkeypatch.setattr(finished, "judge_cells", None)
    assert write_page(full).read_text() == source  # the same run, the same bytes


def test_what_is_unfinished_damaged_or_gone_is_named_in_one_line(tmp_path, capsys):
    run = made_run(tmp_path, tasks=("sts",), pretrains=("none",), seeds=(1,), n=20)
    for name, content, message in (
        ("costs.json", "{", r"costs\.json: not a run's costs"),
        ("costs.json", '{"cells": [{}]}', r"costs\.json: not a run's costs"),
        ("metrics.jsonl", "[1]\n", r"metrics\.jsonl: not a run's curves"),
        ("results.json", "{", r"results\.json"),
        (COMPARISONS, None, "an unfinished run has no page"),
    ):
        kept = (run / name).read_text() if (run / name).exists() else None
        (run / name).write_text(content) if content else (run / name).unlink()
        with pytest.raises(DataError, match=message) as raised:
            write_page(run)
        assert "\n" not in str(raised.value) and not (run / PAGE).exists()
        (run / name).write_text(kept) if kept else (run / name).unlink()
    (tmp_path / "data").rename(tmp_path / "moved")
    assert main(["html", str(run)]) == 2 and "--data DIR" in capsys.readouterr().err
    assert write_page(run, str(tmp_path / "moved")).is_file()
    with pytest.raises(DataError, match="not a run folder"):
        write_page(tmp_path)


def test_sure_and_right_against_sure_and_wrong_comes_first():
    def of_two(*probabilities):
        return np.stack([1 - np.array(probabilities), probabilities], axis=1)

    labels = np.array([1.0, 1.0, 0.0, 1.0, 0.0])
    bi, cross = of_two(0.9, 0.6, 0.9, 0.9, 0.5), of_two(0.2, 0.4, 0.1, 0.8, 0.9)
    # Row 3 has both right; in row 4 the bi-encoder is right with its half.
    expected = [("bi", 0), ("cross", 2), ("bi", 4), ("bi", 1)]
    assert most_surprising(bi, cross, labels) == expected
    right, wrong = of_two(*[1.0] * 12), of_two(*[0.0] * 12)
    assert most_surprising(right, wrong, np.ones(12)) == [("bi", k) for k in range(10)]
    assert most_surprising(right, right, np.ones(12)) == []


def test_scores_are_ordered_by_squared_errors_and_classes_by_the_gold_probability():
    labels = np.array([0.0, 5.0, 3.0, 2.0])
    bi, cross = np.array([3.0, 5.0, 3.0, 1.0]), np.array([0.0, 3.0, 3.0, 5.0])
    # Row 2 is the same to both.
    assert most_surprising(bi, cross, labels) == [("bi", 3), ("cross", 0), ("bi", 1)]
    bi = np.array([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]])
    cross = np.array([[0.3, 0.6, 0.1], [0.1, 0.8, 0.1]])
    expected = [("bi", 0), ("cross", 1)]
    assert most_surprising(bi, cross, np.array([2.0, 1.0])) == expected


@pytest.mark.parametrize(("words", "code"), [([], 2), (["tell"], 2), (["--help"], 0)])
def test_other_words_print_the_usage(words, code, capsys):
    assert main(words) == code
    assert "usage: python -m report compare|cost|html" in "".join(capsys.readouterr())


@browser.IN_BROWSER[0]
@browser.IN_BROWSER[1]
def test_in_a_browser_it_fits_a_phone_filters_pages_and_sorts(full):
    title = "Bi-encoder or cross-encoder?"
    phone = browser.ask(full / PAGE, "return document.body.innerText.length;", 390, title)
    assert phone["found"] > 1000 and phone["width"] <= phone["window"] == 390
    answer = browser.ask(full / PAGE, USING, 1280, title)
    assert answer["width"] <= answer["window"] == 1280, "the page scrolls sideways"

    filtered, total = answer["found"]["filtered"], answer["found"]["total"]
    assert filtered["all"][:2] == [f"{total} of {total}", 10]
    for step, values in (("task", {"sts"}), ("both", {"cross"}), ("tag", {TAGS[2]})):
        assert set(filtered[step][2]) <= values
    counts = [int(filtered[step][0].split()[0]) for step in ("all", "task", "both", "none")]
    assert counts[0] > counts[1] > counts[2] > counts[3] == 0
    assert filtered["evil"][1] > 0 and all("<script>" in text for text in filtered["evil"][2])

    paged = answer["found"]["paged"]
    assert paged["rows"] > 25 and paged["before"] == 20 and paged["print"]
    assert paged["after"] == (paged["rows"] - 1) % 20 + 1 and paged["last"]

    ordered = answer["found"]["ordered"]
    assert ordered["focused"] and ordered["said"] == ["descending", "ascending"]
    assert ordered["down"] == sorted(ordered["down"], reverse=True) == ordered["up"][::-1]


USING = f"""
const form = document.getElementById("filter"), list = document.getElementById("list");
const set = (name, value) => {{
  form.elements[name].value = value;
  form.dispatchEvent(new Event("input"));
  return [document.getElementById("matches").textContent, shown(list.children).length,
          shown(list.children).map((item) => item.dataset[name] || item.textContent)];
}};
const filtered = {{
  all: set("task", ""), task: set("task", "sts"), both: set("better", "cross"),
  tag: set("phenomenon", {json.dumps(TAGS[2])}), none: set("words", "no such words"),
  evil: (["phenomenon", "better", "task"].map((name) => set(name, "")),
         set("words", "{EVIL[:7]}")),
}};
const table = [...document.querySelectorAll("#scores table")].at(-1), rows = table.tBodies[0].rows;
const next = document.querySelector("#scores .pager [aria-label='Next rows']");
const before = shown(rows).length;
while (!next.disabled) next.click();
const rules = [...document.styleSheets[0].cssRules];
const style = rules.find((rule) => rule.media?.mediaText === "print");
const paged = {{
  rows: rows.length, before, after: shown(rows).length, last: next.disabled,
  print: style.cssText.includes("tr[hidden]"),
}};
const head = table.tHead.rows[0].cells[1], button = head.querySelector("button");
const sorted = () => {{
  button.click();
  return [[...rows].map((row) => Number(row.cells[1].dataset.value)),
          head.getAttribute("aria-sort")];
}};
button.focus();
const focused = document.activeElement === button;
const [down, first] = sorted(), [up, second] = sorted();
return {{
  total: list.children.length, filtered, paged,
  ordered: {{ focused, down, up, said: [first, second] }},
}};"""

"""The page of a run: whole, self-contained, escaped, complete for every kind of run."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_run import EVIL, TAGS, add_costs, made_run

from data.examples import DataError
from report.__main__ import main
from report.page import material
from report.page.command import PAGE, write_page
from report.page.material import Material
from report.paragraph import paragraph
from report.verdict import COMPARISONS, to_json

VOID = {"meta", "link", "br", "input", "img", "hr"}
MOST_BYTES = 3_000_000
ROOT = Path(__file__).parents[2]


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
    run = made_run(tmp_path_factory.mktemp("full"))
    add_costs(run)
    write_page(run)
    return run


@pytest.fixture(scope="module")
def source(full) -> str:
    return (full / PAGE).read_text()


@pytest.fixture(scope="module")
def document(source) -> Document:
    return Document(source)


def test_every_part_is_there(document):
    ids = {attributes.get("id") for _, attributes in document.elements}
    sections = "verdict scores comparisons where examples sentiment similarity certainty cost"
    assert ids >= {*sections.split(), *"training leaks run data filter".split()}
    linked = {attributes["href"] for attributes in document.all("a")}
    assert linked <= {f"#{id}" for id in ids}


def test_ids_are_unique_and_named_ones_exist(document):
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in document.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set((attributes.get(name) or "").split()) <= set(ids)


def test_nothing_outside_is_referred_to(source, document):
    loading = ("src", "href", "xlink:href", "action", "srcset", "poster", "data")
    for tag, attributes in document.elements:
        for name in loading:
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, name, value)
    assert not re.search(r"@import|url\((?!#)", source)
    others = set(re.findall(r"https?://[^\s\"'<>]+", source))
    assert others <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_it_is_small(source):
    assert len(source.encode()) < MOST_BYTES


def test_its_size_does_not_grow_with_the_rows(tmp_path):
    shape = {"tasks": ("para", "sts"), "pretrains": ("none",), "seeds": (1,), "splits": ("test",)}
    few, many = (
        write_page(made_run(tmp_path / str(n), n=n, **shape)).stat().st_size for n in (200, 2000)
    )
    assert many < 1.1 * few


def test_texts_of_others_stay_texts(source, document):
    assert EVIL not in source and "<b>role" not in source
    assert EVIL in document.text and TAGS[2] in document.text
    assert len(document.all("script")) == 2
    kept = re.search(r'<script type="application/json" id="data">(.*?)</script>', source, re.S)
    assert json.loads(kept[1])["config"]["command"][-1] == EVIL


def test_every_figure_has_words_and_numbers(document):
    svgs = document.all("svg")
    assert len(svgs) == len(document.all("figure")) > 10
    texts = {a["id"]: tag for tag, a in document.elements if tag in ("title", "desc") and "id" in a}
    for svg in svgs:
        assert svg["role"] == "img"
        title, description = svg["aria-labelledby"].split()
        assert (texts[title], texts[description]) == ("title", "desc")
    # A table per figure, in its details.
    source_order = [tag for tag, _ in document.elements if tag in ("figure", "table")]
    for place, tag in enumerate(source_order):
        assert tag != "figure" or source_order[place + 1] == "table"


def test_tables_have_captions_and_headings(document):
    tables = document.all("table")
    assert len(tables) == len(document.all("caption"))
    scopes = [heading["scope"] for heading in document.all("th")]
    assert set(scopes) == {"col", "row"}


def test_the_verdict_comes_first_and_is_that_of_the_terminal(full, document):
    found = Material.read(full)
    told = paragraph(found.cells, found.judged)
    assert told in document.text
    assert document.text.index(told) < document.text.index("Scores")
    assert "the best bi-encoder" in told and "2 seeds" in told


def test_the_same_run_gives_the_same_bytes(full, source):
    assert main(["html", str(full)]) == 0
    assert (full / PAGE).read_text() == source


def test_figures_follow_the_pages_colours(source):
    svgs = re.findall(r"<svg.*?</svg>", source, re.S)
    for svg in svgs:
        assert not re.search(r"#[0-9a-f]{6}", svg), "a colour of its own"
        assert "var(--" in svg


@pytest.mark.parametrize(
    "shape",
    [
        {"tasks": ("sst",), "encoders": ("bi",)},
        {"tasks": ("sts",), "pretrains": ("none",), "encoders": ("bi",), "seeds": (1,)},
        {"tasks": ("para",), "encoders": ("cross",), "seeds": (1,)},
        {"splits": ("dev",)},
        {"soft": False},
        {"n": 2, "seeds": (1,)},
    ],
    ids=["sst only", "one cell", "cross only", "no test labels", "older run", "two rows"],
)
def test_every_kind_of_run_has_a_page(shape, tmp_path):
    run = made_run(tmp_path, **shape)
    document = Document(write_page(run).read_text())
    tasks = shape.get("tasks", ("sst", "para", "sts"))
    assert all(f"bars-{task}" in {a.get("id") for a in document.all("figure")} for task in tasks)
    assert "python -m report cost" in document.text
    filtered = "filter" in {attributes.get("id") for attributes in document.all("form")}
    assert filtered == ("encoders" not in shape)
    assert "nan" not in document.text.lower().split()


def test_a_page_computes_no_statistics_that_the_run_has_written(tmp_path, monkeypatch):
    run = made_run(tmp_path, tasks=("sts",))
    computed = Material.read(run)
    (run / COMPARISONS).write_text(json.dumps(to_json(computed.judged)))
    page = write_page(run).read_bytes()
    monkeypatch.setattr(material, "judge_cells", None)
    assert Material.read(run).judged == computed.judged
    assert write_page(run).read_bytes() == page


def test_a_page_needs_no_torch(full):
    code = "import sys; from report.__main__ import main\n"
    code += f"assert main(['html', {str(full)!r}]) == 0 and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True)


def test_an_unfinished_run_has_no_page(tmp_path, capsys):
    run = made_run(tmp_path, tasks=("sst",), encoders=("bi",))
    left = run / "state" / "of-another-command.pt"
    left.parent.mkdir()
    left.write_text("")
    assert main(["html", str(run)]) == 0
    (run / PAGE).unlink()
    (run / "comparisons.json").unlink()
    assert main(["html", str(run)]) == 2
    assert "unfinished" in capsys.readouterr().err and not (run / PAGE).exists()


@pytest.mark.parametrize(
    ("damaged", "content", "message"),
    [
        ("costs.json", "{", r"costs\.json: not a run's costs"),
        ("costs.json", '{"cells": [{}]}', r"costs\.json: not a run's costs"),
        ("metrics.jsonl", "[1]\n", r"metrics\.jsonl: not a run's curves"),
        ("results.json", "{", r"results\.json"),
    ],
)
def test_damaged_files_are_named_in_one_line(damaged, content, message, tmp_path):
    run = made_run(tmp_path, tasks=("sts",))
    (run / damaged).write_text(content)
    with pytest.raises(DataError, match=message) as raised:
        write_page(run)
    assert "\n" not in str(raised.value) and not (run / PAGE).exists()


def test_data_that_moved_can_be_named(tmp_path):
    run = made_run(tmp_path, tasks=("sst",), encoders=("bi",))
    (tmp_path / "data").rename(tmp_path / "moved")
    with pytest.raises(DataError, match="--data DIR"):
        write_page(run)
    assert write_page(run, str(tmp_path / "moved")).is_file()


def test_a_library_that_is_missing_is_named_with_its_cure(full, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("report.page.")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["html", str(full)]) == 2
    assert "matplotlib, which is not installed; python -m pip" in capsys.readouterr().err


def test_names_of_a_foreign_run_are_no_markup(tmp_path):
    run = made_run(tmp_path, tasks=("sts",))
    cells = json.loads((run / "results.json").read_text())
    for cell in cells:
        if cell["pretrain"] == "sup":
            old, cell["pretrain"] = "sup-sts", f'"><b>$x_{cell["seed"]}'
            for path in (run / "predictions").glob(f"{old}-{cell['encoder']}-*-{cell['seed']}"):
                path.rename(path.with_name(path.name.replace(old, f"{cell['pretrain']}-sts")))
    (run / "results.json").write_text(json.dumps(cells))
    document = Document(write_page(run).read_text())
    assert not document.all("b") and '"><b>$x_1' in document.text


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(DataError, match="not a run folder"):
        write_page(tmp_path)

"""The page in a real browser: nothing fails, nothing is loaded, it fits, sorts, pages, filters."""

import json
from pathlib import Path

import browser
import pytest
from made_run import EVIL, TAGS, add_costs, made_run

from report.page.write import write_page

pytestmark = browser.IN_BROWSER


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    # 25 rows are shown at once: more tags than that make a table of several pages.
    run = made_run(tmp_path_factory.mktemp("browser"), pretrains=("none", "sup", "unsup"))
    add_costs(run)
    return write_page(run)


def ask(page: Path, program: str, width: int = 1280) -> dict:
    return browser.ask(page, program, width, title="Bi- or cross-encoder")


def test_it_fits_the_screen_of_a_phone(page):
    answer = ask(page, "return document.body.innerText.length;", 390)
    assert answer["found"] > 1000 and answer["width"] <= answer["window"] == 390


def test_the_filter_shows_what_matches_and_says_how_many(page):
    answer = ask(
        page,
        f"""
        const form = document.getElementById("filter"), list = document.getElementById("list");
        const set = (name, value) => {{
          form.elements[name].value = value;
          form.dispatchEvent(new Event("input"));
          return [document.getElementById("matches").textContent, shown(list.children).length,
                  shown(list.children).map((item) => item.dataset[name] || item.textContent)];
        }};
        return {{
          visible: !form.hidden, total: list.children.length,
          all: set("task", ""), task: set("task", "sts"), both: set("better", "cross"),
          tag: set("phenomenon", {json.dumps(TAGS[2])}), none: set("words", "no such words"),
          evil: (["phenomenon", "better", "task"].map((name) => set(name, "")),
                 set("words", "{EVIL[:7]}")),
        }};""",
    )
    assert answer["width"] <= answer["window"] == 1280, "the page scrolls sideways"
    found, total = answer["found"], answer["found"]["total"]
    assert found["visible"] and found["all"][:2] == [f"{total} of {total}", 10]
    assert set(found["task"][2]) == {"sts"} and set(found["both"][2]) == {"cross"}
    counts = [int(found[step][0].split()[0]) for step in ("all", "task", "both", "tag", "none")]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[1] > counts[2] > counts[4]
    assert set(found["tag"][2]) <= {TAGS[2]} and counts[4] == 0
    assert found["evil"][1] > 0 and all("<script>" in text for text in found["evil"][2])


def test_long_tables_are_paged_and_whole_in_print(page):
    answer = ask(
        page,
        """
        const tables = [...document.querySelectorAll("#scores table")];
        const table = tables.at(-1), rows = table.tBodies[0].rows;
        const next = () => document.querySelector("#scores .pager [aria-label='Next rows']");
        const before = shown(rows).length;
        const first = rows[0].textContent;
        next().click();
        const rules = [...document.styleSheets[0].cssRules];
        const style = rules.find((rule) => rule.media?.mediaText === "print");
        return { rows: rows.length, before, after: shown(rows).length, gone: rows[0].hidden,
                 last: next().disabled, print: style.cssText.includes("tr[hidden]") };""",
    )["found"]
    assert answer["rows"] > 25 and answer["before"] == 20 and answer["gone"] and answer["print"]
    assert answer["after"] == answer["rows"] - 20 and answer["last"]


def test_tables_sort_by_number_and_back_by_keyboard(page):
    answer = ask(
        page,
        """
        const table = [...document.querySelectorAll("#scores table")].at(-1);
        const heads = [...table.tHead.rows[0].cells];
        const number = (row) => Number(row.cells[1].dataset.value);
        const values = () => [...table.tBodies[0].rows].map(number);
        const button = heads[1].querySelector("button");
        button.focus();
        const focused = document.activeElement === button;
        button.click();
        const down = values(), said = heads[1].getAttribute("aria-sort");
        button.click();
        return { focused, down, said, up: values(), now: heads[1].getAttribute("aria-sort") };""",
    )["found"]
    assert answer["focused"] and (answer["said"], answer["now"]) == ("descending", "ascending")
    assert (
        answer["down"] == sorted(answer["down"], reverse=True)
        and answer["up"] == answer["down"][::-1]
    )

"""The page of a class in a real browser."""

from dataclasses import replace

import browser
import pytest
from small_suite import ABOUT

from assignment.class_page import render
from assignment.compare import CaseResult
from assignment.marks import Mark

pytestmark = browser.IN_BROWSER
EVIL = "<img src=x onerror=alert(1)></script><script>document.title=1</script>"
RESULTS = [
    CaseResult("double", "sums", False, f'"{EVIL}" is not expected'),
    CaseResult("total", "sums", True, ""),
    CaseResult("mean", "means", False, '"answer" has shape ()', ("whole",)),
]
MARK = Mark(EVIL, RESULTS, {"double": "too much of its memory"}, [EVIL], 1.0)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "class.html"
    others = [replace(MARK, name=f"student {n}", leaderboard={"sst": n / 30}) for n in range(30)]
    path.write_text(render([MARK, *others], ABOUT, "none"), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1200, 400])
def test_it_opens_without_errors_runs_nobodys_words_and_fits_the_screen(page, width):
    told = browser.ask(page, "return document.body.innerText;", width, "Marks of")
    assert EVIL in told["found"] and told["window"] == width
    assert told["width"] <= told["window"], "the page scrolls sideways"

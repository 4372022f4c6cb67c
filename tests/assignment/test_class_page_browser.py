"""The pages of a class and of a leaderboard in a real browser."""

from dataclasses import replace

import browser
import pytest
from made_submissions import gold_of, predictions
from small_suite import ABOUT

from assignment.class_page import render
from assignment.compare import CaseResult
from assignment.marks import Mark
from assignment.submission import leaderboard
from assignment.submission.leaderboard import make_board

pytestmark = browser.IN_BROWSER
EVIL = "<img src=x onerror=alert(1)></script><script>document.title=1</script>"
RESULTS = [
    CaseResult("double", "sums", False, f'"{EVIL}" is not expected'),
    CaseResult("total", "sums", True, ""),
    CaseResult("mean", "means", False, '"answer" has shape ()', ("whole",)),
]
MARK = Mark(EVIL, RESULTS, {"double": "too much of its memory"}, [EVIL], 1.0)


@pytest.fixture(scope="module", params=["class", "leaderboard"])
def page(tmp_path_factory, request):
    path = tmp_path_factory.mktemp("browser") / f"{request.param}.html"
    if request.param == "class":
        others = [
            replace(MARK, name=f"student {n}", leaderboard={"sst": n / 30}) for n in range(30)
        ]
        path.write_text(render([MARK, *others], ABOUT, "none"), encoding="utf-8")
        return path
    tasks = ("sst", "para", "sts")
    submissions = {
        name: {task: predictions(task, "test", skill, k) for task in tasks}
        for k, (name, skill) in enumerate([(EVIL, 0.9), *((f"s{n}", n / 30) for n in range(25))])
    }
    labels = {task: gold_of(task, "test") for task in tasks}
    board = make_board(submissions, labels, "test", [(EVIL, EVIL)])
    path.write_text(leaderboard.render(board, EVIL), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1200, 400])
def test_it_opens_without_errors_runs_nobodys_words_and_fits_the_screen(page, width):
    title = "Marks of" if page.stem == "class" else "Leaderboard"
    told = browser.ask(page, "return document.body.innerText;", width, title)
    assert EVIL in told["found"] and told["window"] == width
    assert told["width"] <= told["window"], "the page scrolls sideways"

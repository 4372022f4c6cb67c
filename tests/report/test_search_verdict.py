"""The sentences of a search follow its comparisons: gain, loss, no difference, depth, encoders."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from report.judging import BM25_ROW, Question, Scored, System, judge
from report.search import search_verdict

N = 200
DRAW = np.random.default_rng(0)
BASE = DRAW.uniform(0.2, 0.6, (N, 4))


def system(gain: float) -> np.ndarray:
    """Return the measures of each query, on average by this much higher than those of the base."""
    return np.clip(BASE + gain + DRAW.normal(0, 0.05, (N, 4)), 0, 1)


def verdict(runs, questions, pairs):
    """Return the verdict on systems by name: their measures and what they are."""
    systems = {name: {1: run} for name, run in runs.items()}
    n = len(runs["bi"] if "bi" in runs else BASE)
    (place,) = judge([Scored("search", "test", systems, np.zeros(n), np.arange(n), pairs)])
    place = replace(place, question=Question(questions))
    cells = [
        SimpleNamespace(system=name, split="test", search={"milliseconds": 2.0 + about.depth})
        for name, about in questions.items()
    ]
    return search_verdict(place, cells)


BI = System("none", "bi", "frozen", 0, "bi")
DEPTHS = (10, 20, 50, 100)
CROSS = {f"cross@{depth}": System("none", "cross", "full", depth, "bi") for depth in DEPTHS}
PAIRS = [
    ("bi", BM25_ROW),
    *((name, "bi") for name in CROSS),
    *zip(list(CROSS)[1:], list(CROSS), strict=False),
]


@pytest.mark.parametrize(
    ("gains", "told"),
    [
        (
            (0.05, 0.1, 0.15, 0.15),
            r"Re-ranking the 50 best texts by the cross-encoder raises nDCG@10 from 0\.\d+ to "
            r"0\.\d+ \(\+0\.1\d\d, 99\.\d+% CI \[.*\]\) and takes 52 instead of 2 ms per query; "
            r"more than 50 brings nothing significant\.",
        ),
        (
            (0.03, 0.06, 0.09, 0.12),
            r"the 100 best .* takes 102 instead of 2 ms per query\.$",
        ),
        ((0.05, 0.05, 0.05, 0.05), r"Re-ranking the 10 best texts .*; more than 10 brings nothing"),
        ((0.05, 0.05, 0.1, 0.1), r"Re-ranking the 50 best texts .*; more than 50 brings nothing"),
        (
            (0, 0, 0, 0),
            r"no significant amount at any depth \(at 100 texts .* up to 102",
        ),
        (
            (-0.05, -0.1, -0.1, -0.1),
            r"lowers nDCG@10: already with the 10 best texts .* Use the bi-enco",
        ),
    ],
)
def test_the_headline_says_what_ranking_again_gains_and_costs(gains, told):
    runs = {BM25_ROW: system(-0.1), "bi": BASE}
    runs |= {name: system(gain) for name, gain in zip(CROSS, gains, strict=True)}
    found = verdict(runs, {"bi": BI, **CROSS}, PAIRS)
    assert re.search(told, found.headline), found.headline
    assert any(
        words.startswith("The bi-encoder has a higher nDCG@10 than BM25")
        for words in found.paragraphs
    )
    assert found.paragraphs[-1].startswith("200 queries (test).")


def test_nothing_is_said_of_tests_with_too_few_queries():
    runs = {name: np.array([[0.5] * 4]) for name in (BM25_ROW, "bi", *CROSS)}
    found = verdict(runs, {"bi": BI, **CROSS}, PAIRS)
    assert "without a test" in found.headline and "significant" not in found.headline
    assert "Holm" not in found.paragraphs[-1]


def test_encoders_are_compared_by_name():
    questions = {
        "mini+none-bi": System("mini+none", "bi", "frozen", 0, "mini+none-bi"),
        "other+none-bi": System("other+none", "bi", "frozen", 0, "other+none-bi"),
    }
    runs = {BM25_ROW: system(0), "mini+none-bi": BASE, "other+none-bi": system(0.1)}
    pairs = [(name, BM25_ROW) for name in questions] + [tuple(questions)]
    found = verdict(runs, questions, pairs)
    assert found.headline.startswith("The bi-encoder (mini) reaches 0.")
    told = "The bi-encoder (mini) has a lower nDCG@10 than the bi-encoder (other): -0.1"
    assert any(words.startswith(told) for words in found.paragraphs)
    told = "The bi-encoder (mini) and BM25: no significant difference in nDCG@10"
    assert any(words.startswith(told) for words in found.paragraphs)

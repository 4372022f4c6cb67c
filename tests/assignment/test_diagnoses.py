"""What the kit says of the fair mistakes of two parts; `diagnoses` measures all of them."""

import pytest
from diagnoses import Exams, entries, verdict

from assignment.parts import PARTS

CHEAP = ("layer", "metrics")


@pytest.fixture(scope="module")
def exams(tmp_path_factory):
    tree = tmp_path_factory.mktemp("fair") / "tree"
    return Exams(tree, [PARTS[name] for name in CHEAP], seed=37)


@pytest.mark.parametrize("mistake", entries("mistake", CHEAP), ids=lambda entry: entry["name"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # one divides by 0
def test_a_fair_mistake_is_caught_and_nothing_misleading_is_said(exams, mistake):
    for _, results in exams.results(mistake["code"]):
        assert verdict(mistake, results) == ("named" if "known" in mistake else "unnamed")


@pytest.mark.parametrize("right", entries("alternative", CHEAP), ids=lambda entry: entry["name"])
def test_a_correct_alternative_passes(exams, right):
    for _, results in exams.results(right["code"]):
        assert all(result.passed for result in results)


def test_each_fair_mistake_says_what_is_wrong_and_where():
    for kind in ("mistake", "alternative"):
        found = entries(kind)
        assert len({entry["name"] for entry in found}) == len(found)
        for entry in found:
            asked = PARTS[entry["part"]].places
            assert all(key in asked for key in entry["code"] if ":" in key)
    assert all(entry["cause"].endswith(".") for entry in entries("mistake"))

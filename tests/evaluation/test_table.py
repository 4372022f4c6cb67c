"""Tables as CSV: what data hold is text, in a spreadsheet as well."""

import csv
import io

import pytest

from evaluation.table import csv_text


@pytest.mark.parametrize("word", ["=2+5", "+1-1", "-a", "@SUM(A1)", "\t=1", " =1", "＝1"])
def test_words_never_start_a_formula(word):
    assert csv_text(["a", "b"], [[word, -0.5]]) == f"a,b\n'{word},-0.5\n"


def test_numbers_are_no_formulas_however_they_are_spelled():
    row = ["-0.5", "+1", "-1e-09", -0.5, "1-1"]
    assert csv_text("abcde", [row]) == "a,b,c,d,e\n-0.5,+1,-1e-09,-0.5,1-1\n"


def test_other_values_are_as_ever():
    rows = list(csv.reader(io.StringIO(csv_text(["a", "b"], [['x,"y"', None], ["a-b", 1e-9]]))))
    assert rows == [["a", "b"], ['x,"y"', ""], ["a-b", "1e-09"]]

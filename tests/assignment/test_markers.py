"""Markers enclose lines of one function, and holes take their place."""

import pytest

from assignment.markers import (
    MarkerError,
    regions,
    solution_lines,
    with_holes,
    without_markers,
)
from assignment.parts import PARTS
from assignment.trees import check_places

SOURCE = '''\
class A:
    def f(self, x):
        """Return x."""
        # BEGIN SOLUTION
        # why
        y = x
        return y
        # END SOLUTION


def g():
    a = 1
    # BEGIN SOLUTION
    a = 2
    # END SOLUTION
    return a
'''


def test_regions_carry_the_names_of_their_functions():
    assert [region.name for region in regions(SOURCE)] == ["A.f", "g"]
    assert solution_lines(SOURCE) == {"# why", "y = x", "return y", "a = 2"}
    assert solution_lines(SOURCE, "g".__eq__) == {"a = 2"}


def test_a_hole_says_what_to_do_and_raises():
    texts = {"A.f": ("p: write it", "Do this:\n  y = x\nHint: think.")}
    holed = with_holes(SOURCE, texts.get)
    assert "# why" not in holed and "a = 2" in holed and "SOLUTION" not in holed
    hole = "        # Do this:\n        #   y = x\n        # Hint: think.\n        raise NotImpl"
    assert f'"""Return x."""\n{hole}' in holed
    scope: dict = {}
    exec(holed, scope)
    with pytest.raises(NotImplementedError, match="p: write it"):
        scope["A"]().f(1)
    assert scope["g"]() == 2


def test_without_markers_everything_else_stays():
    assert without_markers(SOURCE).splitlines() == [
        line for line in SOURCE.splitlines() if "SOLUTION" not in line
    ]


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    # BEGIN SOLUTION\n    return 1\n",
        "def f():\n    return 1\n    # END SOLUTION\n",
        "# BEGIN SOLUTION\nx = 1\n# END SOLUTION\n",
        "def f():\n    # BEGIN SOLUTION\n    x = 1\n    # BEGIN SOLUTION\n    return x\n",
        "def f():\n    # BEGIN SOLUTION\n    x = 1\n    # END SOLUTION\n"
        "    # BEGIN SOLUTION\n    return x\n    # END SOLUTION\n",
        "def f():\n    # BEGIN SOLUTION\n    x = 1\n\ndef g():\n    return 2\n    # END SOLUTION\n",
    ],
)
def test_markers_that_enclose_no_lines_of_one_function_are_refused(source):
    with pytest.raises(MarkerError, match=r"file\.py:"):
        regions(source, "file.py")


def test_parts_name_all_marked_places_and_each_has_a_text():
    check_places()
    for part in PARTS.values():
        assert part.text().places.keys() == set(part.places)
    assert sum(part.points for part in PARTS.values()) == 100

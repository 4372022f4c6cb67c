"""Python callers are held to the same types, choices and bounds as a command line."""

from pathlib import Path

import pytest
from test_option_flags import Recipe, Settings

from runtime.errors import UserError
from runtime.options import check


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"seeds": 0}, "--seeds 0: expected a whole number from 1 to 1000"),
        ({"share": 1.5}, "--share 1.5: expected a number from 0 to 1"),
        ({"share": float("nan")}, "--share nan: expected a number from 0 to 1"),
        ({"limit": 11}, "--limit 11: expected a whole number from 1 to 10"),
        ({"device": "tpu"}, "--device tpu: expected one of auto, cpu"),
        ({"mode": ""}, "--mode : expected one of slow, quick"),
        ({"colours": ("red", "blue")}, "--colours blue: expected one of red, green"),
        ({"seeds": 2.5}, "--seeds 2.5: expected a whole number from 1 to 1000"),
        ({"seeds": True}, "--seeds True: expected a whole number from 1 to 1000"),
        ({"share": "0.5"}, "--share 0.5: expected a number from 0 to 1"),
        ({"share": None}, "--share None: expected a number from 0 to 1"),
        ({"resume": 1}, "--resume 1: expected True or False"),
        ({"note": 3}, "--note 3: expected text"),
        ({"recipe": {"stops": 3}}, "recipe: unknown setting 'stops'; one of steps, rate, fast"),
        ({"recipe": {"rate": 2}}, "--rate 2: expected a number from 0 to 1"),
    ],
)
def test_python_callers_are_held_to_the_same_choices_and_bounds(given, told):
    with pytest.raises(UserError) as error:
        Settings(out=Path("here"), **given)
    assert str(error.value) == told


def test_flags_of_their_own_name_are_told_to_python_callers():
    with pytest.raises(UserError, match=r"^--recipe-steps 0: expected a whole number from"):
        check(Recipe(steps=0))


def test_what_is_in_bounds_or_absent_passes():
    check(Settings(out=Path("here"), limit=None, inputs=(Path("a"),), colours=(), share=1))
    check(Recipe(untold=-5))

"""How a card says that epochs were chosen: every branch, from the record of a cell."""

import pytest

from data.tasks import OWN, TASKS
from heads.export import how_chosen

CHOICE = {"epochs": 3, "chosen_by": 288, "rate": 1.5e-4, "tried": [{}]}
BY = "chosen on 288 held-out training rows."


@pytest.mark.parametrize(
    ("record", "task", "words"),
    [
        ({"select": "train", "choice": CHOICE}, "sts", f"The number of epochs, 3, was {BY}"),
        (
            {"select": "train", "choice": CHOICE | {"tried": [{}, {}]}},
            "para",
            f"The number of epochs, 3, was {BY} The encoder's learning rate, 0.00015, was {BY}",
        ),
        (
            {"select": "dev", "choice": CHOICE | {"chosen_by": 500}},
            "para",
            "The best epoch was chosen on dev. These rows calibrated the probabilities, too.",
        ),
        ({"select": "train", "choice": {}}, "sts", "Nothing was chosen: all epochs were trained."),
        ({"select": "last"}, "sts", "Nothing was chosen: all epochs were trained."),
        ({"select": "dev"}, "sts", "The best epoch was chosen on dev."),
        ({"select": "train", "tune": "none"}, "sts", ""),
        ({"select": "train"}, "search", ""),
        ({}, "sts", ""),
    ],
)
def test_the_choice_is_told_as_it_was_made(record, task, words):
    assert how_chosen({"tune": "frozen"} | record, (TASKS | OWN)[task]) == words

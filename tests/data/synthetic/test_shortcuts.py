"""Shortcuts are found where a made-up table has them, and not where it has none."""

from random import Random

import pytest

from data.synthetic.probes import labels, shortcuts
from data.synthetic.probes.shortcuts import (
    edit_of,
)

pytestmark = pytest.mark.synthetic

NOUNS = ("cat", "dog", "cow", "hen", "fox", "owl", "pig", "ant")


def row(first, second, label):
    return {"sentence1": first, "sentence2": second, "is_duplicate": str(float(label))}


def table(random, size, first=None, second=None, longer=False, the=False):
    """Return rows of two random nouns, in which the label shows where the arguments say."""
    rows = []
    for number in range(size):
        label = number % 2
        texts = [f"we saw {random.choice(NOUNS)}" for _ in range(2)]
        for position, word in enumerate((first, second)):
            if word and label:
                texts[position] += f" {word}"
        texts[1] += " so well and often again" * (longer and label)
        texts[1] = texts[1].replace("saw", "saw the" if the and label else "saw")
        rows.append(row(*texts, label))
    return rows


def found(**how):
    random = Random(3)
    parts = [table(random, size, **how) for size in (240, 60, 60)]
    return {f.name: f for f in shortcuts.shortcuts(parts, "para")}


def test_without_a_shortcut_all_are_near_chance():
    figures = found()
    for name, figure in figures.items():
        assert figure.chance == 0.5 and abs(figure.value - 0.5) < 0.15, name


@pytest.mark.parametrize(
    ("how", "name", "others"),
    [
        ({"first": "red"}, "first text alone", ["second text alone"]),
        ({"second": "red"}, "second text alone", ["first text alone"]),
        ({"longer": True}, "lengths", ["first text alone"]),
        ({"the": True}, "function words", ["first text alone"]),
    ],
)
def test_a_shortcut_is_found_where_it_is(how, name, others):
    figures = found(**how)
    assert figures[name].value > 0.95
    for other in others:
        assert figures[other].value < 0.65


def test_an_edit_is_the_words_that_go_and_come():
    assert edit_of(row("The cat saw a dog.", "The dog saw the cat!", 0)) == (("a",), ("the",))
    assert edit_of(row("The cat saw the dog.", "the dog saw the cat", 0)) == ((), ())
    assert edit_of(row("two cats", "two two dogs", 0)) == (("cats",), ("dogs", "two"))


def test_the_command_prints_each_figure_beside_chance(bundled_data, capsys):
    assert shortcuts.main([str(bundled_data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * 7 and "chance" in lines[0]
    for line in lines[1:]:
        assert line[:4].strip() in ("para", "sts")
        value, beside = map(float, line.split()[-2:])
        assert -1 <= value <= 5 and -1 <= beside <= 5


def test_faults_are_one_line(tmp_path, toy_data, capsys):
    assert shortcuts.main([str(tmp_path / "nowhere")]) == 2
    assert shortcuts.main([str(toy_data)]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 2 and errors.count("error: ") == 2
    with pytest.raises(SystemExit) as stop:
        labels.main(["--pairs", "0"])
    assert stop.value.code == 2 and "--pairs" in capsys.readouterr().err

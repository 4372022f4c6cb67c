"""Whatever the term's seed, every known mistake shows: by chance it could give right answers."""

from dataclasses import replace

import numpy as np
import pytest

from assignment import suites
from assignment.answering import answer
from assignment.compare import difference, read_suite
from assignment.inputs import pooling
from assignment.mistakes import MISTAKES
from assignment.parts import chosen_parts
from assignment.suites import write_suites
from runtime.errors import UserError

SEEDS = range(100, 112)
KINDS = ("public", "hidden")
PARTS = ("pooling", "weights", "adamw", "metrics")


@pytest.fixture
def folders(tmp_path):
    """Where both suites go, and an empty folder for the trees."""
    (tmp_path / "work").mkdir()
    return {kind: tmp_path / kind for kind in KINDS}


def test_the_mistakes_of_many_terms_show_in_the_first_draw(tmp_path):
    names = [f"{kind} {seed}" for seed in SEEDS for kind in KINDS]
    folders = {name: tmp_path / name for name in names}
    parts = chosen_parts(PARTS)
    for name, folder in folders.items():
        kind, _, seed = name.partition(" ")
        suites.write_inputs(folder, parts, int(seed), kind)
    answer(suites._write_trees(folders, parts, tmp_path / "work"), tmp_path)
    mistakes = [mistake.name for part in PARTS for mistake in MISTAKES[part]]
    for name, folder in folders.items():
        suites._collect(folder, tmp_path / "work" / name, mistakes)
        assert suites.unrecognised(folder, tmp_path / "work" / name, mistakes) == [], name


def in_the_middle(draw):
    """Return pairs of two texts of one length, which a cut in the middle leaves right."""
    lengths = np.array([6, 8])
    return {"lengths": lengths, "first_lengths": lengths // 2, "states": draw.floats(14, 3)}


def test_after_a_draw_that_hides_a_mistake_there_is_another(monkeypatch, tmp_path, folders):
    draw_right, drawn = pooling.segments, []

    def segments(draw):
        drawn.append(draw)
        return in_the_middle(draw) if len(drawn) == 1 else draw_right(draw)

    monkeypatch.setattr(pooling, "segments", segments)
    write_suites(folders, chosen_parts(["pooling"]), 5, tmp_path / "work")
    assert len(drawn) == 4
    for folder in folders.values():
        suite = read_suite(folder)
        (case,) = [case for case in suite.answers if "segments" in case]
        assert difference(suite.answers[case], suite.mistakes["segments-halved"][case])


def test_if_no_draw_shows_a_mistake_it_is_told_in_one_line(monkeypatch, tmp_path, folders):
    monkeypatch.setattr(pooling, "segments", in_the_middle)
    monkeypatch.setattr(suites, "MOST_DRAWS", 2)
    with pytest.raises(UserError, match="'segments-halved' does not show in 2 draws") as told:
        write_suites(folders, chosen_parts(["pooling"]), 5, tmp_path / "work")
    assert len(str(told.value).splitlines()) == 1


def test_two_mistakes_that_answer_alike_do_not_show(monkeypatch, tmp_path, folders):
    one = MISTAKES["pooling"][0]
    monkeypatch.setattr(suites, "MISTAKES", {"pooling": (one, replace(one, name="its-double"))})
    monkeypatch.setattr(suites, "MOST_DRAWS", 1)
    with pytest.raises(UserError, match=f"'{one.name}' does not show"):
        write_suites(folders, chosen_parts(["pooling"]), 5, tmp_path / "work")

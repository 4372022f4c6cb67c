"""Every known mistake shows under its own name, whatever the term's seed; right answers do not."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from assignment import suites
from assignment.cases import pooling
from assignment.compare import difference, judge_arrays, read_suite
from assignment.parts import PARTS, chosen_parts
from assignment.suites import answered, ask, draw, unrecognised, write_suites
from assignment.trees import with_body, write_tree
from runtime.errors import UserError

SUITES = ("student/checks", "instructor/hidden")
KINDS = ("public", "hidden")
ALTERNATIVES = sorted((Path(__file__).parent / "alternatives").glob("*.txt"))


def test_every_mistake_is_recognised_in_its_own_answers_by_both_suites(made):
    names = [mistake.name for part in PARTS.values() for mistake in part.mistakes]
    assert len(set(names)) == len(names) == 154
    for folder in SUITES:
        suite = read_suite(made / folder)
        assert list(suite.mistakes) == names
        for name, answers in suite.mistakes.items():
            wrong = [r for r in judge_arrays(suite, answers) if r.case in answers and not r.passed]
            assert wrong and {result.mistake for result in wrong} == {name}, folder


def test_the_mistakes_of_other_terms_show_in_the_first_draw(tmp_path):
    parts = chosen_parts(("pooling", "metrics"))
    write_tree(tmp_path, parts, solved=True)
    drawn = [draw(parts, seed, "hidden") for seed in range(100, 106)]
    for suite in answered(tmp_path, parts, drawn):
        assert unrecognised(suite) == []


def test_the_term_seed_changes_numbers_sizes_and_hidden_names(made):
    parts = chosen_parts()
    texts = [(made / folder / "suite.json").read_text("utf-8") for folder in SUITES]
    for text, kind in zip(texts, KINDS, strict=True):
        about, inputs = draw(parts, 20260901, kind)
        assert json.loads(text) == json.loads(json.dumps(about))
        other_about, others = draw(parts, 2, kind)
        for case, other in zip(about["cases"], other_about["cases"], strict=True):
            assert (case["name"] == other["name"]) == (kind == "public")
            assert difference(inputs[case["name"]], others[other["name"]])
    assert "20260901" not in texts[0] and "20260901" in texts[1]
    public, hidden = (read_suite(made / folder) for folder in SUITES)
    assert not set(public.answers) & set(hidden.answers)


def test_after_a_draw_that_hides_a_mistake_there_is_another(monkeypatch, tmp_path):
    draw_right, drawn = pooling.draw_segments, []

    def segments(draw):
        """Draw two texts of one length first, which a cut in the middle leaves right."""
        drawn.append(draw)
        if len(drawn) not in (1, 5):
            return draw_right(draw)
        lengths = np.array([6, 8])
        return {"lengths": lengths, "first_lengths": lengths // 2, "states": draw.floats(14, 3)}

    monkeypatch.setattr(pooling, "draw_segments", segments)
    folders = {kind: tmp_path / kind for kind in KINDS}
    write_suites(folders, chosen_parts(["pooling"]), 5, tmp_path / "work")
    assert len(drawn) == 4
    for folder in folders.values():
        suite = read_suite(folder)
        (case,) = [case for case in suite.answers if "segments" in case]
        assert difference(suite.answers[case], suite.mistakes["segments-halved"][case])
    monkeypatch.setattr(suites, "MOST_DRAWS", 1)
    with pytest.raises(UserError, match="'segments-halved' does not show in 1 draws"):
        write_suites({"public": tmp_path / "none"}, chosen_parts(["pooling"]), 5, tmp_path)


def bodies(path: Path) -> dict[str, str]:
    """Return place -> body from a file of sections, `## file:name`."""
    sections = path.read_text(encoding="utf-8").split("\n## ")[1:]
    return dict(section.split("\n", 1) for section in sections)


@pytest.mark.parametrize("path", ALTERNATIVES, ids=lambda path: path.stem)
def test_a_correct_solution_written_differently_raises_no_alarm(made, tmp_path, path):
    assert len(ALTERNATIVES) == 5 and len(bodies(path)) >= 5
    tree = shutil.copytree(made / "instructor" / "reference", tmp_path / "tree")
    for place, body in bodies(path).items():
        assert any(place in part.places for part in PARTS.values())
        file, _, name = place.partition(":")
        source = (tree / file).read_text(encoding="utf-8")
        (tree / file).write_text(with_body(source, name, body.splitlines()), encoding="utf-8")
    drawn = [draw(chosen_parts(), 20260901, kind) for kind in KINDS]
    for folder, (found, raised) in zip(SUITES, ask(tree, drawn), strict=True):
        results = judge_arrays(read_suite(made / folder), found, raised)
        assert [(r.case, r.reason) for r in results if not r.passed] == []

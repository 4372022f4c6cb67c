"""Every known mistake shows under its own name, whatever the term's seed; right answers do not."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from diagnoses import whole_alternatives, written

from assignment import driver, suites
from assignment.cases import sentences
from assignment.compare import difference, judge_arrays, read_suite
from assignment.make import make, secrets_of
from assignment.parts import PARTS, Mistake, chosen_parts
from assignment.suites import answered, ask, draw, unrecognised, write_suites
from assignment.trees import write_tree
from runtime.errors import UserError

KEYS = secrets_of(20260901)
SUITES = ("student/checks", "instructor/hidden")
KINDS = ("public", "hidden")
ALTERNATIVES = whole_alternatives()
PLACES = [place for part in PARTS.values() for place in part.places]
HALVED = Mistake(
    "segments-halved",
    "minbert/pooling.py:mean_of_segments",
    old="starts + batch.first_lengths",
    says="pairs are cut in the middle",
    new="(starts + ends) // 2",
)


def test_every_mistake_is_recognised_in_its_own_answers_by_both_suites(made):
    mistakes = [mistake for part in PARTS.values() for mistake in part.mistakes]
    names = [mistake.name for mistake in mistakes]
    assert len(set(names)) == len(names) == 149
    assert {mistake.place for mistake in mistakes} == set(PLACES)  # or it is never looked at
    for folder in SUITES:
        suite = read_suite(made / folder)
        assert list(suite.mistakes) == names and unrecognised(suite) == []


def test_the_mistakes_of_other_terms_show_in_the_first_draw(tmp_path):
    parts = chosen_parts(("pooling", "metrics"))
    write_tree(tmp_path, parts, solved=True)
    drawn = [draw(parts, seed, "hidden") for seed in range(100, 103)]
    for suite in answered(tmp_path, parts, drawn):
        assert unrecognised(suite) == []


def test_a_key_of_each_suite_decides_numbers_sizes_and_hidden_names(made):
    parts = chosen_parts()
    for folder, kind in zip(SUITES, KINDS, strict=True):
        about, inputs = draw(parts, KEYS[kind], kind)
        text = (made / folder / "suite.json").read_text("utf-8")
        assert json.loads(text) == json.loads(json.dumps(about))
        other_about, others = draw(parts, 2, kind)
        for case, other in zip(about["cases"], other_about["cases"], strict=True):
            assert (case["name"] == other["name"]) == (kind == "public")
            assert difference(inputs[case["name"]], others[other["name"]])
    public, hidden = (read_suite(made / folder) for folder in SUITES)
    assert not set(public.answers) & set(hidden.answers)


def test_secrets_are_new_and_nothing_that_is_handed_out_depends_on_the_hidden_one(
    tmp_path, toy_data, monkeypatch
):
    keys = secrets_of()
    assert len({*keys.values(), *secrets_of().values()}) == 6 and min(keys.values()) > 2**90
    handed_out = []
    for hidden in (1, 2):
        monkeypatch.chdir(tmp_path)
        make(tmp_path / "term", ["model"], {**keys, "hidden": hidden}, toy_data)
        student = tmp_path / "term" / "student"
        files = (path for path in student.rglob("*") if path.is_file())
        handed_out.append({path: path.read_bytes() for path in files})
    assert handed_out[0] == handed_out[1]
    instructor = tmp_path / "term" / "instructor"
    assert json.loads((instructor / "secrets.json").read_text()) == {**keys, "hidden": 2}
    modes = {path: path.stat().st_mode & 0o777 for path in (instructor, *instructor.rglob("*"))}
    assert set(modes.values()) == {0o600, 0o700}
    assert all(mode == 0o700 for path, mode in modes.items() if path.is_dir())


def test_after_a_draw_that_hides_a_mistake_there_is_another(monkeypatch, tmp_path):
    draw_right, drawn = sentences.draw_segments, []

    def segments(draw):
        """Draw two texts of one length first, which a cut in the middle leaves right."""
        drawn.append(draw)
        if len(drawn) not in (1, 5):
            return draw_right(draw)
        lengths = np.array([6, 8])
        return {"lengths": lengths, "first_lengths": lengths // 2, "states": draw.floats(14, 3)}

    monkeypatch.setattr(sentences, "draw_segments", segments)
    (pooling,) = parts = chosen_parts(["pooling"])
    monkeypatch.setitem(vars(pooling), "mistakes", (HALVED,))
    folders = {kind: tmp_path / kind for kind in KINDS}
    write_suites(folders, parts, secrets_of(5), tmp_path / "work")
    assert len(drawn) == 4
    for folder in folders.values():
        suite = read_suite(folder)
        (case,) = [case for case in suite.answers if "segments" in case]
        assert case in {of for of, _ in suite.mistakes["segments-halved"]}
    monkeypatch.setattr(suites, "MOST_DRAWS", 1)
    with pytest.raises(UserError, match="'segments-halved' was not detected in 1 draws"):
        write_suites({"public": tmp_path / "none"}, parts, secrets_of(5), tmp_path)


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_a_correct_solution_written_differently_raises_no_alarm(made, tmp_path, name):
    assert len(ALTERNATIVES) == 6 and len(ALTERNATIVES[name]) >= 5
    tree = shutil.copytree(made / "instructor" / "reference", tmp_path / "tree")
    drawn = [draw(chosen_parts(), KEYS[kind], kind) for kind in KINDS]
    with written(tree, ALTERNATIVES[name]):
        asked = ask(tree, drawn)
    for folder, (found, raised) in zip(SUITES, asked, strict=True):
        results = judge_arrays(read_suite(made / folder), found, raised)
        assert [(r.case, r.computed) for r in results if not r.passed] == []


@pytest.mark.parametrize("line", ["raise CheckpointError('no')", "return None", "return EMPTY"])
def test_what_always_says_the_same_earns_nothing(made, tmp_path, line):
    tree = shutil.copytree(made / "instructor" / "reference", tmp_path / "tree")
    line = line.replace("EMPTY", "torch.empty(0)")
    body = f"import torch\nfrom minbert.config import CheckpointError\n{line}"
    drawn = draw(chosen_parts(), KEYS["hidden"], "hidden")
    with written(tree, dict.fromkeys(PLACES, body)):
        ((found, raised),) = ask(tree, [drawn])
    suite = read_suite(made / "instructor" / "hidden")
    assert [r.case for r in judge_arrays(suite, found, raised) if r.passed] == []


def test_inputs_changed_in_place_and_arrays_for_tensors_are_remarks(monkeypatch):
    def case(given):
        given["x"].mul_(2)
        return {"y": np.ones(2)}

    monkeypatch.setattr(driver, "_load", lambda path: SimpleNamespace(case=case))
    _, remarks = driver.answer("part.case", {"x": np.ones(3)})
    assert remarks == [
        'the input "x" is changed in place; the caller may still need it',
        '"y" is of type ndarray; a tensor is asked for',
    ]

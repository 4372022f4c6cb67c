"""The grammar behind the bundled data: words, renderings, edits and their scores."""

from dataclasses import replace
from random import Random

import pytest

from data.bundled.edits import negate, reword, swap_roles
from data.bundled.frames import Frame, Phrase
from data.bundled.grammar import say
from data.bundled.morphology import article, gerund, participle, past, plural, third_person
from data.bundled.renderings import renderings
from data.bundled.sampling import draw_frame, kept
from data.bundled.scores import similarity
from data.bundled.vocabulary import lexicon


@pytest.mark.parametrize(
    ("function", "word", "expected"),
    [
        (plural, "knife", "knives"), (plural, "cup of tea", "cups of tea"),
        (plural, "salesman", "salesmen"), (plural, "puppy", "puppies"), (plural, "bus", "buses"),
        (plural, "bread knife", "bread knives"), (plural, "sheep", "sheep"),
        (third_person, "carry", "carries"), (third_person, "watch over", "watches over"),
        (third_person, "do", "does"), (past, "stop", "stopped"), (past, "cut up", "cut up"),
        (past, "open", "opened"), (past, "mimic", "mimicked"), (past, "try on", "tried on"),
        (participle, "steal", "stolen"), (participle, "wake up", "woken up"),
        (gerund, "bake", "baking"), (gerund, "hit", "hitting"), (gerund, "flee", "fleeing"),
        (gerund, "forget", "forgetting"), (gerund, "visit", "visiting"),
        (article, "hour", "an hour"), (article, "honest man", "an honest man"),
        (article, "unicycle", "a unicycle"), (article, "x-ray machine", "an x-ray machine"),
        (article, "old-fashioned hat", "an old-fashioned hat"), (article, "user", "a user"),
    ],
)  # fmt: skip
def test_morphology(function, word, expected):
    assert function(word) == expected


@pytest.fixture(scope="module")
def slicing():
    verb = next(verb for verb in lexicon().domains["kitchen"] if verb.word == "slice")
    chef = next(noun for noun in verb.agents if noun.word == "chef")
    onion = next(noun for noun in verb.patients if noun.word == "onion")
    return Frame("kitchen", verb, "slice", Phrase(chef, "chef"), Phrase(onion, "onion", 2, False))


def said(frame, name):
    return say(frame, next(pattern for pattern in renderings(frame) if pattern.name == name))


def test_renderings_of_one_frame(slicing):
    assert said(slicing, "active") == "The chef sliced two onions."
    assert said(slicing, "passive") == "Two onions were sliced by the chef."
    assert said(slicing, "what cleft") == "What the chef sliced were two onions."
    now = replace(slicing, tense="now", place="in the kitchen")
    assert said(now, "caption") == "The chef slicing two onions in the kitchen"
    assert said(now, "place cleft") == "It is in the kitchen that the chef is slicing two onions."
    ask = replace(slicing, mood="why", negated=True)
    assert said(ask, "why question") == "Why did the chef not slice two onions?"
    future = replace(slicing, tense="future")
    assert said(future, "passive") == "Two onions will be sliced by the chef."


def test_only_what_can_act_changes_roles(slicing):
    assert swap_roles(slicing, Random(0), "train") is None
    frame = draw_frame(Random(0), "train", swappable=True)
    swapped = swap_roles(frame, Random(0), "train")
    assert swapped and swapped.agent == frame.patient and swapped.patient == frame.agent


def test_scores_follow_what_changed(slicing):
    assert similarity(slicing, slicing) == 5.0
    assert 2 <= similarity(slicing, negate(slicing, Random(0), "train")) <= 3
    place = [replace(slicing, place=where) for where in ("in the kitchen", "at the market", "")]
    assert 3 <= similarity(place[0], place[1]) <= 4 < similarity(place[0], place[2]) < 5
    other = draw_frame(Random(3), "train", "sea")
    assert similarity(slicing, other) < 0.5


def test_adjectives_and_verbs_know_their_class():
    for nouns in lexicon().kinds.values():
        for noun in nouns:
            assert all(group in lexicon().adjectives for group in noun.groups), noun.word
    for verbs in lexicon().domains.values():
        for verb in verbs:
            assert verb.agents and all(group in lexicon().adverbs for group in verb.manners)


def test_synonyms_cost_nothing():
    random, changed = Random(4), 0
    for _ in range(2000):
        frame = draw_frame(random, "train")
        other = reword(frame, random, 0.9)
        changed += other.place != frame.place
        assert similarity(frame, other) == similarity(other, frame) == 5.0, (frame, other)
    assert changed > 50


def test_deeds_are_held_out_too():
    random = Random(1)
    assert not any(kept(draw_frame(random, "train")) for _ in range(500))
    assert sum(kept(draw_frame(random, "test")) for _ in range(500)) > 20

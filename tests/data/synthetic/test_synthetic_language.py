"""The grammar behind the bundled data: words, renderings, edits and their scores."""

import re
from dataclasses import replace
from random import Random

import pytest

from data.synthetic.edits import negate, reword, swap_roles
from data.synthetic.frames import ANYBODY, PRONOUN, SOMEONE, Frame, Phrase, choose
from data.synthetic.grammar import say
from data.synthetic.morphology import article, gerund, participle, past, plural, third_person
from data.synthetic.renderings import MOODS, draw_pattern, patterns, renderings
from data.synthetic.sampling import draw_frame, kept
from data.synthetic.scores import similarity
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import Quality

pytestmark = pytest.mark.synthetic

YEARLY = Quality("once a year")


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


SAID = [
    ({}, "using a tool, last", "The chef sliced two onions using a knife."),
    ({}, "tool used to", "A knife was used by the chef to slice two onions."),
    ({"tense": "future"}, "going to, passive",
     "Two onions are going to be sliced by the chef with a knife."),
    ({"tense": "now"}, "caption, without articles", "Chef slicing two onions with knife"),
    ({"tense": "now"}, "caption, seen", "The chef can be seen slicing two onions with a knife."),
    ({"place": "in the kitchen"}, "it happened",
     "The chef sliced two onions with a knife; it happened in the kitchen."),
    ({"mood": "reported"}, "reported, to have",
     "The chef is reported to have sliced two onions with a knife."),
    ({"mood": "official"}, "official, headline, passive",
     "Officials say two onions sliced by chef with knife."),
    ({"mood": "hearsay", "negated": True}, "hearsay, apparently",
     "Apparently, the chef did not slice two onions with a knife."),
    ({"mood": "polar"}, "yes-no question, anyone, passive",
     "Does anyone know if two onions were sliced by the chef with a knife?"),
    ({"mood": "why"}, "why question, made", "What made the chef slice two onions with a knife?"),
    ({"mood": "where"}, "where question, place where",
     "What is the place where the chef sliced two onions with a knife?"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "name", "expected"), SAID)
def test_newer_renderings(slicing, changes, name, expected):
    knife = next(noun for noun in slicing.verb.tools if noun.word == "knife")
    frame = replace(slicing, tool=Phrase(knife, "knife", definite=False), **changes)
    assert said(frame, name) == expected


def test_how_asks_for_no_one_in_particular(slicing):
    how = replace(slicing, mood="how", tense="habit", agent=ANYBODY)
    how = replace(how, patient=replace(slicing.patient, count=0))
    assert said(how, "how question") == "How do you slice onions?"
    assert said(how, "how question, way") == "What is the best way to slice onions?"
    assert said(how, "how question, passive") == "How are onions sliced?"
    drawn = [draw_frame(Random(seed), "train", mood="how") for seed in range(50)]
    assert all(frame.agent == ANYBODY and not frame.time for frame in drawn)
    assert not renderings(replace(how, agent=slicing.agent))


def test_several_need_no_some_where_one_act_is_meant(slicing):
    several = replace(slicing, patient=replace(slicing.patient, count=0))
    assert said(several, "active") == "The chef sliced onions."
    chefs = replace(slicing, agent=replace(slicing.agent, count=0, definite=False), tense="now")
    assert said(chefs, "active") == "Chefs are slicing two onions."
    assert said(chefs, "group") == "A group of chefs is slicing two onions."
    assert said(chefs, "some") == "Some chefs are slicing two onions."
    assert said(replace(several, negated=True), "active") == "The chef did not slice some onions."
    future = replace(several, tense="future")
    assert said(future, "passive") == "Some onions will be sliced by the chef."


def parts(frame):
    """Return the words that every rendering of a frame must hold."""
    asked = {"who": frame.agent, "what": frame.patient, "how": frame.agent}.get(frame.mood)
    phrases = [p for p in (*frame.phrases().values(), frame.tool) if p and p is not asked]
    named = [p for p in phrases if p.noun.kind != PRONOUN]
    found = [plural(p.word) if p.plural else p.word for p in named]
    found += [p.adjective.word for p in named if p.adjective]
    details = frame.manner and frame.manner.word, frame.time and frame.time.word
    return [*found, frame.place.split(" ")[-1], *filter(None, details)]


def test_every_rendering_says_all_of_its_frame():
    random, seen = Random(7), set()
    for _ in range(2500):
        mood = choose(random, ("statement",) * 6 + MOODS)
        frame = draw_frame(random, "train", mood=mood)
        found = renderings(frame)
        assert any(pattern.share >= 1 for pattern in found), frame
        for pattern in found:
            text = say(frame, pattern).lower()
            assert all(part.lower() in text for part in parts(frame)), (text, frame)
            seen.add(pattern.name)
    assert len(seen) > 0.9 * len(patterns())


def test_someone_is_left_out_of_a_passive(slicing):
    frame = replace(slicing, agent=SOMEONE)
    assert said(frame, "active") == "Someone sliced two onions."
    assert said(frame, "passive") == "Two onions were sliced."
    # Whoever denies that someone did it may think of one person; the passive denies it of all.
    for mood in (*MOODS, "statement"):
        denied = renderings(replace(frame, mood=mood, negated=True))
        assert all("passive" in pattern.conditions for pattern in denied)
        assert denied or mood in ("who", "how"), mood
    assert swap_roles(frame, Random(0), "train") is None


def test_who_says_so_is_never_the_only_difference(slicing):
    for mood in ("reported", "official", "hearsay"):
        found = renderings(replace(slicing, mood=mood))
        assert len(found) >= 8 and all(mood in pattern.conditions for pattern in found)
    for mood in ("statement", "headline"):
        texts = [say(replace(slicing, mood=mood), p) for p in renderings(slicing)]
        assert not any(re.search("report|official|heard|apparent", t.lower()) for t in texts)


def test_some_times_do_not_lead(slicing):
    time = next(t for t in lexicon().times["habit"] if t.word == "all the time")
    often = replace(slicing, tense="habit", time=time)
    assert not any(p.text.startswith("{!T}") for p in renderings(often))
    assert any(p.text.startswith("{!T}") for p in renderings(replace(often, time=YEARLY)))


def test_plain_sentences_are_drawn_often_and_clefts_seldom(slicing):
    random = Random(0)
    frame = replace(slicing, place="in the kitchen")
    names = [draw_pattern(random, renderings(frame)).name for _ in range(2000)]
    plain = sum(name.startswith(("active", "passive")) for name in names)
    assert plain > 0.65 * len(names) and 0 < sum("cleft" in name for name in names) < 200
    share = {pattern.name: pattern.share for pattern in renderings(frame)}
    expected = share["active"] / sum(share.values())
    assert names.count("active") / len(names) == pytest.approx(expected, abs=0.04)


def test_only_what_can_act_changes_roles(slicing):
    assert swap_roles(slicing, Random(0), "train") is None
    frame = draw_frame(Random(0), "train", swappable=True)
    swapped = swap_roles(frame, Random(0), "train")
    assert swapped and swapped.agent == frame.patient and swapped.patient == frame.agent


def test_scores_follow_what_changed(slicing):
    assert similarity(slicing, slicing) == 5.0
    assert 3.3 < similarity(slicing, negate(slicing, Random(0), "train")) < 4
    place = [replace(slicing, place=where) for where in ("in the kitchen", "at the market", "")]
    assert 3 <= similarity(place[0], place[1]) <= 4 < similarity(place[0], place[2]) < 5
    other = draw_frame(Random(3), "train", "sea")
    assert similarity(slicing, other) < 1


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

"""The grammar behind the bundled data: words, renderings, styles, edits and their scores."""

import collections
import re
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from data.synthetic.edits import negate, reword
from data.synthetic.frames import PRONOUN, Frame, Phrase, choose
from data.synthetic.graded import ADVERSARIAL
from data.synthetic.grammar import say
from data.synthetic.morphology import plural
from data.synthetic.pairs import Example
from data.synthetic.renderings import MOODS, patterns, renderings
from data.synthetic.sampling import draw_frame
from data.synthetic.scored import BANDS, band_of, scored_pair
from data.synthetic.scores import WEIGHTS, differences, similarity
from data.synthetic.sentences import SCENE, Scenes
from data.synthetic.surface import Style, typed, typed_texts
from data.synthetic.taxonomy import same_noun
from data.synthetic.triplets import triplet
from data.synthetic.vocabulary import lexicon
from data.synthetic.wordlists import blocks, fields, lines
from data.synthetic.writing import Writer

pytestmark = pytest.mark.synthetic


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


def test_scores_follow_what_changed(slicing):
    assert similarity(slicing, slicing) == 5.0
    assert 3.3 < similarity(slicing, negate(slicing, Random(0), "train")) < 4
    place = [replace(slicing, place=where) for where in ("in the kitchen", "at the market", "")]
    assert 3 <= similarity(place[0], place[1]) <= 4 < similarity(place[0], place[2]) < 5
    other = draw_frame(Random(3), "train", "sea")
    assert similarity(slicing, other) < 1


def test_synonyms_cost_nothing():
    random, changed = Random(4), 0
    for _ in range(2000):
        frame = draw_frame(random, "train")
        other = reword(frame, random, 0.9)
        changed += other.place != frame.place
        assert similarity(frame, other) == similarity(other, frame) == 5.0, (frame, other)
    assert changed > 50


def twice(names):
    return [name for name, count in collections.Counter(names).items() if count > 1]


def all_verbs():
    return [verb for verbs in lexicon().domains.values() for verb in verbs]


def all_nouns():
    return {noun for nouns in lexicon().kinds.values() for noun in nouns}


def test_no_class_group_or_domain_is_defined_twice():
    classes = [fields(header)[0] for header, _ in blocks("nouns")]
    subsets = [line.partition(":")[0] for line in lines("noun_subsets")]
    assert twice(classes + subsets) == []
    assert twice(fields(header)[0] for header, _ in blocks("verbs")) == []
    for name in ("adjectives", "adverbs"):
        assert twice(line.partition(":")[0] for line in lines(name)) == []


def test_every_word_is_used():
    verbs = all_verbs()
    roles = [role for v in verbs for role in (v.agents, v.patients, v.tools, v.receivers)]
    used = {noun.word for role in roles for noun in role}
    assert sorted(noun.word for noun in all_nouns() if noun.word not in used) == []
    groups = {group for noun in all_nouns() for group in noun.groups}
    assert sorted(set(lexicon().adjectives) - groups - {"place"}) == []
    assert sorted(set(lexicon().adverbs) - {name for v in verbs for name in v.manners}) == []


def test_relations_name_other_words():
    for noun in all_nouns():
        assert not twice((noun.word, *noun.synonyms)) and noun.hypernym not in noun.synonyms
    for verb in all_verbs():
        forms = [verb.word, *verb.synonyms, *filter(None, (verb.antonym, verb.hypernym))]
        assert not twice(forms), forms
    for table in (lexicon().adjectives, lexicon().adverbs):
        for qualities in table.values():
            for quality in qualities:
                own = (quality.word, *quality.synonyms)
                assert not twice(own) and not set(own) & set(quality.opposites), own


def test_no_role_holds_a_word_twice():
    for verb in all_verbs():
        for role in (verb.agents, verb.patients, verb.tools, verb.receivers):
            assert not twice(noun.word for noun in role), verb.word


ALL = Style(contracted=True, digital=True, british=True, lower_case=True, unstopped=True)


@pytest.mark.parametrize(
    ("style", "text", "expected"),
    [
        (Style(), "The two chefs did not yawn.", "The two chefs did not yawn."),
        (Style(contracted=True), "The chefs did not yawn.", "The chefs didn't yawn."),
        (Style(contracted=True), "It is not true that he will not go.",
         "It isn't true that he won't go."),
        (Style(contracted=True), "It is the chef who yawned.", "It's the chef who yawned."),
        (Style(contracted=True), "What is it that he saw?", "What is it that he saw?"),
        (Style(contracted=True), "Do you know what it is?", "Do you know what it is?"),
        (Style(contracted=True), "In the park, there is a man.", "In the park, there's a man."),
        (Style(contracted=True), "Why did the chef not yawn?", "Why did the chef not yawn?"),
        (Style(digital=True), "Two men lost ten hats.", "2 men lost 10 hats."),
        (Style(digital=True), "A two-seater is often stolen.", "A two-seater is often stolen."),
        (Style(british=True), "Neighbors painted the theater gray.",
         "Neighbours painted the theatre grey."),
        (Style(unstopped=True), "The chef yawned.", "The chef yawned"),
        (Style(unstopped=True), "Did the chef yawn?", "Did the chef yawn?"),
        (ALL, "Two neighbors did not yawn.", "2 neighbours didn't yawn"),
    ],
)  # fmt: skip
def test_a_style_leaves_the_meaning(style, text, expected):
    assert typed(text, style) == expected


def test_texts_of_the_same_words_keep_them():
    texts = ("Two men did not see ten dogs.", "Ten dogs did not see two men.")
    bags = [
        {tuple(sorted(re.findall(r"[\w']+", t.lower()))) for t in typed_texts(Random(seed), texts)}
        for seed in range(40)
    ]
    assert all(len(bag) == 1 for bag in bags) and len(set.union(*bags)) > 2


def test_what_is_new_is_seen_before_it_is_typed(tmp_path):
    writer = Writer(tmp_path, 0)
    rows = [Example((f"{name} men yawned.",), "", "") for name in ("Two", "Two", "Three", "Four")]
    made = iter(rows)
    first = writer.draw("a", "train", 2, lambda random, split: next(made))
    assert len({row.texts for row in first}) == 2
    second = iter([rows[2], rows[3]])
    assert len(writer.draw("b", "test", 1, lambda random, split: next(second))) == 1
    assert writer.part_of["Four men yawned."] == "test"


def words(text):
    return re.findall(r"[\w'-]+", text.lower())


# --- the scale


def test_a_band_is_kept_but_for_noise():
    random = Random(1)
    for band in range(BANDS):
        found = [float(scored_pair(random, "train", band).label) for _ in range(40)]
        assert abs(np.mean(found) - band - 0.5) < 0.45
        assert min(found) > band - 1.2 and max(found) < band + 2.2
    assert [band_of(score) for score in (0.0, 0.99, 1.0, 4.2, 5.0)] == [0, 0, 1, 4, 4]


# --- shortcuts


# --- what a score follows from


def test_similarity_is_symmetric_and_at_most_that_of_the_same():
    random = Random(3)
    for _ in range(500):
        first, second = draw_frame(random, "train"), draw_frame(random, "train")
        assert similarity(first, second) == pytest.approx(similarity(second, first))
        assert 0 < similarity(first, second) <= similarity(first, first) == 5.0
        assert set(differences(first, second)) <= set(WEIGHTS)


def noun(word):
    found = [noun for nouns in lexicon().kinds.values() for noun in nouns if noun.word == word]
    return Phrase(found[0], word)


def test_near_words_are_nearer_than_far_ones():
    doctor = noun("doctor")
    said = [
        replace(doctor, word=doctor.noun.synonyms[0]), replace(doctor, word=doctor.noun.hypernym),
        noun("nurse"), noun("waiter"), noun("onion"),
    ]  # fmt: skip
    near = [same_noun(doctor, other) for other in said]
    assert near[0] == 1.0 and near[-1] == 0.0
    assert all(first > second for first, second in pairwise(near))
    assert near == [same_noun(other, doctor) for other in said]


# --- triplets and sentences


def test_triplets_are_short_and_mostly_differ_in_content():
    random = Random(4)
    drawn = [triplet(random, "train") for _ in range(600)]
    lengths = [len(words(text)) for example in drawn for text in example.texts]
    assert np.mean(lengths) < 9.5 and max(lengths) < 24
    kinds = collections.Counter(example.phenomenon.split(" / ")[1] for example in drawn)
    assert 0 < sum(kinds[kind] for kind in ADVERSARIAL) / len(drawn) < 0.25
    anchors = [example.texts[0] for example in drawn]
    assert 0.1 < np.mean([text.endswith("?") for text in anchors]) < 0.35
    assert 0.05 < np.mean([text[-1] not in ".?" for text in anchors]) < 0.35


def test_sentences_come_scene_by_scene_and_never_say_the_same():
    scenes, random = Scenes(), Random(6)
    drawn = [scenes(random, "train").texts[0] for _ in range(40 * SCENE)]
    bags = [set(words(text)) for text in drawn]
    near = [len(a & b) / len(a | b) for a, b in pairwise(bags)]
    far = [len(a & b) / len(a | b) for a, b in zip(bags, bags[4 * SCENE :], strict=False)]
    assert np.mean(near) > 2 * np.mean(far)
    assert len({frozenset(bag) for bag in bags}) > 0.97 * len(bags)

"""The word lists behind the bundled data: named once, used, and with relations that say something.

A class that is defined twice would silently lose its first nouns, and a synonym that is another
entry of the same verb would make pairs with the wrong label.
"""

import collections
from dataclasses import replace
from random import Random

import pytest

from data.synthetic.edits import swap_adjectives, words_of
from data.synthetic.frames import Frame, Phrase
from data.synthetic.morphology import gerund, participle, past, plural, third_person
from data.synthetic.vocabulary import lexicon
from data.synthetic.wordlists import blocks, fields, items, lines

pytestmark = pytest.mark.synthetic


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


def test_what_one_does_to_the_other_is_not_true_both_ways():
    both_ways = {verb.word for verb in all_verbs() if verb.symmetric}
    assert "meet" in both_ways and both_ways.isdisjoint({"hug", "kiss", "push", "help", "call"})


def test_no_hypernym_is_a_synonym_too():
    for noun in all_nouns():
        assert noun.hypernym not in noun.synonyms
    tourist = next(noun for noun in all_nouns() if noun.word == "space tourist")
    assert (tourist.hypernym, tourist.synonyms) == ("space traveler", ())


def test_adjectives_that_some_group_has_as_synonyms_are_not_exchanged():
    """A "little" bird is a small one; but a "little" child is a young one."""
    adjectives = lexicon().adjectives
    by_word = {q.word: q for group in ("bird_kind", "size") for q in adjectives[group]}
    small, young, noisy = (by_word[word] for word in ("small", "young", "noisy"))
    assert "little" in small.synonyms and not set(words_of(young)) & set(words_of(small))
    first, second = [Phrase(noun, noun.word) for noun in lexicon().kinds["songbird"][:2]]
    verb = all_verbs()[0]

    def exchanged(mine, theirs):
        agent, patient = replace(first, adjective=mine), replace(second, adjective=theirs)
        return swap_adjectives(Frame("", verb, verb.word, agent, patient), Random(0), "train")

    assert exchanged(young, small) is None and exchanged(small, young) is None
    found = exchanged(noisy, small)
    assert found.agent.adjective is small and found.patient.adjective is noisy


def test_a_place_has_the_same_synonyms_in_every_domain():
    named = collections.defaultdict(set)
    for header, _ in blocks("verbs"):
        for item in items(fields(header)[2]):
            place, *synonyms = item.split("=")
            assert len(synonyms) < 2, item  # only one would be kept
            named[place].update(synonyms)
    assert {place: found for place, found in named.items() if len(found) > 1} == {}
    mine = {place for place, found in named.items() if found}
    assert not mine & {synonym for found in named.values() for synonym in found}


def test_no_role_holds_a_word_twice():
    for verb in all_verbs():
        for role in (verb.agents, verb.patients, verb.tools, verb.receivers):
            assert not twice(noun.word for noun in role), verb.word


@pytest.mark.parametrize(
    ("function", "word", "expected"),
    [
        (plural, "aircraft", "aircraft"), (plural, "repairman", "repairmen"),
        (plural, "pair of jeans", "pairs of jeans"), (plural, "bacterium", "bacteria"),
        (plural, "mosquito", "mosquitoes"), (plural, "still life", "still lifes"),
        (past, "set up", "set up"), (past, "overrule", "overruled"), (past, "unplug", "unplugged"),
        (past, "wind up", "wound up"), (past, "found", "founded"), (past, "de-ice", "de-iced"),
        (participle, "fly", "flown"), (participle, "override", "overridden"),
        (gerund, "dye", "dyeing"), (gerund, "taxi", "taxiing"), (gerund, "expel", "expelling"),
        (gerund, "lie", "lying"), (third_person, "surf the web", "surfs the web"),
    ],
)  # fmt: skip
def test_forms_of_words(function, word, expected):
    assert function(word) == expected

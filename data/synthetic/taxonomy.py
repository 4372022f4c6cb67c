"""How near two words are in meaning, from 0 (nothing in common) to 1 (the same): a taxonomy.

The lexicon's classes, hypernyms and domains are its branches; synonyms count as one word. Equal
words in two sentences are the same word, even if they belong to different entries.
Reads: frames, vocabulary. Feeds: scores.
"""

from functools import cache

from data.synthetic.frames import Frame, Phrase
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import Noun, Quality

HYPERNYM = 0.85  # "knife" and "tool"
SIBLINGS = 0.6  # "nurse" and "doctor": of one class
COUSINS = 0.55  # "nurse" and "waiter": of two classes that share a hypernym, or two people
SAME_SCENE = 0.28  # "cup" and "cake": objects of one domain
OPPOSITE = 0.3  # "young" and "old": distant, but on one dimension
OPPOSITE_ACT = 0.55  # "buy" and "sell": of one event
OTHER_PLACE = 0.3  # "in the kitchen" and "in the bakery": of one domain
ANYONE = ("person", "someone")  # any person


def same_noun(first: Phrase, second: Phrase) -> float:
    """Return the similarity of the nouns of two phrases, as worded."""
    if first.word == second.word:
        return 1.0
    ours, theirs = first.noun, second.noun
    general = [_is_general(phrase) for phrase in (first, second)]
    if ours is theirs:
        return HYPERNYM if any(general) else 1.0
    names = {first.word, *(() if general[0] else ours.synonyms)}
    if names & {second.word, *(() if general[1] else theirs.synonyms)}:
        return 1.0
    if _names(first, second) or _names(second, first):
        return HYPERNYM
    if _kinds(ours) & _kinds(theirs) or first.word.split()[-1] == second.word.split()[-1]:
        return SIBLINGS
    if (ours.human and theirs.human) or _hypernyms(ours) & _hypernyms(theirs):
        return COUSINS
    return SAME_SCENE if _domains_of(ours.kind) & _domains_of(theirs.kind) else 0.0


def _is_general(phrase: Phrase) -> bool:
    """Return whether a phrase only states the hypernym; some nouns are their own hypernym."""
    return phrase.word not in (phrase.noun.word, *phrase.noun.synonyms)


def _names(general: Phrase, other: Phrase) -> bool:
    """Return whether a word is more general than another phrase: "person" and "nurse"."""
    return (
        general.word in _hypernyms(other.noun)
        or (general.word in ANYONE and other.noun.human)
        or other.word.endswith(f" {general.word}")
    )


def _hypernyms(noun: Noun) -> frozenset[str]:
    return frozenset(entry.hypernym for entry in _entries(noun) if entry.hypernym)


def _kinds(noun: Noun) -> frozenset[str]:
    return frozenset(entry.kind for entry in _entries(noun))


def _entries(noun: Noun) -> list[Noun]:
    """Return all entries of the noun's word: in one domain a safe is a household item."""
    return _by_word().get(noun.word, [noun])


@cache
def _by_word() -> dict[str, list[Noun]]:
    found: dict[str, list[Noun]] = {}
    for noun in (noun for nouns in lexicon().kinds.values() for noun in nouns):
        found.setdefault(noun.word, []).append(noun)
    return found


@cache
def _domains_of(kind: str) -> frozenset[str]:
    """Return the domains whose verbs deal with nouns of a class."""
    return frozenset(domain for domain in lexicon().domains if kind in _kinds_of(domain))


@cache
def _kinds_of(domain: str) -> frozenset[str]:
    verbs = lexicon().domains[domain]
    return frozenset(noun.kind for verb in verbs for noun in (*verb.patients, *verb.tools))


def same_act(first: Frame, second: Frame) -> float:
    """Return the similarity of the verbs of two frames, as worded."""
    if first.word == second.word:
        return 1.0
    ours, theirs = _senses(first), _senses(second)
    if ours & theirs:
        return 1.0
    if first.verb is second.verb:
        # One of the two is a hypernym or an antonym of the other.
        return HYPERNYM if first.verb.hypernym in (first.word, second.word) else OPPOSITE_ACT
    if first.verb.hypernym in theirs or second.verb.hypernym in ours:
        return HYPERNYM
    if first.verb.antonym in theirs or second.verb.antonym in ours:
        return OPPOSITE_ACT
    if first.verb.hypernym and first.verb.hypernym == second.verb.hypernym:
        return SIBLINGS
    return SAME_SCENE if first.domain == second.domain else 0.0


def _senses(frame: Frame) -> set[str]:
    """Return the verb as worded with its synonyms; an antonym or a hypernym has none."""
    names = {frame.verb.word, *frame.verb.synonyms}
    return names if frame.word in names else {frame.word}


def same_quality(first: Quality, second: Quality) -> float:
    """Return the similarity of two adjectives, adverbs or times."""
    ours, theirs = ({q.word, *q.synonyms} for q in (first, second))
    # A synonym of a word has the word's opposites.
    if ours & theirs or (first.opposites and first.opposites == second.opposites):
        return 1.0
    return OPPOSITE if theirs & {*first.opposites} or ours & {*second.opposites} else 0.0


def same_place(first: Frame, second: Frame) -> float:
    """Return the similarity of the places of two frames; both have one."""
    synonyms = lexicon().place_synonyms
    ours, theirs = ({frame.place, synonyms.get(frame.place)} for frame in (first, second))
    if first.place in theirs or second.place in ours:
        return 1.0
    return OTHER_PLACE if first.domain == second.domain else 0.0

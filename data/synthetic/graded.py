"""Graded edits: changes of a frame by a little, by much, or by all but one part.

edits.py makes the differences of the paraphrase task, of one word each. These edits make the
distances of the similarity task: a participant becomes another of the same or another class, a
detail is removed or added, or a scene keeps one part and changes the rest.
Reads: changes, edits, sampling. Feeds: scored, triplets, sentences.
"""

import math
import re
from random import Random

from data.synthetic import changes, edits
from data.synthetic.changes import EDITS
from data.synthetic.edits import Edit, places_of, repeats, reword, stumbles_at, with_role
from data.synthetic.frames import PRONOUN, Frame, Phrase, chance, choose, replace, weighted
from data.synthetic.pairs import deniable, deny_well
from data.synthetic.sampling import draw_frame, draw_phrase, pools
from data.synthetic.words import Noun

ROLES = ("agent", "patient", "receiver")
SYNONYMS = (0.7, 1.0)  # shares of words that become a synonym, by sentence
TRIES = 6  # to find an edit that makes sense
COMPOUND = 4  # additional letters that a second word of a compound counts
OTHER_ARTICLE = 0.2
OTHER_TENSE = 0.4  # without a time in the frame
FREE_TENSES = ("now", "past", "perfect")
ONE_ARTICLE = (PRONOUN, "storm", "body_part")  # "someone", "the storm", "an arm"
IN_SHAPE = 0.8  # share of properties that another scene takes from the first
GENERAL = 0.2  # the share of sentences with a hypernym, at every score


def vary(frame: Frame, random: Random, split: str) -> Frame:
    """Return the same scene in other words: both sentences of every pair go through this."""
    if chance(random, GENERAL):
        frame = edits.generalise(frame, random, split) or frame
    frame = frame if frame.negated else _other_articles(frame, random)
    if chance(random, OTHER_TENSE):
        frame = _other_tense(frame, random)
    return reword(frame, random, choose(random, SYNONYMS))


def _other_articles(frame: Frame, random: Random) -> Frame:
    """Return the frame with "a" for some "the", or the other way round, which changes little."""
    for role, phrase in frame.phrases().items():
        if phrase.noun.kind not in ONE_ARTICLE and chance(random, OTHER_ARTICLE):
            frame = with_role(frame, role, replace(phrase, definite=not phrase.definite))
    return frame


def _other_tense(frame: Frame, random: Random) -> Frame:
    """Return the frame in another tense, which is another form of the verb and little else."""
    bound = frame.time or frame.verb.state or frame.mood in ("headline", "when")
    if bound or frame.tense not in FREE_TENSES:
        return frame
    return replace(frame, tense=choose(random, FREE_TENSES))


def in_shape(frame: Frame, other: Frame, random: Random) -> Frame:
    """Return another scene in the form of the first: its tense, with a place or time if it has one.

    So prepositions, auxiliaries and numbers do not reveal that two scenes are far apart.
    """
    for role, phrase in frame.phrases().items():
        mine = other.phrases().get(role)
        if mine and mine.noun.kind not in ONE_ARTICLE and chance(random, IN_SHAPE):
            mine = replace(mine, count=phrase.count, definite=phrase.definite)
            other = with_role(other, role, mine)
    if other.place and not frame.place and chance(random, IN_SHAPE):
        other = replace(other, place="")
    fits = frame.tense == "past" or not other.verb.state
    clash = frame.time is not None and stumbles_at(other.verb, frame.time)
    if other.tense != frame.tense and fits and not clash and chance(random, IN_SHAPE):
        return replace(other, tense=frame.tense, time=frame.time)
    if other.time and not frame.time and other.tense != "habit" and chance(random, IN_SHAPE):
        other = replace(other, time=None)
    return other


def other_of_class(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with another participant of the same class: a nurse for a doctor."""
    return _exchanged(frame, random, split, same_class=True)


def of_other_class(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with another participant that the verb accepts: a child for a doctor."""
    return _exchanged(frame, random, split, same_class=False)


def _exchanged(frame: Frame, random: Random, split: str, same_class: bool) -> Frame | None:
    role, phrase = choose(random, list(frame.phrases().items()))
    _, kinds = pools(frame.verb, role, split)
    wanted = [kind for kind in kinds if (kind == phrase.noun.kind) == same_class]
    noun = choose(random, kinds[choose(random, wanted)]) if wanted else None
    if noun is None or any(_akin(said, noun) for said in frame.phrases().values()):
        return None
    adjective = phrase.adjective if _describes(phrase, noun) else None
    return with_role(frame, role, replace(phrase, noun=noun, word=noun.word, adjective=adjective))


def _akin(phrase: Phrase, noun: Noun) -> bool:
    """Return whether a noun and a phrase's noun are equal, or one is the other's hypernym.

    Two nouns with one hypernym are not akin: a poodle is another dog than a beagle.
    """
    said = phrase.noun
    return (
        phrase.word in noun.names
        or not noun.own.isdisjoint(said.names)
        or not said.own.isdisjoint(noun.names)
    )


def _describes(phrase: Phrase, noun: Noun) -> bool:
    """Return whether the adjective of a phrase also fits a noun: no "wooden wooden door"."""
    if noun.groups != phrase.noun.groups:
        return False
    return phrase.adjective is None or not repeats(noun, phrase.adjective)


def other_act(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with another act that can happen there: no "turn on on the roof"."""
    found = changes.other_verb(frame, random, split)
    if found is None or (found.place and found.place not in places_of(found.verb, split)):
        return None
    return found


def add_adjective(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with one more adjective."""
    bare = [
        (role, phrase)
        for role, phrase in frame.phrases().items()
        if phrase.adjective is None and phrase.word in (phrase.noun.word, *phrase.noun.synonyms)
    ]
    if not bare:
        return None
    role, phrase = choose(random, bare)
    adjective = draw_phrase(random, phrase.noun, split, 1.0).adjective
    return with_role(frame, role, replace(phrase, adjective=adjective)) if adjective else None


def add_place(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with a place."""
    places = places_of(frame.verb, split)
    if frame.place or frame.mood == "where" or not places:
        return None
    return replace(frame, place=choose(random, places))


def other_adjective(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with another adjective for one of its nouns."""
    described = [item for item in frame.phrases().items() if item[1].adjective]
    if not described:
        return None
    role, phrase = choose(random, described)
    adjective = draw_phrase(random, phrase.noun, split, 1.0).adjective
    return with_role(frame, role, replace(phrase, adjective=adjective))


def other_count(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with one participant for several, or several for one."""
    role, phrase = choose(random, list(frame.phrases().items()))
    counts = draw_phrase(random, phrase.noun, split, 0.0).count
    return with_role(frame, role, replace(phrase, count=counts)) if counts != phrase.count else None


def general_words(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return the frame with hypernyms for all words that have one, perhaps except the last."""
    found = edits.generalise(frame, random, split)
    for _ in range(2):
        found = found and (edits.generalise(found, random, split) or found)
    return found


def other_scene(frame: Frame, random: Random, split: str) -> Frame:
    """Return another act of one domain, often with details of the first."""
    other = draw_frame(random, split, frame.domain, frame.mood)
    return _same_details(frame, _same_agent(frame, other, random, 0.4), random, split)


def other_domain(frame: Frame, random: Random, split: str) -> Frame | None:
    """Return an act of another domain, now and then with details of the first."""
    other = draw_frame(random, split, "", frame.mood)
    if other.domain == frame.domain:
        return None
    return _same_details(frame, _same_agent(frame, other, random, 0.2), random, split)


def _same_agent(frame: Frame, other: Frame, random: Random, share: float) -> Frame:
    patient = other.patient.noun if other.patient else None
    clash = patient is not None and bool(patient.names & frame.agent.noun.names)
    fits = frame.agent.noun in other.verb.agents and not clash
    return replace(other, agent=frame.agent) if fits and chance(random, share) else other


def _same_details(frame: Frame, other: Frame, random: Random, split: str) -> Frame:
    """Put details of the first frame into the other where they fit: they weigh little."""
    if frame.place in places_of(other.verb, split) and other.mood != "where":
        other = replace(other, place=frame.place) if chance(random, 0.7) else other
    if other.tense == frame.tense and frame.time and chance(random, 0.7):
        clash = stumbles_at(other.verb, frame.time)
        other = other if clash or other.mood == "when" else replace(other, time=frame.time)
    for role, phrase in frame.phrases().items():
        mine = other.phrases().get(role)
        if mine and _describes(phrase, mine.noun) and chance(random, 0.6):
            mine = replace(mine, adjective=phrase.adjective, count=phrase.count)
            other = with_role(other, role, mine)
    deny = frame.negated and deniable(other)
    return replace(other, negated=True, manner=None) if deny else other


def _denied(frame: Frame, random: Random, split: str) -> Frame | None:
    return edits.negate(frame, random, split) if deny_well(frame) else None


# Edits that make small differences, and large ones. A pair is made with several of these.
SMALL: dict[str, tuple[Edit, float]] = {
    "hypernym": (edits.generalise, 2.0), "hypernyms": (general_words, 1.0),
    "detail": (edits.drop_detail, 3.0), "adjective": (add_adjective, 2.0),
    "place": (add_place, 2.5), "number": (other_count, 1.0),
    "other adjective": (other_adjective, 0.5),
}  # fmt: skip
LARGE: dict[str, tuple[Edit, float]] = {
    "same class": (other_of_class, 6.0), "other class": (of_other_class, 4.0),
    "other verb": (other_act, 2.5), "other place": (EDITS["place"], 1.0),
    "other time": (EDITS["time"], 0.5),
}  # fmt: skip
# Nearly the same words as the partner, with another meaning: a small share of all pairs.
ADVERSARIAL: dict[str, tuple[Edit, float]] = {
    "negation": (_denied, 3.0), "role swap": (EDITS["role swap"], 3.0),
    "antonym adjective": (EDITS["antonym adjective"], 2.0),
    "antonym verb": (EDITS["antonym verb"], 2.0), "antonym manner": (EDITS["antonym manner"], 1.0),
    "adjective swap": (EDITS["adjective swap"], 1.0),
}  # fmt: skip
ELSEWHERE: dict[str, tuple[Edit, float]] = {
    "same topic": (other_scene, 1.0), "unrelated": (other_domain, 1.0),
}  # fmt: skip


def draw_edit(random: Random, table: dict[str, tuple[Edit, float]]) -> tuple[str, Edit]:
    """Return one of the edits and its name, drawn by weight."""
    name = draw_name(random, {name: weight for name, (_, weight) in table.items()})
    return name, table[name][0]


def apply_one(
    frame: Frame, random: Random, split: str, table: dict[str, tuple[Edit, float]]
) -> tuple[str, Frame | None]:
    """Return the name and result of an edit that makes sense here, or None after TRIES."""
    for _ in range(TRIES):
        name, edit = draw_edit(random, table)
        other = edit(frame, random, split)
        if other:
            return name, other
    return name, None


def apply_plainly(
    frame: Frame, random: Random, split: str, table: dict[str, tuple[Edit, float]], draws: int
) -> tuple[str, Frame | None]:
    """Return the result of `apply_one` with the plainest words among several draws."""
    found = [apply_one(frame, random, split, table) for _ in range(draws)]
    return min(found, key=lambda item: plainness(item[1]) if item[1] else math.inf)


def plainness(frame: Frame) -> float:
    """Return the mean length of the words for act and participants, more for compounds.

    The shorter a word, the more frequent (Zipf 1949); real pairs are mostly about a man, a dog, a
    guitar.
    """
    words = [frame.word, *(phrase.word for phrase in frame.phrases().values())]
    return sum(len(word) + COMPOUND * len(re.findall("[ -]", word)) for word in words) / len(words)


def draw_name(random: Random, weights: dict[str, float]) -> str:
    """Return one of the names, drawn by weight."""
    return weighted(random, list(weights), list(weights.values()))

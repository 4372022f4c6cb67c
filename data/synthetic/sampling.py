"""Draws frames that make sense: agents, patients and places that fit the verb.

Reads: edits, vocabulary. Feeds: pairs. The same seed gives the same frames on every machine.
"""

import zlib
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from data.synthetic.edits import places_of, repeats, stumbles, verbs_of, words_of
from data.synthetic.frames import ANYBODY, SOMEONE, Frame, Phrase, chance, choose, replace
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import Noun, Quality, Verb

# One in 7 pairs of a verb and its patient occurs in dev and test only.
FRAME_HOLD_OUT = 7
# The share of draws in dev and test that prefer a held-out word, if there is one.
HELD_OUT_SHARE = 0.4
QUESTIONS = ("polar", "why", "where", "when", "who", "what", "how")
# Most statements are direct, and some are headlines or reported speech.
STATEMENTS = ("statement",) * 41 + ("headline",) * 4 + ("reported", "official", "hearsay") * 2
# Questions about how to do something are about acts that need care or skill.
TAUGHT = frozenset(("careful", "skill"))
UNNAMED = 0.09  # share of unnamed agents
TENSES = ("now",) * 16 + ("past",) * 17 + ("habit",) * 2 + ("future",) * 3 + ("perfect",) * 2
# The share of frames with a time, by tense.
TIMED = {"past": 0.45, "now": 0.06, "habit": 1.0, "future": 0.6, "perfect": 0.0}
AGENT_COUNTS = (1,) * 32 + (0, 0, 0, 0, 2, 2, 2, 3)
COUNTS = (1,) * 56 + (0,) * 10 + (2,) * 7 + (3,) * 3 + (4, 5, 6, 10)


def kept_frame(verb: Verb, noun: Noun) -> bool:
    """Return whether this verb never has this patient in train."""
    return zlib.crc32(f"{verb.word} {noun.word}".encode()) % FRAME_HOLD_OUT == 0


def kept(frame: Frame) -> bool:
    """Return whether the verb and the patient of a frame never occur together in train."""
    return frame.patient is not None and kept_frame(frame.verb, frame.patient.noun)


@cache
def pools(verb: Verb, role: str, split: str) -> tuple[list[Noun], dict[str, list[Noun]]]:
    """Return the held-out nouns that a split may use in a role, and all it may use, by kind."""
    words = lexicon()
    nouns = {
        "agent": verb.agents, "patient": verb.patients, "receiver": verb.receivers,
        "tool": verb.tools,
    }[role]  # fmt: skip
    usable = [noun for noun in nouns if words.held.get(noun.word, split) == split]
    if role == "patient" and split == "train":
        usable = [noun for noun in usable if not kept_frame(verb, noun)]
    kinds: dict[str, list[Noun]] = {}
    for noun in usable:
        kinds.setdefault(noun.kind, []).append(noun)
    return [noun for noun in usable if noun.word in words.held], kinds


def draw_noun(random: Random, verb: Verb, role: str, split: str) -> Noun | None:
    """Return a noun that the split may use, in dev and test more often a held-out one."""
    held, kinds = pools(verb, role, split)
    if held and chance(random, HELD_OUT_SHARE):
        return choose(random, held)
    return choose(random, choose(random, list(kinds.values()))) if kinds else None


@cache
def _verbs(domain: str, split: str, people: bool) -> tuple[list[Verb], list[Verb], list[Verb]]:
    """Return the verbs of a domain, repeated by their share, and two subsets of them.

    The subsets are the held-out verbs, and those with tools or receivers.
    """
    verbs = verbs_of(domain, split)
    held = [v for v in verbs if v.word in lexicon().held and not between_people(v)]
    rich = [] if people else [verb for verb in verbs if verb.tools or verb.receivers]
    return [verb for verb in verbs for _ in range(_tenths(verb, people))], held, rich


def _tenths(verb: Verb, people: bool) -> int:
    """Return the weight of a verb: lower for verbs without objects, or between people."""
    if not verb.patients:
        return 0 if people else 5
    return 3 if between_people(verb) and not people else 10


def draw_verb(random: Random, domain: str, split: str, people: bool) -> Verb:
    """Return a verb, less often one between people, of which every domain has many."""
    verbs, held, rich = _verbs(domain, split, people)
    if held and chance(random, 0.07):
        return choose(random, held)
    return choose(random, rich if rich and chance(random, 0.2) else verbs)


@cache
def between_people(verb: Verb) -> bool:
    """Return whether the verb takes human patients, among others."""
    return any(noun.human for noun in verb.patients)


def draw_phrase(
    random: Random,
    noun: Noun,
    split: str,
    adjectives: float,
    counts: tuple[int, ...] = COUNTS,
    known: float = 0.4,
) -> Phrase:
    """Return a noun with its number, an article ("the" if `known`) and perhaps an adjective."""
    adjective = None
    if noun.groups and chance(random, adjectives):
        options = _adjectives(noun, choose(random, noun.groups), split)
        adjective = choose(random, options) if options else None
    definite = chance(random, known)
    if noun.human:
        counts = AGENT_COUNTS
    # "Injured an arm", never "three arms": the arm belongs to the agent.
    if noun.kind in ("storm", "body_part"):
        counts, definite = (1,), definite and noun.kind == "storm"
    return Phrase(noun, noun.word, choose(random, counts), definite, adjective)


@cache
def _adjectives(noun: Noun, group: str, split: str) -> list[Quality]:
    """Return the adjectives of a group that do not repeat the noun: no "red red cabbage"."""
    return [
        quality for quality in _usable("adjectives", group, split) if not repeats(noun, quality)
    ]


@cache
def _usable(table: str, group: str, split: str) -> list[Quality]:
    """Return the qualities of a group that a split may use; opposites are held out together."""
    words = lexicon()
    qualities = (words.adjectives if table == "adjectives" else words.adverbs)[group]
    return [q for q in qualities if words.allowed(min([q.word, *q.opposites[:1]]), split)]


def draw_frame(
    random: Random,
    split: str,
    domain: str = "",
    mood: str = "statement",
    swappable: bool = False,
    adjectives: float = 0.3,
    fits: Callable[[Verb], bool] | None = None,
) -> Frame:
    """Return a frame.

    Args:
        split: the part whose words may be used: train, dev or test.
        domain: where it happens; by default, anywhere.
        mood: statement, headline, reported, official, hearsay or a question (polar, why ...).
        swappable: whether agent and patient must be able to swap their roles.
        adjectives: the probability of an adjective, for each noun.
        fits: accepts verbs; by default, all.
    """
    while True:
        where = domain or choose(random, _domains())
        verb = draw_verb(random, where, split, swappable)
        if fits and not fits(verb):
            continue
        frame = _fill(random, split, where, verb, mood, adjectives)
        if frame and not (swappable and not _swappable(frame)):
            return frame


@cache
def _domains() -> tuple[str, ...]:
    return tuple(lexicon().domains)


def _swappable(frame: Frame) -> bool:
    patient = frame.patient
    return (
        patient is not None
        and frame.receiver is None
        and not frame.verb.symmetric
        and patient.plural == frame.agent.plural
        and patient.noun in frame.verb.agents
        and frame.agent.noun in frame.verb.patients
    )


def _fill(
    random: Random, split: str, domain: str, verb: Verb, mood: str, adjectives: float
) -> Frame | None:
    """Fill the roles of a verb, or return None if the draw does not fit."""
    agent = draw_noun(random, verb, "agent", split)
    patient = draw_noun(random, verb, "patient", split)
    if agent is None or (verb.patients and patient is None):
        return None
    if patient and (agent.hypernym == patient.word or agent.hypernym in patient.synonyms):
        return None
    if patient and (patient is agent or agent.word in (patient.word, *patient.synonyms)):
        return None
    if mood == "what" and (patient is None or patient.animate):
        return None
    if mood == "who" and not agent.human:
        return None
    tense = _tense(random, verb, mood)
    # Captions have "a man" where questions have "the man".
    known = 0.7 if mood in QUESTIONS else 0.25 if tense == "now" else 0.45
    frame = Frame(
        domain, verb, verb.word, draw_phrase(random, agent, split, adjectives, AGENT_COUNTS, known),
        draw_phrase(random, patient, split, adjectives) if patient else None,
        mood=mood, tense=tense,
    )  # fmt: skip
    asked = how_to(random, frame) if mood == "how" else _unnamed(random, frame)
    return _details(random, split, asked) if asked else None


def how_to(random: Random, frame: Frame) -> Frame | None:
    """Return the question of how to do the act of a frame, or None if it is not plausible."""
    patient = frame.patient
    taught = frame.agent.noun.human and TAUGHT.intersection(frame.verb.manners)
    if patient is None or not taught or frame.attitude:
        return None
    # "How do you peel an onion" or "onions", not "the six fresh onions".
    any_one = Phrase(patient.noun, patient.word, choose(random, (1, 1, 0)), definite=False)
    return replace(
        frame, mood="how", tense="habit", time=None, manner=None, negated=False, agent=ANYBODY,
        patient=any_one,
    )  # fmt: skip


def _unnamed(random: Random, frame: Frame) -> Frame:
    """Return the frame, sometimes with an unnamed agent."""
    human = frame.agent.noun.human and frame.patient is not None and frame.verb.passive
    if not human or frame.verb.symmetric or frame.mood == "who" or not chance(random, UNNAMED):
        return frame
    return replace(frame, agent=SOMEONE)


def _tense(random: Random, verb: Verb, mood: str) -> str:
    if mood == "how":
        return "habit"
    if mood == "headline":
        return "past"
    tense = choose(random, TENSES)
    if verb.domain == "weather" and tense == "habit":
        tense = "past"
    return "past" if verb.state and tense in ("now", "habit", "perfect", "future") else tense


def _details(random: Random, split: str, frame: Frame) -> Frame | None:
    """Add receiver, instrument, manner, place and time, seldom more than one of the last three."""
    values: dict[str, Any] = {}  # fields of the frame
    verb = frame.verb
    if verb.receivers and chance(random, 0.8):
        noun = draw_noun(random, verb, "receiver", split)
        if noun and any(noun is phrase.noun for phrase in frame.phrases().values()):
            return None
        values["receiver"] = draw_phrase(random, noun, split, 0.15) if noun else None
    if verb.tools and frame.agent.noun.human and chance(random, 0.4):
        noun = draw_noun(random, verb, "tool", split)
        values["tool"] = Phrase(noun, noun.word, 1, False) if noun else None
    plain = frame.mood not in ("headline", "how")
    if verb.manners and plain and len(values) < 2 and chance(random, 0.25):
        values["manner"] = _manner(random, verb, split)
    share = 0.15 if values or frame.mood == "how" else 0.45
    if frame.mood != "where" and len(values) < 2 and chance(random, share):
        places = places_of(verb, split)
        values["place"] = choose(random, places) if places else ""
    values["time"] = _time(random, frame, 0.6 if any(values.values()) else 1.0)
    if values["time"] is None and frame.tense == "habit" and frame.mood not in ("when", "how"):
        return None
    return replace(frame, **values)


def _manner(random: Random, verb: Verb, split: str) -> Quality | None:
    options = _usable("adverbs", choose(random, verb.manners), split)
    return choose(random, options) if options else None


def _time(random: Random, frame: Frame, share: float) -> Quality | None:
    """Return a time, less often (by the factor `share`) if there are other details."""
    if frame.mood in ("when", "headline", "how"):
        return None
    if frame.tense != "habit" and not chance(random, share * TIMED[frame.tense]):
        return None
    return choose(random, _times(frame.tense, frame.verb.particles))


@cache
def _times(tense: str, particles: frozenset[str]) -> list[Quality]:
    times = lexicon().times[tense]
    return [time for time in times if not stumbles(particles, *words_of(time))]

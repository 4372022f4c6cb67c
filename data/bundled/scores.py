"""Scores the similarity of two frames from 0 to 5, the scale of SemEval's STS.

5: the same; 4: an unimportant detail differs; 3: an important one does; 2: only participants in
common; 1: only the domain; 0: nothing. Synonyms make no difference.
Reads: frames, vocabulary. Feeds: scored.
"""

from random import Random

from data.bundled.frames import Frame, Phrase
from data.bundled.vocabulary import lexicon

# The cost of each difference.
PLACE, TIME, MANNER, TOOL, DETAIL_GONE = 1.4, 1.2, 1.0, 0.8, 0.7
PARTICIPANT, HYPERNYM, NUMBER, ADJECTIVE = 1.9, 0.9, 1.5, 1.5
VERB, OPPOSITE, NEGATION, SWAP, ATTITUDE, TENSE = 2.1, 2.2, 2.4, 2.4, 1.8, 1.0
QUESTION = 2.0
SAME_DOMAIN, UNRELATED = 1.0, 0.2
NOISE = 0.3  # standard deviation of a mean over annotators


def similarity(first: Frame, second: Frame) -> float:
    """Return the score without noise."""
    if first.verb is not second.verb and not _shared(first, second):
        return SAME_DOMAIN if first.domain == second.domain else UNRELATED
    cost = _predicate(first, second) + _roles(first, second) + _adjuncts(first, second)
    floor = SAME_DOMAIN if first.domain == second.domain else UNRELATED
    return max(5.0 - cost, floor)


def noisy(score: float, random: Random) -> float:
    """Return the score as people would give it: with noise, from 0 to 5, to one decimal."""
    noise = sum(random.random() for _ in range(12)) - 6.0  # about normal, without libm
    return round(min(max(score + NOISE * noise, 0.0), 5.0), 1)


def _shared(first: Frame, second: Frame) -> bool:
    ours = {phrase.noun for phrase in first.phrases().values()}
    return any(phrase.noun in ours for phrase in second.phrases().values())


def _predicate(first: Frame, second: Frame) -> float:
    cost = 0.0
    if first.verb is not second.verb:
        cost += VERB
    elif _sense(first) != _sense(second):
        hypernym = first.verb.hypernym in (first.word, second.word)
        cost += HYPERNYM if hypernym and first.verb.hypernym else OPPOSITE
    cost += NEGATION * (first.negated != second.negated)
    cost += ATTITUDE * (first.attitude != second.attitude) + QUESTION * (first.mood != second.mood)
    return cost + TENSE * (first.tense != second.tense)


def _sense(frame: Frame) -> str:
    return frame.verb.word if frame.word in frame.verb.synonyms else frame.word


def _roles(first: Frame, second: Frame) -> float:
    ours, theirs = first.phrases(), second.phrases()
    if [p.noun for p in ours.values()] != [p.noun for p in theirs.values()]:
        if {p.noun for p in ours.values()} == {p.noun for p in theirs.values()}:
            return 0.0 if first.verb.symmetric else SWAP
    return sum(
        _phrase(ours.get(role), theirs.get(role)) for role in ("agent", "patient", "receiver")
    )


def _phrase(first: Phrase | None, second: Phrase | None) -> float:
    if first is None or second is None:
        return 0.0 if first is second else DETAIL_GONE
    if first.noun is not second.noun:
        return PARTICIPANT
    cost = 0.0
    # Some nouns are their own hypernym.
    hypernym = first.noun.hypernym
    own = (first.noun.word, *first.noun.synonyms)
    general = hypernym in (first.word, second.word) and hypernym not in own
    cost += HYPERNYM * (general and first.word != second.word)
    cost += NUMBER * (first.count != second.count)
    mine, theirs = first.adjective, second.adjective
    if mine is None or theirs is None:
        return cost + DETAIL_GONE * (mine is not theirs and not general)
    return cost + ADJECTIVE * (mine.opposites != theirs.opposites)


def _adjuncts(first: Frame, second: Frame) -> float:
    cost = _detail(_place(first), _place(second), PLACE)
    cost += _detail(_key(first, "time"), _key(second, "time"), TIME)
    cost += _detail(_key(first, "manner"), _key(second, "manner"), MANNER)
    tools = [frame.tool.noun.word if frame.tool else "" for frame in (first, second)]
    return cost + _detail(tools[0], tools[1], TOOL)


def _place(frame: Frame) -> str:
    """Return one name for a place and its synonym."""
    synonyms = lexicon().place_synonyms
    same = [place for pair in synonyms.items() if frame.place in pair for place in pair]
    return min(same, default=frame.place)


def _key(frame: Frame, name: str) -> str:
    """Return one name for a quality and its synonyms."""
    quality = getattr(frame, name)
    return "/".join([*quality.opposites, *quality.synonyms]) or quality.word if quality else ""


def _detail(first: str, second: str, different: float) -> float:
    if first == second:
        return 0.0
    return different if first and second else DETAIL_GONE

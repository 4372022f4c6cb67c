"""An independent check of whether two frames have the same meaning.

It does not use labels, edits or costs, only the meanings of words in the lexicon. So labels that
were drawn in another way can be compared with it (`python -m data.synthetic.probes.labels`). The
questioned part of a question is not stated, so it is not compared.
Reads: frames, twins, vocabulary, wordlists. Feeds: nothing here; data.synthetic.probes.labels.
"""

from collections.abc import Iterable
from functools import cache

from data.synthetic.frames import Frame, Phrase
from data.synthetic.twins import Meaning
from data.synthetic.vocabulary import lexicon
from data.synthetic.wordlists import groups
from data.synthetic.words import Quality

# Not to manage is to fail; not to forget is to remember.
CLAIM_OF = {"fail": ("manage", True), "forget": ("remember", True)}
NOT_COMPARED = {"who": "agent", "what": "patient", "where": "place", "when": "time"}


def same_meaning(first: Meaning, second: Meaning) -> bool:
    """Return whether two sentences state or ask the same; simultaneous acts have no order."""
    if len(first) != len(second):
        return False
    if len(first) == 1:
        return _same_frame(first[0], second[0])
    one, two = first
    straight = _same_frame(one, second[0]) and _same_frame(two, second[1])
    return straight or (_same_frame(one, second[1]) and _same_frame(two, second[0]))


def _same_frame(first: Frame, second: Frame) -> bool:
    facts = [(frame.mood, frame.tense, *_claim(frame)) for frame in (first, second)]
    if facts[0] != facts[1] or not _synonymous("verbs", first.word, second.word):
        return False
    asked = NOT_COMPARED.get(first.mood, "")
    details = ("place", "time", "manner", "tool", "receiver")
    return _participants(first, second, asked) and all(
        _same_part(getattr(first, name), getattr(second, name)) for name in details if name != asked
    )


def _claim(frame: Frame) -> tuple[str, bool]:
    """Return the attitude and whether it is denied, the same for `failed` and `did not manage`."""
    attitude, turned = CLAIM_OF.get(frame.attitude, (frame.attitude, False))
    return attitude, frame.negated != turned


def _participants(first: Frame, second: Frame, asked: str) -> bool:
    roles = [role for role in ("agent", "patient") if role != asked]
    if all(_same_part(getattr(first, role), getattr(second, role)) for role in roles):
        return True
    both_ways = first.verb.symmetric and second.verb.symmetric and len(roles) == 2
    # Only the common act is symmetric, and not the manner of the first person.
    return (
        both_ways
        and first.manner is None
        and _same_part(first.agent, second.patient)
        and _same_part(first.patient, second.agent)
    )


def _same_part(first: object, second: object) -> bool:
    """Return whether two noun phrases, places or qualities are the same, or both missing."""
    if not first or not second:
        return not first and not second
    if isinstance(first, Phrase) and isinstance(second, Phrase):
        return (
            (first.count, first.definite) == (second.count, second.definite)
            and _synonymous("nouns", first.word, second.word)
            and _same_part(first.adjective, second.adjective)
        )
    return _synonymous("qualities", _word(first), _word(second))


def _word(part: object) -> str:
    assert isinstance(part, str | Quality)
    return part if isinstance(part, str) else part.word


def _synonymous(kind: str, first: str, second: str) -> bool:
    """Return whether one entry of the lexicon has both words, or they are one word."""
    if first == second:
        return True
    senses = _senses()[kind]
    return bool(senses.get(first, frozenset()) & senses.get(second, frozenset()))


@cache
def _senses() -> dict[str, dict[str, frozenset[int]]]:
    """Return, by kind and word, the numbers of the entries that have the word."""
    words = lexicon()
    entries: dict[str, Iterable[tuple[str, ...]]] = {
        "nouns": [(n.word, *n.synonyms) for nouns in words.kinds.values() for n in nouns],
        "verbs": [(v.word, *v.synonyms) for verbs in words.domains.values() for v in verbs],
        "qualities": [
            *words.place_synonyms.items(),
            *(
                tuple(side.strip().split("="))
                for name in ("adjectives", "adverbs", "times")
                for pairs in groups(name).values()
                for pair in pairs
                for side in pair.split("/")
            ),
        ],
    }
    found: dict[str, dict[str, frozenset[int]]] = {}
    for kind, lists in entries.items():
        known = found.setdefault(kind, {})
        for number, entry in enumerate(lists):
            for word in entry:
                known[word] = known.get(word, frozenset()) | {number}
    return found

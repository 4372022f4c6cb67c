"""The parts of a frame that are expressed by words, and the possible words for them.

Reads: frames, vocabulary. Feeds: twins, wordings.
"""

from functools import cache
from typing import Any

from data.synthetic.frames import Frame, replace
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import apart

ROLES = ("agent", "patient", "receiver", "tool")


def ways(frame: Frame) -> dict[str, tuple[str, ...]]:
    """Return the possible words for each part of a frame, by the part's name."""
    found: dict[str, tuple[str, ...]] = {"verb": _verbs(frame)}
    for role in ROLES:
        phrase = getattr(frame, role)
        if phrase is not None:
            found[role] = (phrase.noun.word, *phrase.noun.synonyms)
            if phrase.adjective:
                found[f"{role} adjective"] = (phrase.adjective.word, *phrase.adjective.synonyms)
    for name in ("manner", "time"):
        quality = getattr(frame, name)
        if quality is not None:
            found[name] = (quality.word, *quality.synonyms)
    if frame.place:
        other = lexicon().place_synonyms.get(frame.place)
        found["place"] = (frame.place, other) if other else (frame.place,)
    return found


def _verbs(frame: Frame) -> tuple[str, ...]:
    verb = frame.verb
    if frame.word in (verb.word, *verb.synonyms):
        return (verb.word, *verb.synonyms)
    return _verb_words(frame.domain, frame.word)


@cache
def _verb_words(domain: str, word: str) -> tuple[str, ...]:
    """Return a verb that is an antonym, with its synonyms if it is a separate entry."""
    known = [verb for verb in lexicon().domains[domain] if verb.word == word]
    return (word, *known[0].synonyms) if known else (word,)


def say_as(frame: Frame, words: dict[str, str]) -> Frame:
    """Return the frame with its parts in these words."""
    changes: dict[str, Any] = {"word": words["verb"]}
    for role in ROLES:
        phrase = getattr(frame, role)
        if phrase is not None:
            quality = phrase.adjective
            if quality:
                quality = replace(quality, word=words[f"{role} adjective"])
            changes[role] = replace(phrase, word=words[role], adjective=quality)
    for name in ("manner", "time"):
        quality = getattr(frame, name)
        if quality is not None:
            changes[name] = replace(quality, word=words[name])
    return replace(frame, place=words.get("place", ""), **changes)


def told_by_synonyms(frame: Frame, other: Frame) -> bool:
    """Return whether each part in which two frames differ has two wordings in both frames.

    "station" in "railway station" and "train station" would occur in both texts of a pair only if
    they mean the same.
    """
    ours, theirs = ways(frame), ways(other)
    differing = [part for part in {**ours, **theirs} if ours.get(part) != theirs.get(part)]
    return all(apart(w.get(part, ())) for part in differing for w in (ours, theirs))

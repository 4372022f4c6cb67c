"""Turns a frame and a rendering into a sentence, with the right agreement and tense.

Reads: frames, renderings, morphology, wordlists. Feeds: pairs, triplets, sentences, sentiment.
"""

from collections.abc import Callable
from functools import cache
from random import Random

from data.synthetic.frames import PRONOUN, Frame, Phrase, choose, replace
from data.synthetic.morphology import (
    article,
    counted,
    gerund,
    participle,
    past,
    plural,
    third_person,
)
from data.synthetic.renderings import SLOT, Pattern
from data.synthetic.wordlists import fields, lines

JOINTS = [fields(line) for line in lines("joints")]
POSSIBLE = ("polar", "why", "where", "when", "who", "what")  # moods of frames that may be rules


def say(frame: Frame, pattern: Pattern) -> str:
    """Return the sentence, with its capital and full stop."""
    text = clause(frame, pattern)
    return finish(text, stop=not pattern.conditions & {"caption", "headline"})


def clause(frame: Frame, pattern: Pattern) -> str:
    """Return the words of the sentence, without capital and full stop."""
    return "".join([text + (slot(frame) if slot else "") for text, slot in _pieces(pattern)])


@cache
def _pieces(pattern: Pattern) -> list[tuple[str, Callable[[Frame], str] | None]]:
    """Return the text before each slot, and the slot; None after the last one."""
    parts = SLOT.split(pattern.text)  # text, mark, slot, text, mark, slot, ..., text
    return list(zip(parts[::3], [*map(SLOTS.get, parts[2::3]), None], strict=True))


def finish(text: str, stop: bool = True) -> str:
    """Return the text with tidy blanks, a capital and, unless it ends in a mark, a full stop."""
    text = " ".join(text.split())
    for mark in ",;:?.":
        text = text.replace(f" {mark}", mark)
    if stop and text[-1] not in "?.!":
        text += "."
    return text[0].upper() + text[1:]


def join(random: Random, first: str, second: str, names: tuple[str, ...] = ()) -> str:
    """Return two clauses that happen at once as one sentence; `names` limits the ways."""
    patterns = [pattern for name, pattern in JOINTS if not names or name in names]
    return finish(choose(random, patterns).format(a=first, b=second))


# --- noun phrases


def noun_phrase(phrase: Phrase | None) -> str:
    """Return the noun with its article or number and its adjective."""
    if phrase is None:
        return ""
    core = bare_phrase(phrase)
    if phrase.noun.kind == PRONOUN:
        return core
    if phrase.definite:
        return f"the {core}"
    if phrase.count == 1:
        return article(core)
    return core if phrase.count > 1 else f"some {core}"


def bare_phrase(phrase: Phrase | None) -> str:
    """Return the noun phrase without its article, as in headlines."""
    if phrase is None:
        return ""
    noun = plural(phrase.word) if phrase.plural else phrase.word
    adjective = phrase.adjective.word + " " if phrase.adjective else ""
    return (counted(phrase.count) + " " if phrase.count > 1 else "") + adjective + noun


def _with(word: str, phrase: str) -> str:
    return f"{word} {phrase}" if phrase else ""


def _said(frame: Frame, phrase: Phrase | None) -> str:
    """Return a noun phrase of a frame, where "some women" are often just "women".

    This is avoided if it would mean all women: in frequent events and in denials. But a question
    how to peel onions is about onions in general.
    """
    single = frame.tense in ("now", "past") and frame.mood not in POSSIBLE and not frame.negated
    several = phrase is not None and phrase.count == 0 and not phrase.definite
    text = bare_phrase(phrase)
    # Avoids "did clean clean doors".
    if several and (single or frame.mood == "how") and text.split()[0] != frame.word:
        return text
    return noun_phrase(phrase)


def _by(phrase: Phrase, text: str) -> str:
    """Return "by" and the agent, or nothing for "someone", which a passive omits."""
    return "" if phrase.noun.kind == PRONOUN else f"by {text}"


# --- verbs


def _do(frame: Frame, many: bool) -> str:
    return {"past": "did"}.get(frame.tense, "do" if many else "does")


def _is(tense: str, many: bool) -> str:
    if tense == "past":
        return "were" if many else "was"
    return "are" if many else "is"


def _active(frame: Frame, many: bool, split_aux: bool) -> tuple[str, str]:
    """Return (auxiliary, rest) of the active; the auxiliary is "" where none is needed."""
    lemma, tail = (frame.attitude, f" to {frame.word}") if frame.attitude else (frame.word, "")
    tense = frame.tense
    if tense == "now" and not frame.verb.state and not frame.attitude:
        return _is(tense, many), gerund(lemma) + tail
    if tense == "future":
        return "will", lemma + tail
    if tense == "perfect":
        return ("have" if many else "has"), participle(lemma) + tail
    if split_aux:
        return _do(frame, many), lemma + tail
    if tense == "past":
        return "", past(lemma) + tail
    return "", (lemma if many else third_person(lemma)) + tail


def _passive(frame: Frame, many: bool) -> tuple[str, str]:
    done = participle(frame.word)
    return {
        "past": (_is("past", many), done),
        "now": (_is("now", many), "being " + done),
        "habit": (_is("habit", many), done),
        "future": ("will", "be " + done),
        "perfect": ("have" if many else "has", "been " + done),
    }[frame.tense]


def _finite(frame: Frame, many: bool, manner: str = "") -> str:
    aux, rest = _active(frame, many, split_aux=frame.negated)
    return " ".join(filter(None, [aux, "not" if frame.negated else "", manner, rest]))


def _finite_passive(frame: Frame, many: bool, manner: str = "") -> str:
    aux, rest = _passive(frame, many)
    if manner and rest.startswith(("being ", "be ", "been ")):
        first, _, last = rest.partition(" ")
        rest, manner = f"{first} {manner} {last}", ""
    return " ".join(filter(None, [aux, "not" if frame.negated else "", manner, rest]))


def _other_verb(frame: Frame, lemma: str, many: bool) -> str:
    """Return another verb in the frame's tense: do, use, take (place)."""
    return _finite(replace(frame, word=lemma, attitude="", manner=None), many)


def _asked_event(frame: Frame) -> tuple[str, str]:
    """Return "take" as a question about an event splits it: did, take."""
    return _active(replace(frame, word="take", attitude=""), False, split_aux=True)


def _rest(frame: Frame) -> str:
    aux = "not " if frame.negated else ""
    return aux + _active(frame, frame.agent.plural, split_aux=True)[1]


def _word(frame: Frame, quality: str) -> str:
    value = getattr(frame, quality)
    return value.word if value else ""


def _headline_verb(frame: Frame) -> str:
    return frame.word if frame.agent.plural else third_person(frame.word)


def _patient_plural(frame: Frame) -> bool:
    return frame.patient is not None and frame.patient.plural


SLOTS: dict[str, Callable[[Frame], str]] = {
    "S": lambda f: _said(f, f.agent),
    "S0": lambda f: bare_phrase(f.agent),
    "by": lambda f: _by(f.agent, _said(f, f.agent)),
    "by0": lambda f: _by(f.agent, bare_phrase(f.agent)),
    "O": lambda f: _said(f, f.patient),
    "O0": lambda f: bare_phrase(f.patient),
    "R": lambda f: _with("to", _said(f, f.receiver)),
    "R0": lambda f: _with("to", bare_phrase(f.receiver)),
    "receiver": lambda f: _said(f, f.receiver),
    "W": lambda f: _with("with", noun_phrase(f.tool)),
    "W0": lambda f: _with("with", bare_phrase(f.tool)),
    "tool": lambda f: noun_phrase(f.tool),
    "M": lambda f: _word(f, "manner"),
    "P": lambda f: f.place,
    "P0": lambda f: f.place.replace(" the ", " "),
    "T": lambda f: _word(f, "time"),
    "V": lambda f: _finite(f, f.agent.plural),
    "V1": lambda f: _finite(f, False),
    "V+": lambda f: _finite(replace(f, negated=False), f.agent.plural),
    "Vm": lambda f: _finite(f, f.agent.plural, _word(f, "manner")),
    "Vs": _headline_verb,
    "aux": lambda f: _active(f, f.agent.plural, split_aux=True)[0],
    "rest": _rest,
    "inf": lambda f: f.word,
    "ing": lambda f: gerund(f.word),
    "en": lambda f: participle(f.word),
    "B": lambda f: _finite_passive(f, _patient_plural(f)),
    "B+": lambda f: _finite_passive(replace(f, negated=False), _patient_plural(f)),
    "Bs": lambda f: _finite_passive(f, False),
    "Br": lambda f: _finite_passive(f, f.receiver is not None and f.receiver.plural),
    "Bm": lambda f: _finite_passive(f, _patient_plural(f), _word(f, "manner")),
    "paux": lambda f: _passive(f, f.mood != "what" and _patient_plural(f))[0],
    "prest": lambda f: ("not " if f.negated else "") + _passive(f, False)[1],
    "who": lambda f: "who" if f.agent.noun.human else "that",
    "whoO": lambda f: "who" if f.patient and f.patient.noun.human else "that",
    "that": lambda f: "that",
    "is": lambda f: _is(f.tense, False),
    "isS": lambda f: _is(f.tense, f.agent.plural),
    "isO": lambda f: _is(f.tense, _patient_plural(f)),
    "areS": lambda f: _is("now", f.agent.plural),
    "areO": lambda f: _is("now", _patient_plural(f)),
    "theone": lambda f: "the ones" if f.agent.plural else "the one",
    "pronoun": lambda f: "they" if _patient_plural(f) else "it",
    "did": lambda f: _other_verb(f, "do", f.agent.plural),
    "use": lambda f: _other_verb(f, "use", f.agent.plural),
    "carries": lambda f: _other_verb(f, "carry", f.agent.plural),
    "takes": lambda f: _other_verb(f, "take", False),
    "takesaux": lambda f: _asked_event(f)[0],
    "takesrest": lambda f: _asked_event(f)[1],
    "event": lambda f: f.verb.event,
}

"""Words two meanings by one rule, independent of the later choice between them.

Each meaning is worded twice: parts with synonyms in the same word or in two, clauses in the same
form or in two. Both meanings are treated equally, so the wording of a pair does not show whether it
has one meaning or two.
Reads: frames, grammar, pairs, parts, renderings, twins. Feeds: duplicates.
"""

import re
from functools import cache
from random import Random

from data.synthetic.frames import Frame, chance, choose, replace
from data.synthetic.grammar import JOINTS, clause, finish, say
from data.synthetic.pairs import OPPOSITE_ACTS, deny_well
from data.synthetic.parts import say_as, ways
from data.synthetic.renderings import Pattern, draw_pattern, renderings
from data.synthetic.twins import Meaning, Twins

REWORDED = 0.8  # share of the parts with synonyms
SAME_FORM = 0.35  # of the pairs
TURNED = 0.5  # share of the frames with a symmetric verb
DENIED = 0.35  # "did not fail" for "managed"
PASSIVE_CLAUSE = 0.25
# Ways of joining two clauses, grouped by meaning.
JOINTS_ALIKE = (
    ("and", "semicolon"),
    ("while", "while first", "as", "as first", "meanwhile", "at the same time"),
)
MOOD = re.compile(r"^(yes-no|why|where|when) question")

Form = tuple[Pattern, Pattern]  # one for each meaning, since one may ask why and the other where
Side = tuple[Meaning, Meaning]  # both meanings in the words of one text of a pair


def two_sides(random: Random, twins: Twins, plain: bool) -> tuple[Side, Side]:
    """Return both meanings in the words of the first text, and of the second.

    Args:
        plain: no synonyms; only order and form may differ.
    """
    drawn = [_reworded(random, *frames, plain) for frames in zip(*twins.meanings, strict=True)]
    sides = []
    for number in (0, 1):
        first = tuple(frames[number][0] for frames in drawn)
        other = twins.exchange(first) if twins.exchange else None
        sides.append((first, other or tuple(frames[number][1] for frames in drawn)))
    if chance(random, TURNED):
        sides[1] = (_turned(sides[1][0]), _turned(sides[1][1]))
    if any(frame.attitude for meaning in twins.meanings for frame in meaning):
        sides = [(_denied(random, first), _denied(random, other)) for first, other in sides]
    return sides[0], sides[1]


def _reworded(
    random: Random, first: Frame, second: Frame, plain: bool
) -> list[tuple[Frame, Frame]]:
    """Return both frames in the words of one text, and of the other.

    Common parts of the frames have the same words in both. Different parts have two wordings if
    both have two, so a word that occurs in only one text is not a sign of a difference.
    """
    parts, others = ways(first), ways(second)
    chosen: list[tuple[dict[str, str], dict[str, str]]] = [({}, {}), ({}, {})]
    for part in {**parts, **others}:
        words, theirs = parts.get(part, ()), others.get(part, ())
        differ = words != theirs and min(len(words), len(theirs)) > 1
        mine = _two_words(random, words, differ, plain)
        both = mine if words == theirs else _two_words(random, theirs, differ, plain)
        for number in (0, 1):
            chosen[number][0][part] = mine[number]
            chosen[number][1][part] = both[number]
    return [(say_as(first, mine), say_as(second, theirs)) for mine, theirs in chosen]


def _two_words(
    random: Random, words: tuple[str, ...], differ: bool, plain: bool
) -> tuple[str, str]:
    if len(words) < 2 or plain:
        return (words[0], words[0]) if words else ("", "")
    word = choose(random, words)
    if not differ and not chance(random, REWORDED):
        return word, word
    return word, choose(random, [other for other in words if other != word])


def _turned(meaning: Meaning) -> Meaning:
    """Return the meaning with agent and patient exchanged if the verb is symmetric."""
    frame = meaning[0]
    patient = frame.patient
    if patient is None or not frame.verb.symmetric or frame.manner or frame.mood in ("who", "what"):
        return meaning
    if patient.plural != frame.agent.plural or not patient.noun.human:
        return meaning
    return (replace(frame, agent=patient, patient=frame.agent), *meaning[1:])


def _denied(random: Random, meaning: Meaning) -> Meaning:
    """Return `did not fail to` for `managed to`, and the like."""
    frame = meaning[0]
    if frame.attitude not in OPPOSITE_ACTS or not deny_well(frame) or not chance(random, DENIED):
        return meaning
    return (
        replace(frame, attitude=OPPOSITE_ACTS[frame.attitude], negated=not frame.negated),
        *meaning[1:],
    )


def say_sides(
    random: Random, sides: tuple[Side, Side], voices: bool, plain: bool
) -> list[list[str]] | None:
    """Return the texts of both meanings, by side; None if no form fits.

    Args:
        plain: only the order or the place of a detail may differ.
        voices: one side is active, the other passive.
    """
    if len(sides[0][0]) > 1:
        return _say_clauses(random, sides, plain)
    forms = [_forms(first[0], second[0]) for first, second in sides]
    if voices:
        passive = int(random.random() * 2)  # index of the passive text
        forms = [_of_voice(found, number == passive) for number, found in enumerate(forms)]
    if plain:
        voice = choose(random, ("active", "passive"))
        forms = [[f for f in found if f[0].name.split(",")[0] == voice] for found in forms]
    if not forms[0] or not forms[1]:
        return None
    form = _draw_form(random, forms[0])
    same = form in forms[1] and not plain and chance(random, SAME_FORM)
    rest = [other for other in forms[1] if (other == form) == same]
    if not rest:
        return None
    patterns = form, _draw_form(random, rest)
    return [
        [say(meaning[0], pattern) for meaning, pattern in zip(side, pair, strict=True)]
        for side, pair in zip(sides, patterns, strict=True)
    ]


def _forms(first: Frame, second: Frame) -> list[Form]:
    """Return the renderings that fit both frames; those of questions go by their form."""
    ours, theirs = renderings(first), renderings(second)
    if first.mood == second.mood:
        return _shared(ours, theirs)
    named = {MOOD.sub("question", pattern.name): pattern for pattern in theirs}
    keys = [(MOOD.sub("question", pattern.name), pattern) for pattern in ours]
    return [(pattern, named[key]) for key, pattern in keys if key in named]


@cache
def _shared(ours: tuple[Pattern, ...], theirs: tuple[Pattern, ...]) -> list[Form]:
    """Return the patterns that both frames have, by the expressed parts."""
    texts = {pattern.text for pattern in theirs}
    return [(pattern, pattern) for pattern in ours if pattern.text in texts]


def _draw_form(random: Random, forms: list[Form]) -> Form:
    """Return a form, drawn by the share of its pattern."""
    drawn = draw_pattern(random, [pattern for pattern, _ in forms])
    return next(form for form in forms if form[0] is drawn)


def _of_voice(forms: list[Form], passive: bool) -> list[Form]:
    return [form for form in forms if ("passive" in form[0].conditions) == passive]


def _say_clauses(random: Random, sides: tuple[Side, Side], plain: bool) -> list[list[str]] | None:
    """Return the texts of two clauses that happen at once, in either order."""
    alike = choose(random, JOINTS_ALIKE)
    first = int(random.random() * 2)
    turned = first, 1 - first if plain else int(random.random() * 2)
    name = choose(random, alike)
    names = name, name if plain else choose(random, alike)
    share = 0.0 if plain else PASSIVE_CLAUSE
    texts = []
    for side, turn, name in zip(sides, turned, names, strict=True):
        forms = [_forms(first, second) for first, second in zip(*side, strict=True)]
        wanted = ["passive" if chance(random, share) else "active" for _ in forms]
        found = [_named(form, both) for form, both in zip(wanted, forms, strict=True)]
        patterns = [pattern for pattern in found if pattern]
        if len(patterns) < len(found):
            return None
        spoken = [
            [clause(frame, pattern) for frame, pattern in zip(meaning, patterns, strict=True)]
            for meaning in side
        ]
        texts.append([_joined(name, both[turn], both[1 - turn]) for both in spoken])
    return texts


def _named(name: str, forms: list[Form]) -> Pattern | None:
    return next((pattern for pattern, _ in forms if pattern.name == name), None)


def _joined(name: str, first: str, second: str) -> str:
    return finish(dict(JOINTS)[name].format(a=first, b=second))

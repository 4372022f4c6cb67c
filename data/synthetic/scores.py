"""Scores the similarity of two frames from 0 to 5, the scale of SemEval's STS.

5: the same; 4: a detail differs; 3: an important part differs, or is another of its kind; 2: some
parts in common; 1: same scene or topic; 0: nothing in common. The score is 5 exp(- sum of weight
times distance) over the parts of the frames; distances (0 to 1) come from the taxonomy. So two
differences cost less than the sum of their separate costs, and similar words cost little.

The weights were set by hand and checked in three ways. Contradictions cost what they cost in SICK
(Marelli et al. 2014; means of train and trial, on a scale from 1 to 5: entailed pairs 4.58,
contradicting ones 3.61): a denial or a swap about 1.2 points. The others are close to the least
squares fit of these distances to the scores of a person who read the texts of 300 pairs. And cosine
similarities order systems as on CS224N's STS dev: a random encoder, word overlap, mini and TF-IDF
about equal, all-MiniLM-L6-v2.
Reads: frames, taxonomy. Feeds: scored.
"""

import math
from random import Random

from data.synthetic.frames import Frame, Phrase
from data.synthetic.taxonomy import same_act, same_noun, same_place, same_quality

WEIGHTS = {
    "verb": 0.85, "agent": 0.9, "patient": 0.9, "receiver": 0.55, "role gone": 0.55,
    "adjective": 0.35, "adjective gone": 0.1, "number": 0.1,
    "tool": 0.3, "tool gone": 0.12, "place": 0.4, "place gone": 0.12, "time": 0.3,
    "time gone": 0.1, "manner": 0.35, "manner gone": 0.08, "tense": 0.08,
    "negation": 0.3, "swap": 0.25, "attitude": 0.3, "question": 0.35,
}  # fmt: skip
ALONE = 1.6  # without a patient, the verb is more important
NOISE = 0.2  # standard deviation of a mean over annotators


def similarity(first: Frame, second: Frame) -> float:
    """Return the score without noise."""
    distance = sum(WEIGHTS[part] * far for part, far in differences(first, second).items())
    return 5.0 * math.exp(-distance)


def noisy(score: float, random: Random) -> float:
    """Return the score of annotators: with noise, from 0 to 5, to one decimal."""
    noise = sum(random.random() for _ in range(12)) - 6.0  # about normal, without libm
    return round(min(max(score + NOISE * noise, 0.0), 5.0), 1)


def differences(first: Frame, second: Frame) -> dict[str, float]:
    """Return the distances of the parts of two frames: {a name of WEIGHTS: 0 or more}."""
    alone = first.patient is None and second.patient is None
    found = {
        "verb": (ALONE if alone else 1.0) * (1.0 - same_act(first, second)),
        "negation": float(first.negated != second.negated),
        "attitude": float(first.attitude != second.attitude),
        "question": float(first.mood != second.mood),
        "tense": float(first.tense != second.tense),
    }
    return found | _roles(first, second) | _adjuncts(first, second)


def _roles(first: Frame, second: Frame) -> dict[str, float]:
    """Return the differences of the participants, in their roles or with roles exchanged."""
    straight = _participants(first, second)
    asks = {"who", "what"} & {first.mood, second.mood}
    if first.patient is None or second.patient is None or asks:
        return straight
    crossed = _participants(first, second, {"agent": "patient", "patient": "agent"})
    # Each is an agent in one frame and a patient in the other.
    crossed |= dict.fromkeys(("agent", "patient"), (crossed["agent"] + crossed["patient"]) / 2)
    if not (first.verb.symmetric and second.verb.symmetric):
        crossed["swap"] = 1.0
    return min(straight, crossed, key=_cost)


def _participants(
    first: Frame, second: Frame, partner: dict[str, str] | None = None
) -> dict[str, float]:
    found: dict[str, float] = {}
    ours, theirs = first.phrases(), second.phrases()
    asked = {"who": "agent", "what": "patient"}
    for role in ("agent", "patient", "receiver"):
        mine = ours.get(role)
        other = theirs.get((partner or {}).get(role, role))
        if role == asked.get(first.mood) and first.mood == second.mood:
            continue  # neither text has it
        if mine and other:
            found[role] = 1.0 - same_noun(mine, other)
            for part, far in _details(mine, other).items():
                found[part] = found.get(part, 0.0) + far
        elif mine or other:
            found["role gone"] = found.get("role gone", 0.0) + 1.0
    return found


def _details(first: Phrase, second: Phrase) -> dict[str, float]:
    if first.count == second.count:
        number = 0.0
    else:
        number = 1.0 if first.plural != second.plural else 0.7
    mine, theirs = first.adjective, second.adjective
    if mine and theirs:
        return {"number": number, "adjective": 1.0 - same_quality(mine, theirs)}
    return {"number": number, "adjective gone": float(mine is not theirs)}


def _adjuncts(first: Frame, second: Frame) -> dict[str, float]:
    found = {}
    for part in ("tool", "place", "time", "manner"):
        mine, theirs = getattr(first, part), getattr(second, part)
        if not mine or not theirs:
            found[f"{part} gone"] = float(bool(mine) != bool(theirs))
        elif part == "place":
            found[part] = 1.0 - same_place(first, second)
        elif part == "tool":
            found[part] = 1.0 - same_noun(mine, theirs)
        else:
            found[part] = 1.0 - same_quality(mine, theirs)
    return found


def _cost(parts: dict[str, float]) -> float:
    return sum(WEIGHTS[part] * far for part, far in parts.items())

"""Makes opinions with composed values: intensity, negation, contrast, expectation, mixed views.

The value runs from -2 to 2 and falls into five classes. It is not enough to count good and bad
words: "not as dull as I had feared" has one bad word and is mild praise.
Reads: evaluations, wordlists. Feeds: sentences, generate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from data.bundled.evaluations import Draw, draw, sign, statement, subject, whole, word
from data.bundled.frames import chance, choose
from data.bundled.grammar import finish
from data.bundled.morphology import article
from data.bundled.wordlists import blocks, groups, lines

DEGREES = groups("degrees")
FEELINGS = groups("feelings")
JUDGES = lines("judges")
IDIOMS = dict(blocks("idioms"))
EDGES = (-1.4, -0.45, 0.45, 1.4)  # between the classes
NOISE = 0.12  # standard deviation of the values that annotators give


@dataclass(frozen=True)
class Opinion:
    """A sentence, its value from -2 to 2 and how the value is composed."""

    text: str
    value: float
    phenomenon: str


Maker = Callable[[Draw], tuple[str, float]]


def plain(d: Draw) -> tuple[str, float]:
    """Return one evaluation."""
    value = choose(d.random, (-2, -1, 0, 1, 2))
    text, _ = statement(d, value)
    form = choose(d.random, ("{}", "{}", "I think {}", "I have to say that {}", "to my mind, {}"))
    return form.format(text), float(value)


def noun_phrase(d: Draw) -> tuple[str, float]:
    """Return a verdict without a verb, as in reviews."""
    value = choose(d.random, (-2, -1, 0, 1, 2))
    name, it = subject(d).name, whole(d)
    first, second = word(d, value, it), word(d, value, it)
    if first == second or chance(d.random, 0.5):
        return f"{article(first)} {d.noun} in every respect, above all {name}", value * 1.0
    return f"{article(first)}, {second} {d.noun}", max(-2.0, min(2.0, value * 1.15))


def intensified(d: Draw) -> tuple[str, float]:
    """Return an evaluation with its degree: `very good`, `slightly boring`."""
    value, strong = sign(d), chance(d.random, 0.5)
    of = subject(d)
    adverb = choose(d.random, DEGREES["stronger" if strong else "weaker"])
    graded = word(d, value, of)
    while graded in DEGREES["ungraded"]:
        graded = word(d, value, of)
    text = f"{of.name} {of.be(d)} {adverb} {graded}"
    return text, value * (1.75 if strong else 0.7)


def negated(d: Draw) -> tuple[str, float]:
    """Return a negation: `not good` is bad, but `not bad` is less than good."""
    value = choose(d.random, (-2, -1, 1, 2))
    of = subject(d)
    form, factor = choose(
        d.random,
        (
            ("{} {} not {}", {-2: 0.0, -1: 0.7, 1: -1.0, 2: -0.2}),
            ("{} {} anything but {}", {-2: 1.2, -1: 1.1, 1: -1.2, 2: -1.2}),
            ("{} {} never {}", {-2: 0.3, -1: 0.9, 1: -1.0, 2: -0.6}),
            ("{} {} far from {}", {-2: 0.8, -1: 0.9, 1: -1.1, 2: -0.9}),
            ("{} {} by no means {}", {-2: 0.2, -1: 0.8, 1: -1.0, 2: -0.3}),
            ("nobody could say that {} {} {}", {-2: 0.2, -1: 0.8, 1: -1.1, 2: -0.7}),
        ),
    )
    return form.format(of.name, of.be(d), word(d, value, of)), factor[value]


def contrast(d: Draw) -> tuple[str, float]:
    """Return two opposite evaluations, of which the one in the main or last clause weighs more."""
    direction = sign(d)
    weak, strong = -direction * choose(d.random, (1, 2)), direction * choose(d.random, (1, 2))
    first, part = statement(d, weak)
    second, _ = statement(d, strong, part)
    form = choose(
        d.random,
        (
            "{a}, but {b}", "although {a}, {b}", "{b}, even though {a}", "{a}; still, {b}",
            "{a}, yet {b}", "{b}, even if {a}", "{a}, but luckily {b}"
            if direction > 0 else "{a}, but sadly {b}", "granted, {a}, but all in all {b}",
        ),
    )  # fmt: skip
    return form.format(a=first, b=second), 0.2 * weak + 0.75 * strong


def mixed(d: Draw) -> tuple[str, float]:
    """Return as much praise as blame."""
    size = choose(d.random, (1, 1, 2))
    first, part = statement(d, size)
    second, _ = statement(d, -size, part)
    if chance(d.random, 0.5):
        first, second = second, first
    form = choose(
        d.random,
        (
            "{} and {}", "{}, and {}", "on the one hand {}, on the other hand {}",
            "{}; {}", "{} and {}, so it evens out",
        ),
    )  # fmt: skip
    return form.format(first, second), 0.0


def both(d: Draw) -> tuple[str, float]:
    """Return two evaluations of the same sign, which add up."""
    direction = sign(d)
    values = [direction * choose(d.random, (1, 2)) for _ in range(2)]
    first, part = statement(d, values[0])
    second, _ = statement(d, values[1], part)
    while second.split()[-1] == first.split()[-1]:
        second, _ = statement(d, values[1], part)
    form = choose(d.random, ("{}, and {}", "{} and {}", "{}; {}", "{} and, what is more, {}"))
    return form.format(first, second), max(-2.0, min(2.0, 0.6 * sum(values)))


def feeling(d: Draw) -> tuple[str, float]:
    """Return what somebody felt or did not feel."""
    value = choose(d.random, (-2, -1, 1, 2))
    verb = choose(d.random, FEELINGS[str(value)])
    judge = choose(d.random, JUDGES)
    target = d.it if chance(d.random, 0.6) else f"{subject(d).name} of {d.it}"
    if chance(d.random, 0.35):
        own = "we" if judge == "we" else "I"
        phrase = choose(
            d.random, ("{0} cannot say that {0} {1}", "{0} would be lying if {0} said that {0} {1}")
        )
        return f"{phrase.format(own, verb)} {target}", {-2: 0.1, -1: 0.5, 1: -0.8, 2: -0.5}[value]
    return f"{judge} {verb} {target}", float(value)


def expectation(d: Draw) -> tuple[str, float]:
    """Return what was better or worse than expected."""
    value = choose(d.random, (-1, 1))
    of, it = subject(d), whole(d)
    name, be = of.name, of.be(d)
    good, bad = word(d, 1, of), word(d, -1, of)
    options = (
        (f"{name} {be} not as {good} as I had hoped", -0.85),
        (f"{name} {be} not as {bad} as I had feared", 0.7),
        (f"I was told that {name} {be} {word(d, 2 * value, of)}, but I found nothing of the kind",
         -0.9 * value),
        (f"some call {d.it} {word(d, -value, it)}, but I found it {word(d, value, it)}",
         0.95 * value),
        (f"I had expected {article(word(d, -2 * value, it))} {d.noun}, "
         f"and what I got was {article(word(d, value, it))} one", 1.0 * value),
        (f"what could have been {article(word(d, -value, it))} {d.noun} "
         f"turned out {word(d, 2 * value, it)}", 1.75 * value),
        (f"{name} could have been {good}, and {be} not", -0.95),
        (f"I was afraid that {name} would be {bad}, for no reason at all", 0.85),
        (f"if only {name} had been less {bad}", -1.0),
        (f"I wish that {name} had been more {good}", -0.9),
        (f"{d.it} would be {word(d, 1, it)} if {name} were not so {bad}", -0.75),
        (f"without {name}, {d.it} would have been {word(d, -1, it)}", 0.55),
        (f"without {name}, {d.it} would have been {word(d, 1, it)}", -0.6),
    )  # fmt: skip
    return choose(d.random, options)


def idiom(d: Draw) -> tuple[str, float]:
    """Return a fixed phrase without a word of praise or blame."""
    value = choose(d.random, (-2, -1, 0, 1, 2))
    idioms = IDIOMS[str(value)]
    kept = {"dev": idioms[2::4], "test": idioms[3::4], "train": []}[d.split]
    common = [item for number, item in enumerate(idioms) if number % 4 < 2]
    text = choose(d.random, kept if kept and chance(d.random, 0.6) else common)
    filled = text.format(It=d.it, it=d.it, noun=d.noun, doing=d.topic.doing)
    return filled, float(value)


MAKERS: list[tuple[str, Maker, int]] = [
    ("plain", plain, 2), ("noun phrase", noun_phrase, 1), ("intensity", intensified, 3),
    ("negation", negated, 4), ("contrast", contrast, 4), ("mixed", mixed, 1), ("both", both, 2),
    ("feeling", feeling, 2), ("expectation", expectation, 4), ("idiom", idiom, 2),
]  # fmt: skip
DEALT = tuple(maker for maker in MAKERS for _ in range(maker[2]))


def opinion(random: Random, split: str) -> Opinion:
    """Return a random opinion."""
    name, maker, _ = choose(random, DEALT)
    text, value = maker(draw(random, split))
    return Opinion(finish(text), value, name)


def label(value: float, random: Random) -> int:
    """Return the class, 0 to 4, that annotators would give."""
    noise = NOISE * (sum(random.random() for _ in range(12)) - 6.0)
    return sum(value + noise > edge for edge in EDGES)

"""Makes opinions with composed values: intensity, negation, contrast, expectation, mixed views.

The value runs from -2 to 2 and falls into five classes. It is not enough to count good and bad
words: "not as dull as I had feared" has one bad word and is mild praise, and "we went back the very
next day" has none and is high praise. The class is drawn first, then the phenomenon with the same
probabilities in every class where it can occur, so neither the form of a sentence nor its length
predicts the class.
Reads: evaluations, wordlists. Feeds: sentences, generate, suites.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random

from data.synthetic.evaluations import Draw, draw, fill, part, pick, statement, whole
from data.synthetic.frames import chance, choose
from data.synthetic.grammar import finish
from data.synthetic.wordlists import blocks, fields, groups, lines

EDGES = (-1.4, -0.45, 0.45, 1.4)  # between the classes
NOISE = 0.12  # standard deviation of the values that annotators give
CONTEXTS = 0.3  # share of the opinions with an additional statement
FACTS = 0.35  # share of these with a fact about the topic


@dataclass(frozen=True)
class Opinion:
    """A text, its value from -2 to 2 and how the value is composed."""

    text: str
    value: float
    phenomenon: str


@dataclass(frozen=True)
class Said:
    """An opinion without an additional statement; only a clause can follow `I think`."""

    text: str
    value: float
    clause: bool = True


Maker = Callable[[Draw, int], Said]  # of a draw and a class from -2 to 2


def plain(d: Draw, wanted: int) -> Said:
    """Return one evaluation."""
    of = whole(d) if chance(d.random, 0.4) else part(d)
    return Said(statement(d, wanted, of), wanted)


@cache
def _composed(name: str) -> dict[int, list[tuple[float, str]]]:
    """Return the forms of a phenomenon with their values, by class."""
    found: dict[int, list[tuple[float, str]]] = {}
    for line in dict(blocks("composed"))[name]:
        value, form = fields(line)
        found.setdefault(_class(float(value)), []).append((float(value), form))
    return found


def _class(value: float) -> int:
    return sum(value > edge for edge in EDGES) - 2


def composed(name: str) -> Maker:
    """Return the maker of a phenomenon of composed.txt."""

    def make(d: Draw, wanted: int) -> Said:
        value, form = choose(d.random, _composed(name)[wanted])
        return Said(fill(d, form), value, clause=name != "fragment")

    return make


# By class: the values of the less and the more important clause, and whether the latter is about
# the whole.
CONTRASTS = {
    2: ((-1, 2, True), (0, 2, True)),
    1: ((-1, 1, True), (0, 1, True), (-1, 2, False)),
    0: ((1, 0, True), (-1, 0, True)),
    -1: ((1, -1, True), (0, -1, True), (1, -2, False)),
    -2: ((1, -2, True), (0, -2, True)),
}


def contrast(d: Draw, wanted: int) -> Said:
    """Return two evaluations; the one in the main or last clause is more important."""
    weak, strong, about_all = choose(d.random, CONTRASTS[wanted])
    first = part(d)
    second = whole(d) if about_all else part(d, first)
    form = choose(d.random, dict(blocks("clauses"))["contrast"])
    text = form.format(a=statement(d, weak, first), b=statement(d, strong, second))
    return Said(text, 0.2 * weak + (0.95 if about_all else 0.6) * strong)


def both(d: Draw, wanted: int) -> Said:
    """Return two evaluations of the same value."""
    first = part(d) if chance(d.random, 0.6) else whole(d)
    form = choose(d.random, dict(blocks("clauses"))["both"])
    second = part(d, first)
    return Said(form.format(a=statement(d, wanted, first), b=statement(d, wanted, second)), wanted)


def mixed(d: Draw, wanted: int) -> Said:
    """Return as much praise as blame."""
    size = choose(d.random, (1, -1, 1, -1, 2, -2))
    first = part(d)
    form = choose(d.random, dict(blocks("clauses"))["mixed"])
    second = statement(d, -size, part(d, first))
    return Said(form.format(a=statement(d, size, first), b=second), 0.0)


# "I cannot say that I loved it": the value of a denied feeling, by the feeling.
DENIED = {2: -0.7, 1: -0.8, -1: 0.7, -2: 0.0}


def feeling(d: Draw, wanted: int) -> Said:
    """Return a sentence on a feeling or a denied feeling."""
    target = d.it if chance(d.random, 0.7) else f"{part(d).name} of {d.it}"
    denied = [value for value, result in DENIED.items() if _class(result) == wanted]
    if denied and chance(d.random, 0.25):
        value = choose(d.random, denied)
        verb = pick(d, groups("feelings")[f"base {value}"])
        form = choose(d.random, ("I cannot say that I {}", "I would be lying if I said that I {}"))
        return Said(f"{form.format(verb)} {target}", DENIED[value])
    judge = choose(d.random, lines("judges"))
    verb = pick(d, groups("feelings")[str(wanted)])
    verb = verb.replace("{was}", "were" if judge.endswith(":p") else "was")
    return Said(f"{judge.removesuffix(':p')} {verb} {target}", wanted)


@cache
def _sentences(kind: str, value: int, about: tuple[str, ...]) -> list[str]:
    """Return the sentences of idioms.txt of a kind and a value, for these groups of topics."""
    found: list[str] = []
    for header, body in blocks("idioms"):
        number, names, name = fields(header)
        if (int(number), name) == (value, kind) and set(names.split()) & set(about):
            found += body
    return found


def sentence(kind: str) -> Maker:
    """Return the maker of a kind of sentence of idioms.txt."""

    def make(d: Draw, wanted: int) -> Said:
        options = _sentences(kind, wanted, (*d.topic.groups, d.topic.name))
        return Said(fill(d, pick(d, options)), wanted, clause=False)

    return make


@cache
def _told(name: str, about: str) -> list[str]:
    """Return the lines of facts.txt or contexts.txt for a topic."""
    headers = {about, "general"}
    return [line for header, body in blocks(name) if headers & set(header.split()) for line in body]


def description(d: Draw, wanted: int) -> Said:
    """Return a neutral statement."""
    facts = _told("facts", d.topic.name)
    first, second = choose(d.random, facts), choose(d.random, facts)
    if first == second or chance(d.random, 0.4):
        return Said(fill(d, first), 0.0)
    form = choose(d.random, dict(blocks("clauses"))["both"])
    return Said(fill(d, form.format(a=first, b=second)), 0.0)


def placed(d: Draw, said: Said) -> str:
    """Return an opinion as a text, perhaps with an additional neutral statement."""
    form = "{}"
    if chance(d.random, CONTEXTS):
        facts = [f"{fact}. {{}}" for fact in _told("facts", d.topic.name)]
        options = facts if chance(d.random, FACTS) else _told("contexts", d.topic.name)
        if not said.clause or said.text[-1] in "?!":
            options = [option for option in options if re.search(r"[.:] \{\}|\{\}\.", option)]
        form = choose(d.random, options)
    text = fill(d, form.replace("{}", "\0")).replace("\0", said.text)
    text = re.sub(r"([?!])\.", r"\1", finish(text))
    return re.sub(r"(?<=[.?!] )[a-z]", lambda found: found.group().upper(), text)


# The phenomena with their weights among opinions, and among neutral ones if different.
MAKERS: list[tuple[str, Maker, int, int]] = [
    ("plain", plain, 8, 7), ("fragment", composed("fragment"), 2, 2),
    ("intensity", composed("intensity"), 2, 2), ("negation", composed("negation"), 3, 3),
    ("contrast", contrast, 4, 3), ("both", both, 3, 2), ("feeling", feeling, 2, 2),
    ("expectation", composed("expectation"), 2, 2), ("indirect", sentence("indirect"), 6, 5),
    ("advice", sentence("advice"), 1, 1), ("question", sentence("question"), 1, 1),
    ("exclamation", sentence("exclamation"), 1, 1), ("comparison", sentence("comparison"), 1, 1),
    ("mixed", mixed, 0, 2), ("description", description, 0, 2),
]  # fmt: skip
DEALT = tuple((name, maker) for name, maker, weight, _ in MAKERS for _ in range(weight))
DEALT_NEUTRAL = tuple((name, maker) for name, maker, _, weight in MAKERS for _ in range(weight))


def opinion(random: Random, split: str, classes: tuple[int, ...] = (-2, -1, 0, 1, 2)) -> Opinion:
    """Return a random opinion; every class is as likely as the others."""
    wanted = choose(random, classes)
    name, maker = choose(random, DEALT if wanted else DEALT_NEUTRAL)
    d = draw(random, split)
    said = maker(d, wanted)
    return Opinion(placed(d, said), said.value, name)


def labelled(random: Random, split: str, wanted: int) -> Opinion:
    """Return a random opinion to which annotators give the class `wanted`, 0 to 4."""
    # Noise moves an opinion by at most one class, so only adjacent classes are drawn.
    near = tuple(number - 2 for number in range(5) if abs(number - wanted) < 2)
    while True:
        view = opinion(random, split, near)
        if label(view.value, random) == wanted:
            return view


def label(value: float, random: Random) -> int:
    """Return the class, 0 to 4, that annotators would give."""
    noise = NOISE * (sum(random.random() for _ in range(12)) - 6.0)
    return sum(value + noise > edge for edge in EDGES)

"""Questions by the type of their answer, in TREC's six classes.

Most of them mention a second type that is already known: "We know where the boy slept, but who woke
him?" So the class does not follow from the question words alone.
Reads: grammar, pairs, sampling, vocabulary. Feeds: suites.
"""

from functools import cache
from random import Random

from data.synthetic.frames import chance, choose
from data.synthetic.grammar import clause, finish
from data.synthetic.pairs import Example, pick
from data.synthetic.renderings import renderings
from data.synthetic.sampling import draw_frame
from data.synthetic.vocabulary import lexicon

# TREC's labels, coarse and fine, by the questioned part.
MOODS = {
    "DESC:reason": "why", "ENTY:other": "what", "HUM:ind": "who", "LOC:other": "where",
    "NUM:date": "when",
}  # fmt: skip
ABBREVIATION = "ABBR:exp"
LABELS = (ABBREVIATION, *MOODS)
DOUBLE = 0.8  # the share of questions with a second type
WITH_KNOWN = (
    "we know {known}, but {asked}?", "now that we know {known}, {asked}?",
    "{asked}, now that we know {known}?", "leaving aside {known}, {asked}?",
    "{asked}, leaving aside {known}?", "we know {known}; but {asked}?",
)  # fmt: skip
ABBREVIATED = (
    "what does {short} stand for", "what is {short} short for", "what do the letters {short} mean",
    "what is the full form of {short}", "who can tell me what {short} stands for",
    "where do people say {short}, and what does it stand for", "what is short for {long}",
    "how do people abbreviate {long}", "when people write {short}, what do they mean",
    "why do people say {short}, and what is it short for",
)  # fmt: skip
KNOWN_ABBREVIATED = (
    "what {short} stands for", "what {short} is short for", "what the letters {short} mean",
    "how people abbreviate {long}", "which letters stand for {long}",
)  # fmt: skip


def typed_question(random: Random, split: str, wanted: str) -> Example:
    """Return a question of a class of LABELS."""
    asked = _asked(random, split, wanted)
    if not chance(random, DOUBLE):
        return Example((finish(f"{asked}?"),), wanted, "question")
    known = _known(random, split, choose(random, [name for name in LABELS if name != wanted]))
    text = choose(random, WITH_KNOWN).format(known=known, asked=asked)
    return Example((finish(text),), wanted, "question with another")


def _asked(random: Random, split: str, label: str) -> str:
    """Return a direct question, without capital and question mark."""
    if label == ABBREVIATION:
        return _abbreviation(random, split, ABBREVIATED)
    while True:
        frame = draw_frame(random, split, mood=MOODS[label], adjectives=0.15)
        pattern = pick(random, frame)
        if pattern is not None:
            return clause(frame, pattern).removesuffix("?").strip()


def _known(random: Random, split: str, label: str) -> str:
    """Return an indirect question: `where the boy slept`."""
    if label == ABBREVIATION:
        return _abbreviation(random, split, KNOWN_ABBREVIATED)
    name = f"{MOODS[label]} question, know"
    while True:
        frame = draw_frame(random, split, mood=MOODS[label], adjectives=0.15)
        for pattern in renderings(frame):
            if pattern.name == name:
                text = clause(frame, pattern).removesuffix("?").strip()
                return text.removeprefix("do you know ")


def _abbreviation(random: Random, split: str, forms: tuple[str, ...]) -> str:
    """Return a question about a noun of several words and its first letters."""
    noun = choose(random, _long_nouns(split))
    short = "".join(part[0].upper() for part in noun.split())
    return choose(random, forms).format(short=short, long=noun)


@cache
def _long_nouns(split: str) -> list[str]:
    """Return the nouns of several words that a split may use."""
    words = lexicon()
    nouns = [noun for kind in words.kinds.values() for noun in kind if " " in noun.word]
    return [noun.word for noun in nouns if words.allowed(noun.word, split)]

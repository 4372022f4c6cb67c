"""Inflects English words: plural, third person, past, participles, a or an.

Rules with hand-written exceptions: a wrong form would teach a model that grammar is noise.
Reads: words_qualities. Feeds: holdout, grammar, sentiment.
"""

from functools import cache

from data.bundled.words_qualities import (
    A_WORDS,
    AN_WORDS,
    DOUBLING,
    IRREGULAR_PLURALS,
    IRREGULAR_VERBS,
    NUMBERS,
)

VOWELS = "aeiou"


def _table(text: str) -> dict[str, list[str]]:
    rows = (row.split() for row in text.strip().split(";"))
    return {row[0].replace("_", " "): row[1:] for row in rows}


PLURALS = _table(IRREGULAR_PLURALS)
VERBS = _table(IRREGULAR_VERBS)


def _first(phrase: str) -> tuple[str, str]:
    """Split a verb from its particles, which no ending ever joins: `cut up` into `cut`, ` up`."""
    head, blank, rest = phrase.partition(" ")
    return head, blank + rest


def _add_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


@cache
def plural(noun: str) -> str:
    """Return the plural of a noun; of `cup of tea` and the like, the first part's."""
    if " of " in noun:
        head, _, rest = noun.partition(" of ")
        return f"{plural(head)} of {rest}"
    start, blank, last = noun.rpartition(" ")
    return start + blank + (PLURALS[last][0] if last in PLURALS else _add_s(last))


@cache
def third_person(verb: str) -> str:
    """Return what he, she or it does."""
    head, rest = _first(verb)
    special = {"be": "is", "have": "has", "do": "does", "go": "goes", "quiz": "quizzes"}
    return special.get(head, _add_s(head)) + rest


def _stem(verb: str) -> str:
    """Double the last consonant where English does before -ed and -ing."""
    return verb + verb[-1] if verb in DOUBLING else verb


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return _stem(verb) + "ed"


@cache
def past(verb: str) -> str:
    """Return the simple past."""
    head, rest = _first(verb)
    return (VERBS[head][0] if head in VERBS else _regular_past(head)) + rest


@cache
def participle(verb: str) -> str:
    """Return the past participle."""
    head, rest = _first(verb)
    return (VERBS[head][1] if head in VERBS else _regular_past(head)) + rest


@cache
def gerund(verb: str) -> str:
    """Return the -ing form."""
    head, rest = _first(verb)
    if head == "mimic":
        return "mimicking" + rest
    if head.endswith("ie"):
        return head[:-2] + "ying" + rest
    if head.endswith("e") and not head.endswith(("ee", "oe", "ye")) and head != "be":
        return head[:-1] + "ing" + rest
    return _stem(head) + "ing" + rest


def article(phrase: str) -> str:
    """Return the phrase behind `a` or `an`, by its first sound."""
    word = phrase.split()[0].split("-")[0].lower()
    whole = phrase.split()[0].lower()
    vowel = word[0] in VOWELS and word not in A_WORDS
    return f"an {phrase}" if vowel or word in AN_WORDS or whole in AN_WORDS else f"a {phrase}"


def counted(count: int) -> str:
    """Return a number from 2 to 10 in words."""
    return NUMBERS[count - 2]

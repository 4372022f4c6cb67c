"""Inflects English words: plural, third person, past, participles, a or an.

The rules have hand-written exceptions: wrong forms would teach a model that grammar is noise.
Reads: wordlists. Feeds: holdout, vocabulary, grammar, sentiment.
"""

from functools import cache

from data.synthetic.wordlists import groups, lines

VOWELS = "aeiou"
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PLURALS = dict(line.split() for line in lines("irregular_plurals"))
VERBS = {base: forms for base, *forms in map(str.split, lines("irregular_verbs"))}
DOUBLING = frozenset(lines("doubling_verbs"))
ARTICLES = groups("articles")


def _first(phrase: str) -> tuple[str, str]:
    """Split a verb from its particles, which are not inflected: `cut up` into `cut`, ` up`."""
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
    """Return the plural of a noun; in `cup of tea` and the like, the first part is inflected."""
    if " of " in noun:
        head, _, rest = noun.partition(" of ")
        return f"{plural(head)} of {rest}"
    start, blank, last = noun.rpartition(" ")
    return start + blank + (PLURALS[last] if last in PLURALS else _add_s(last))


@cache
def third_person(verb: str) -> str:
    """Return the third person singular of the present."""
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


@cache
def article(phrase: str) -> str:
    """Return the phrase with `a` or `an` before it, depending on its first sound."""
    word = phrase.split()[0].split("-")[0].lower()
    whole = phrase.split()[0].lower()
    vowel = word[0] in VOWELS and word not in ARTICLES["a"]
    return f"an {phrase}" if vowel or {word, whole} & {*ARTICLES["an"]} else f"a {phrase}"


def counted(count: int) -> str:
    """Return a number from 2 to 10 in words."""
    return NUMBERS[count - 2]

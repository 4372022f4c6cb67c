"""Reads the hand-written words into a Lexicon, and chooses those that are held out.

Reads: the words_ files, holdout. Feeds: edits, renderings, sampling, evaluations.
"""

import re
from functools import cache

from data.bundled.holdout import hold_out
from data.bundled.words import Lexicon, Noun, Quality, Verb
from data.bundled.words_nouns import NOUNS
from data.bundled.words_qualities import ADJECTIVES, ADVERBS, END_ADVERBS, TIMES
from data.bundled.words_verbs import SOCIAL, SUBSETS, VERBS


def blanks(text: str) -> str:
    """Return the text with its written `_` as the blank it stands for."""
    return text.strip().replace("_", " ")


def rows(text: str) -> list[str]:
    """Return the lines of a table of words; an indented line continues the one above."""
    return re.sub(r"\n +", " ", text).strip().splitlines()


def _entry(text: str) -> tuple[str, tuple[str, ...], str, str]:
    """Split `word=synonym<hypernym!antonym`."""
    text, _, antonym = text.partition("!")
    text, _, hypernym = text.partition("<")
    word, *synonyms = map(blanks, text.split("="))
    return word, tuple(synonyms), blanks(hypernym), blanks(antonym)


def _blocks(text: str) -> list[tuple[list[str], str]]:
    """Split a file of words into (header fields, body)."""
    blocks = []
    for block in re.split(r"^@ ", re.sub(r"\n +", " ", text), flags=re.M)[1:]:
        header, _, body = block.partition("\n")
        blocks.append(([part.strip() for part in header.split("|")], body))
    return blocks


def _nouns(lexicon: Lexicon) -> None:
    for header, body in _blocks(NOUNS):
        kind, hypernym = header[0], header[1].strip("-")
        groups = tuple(header[2].strip("-").split())
        flag = header[3] if len(header) > 3 else ""
        lexicon.kinds[kind] = []
        for item in body.replace("\n", " ").split(","):
            word, synonyms, own, _ = _entry(item.strip())
            noun = Noun(word, kind, own or hypernym, synonyms, groups, flag == "human", bool(flag))
            lexicon.kinds[kind].append(noun)
    for row in rows(SUBSETS):
        kind, _, items = row.partition(":")
        lexicon.kinds[kind] = [_subset_noun(lexicon, kind, item) for item in items.split(",")]


def _subset_noun(lexicon: Lexicon, kind: str, item: str) -> Noun:
    """Find the noun a subset names, or make the one it defines with its hypernym."""
    word, synonyms, hypernym, _ = _entry(item.strip())
    for nouns in lexicon.kinds.values():
        for noun in nouns:
            if noun.word == word and not hypernym:
                return noun
    assert hypernym, f"{kind}: {word} is in no class"
    return Noun(word, kind, hypernym, synonyms, ("age_thing",))


def _details(text: str) -> dict[str, str]:
    """Split `with:a,b how:c sym at:in x;on y` (places hold blanks) into names and values."""
    flags = "sym|state|nopass"
    found = re.findall(rf"(\w+):((?:(?! \w+:| (?:{flags})\b).)+)|\b({flags})\b", text)
    return {name or flag: value.strip() for name, value, flag in found}


def _verb(lexicon: Lexicon, line: str, domain: str, humans: str) -> Verb:
    """Read one line; H stands for the humans of the domain."""
    head, agents, patients, *more = (part.strip() for part in line.split("|"))
    word, synonyms, hypernym, antonym = _entry(head)
    details = _details(more[0] if more else "")
    return Verb(
        word, domain,
        _members(lexicon, agents, humans), _members(lexicon, patients, humans),
        tools=_members(lexicon, details.get("with", "-"), humans),
        receivers=_members(lexicon, details.get("to", "-"), humans),
        manners=tuple(details.get("how", "").replace(",", " ").split()),
        places=tuple(filter(None, map(_place, details.get("at", "").split(";")))),
        synonyms=synonyms, antonym=antonym, hypernym=hypernym,
        event=blanks(details.get("nom", "")),
        symmetric="sym" in details, state="state" in details, passive="nopass" not in details,
    )  # fmt: skip


def _place(text: str) -> str:
    """Put the article in: `in kitchen` is `in the kitchen`, `at home` stays."""
    words = blanks(text).split()
    bare = {"home", "headquarters", "stage", "television", "TV", "parliament"}
    if len(words) < 2 or words[1] in bare:
        return " ".join(words)
    return " ".join([words[0], "the", *words[1:]])


def _members(lexicon: Lexicon, kinds: str, humans: str) -> tuple[Noun, ...]:
    names = [] if kinds == "-" else kinds.replace(",", " ").split()
    wanted = [kind for name in names for kind in (humans.split() if name == "H" else [name])]
    return tuple(dict.fromkeys(noun for kind in wanted for noun in lexicon.kinds[kind]))


def _domains(lexicon: Lexicon) -> None:
    for (domain, humans, places), body in _blocks(VERBS):
        lexicon.places[domain] = []
        for item in places.split(","):
            word, *synonyms = item.strip().split("=")
            lexicon.places[domain].append(_place(word))
            for synonym in synonyms:
                lexicon.place_synonyms[_place(word)] = _place(f"{word.split()[0]} {synonym}")
        lines = body.strip().splitlines() + ([] if domain == "weather" else _social_lines(body))
        lexicon.domains[domain] = [_verb(lexicon, line, domain, humans) for line in lines]


def _social_lines(body: str) -> list[str]:
    """Return what people do to people anywhere, but for what the domain says in its own way."""
    own = {line.split("|")[0].strip() for line in body.splitlines()}
    own = {re.split("[=!<]", head)[0] for head in own}
    lines = rows(SOCIAL)
    return [line for line in lines if re.split("[=!<]", line.split("|")[0].strip())[0] not in own]


def _pairs(text: str) -> list[Quality]:
    """Read `a=b/c=d, ...`: each side is a quality of which the other is the opposite."""
    qualities = []
    for item in " ".join(text.split()).split(","):
        sides = [[blanks(word) for word in side.split("=") if word] for side in item.split("/")]
        for side, other in ((0, 1), (1, 0)):
            if len(sides) > side and sides[side]:
                word, *synonyms = sides[side]
                opposites = tuple(sides[other]) if len(sides) > other else ()
                qualities.append(Quality(word, tuple(synonyms), opposites))
    return qualities


def _qualities(lexicon: Lexicon) -> None:
    for text, table in ((ADJECTIVES, lexicon.adjectives), (ADVERBS, lexicon.adverbs)):
        for row in rows(text):
            group, _, items = row.partition(":")
            table[group.strip()] = _pairs(items)
    for tense, items in TIMES.items():
        lexicon.times[tense] = _pairs(items)


@cache
def lexicon() -> Lexicon:
    """Return the lexicon, read on the first call."""
    result = Lexicon()
    _nouns(result)
    _domains(result)
    _qualities(result)
    hold_out(result)
    return result


END_ONLY = frozenset(blanks(word) for word in END_ADVERBS)

"""Builds the lexicon from the word lists, and chooses the words that are held out.

Reads: words, wordlists, holdout, morphology. Feeds: edits, scores, sampling, evaluations.
"""

import re
from functools import cache

from data.synthetic.holdout import hold_out
from data.synthetic.morphology import gerund
from data.synthetic.wordlists import blocks, fields, groups, items, lines
from data.synthetic.words import Lexicon, Noun, Quality, Verb


def _entry(text: str) -> tuple[str, tuple[str, ...], str, str]:
    """Split `word=synonym<hypernym!antonym`."""
    text, _, antonym = text.partition("!")
    text, _, hypernym = text.partition("<")
    word, *synonyms = text.split("=")
    return word, tuple(synonyms), hypernym, antonym


def _nouns(lexicon: Lexicon) -> None:
    for header, body in blocks("nouns"):
        kind, hypernym, adjectives, *flags = fields(header)
        lexicon.kinds[kind] = []
        for item in items(" ".join(body)):
            word, synonyms, own, _ = _entry(item)
            noun = Noun(
                word, kind, own or hypernym.strip("-"), synonyms,
                tuple(adjectives.strip("-").split()), "human" in flags, bool(flags),
            )  # fmt: skip
            lexicon.kinds[kind].append(noun)
    known: dict[str, Noun] = {}
    for nouns in lexicon.kinds.values():
        for noun in nouns:
            known.setdefault(noun.word, noun)
    for kind, names in groups("noun_subsets").items():
        lexicon.kinds[kind] = [_subset_noun(known, kind, name) for name in names]


def _subset_noun(known: dict[str, Noun], kind: str, item: str) -> Noun:
    """Return the noun named in a subset, or make the one that it defines with a hypernym."""
    word, synonyms, hypernym, _ = _entry(item)
    if not hypernym:
        assert word in known, f"{kind}: {word} is in no class"
        return known[word]
    noun = Noun(word, kind, hypernym, synonyms, ("age_thing",))
    known.setdefault(word, noun)
    return noun


def _details(text: str) -> dict[str, str]:
    """Split `with:a,b how:c sym at:in x;on y` into names and values; places may hold blanks."""
    flags = "sym|state|nopass"
    found = re.findall(rf"(\w+):((?:(?! \w+:| (?:{flags})\b).)+)|\b({flags})\b", text)
    return {name or flag: value.strip() for name, value, flag in found}


def _verb(lexicon: Lexicon, line: str, domain: str, humans: str) -> Verb:
    """Read the line of a verb; H stands for the humans of the domain."""
    head, agents, patients, *more = fields(line)
    word, synonyms, hypernym, antonym = _entry(head)
    details = _details(more[0] if more else "")
    forms = [form for form in (word, *synonyms, antonym, hypernym) if form]
    said = {form.split()[0] for form in forms}
    doing = {gerund(form).split()[-1] for form in forms}
    return Verb(
        word, domain,
        # Avoids "where did the fashion model model it" and "sailing sailing ships".
        tuple(n for n in _members(lexicon, agents, humans) if not said & n.last_words),
        tuple(n for n in _members(lexicon, patients, humans) if not doing & n.tokens),
        tools=_members(lexicon, details.get("with", "-"), humans),
        receivers=_members(lexicon, details.get("to", "-"), humans),
        manners=tuple(details.get("how", "").replace(",", " ").split()),
        places=tuple(filter(None, map(_place, details.get("at", "").split(";")))),
        synonyms=synonyms, antonym=antonym, hypernym=hypernym, event=details.get("nom", ""),
        symmetric="sym" in details, state="state" in details, passive="nopass" not in details,
    )  # fmt: skip


def _place(text: str) -> str:
    """Insert the article: `in kitchen` becomes `in the kitchen`, but `at home` is not changed."""
    words = text.split()
    bare = {"home", "headquarters", "stage", "television", "TV", "parliament"}
    if len(words) < 2 or words[1] in bare:
        return text
    return " ".join([words[0], "the", *words[1:]])


def _members(lexicon: Lexicon, kinds: str, humans: str) -> tuple[Noun, ...]:
    """Return the nouns of these classes; of two with the same word, the first one."""
    names = [] if kinds == "-" else kinds.replace(",", " ").split()
    wanted = [kind for name in names for kind in (humans.split() if name == "H" else [name])]
    found: dict[str, Noun] = {}
    for noun in (noun for kind in wanted for noun in lexicon.kinds[kind]):
        found.setdefault(noun.word, noun)
    return tuple(found.values())


def _domains(lexicon: Lexicon) -> None:
    social = lines("social_verbs")
    for header, verbs in blocks("verbs"):
        domain, humans, places = fields(header)
        lexicon.places[domain] = []
        for item in items(places):
            place, *synonyms = item.split("=")
            lexicon.places[domain].append(_place(place))
            for synonym in synonyms:
                lexicon.place_synonyms[_place(place)] = _place(f"{place.split()[0]} {synonym}")
        if domain != "weather":
            own = {_lemma(line) for line in verbs}
            verbs = verbs + [line for line in social if _lemma(line) not in own]
        lexicon.domains[domain] = [_verb(lexicon, line, domain, humans) for line in verbs]


def _lemma(line: str) -> str:
    """Return the verb of a line, without its relations."""
    return _entry(fields(line)[0])[0]


def _qualities(pairs: list[str]) -> list[Quality]:
    """Read pairs `a=b/c=d`: each side is a quality, and the other side its opposite."""
    qualities = []
    for pair in pairs:
        first, second = (tuple(filter(None, side.strip().split("="))) for side in pair.split("/"))
        for side, other in ((first, second), (second, first)):
            if side:
                qualities.append(Quality(side[0], side[1:], opposites=other))
    return qualities


@cache
def lexicon() -> Lexicon:
    """Return the lexicon, which is built by the first call."""
    result = Lexicon()
    _nouns(result)
    _domains(result)
    for table, name in (
        (result.adjectives, "adjectives"),
        (result.adverbs, "adverbs"),
        (result.times, "times"),
    ):
        table.update({group: _qualities(pairs) for group, pairs in groups(name).items()})
    hold_out(result)
    return result

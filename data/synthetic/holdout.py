"""Chooses the words that occur in dev only or in test only.

A word can be held out only if each of its forms has a token that no other entry uses. Otherwise it
would occur in a synonym, an inflection or a fixed phrase of another entry.
Reads: words, wordlists, morphology. Feeds: vocabulary.
"""

import itertools
import re
import zlib

from data.synthetic.morphology import gerund, participle, past, plural, third_person
from data.synthetic.wordlists import blocks, groups, lines
from data.synthetic.words import FUNCTION_WORDS, Lexicon

# One word in 12 is kept for dev, and one for test. Opinions should be understood, not memorised: of
# twenty of their words, phrases and sentences, three are kept for dev and five for test.
HOLD_OUT = 12
OPINION_PARTS = ("dev",) * 3 + ("test",) * 5 + ("train",) * 12
# Lists of opinions with groups of phrases that can be held out as a whole; and lists of opinions
# and patterns whose single words are common to all parts.
PHRASES = ("predicates", "verdicts", "feelings")
SENTENCES = (
    *("topics", "judges", "composed", "clauses", "contexts", "facts", "patterns", "joints"),
    *PHRASES,
)
NEVER_HELD = ("hypernyms", "related to ", "sayings", "time ")


def _own(lexicon: Lexicon, owner: str, *forms: str) -> None:
    """Note the words of an entry, to find those that no other entry uses."""
    known = lexicon.forms.setdefault(owner, [])
    for form in filter(None, forms):
        if form not in known:
            known.append(form)
        _use(lexicon, owner, form)


def _use(lexicon: Lexicon, owner: str, *phrases: str) -> None:
    for phrase in phrases:
        for token in phrase.replace("-", " ").split(" "):
            lexicon.owners.setdefault(token, {})[owner] = None


def _use_verb(lexicon: Lexicon, owner: str, *verbs: str) -> None:
    """Note every form of the verbs: `lost` belongs to `lose` as well as to `get lost`."""
    for verb in filter(None, verbs):
        _use(lexicon, owner, third_person(verb), past(verb), participle(verb), gerund(verb))


def _own_words(lexicon: Lexicon) -> None:
    for nouns in lexicon.kinds.values():
        for noun in nouns:
            _own(lexicon, noun.word, noun.word, *noun.synonyms)
            _own(lexicon, "hypernyms", noun.hypernym)
            _use(lexicon, noun.word, *map(plural, (noun.word, *noun.synonyms)))
            if noun.hypernym:
                _use(lexicon, "hypernyms", plural(noun.hypernym))
    for verbs in lexicon.domains.values():
        for verb in verbs:
            _own(lexicon, verb.word, verb.word, *verb.synonyms, verb.event)
            _own(lexicon, f"related to {verb.word}", verb.antonym, verb.hypernym)
            _use_verb(lexicon, verb.word, verb.word, *verb.synonyms)
            _use_verb(lexicon, f"related to {verb.word}", verb.antonym, verb.hypernym)


def _own_qualities(lexicon: Lexicon) -> None:
    for table in (lexicon.adjectives, lexicon.adverbs):
        for qualities in table.values():
            for quality in qualities:
                pair = min([quality.word, *quality.opposites[:1]])
                _own(lexicon, pair, quality.word, *quality.synonyms)
    for place in [place for places in lexicon.places.values() for place in places]:
        _own(lexicon, place, place, lexicon.place_synonyms.get(place, ""))
    for quality in [quality for times in lexicon.times.values() for quality in times]:
        _own(lexicon, f"time {quality.word}", quality.word, *quality.synonyms)


def _own_opinions(lexicon: Lexicon) -> None:
    """Note the words of opinions and patterns; of these, only evaluations can be held out."""
    degrees = [
        word for name, words in groups("degrees").items() if name != "ungraded" for word in words
    ]
    lists = (lines(name) for name in SENTENCES)
    for text in itertools.chain(*lists, _phrases(), degrees):
        for word in re.findall(r"[\w'-]+", text.lower()):
            _own(lexicon, "sayings", word)
    attitudes = [verb for verbs in groups("attitudes").values() for verb in verbs]
    _own(lexicon, "sayings", *attitudes)
    _use_verb(lexicon, "sayings", *attitudes)
    for words in groups("evaluations").values():
        for word in words:
            if " " not in word:
                _own(lexicon, f"opinion {word}", word)


def _phrases() -> list[str]:
    """Return the phrases and sentences of opinion, which can be held out as a whole."""
    found = [sentence for _, body in blocks("idioms") for sentence in body]
    for name in ("evaluations", *PHRASES):
        found += [entry for entries in groups(name).values() for entry in entries if " " in entry]
    return found


def hold_out(lexicon: Lexicon) -> None:
    """Choose the held-out words by a checksum, which, unlike hash(), is the same everywhere."""
    _own_words(lexicon)
    _own_qualities(lexicon)
    _own_opinions(lexicon)
    everywhere = {noun.word for noun in lexicon.kinds["folk"]}
    for owner, forms in lexicon.forms.items():
        if owner in everywhere or owner.startswith(NEVER_HELD):
            continue
        part = _part(owner)
        if part != "train" and all(_has_own_token(lexicon, form) for form in forms):
            lexicon.held[owner] = part
    everything = "\n".join(phrases := _phrases())
    degrees = tuple(f"{word} " for words in groups("degrees").values() for word in words)
    for phrase in phrases:
        part = _part(f"opinion {phrase}")
        # A phrase that is part of another one would occur in it, and "rather good" is composed in
        # all parts.
        if part == "train" or phrase.startswith(degrees):
            continue
        if everything.count(phrase.partition(":")[0]) == 1:
            lexicon.held[f"opinion {phrase}"] = part


def _part(owner: str) -> str:
    """Return the part for which an entry may be held out: dev, test or, for most, none (train)."""
    number = zlib.crc32(owner.encode())
    if owner.startswith("opinion "):
        return OPINION_PARTS[number % len(OPINION_PARTS)]
    return {0: "dev", 1: "test"}.get(number % HOLD_OUT, "train")


def _has_own_token(lexicon: Lexicon, form: str) -> bool:
    tokens = [token for token in re.split(r"[ -]", form) if token not in FUNCTION_WORDS]
    return any(len(lexicon.owners[token]) == 1 for token in tokens)

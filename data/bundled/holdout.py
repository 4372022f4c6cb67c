"""Chooses the words that occur in dev only or in test only.

A word can be held out only if each of its forms has a token that no other entry uses: else a
synonym, an inflection or a fixed phrase elsewhere would give it away.
Reads: words, wordlists, morphology. Feeds: vocabulary.
"""

import itertools
import re
import zlib

from data.bundled.morphology import gerund, participle, past, plural, third_person
from data.bundled.wordlists import blocks, groups, lines
from data.bundled.words import FUNCTION_WORDS, SPLITS, Lexicon

# One word in 12 is kept for dev, and one for test. There are fewer words of praise and blame: of
# these, one in 7.
HOLD_OUT = 12
HOLD_OUT_OPINIONS = 7
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
        for token in re.split(r"[ -]", phrase):
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
    idioms = [idiom for _, body in blocks("idioms") for idiom in body]
    feelings = [verb for verbs in groups("feelings").values() for verb in verbs]
    lists = lines("topics"), lines("judges"), idioms, feelings, lines("patterns"), lines("joints")
    for text in itertools.chain(*lists):
        for word in re.findall(r"[\w'-]+", text.lower()):
            _own(lexicon, "sayings", word)
    attitudes = [verb for verbs in groups("attitudes").values() for verb in verbs]
    _own(lexicon, "sayings", *attitudes)
    _use_verb(lexicon, "sayings", *attitudes)
    for words in groups("evaluations").values():
        for word in words:
            _own(lexicon, f"opinion {word}", word)


def hold_out(lexicon: Lexicon) -> None:
    """Choose the held-out words by a checksum, which, unlike hash(), is the same everywhere."""
    _own_words(lexicon)
    _own_qualities(lexicon)
    _own_opinions(lexicon)
    everywhere = {noun.word for noun in lexicon.kinds["folk"]}
    for owner, forms in lexicon.forms.items():
        share = HOLD_OUT_OPINIONS if owner.startswith("opinion ") else HOLD_OUT
        number = zlib.crc32(owner.encode()) % share
        if owner in everywhere or owner.startswith(NEVER_HELD):
            continue
        if number < 2 and all(_has_own_token(lexicon, form) for form in forms):
            lexicon.held[owner] = SPLITS[1 + number]


def _has_own_token(lexicon: Lexicon, form: str) -> bool:
    tokens = [token for token in re.split(r"[ -]", form) if token not in FUNCTION_WORDS]
    return any(len(lexicon.owners[token]) == 1 for token in tokens)

"""Chooses the words that stand in test (or dev) only.

Only words whose every form is theirs alone can be held out, or a synonym, an inflection or a fixed
phrase elsewhere would give them away. Reads: words, morphology. Feeds: lexicon.
"""

import re
import zlib

from data.bundled.morphology import gerund, participle, past, plural, third_person
from data.bundled.patterns import ATTITUDES, JOINTS, PATTERNS
from data.bundled.words import FUNCTION_WORDS, SPLITS, Lexicon
from data.bundled.words_opinions import EVALUATIONS, FEELINGS, IDIOMS, JUDGES, TOPICS

# Of 12 words, one is kept for dev and one for test.
HOLD_OUT = 12
HOLD_OUT_OPINIONS = 7  # and of the words of praise and blame, of which there are fewer
NEVER_HELD = ("hypernyms", "related to ", "sayings", "time ")


def _own(lexicon: Lexicon, owner: str, *forms: str) -> None:
    """Note which words an entry uses, so that it is known which are its alone."""
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
    """Note every form of verbs: `lost` is no word of `get lost` alone."""
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
    """Note the words of opinions and of the patterns; of these only evaluations can be held out."""
    said = [TOPICS, ",".join(JUDGES), *IDIOMS.values(), *FEELINGS.values(), PATTERNS, JOINTS]
    for text in said:
        for word in re.findall(r"[\w'-]+", text.lower().replace("_", " ").replace("*", "")):
            _own(lexicon, "sayings", word)
    _own(lexicon, "sayings", *ATTITUDES)
    _use_verb(lexicon, "sayings", *ATTITUDES)
    for group in EVALUATIONS.values():
        for words in group.values():
            for word in words.split():
                _own(lexicon, f"opinion {word}", word)


def hold_out(lexicon: Lexicon) -> None:
    """Choose held-out words by a checksum, which is the same everywhere, unlike hash()."""
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

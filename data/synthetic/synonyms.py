"""The lexicon as a dictionary of synonyms, in all forms of the words.

`simcse.positives` reads it from data/bundled/synonyms.txt.xz.
"""

from collections.abc import Callable, Iterator
from functools import cache

from data.synthetic.morphology import gerund, participle, past, plural, third_person
from data.synthetic.vocabulary import lexicon

Form = Callable[[str], str]
NOUN_FORMS: tuple[Form, ...] = (str, plural)
VERB_FORMS: tuple[Form, ...] = (str, third_person, past, participle, gerund)


@cache
def synonyms() -> dict[str, tuple[str, ...]]:
    """Return the synonyms of each single word, in the word's form, sorted.

    Senses are not distinguished: a word has the synonyms of every noun, verb, adjective and adverb
    that it may be.
    """
    found: dict[str, set[str]] = {}
    for names, forms in _sets():
        for form in forms:
            said = [form(name) for name in names]
            for word in said:
                if " " not in word:
                    found.setdefault(word, set()).update(set(said) - {word})
    return {word: tuple(sorted(others)) for word, others in found.items() if others}


def synonym_lines() -> list[str]:
    """Return the lines of that file: a word and its synonyms, separated by tabs."""
    return ["\t".join((word, *others)) + "\n" for word, others in sorted(synonyms().items())]


def _sets() -> Iterator[tuple[tuple[str, ...], tuple[Form, ...]]]:
    """Yield synonymous words, and their forms."""
    words = lexicon()
    for noun in (noun for nouns in words.kinds.values() for noun in nouns):
        yield (noun.word, *noun.synonyms), NOUN_FORMS
    for verb in (verb for verbs in words.domains.values() for verb in verbs):
        yield (verb.word, *verb.synonyms), VERB_FORMS
    for group in (*words.adjectives.values(), *words.adverbs.values()):
        for quality in group:
            yield (quality.word, *quality.synonyms), (str,)

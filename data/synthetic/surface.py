"""Writes texts as people type them: contractions, digits, another spelling, no full stop.

None of this changes the meaning of a text, and it is drawn independently of labels. Texts with the
same words get the same style, so they still have the same words.
Reads: frames, morphology, wordlists. Feeds: writing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from data.synthetic.frames import chance
from data.synthetic.morphology import NUMBERS
from data.synthetic.wordlists import groups

SPELLINGS = {american: british for american, (british,) in groups("spellings").items()}
CONTRACTIONS = {full: short for full, (short,) in groups("contractions").items()}
DIGITS = {word: str(number) for number, word in enumerate(NUMBERS, start=2)}

# The shares of texts: about as in captions, forum posts and questions together.
CONTRACTED, DIGITAL, BRITISH, LOWER_CASE, UNSTOPPED = 0.4, 0.25, 0.25, 0.1, 0.15


def _any_of(words: list[str], before: str = "", after: str = "") -> re.Pattern[str]:
    """Return a pattern of these words as whole words, and not as parts of hyphenated ones."""
    return re.compile(rf"{before}(?<![\w-])({'|'.join(words)})(?![\w-]){after}", re.IGNORECASE)


ANYWHERE = _any_of([full for full in CONTRACTIONS if full.endswith("not")])
# "What is it that" and "this is what it is" are not shortened.
STARTS = [full for full in CONTRACTIONS if not full.endswith("not")]
AT_START = _any_of(STARTS, r"(?:^|(?<=[,;:] ))", r"(?= (?!it\b)\w)")
NUMBER = _any_of(list(DIGITS))
AMERICAN = _any_of(list(SPELLINGS))


@dataclass(frozen=True)
class Style:
    """A style of typing."""

    contracted: bool = False
    digital: bool = False
    british: bool = False
    lower_case: bool = False
    unstopped: bool = False


def draw_style(random: Random) -> Style:
    """Return a random style."""
    shares = (CONTRACTED, DIGITAL, BRITISH, LOWER_CASE, UNSTOPPED)
    return Style(*(chance(random, share) for share in shares))


def typed(text: str, style: Style) -> str:
    """Return a text in a style, with the same meaning."""
    if style.contracted:
        text = AT_START.sub(_swapped(CONTRACTIONS), ANYWHERE.sub(_swapped(CONTRACTIONS), text))
    if style.digital:
        text = NUMBER.sub(_swapped(DIGITS), text)
    if style.british:
        text = AMERICAN.sub(_swapped(SPELLINGS), text)
    if style.unstopped:
        text = text.removesuffix(".")
    return text.lower() if style.lower_case else text


def _swapped(table: dict[str, str]) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces a word by its other form, with the same capital."""

    def swap(match: re.Match[str]) -> str:
        found = match.group()
        other = table.get(found) or table[found.lower()]
        return other[0].upper() + other[1:] if found[0].isupper() else other

    return swap


def typed_texts(random: Random, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts of an example in random styles; texts with the same words share one."""
    styles: dict[tuple[str, ...], Style] = {}
    found = []
    for text in texts:
        words = tuple(sorted(re.findall(r"[\w'-]+", text.lower()))) if texts[1:] else ()
        if words not in styles:
            styles[words] = draw_style(random)
        found.append(typed(text, styles[words]))
    return tuple(found)

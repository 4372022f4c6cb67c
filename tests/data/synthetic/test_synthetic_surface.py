"""How texts are typed: what may vary without a change of meaning, and that labels are not asked."""

import re
from random import Random

import pytest

from data.synthetic.pairs import Example
from data.synthetic.surface import Style, draw_style, typed, typed_texts
from data.synthetic.writing import Writer

pytestmark = pytest.mark.synthetic

ALL = Style(contracted=True, digital=True, british=True, lower_case=True, unstopped=True)


@pytest.mark.parametrize(
    ("style", "text", "expected"),
    [
        (Style(), "The two chefs did not yawn.", "The two chefs did not yawn."),
        (Style(contracted=True), "The chefs did not yawn.", "The chefs didn't yawn."),
        (Style(contracted=True), "It is not true that he will not go.",
         "It isn't true that he won't go."),
        (Style(contracted=True), "It is the chef who yawned.", "It's the chef who yawned."),
        (Style(contracted=True), "What is it that he saw?", "What is it that he saw?"),
        (Style(contracted=True), "Do you know what it is?", "Do you know what it is?"),
        (Style(contracted=True), "In the park, there is a man.", "In the park, there's a man."),
        (Style(contracted=True), "Why did the chef not yawn?", "Why did the chef not yawn?"),
        (Style(digital=True), "Two men lost ten hats.", "2 men lost 10 hats."),
        (Style(digital=True), "A two-seater is often stolen.", "A two-seater is often stolen."),
        (Style(british=True), "Neighbors painted the theater gray.",
         "Neighbours painted the theatre grey."),
        (Style(unstopped=True), "The chef yawned.", "The chef yawned"),
        (Style(unstopped=True), "Did the chef yawn?", "Did the chef yawn?"),
        (ALL, "Two neighbors did not yawn.", "2 neighbours didn't yawn"),
    ],
)  # fmt: skip
def test_a_style_leaves_the_meaning(style, text, expected):
    assert typed(text, style) == expected


def test_texts_of_the_same_words_keep_them():
    texts = ("Two men did not see ten dogs.", "Ten dogs did not see two men.")
    bags = [
        {tuple(sorted(re.findall(r"[\w']+", t.lower()))) for t in typed_texts(Random(seed), texts)}
        for seed in range(40)
    ]
    assert all(len(bag) == 1 for bag in bags) and len(set.union(*bags)) > 2


def test_other_texts_have_styles_of_their_own():
    texts = ("Two men yawned.", "Two dogs slept.")
    found = {typed_texts(Random(seed), texts) for seed in range(200)}
    assert len({first for first, _ in found}) < len(found)
    assert ("2 men yawned.", "Two dogs slept.") in found


def test_what_is_new_is_seen_before_it_is_typed(tmp_path):
    writer = Writer(tmp_path, 0)
    rows = [Example((f"{name} men yawned.",), "", "") for name in ("Two", "Two", "Three", "Four")]
    made = iter(rows)
    first = writer.draw("a", "train", 2, lambda random, split: next(made))
    assert len({row.texts for row in first}) == 2
    second = iter([rows[2], rows[3]])
    assert len(writer.draw("b", "test", 1, lambda random, split: next(second))) == 1
    assert writer.part_of["Four men yawned."] == "test"


def test_styles_are_mixed():
    styles = [draw_style(Random(seed)) for seed in range(300)]
    for name in Style.__dataclass_fields__:
        assert 0.03 < sum(getattr(style, name) for style in styles) / len(styles) < 0.6

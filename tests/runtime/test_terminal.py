"""Texts are shown on a terminal without what it would obey."""

import pytest

from runtime.streams import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b\u3000c\xa0d", "a b\u3000c\xa0d"),
        ("naïve 猫 🐈", "naïve 猫 🐈"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\r\nb\tc\x85\u2028", "a\\r\\nb\\tc\\x85\\u2028"),
        ("\u202eabc\ufeff\u00ad", "\\u202eabc\\ufeff\\xad"),
        ("\x00\x7f\x9b\udcff\U000e0001", "\\x00\\x7f\\x9b\\udcff\\U000e0001"),
    ],
)
def test_control_characters_are_escaped_and_nothing_else(text, shown):
    assert printable(text) == shown

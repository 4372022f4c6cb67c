"""The page's colours: all text is readable in light and in dark (WCAG 2.2, AA)."""

import re
from pathlib import Path

import pytest

import report.page
from report.page.figure import COLOURS

STYLE = (Path(report.page.__file__).parent / "templates" / "style.css").read_text()
TEXT, GRAPHICS = 4.5, 3.0  # success criteria 1.4.3 and 1.4.11


def schemes() -> dict[str, dict[str, str]]:
    """Return the colours by name, light and dark."""
    found = re.findall(r":root \{(.*?)\}", STYLE, re.S)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in found)
    return {"light": light, "dark": dark}


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb as WCAG defines it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_both_schemes_name_the_same_colours():
    light, dark = schemes().values()
    assert light.keys() == dark.keys()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_and_lines_and_bars_be_seen(scheme):
    colours = schemes()[scheme]
    pairs = [(name, "paper", TEXT) for name in ("ink", "muted", "link")]
    pairs.append(("ink", "soft", TEXT))
    drawn = [name for name in COLOURS.values() if name not in ("line", "paper")]
    pairs += [(name, "paper", GRAPHICS) for name in drawn]
    low = {(a, b) for a, b, least in pairs if contrast(colours[a], colours[b]) < least}
    assert drawn and not low


def test_no_other_colours_are_used():
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.S)
    assert not re.search(r"#[0-9a-f]{3,8}\b|rgb|hsl", rules)
    text = set(re.findall(r"[^-]color: ([^;]+);", rules))
    assert text <= {"var(--ink)", "var(--muted)", "var(--link)", "inherit"}
    behind = set(re.findall(r"background: var\(--([\w-]+)\)", rules))
    assert behind == {"paper", "soft"}

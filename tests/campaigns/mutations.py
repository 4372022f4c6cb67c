"""What befalls files: bytes and lines changed as disks, editors, spreadsheets and haste do it."""

import codecs
from collections.abc import Callable
from random import Random

# Not line ends to us, but to `str.splitlines`; and what else looks like nothing.
SEPARATORS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\xa0", "\u200b", "\ufeff", "\r"]
NUMBERS = "nan inf -inf -1 1e400 9e9 1_0 ０ 0x1 1,5 5.0000001 -0.0 '' \"\" None --".split(" ")
BAD_BYTES = [b"\0", b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\x1b[2J", b"\x80"]
HUGE = 140_000  # characters: csv's limit is 131,072

Mutation = Callable[[bytes, Random], bytes]


def _flip(content: bytes, draw: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 4, 16])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _exchange(content: bytes, draw: Random) -> bytes:
    changed = bytearray(content)
    first, second = (draw.randrange(len(changed)) for _ in range(2))
    changed[first], changed[second] = changed[second], changed[first]
    return bytes(changed)


def _truncate(content: bytes, draw: Random) -> bytes:
    return content[: draw.randrange(len(content))]


def _cut(content: bytes, draw: Random) -> bytes:
    start = draw.randrange(len(content))
    return content[:start] + content[start + draw.choice([1, 10, 100]) :]


def _double(content: bytes, draw: Random) -> bytes:
    start = draw.randrange(len(content))
    return content[: start + 50] + content[start:]


def _insert(content: bytes, new: bytes, draw: Random) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + new + content[place:]


def _bad_bytes(content: bytes, draw: Random) -> bytes:
    return _insert(content, draw.choice(BAD_BYTES), draw)


def _separator(content: bytes, draw: Random) -> bytes:
    return _insert(content, draw.choice(SEPARATORS).encode(), draw)


def _mark(content: bytes, draw: Random) -> bytes:
    return _insert(
        content, draw.choice([b"\t", b",", b"\n", b'"', b"\r\n", b"||", b"{", b"#"]), draw
    )


def _huge(content: bytes, draw: Random) -> bytes:
    return _insert(content, draw.choice([b"x", b"x ", b"9", b'"', b"[", b"\xc3\xa9"]) * HUGE, draw)


def _line(content: bytes, draw: Random) -> bytes:
    """Repeat, drop, empty or move a line: ids occur twice, headers vanish."""
    lines = content.splitlines(keepends=True)
    which, where = draw.randrange(len(lines)), draw.randrange(len(lines))
    line = lines[which] if draw.random() < 0.4 else lines.pop(which)
    return b"".join([*lines[:where], draw.choice([line, b"\n", b" \n"]), *lines[where:]])


def _column(content: bytes, draw: Random) -> bytes:
    """Drop or repeat a column."""
    mark = max((b"\t", b",", b"||"), key=content.count)
    which, twice = draw.randrange(4), draw.random() < 0.3
    rows = [line.split(mark) for line in content.split(b"\n")]
    rows = [row[:which] + row[which if twice else which + 1 :] for row in rows]
    return b"\n".join(mark.join(row[:1] + row if twice else row) for row in rows)


def _number(content: bytes, draw: Random) -> bytes:
    """Put something else in place of a field that looks like a number."""
    lines = content.split(b"\n")
    which = draw.randrange(len(lines))
    mark = b"," if lines[which].count(b",") > lines[which].count(b"\t") else b"\t"
    fields = lines[which].split(mark)
    numbers = [i for i, field in enumerate(fields) if field.strip()[:1].isdigit()] or [0]
    fields[draw.choice(numbers)] = draw.choice(NUMBERS).encode()
    return b"\n".join([*lines[:which], mark.join(fields), *lines[which + 1 :]])


def _recoded(content: bytes, draw: Random) -> bytes:
    encoding = draw.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "cp037", "utf-7"])
    return content.decode("utf-8", "replace").encode(encoding, "replace")


def _nothing(content: bytes, draw: Random) -> bytes:
    return draw.choice([b"", b"\n", b" ", b"\r\n\r\n", codecs.BOM_UTF8, b"\0" * 50])


HARMFUL: dict[str, Mutation] = {
    "bits flipped": _flip, "bytes exchanged": _exchange, "truncated": _truncate, "cut": _cut,
    "doubled": _double, "bad bytes": _bad_bytes, "odd separator": _separator,
    "stray mark": _mark, "huge field": _huge, "line moved": _line, "column gone": _column,
    "another number": _number, "other encoding": _recoded, "nothing in it": _nothing,
}  # fmt: skip
# Files that spreadsheets save: the same rows.
HARMLESS: dict[str, Mutation] = {
    "as it is": lambda content, draw: content,
    "byte order mark": lambda content, draw: codecs.BOM_UTF8 + content,
    "CRLF": lambda content, draw: content.replace(b"\n", b"\r\n"),
}


def mutated(content: bytes, draw: Random) -> tuple[str, bytes]:
    """Return what was done to some bytes, and what has become of them."""
    if draw.random() < 0.05:
        name = draw.choice(list(HARMLESS))
        return name, HARMLESS[name](content, draw)
    names = draw.choices(list(HARMFUL), k=draw.choice([1, 1, 1, 2, 3]))
    for name in names:
        content = HARMFUL[name](content, draw) if content else content
    return ", ".join(names), content

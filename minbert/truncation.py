"""How many tokens of a pair are kept. Feeds: tokenizer.

The `tokenizers` library truncates, too, but keeps in memory all that it cuts off: of a pair, every
combination of the pieces of both texts.
"""


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Return how many of a pair's `first` and `second` tokens are kept, `room` in all.

    The longer text is cut first. Of two long ones both keep half, and the second one of two of
    equal length, or else the longer one, has the odd token. As in `tokenizers`' LongestFirst.
    """
    if first + second <= room:
        return first, second
    short, long = min(first, second), max(first, second)
    if 2 * short <= room:
        long = room - short
    else:
        short = room // 2
        long = room - short
    return (long, short) if first > second else (short, long)

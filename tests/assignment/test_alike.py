"""Similarity of submissions: what does not matter, what does, and winnowing against its paper."""

import random

import pytest

from assignment import similar as similarity
from assignment.similar import (
    GUARANTEE,
    MOST_SHARERS,
    WINDOW,
    K,
    hashes,
    similar,
    tokens,
    winnowed,
)

GIVEN = '''
"""Pools token states."""
import torch


def pool(states, lengths):
    raise NotImplementedError
'''
ONE = '''
"""Pools token states."""
import torch


def pool(states, lengths):
    """Return means."""
    rows = []
    start = 0
    for length in lengths:
        piece = states[start : start + length]
        rows.append(piece.sum(dim=0) / max(length, 1))
        start += length
    return torch.stack(rows)
'''
RENAMED = """
import torch


def pool(hidden, sizes):
    # My own idea.
    out, begin = [], 0
    out = []
    begin = 0
    for size in sizes:

        part = hidden[
            begin : begin + size
        ]
        out.append(part.sum(dim=0) / max(size, 1))  # the mean
        begin += size
    return torch.stack(out)
"""
OTHER = """
import torch


def pool(states, lengths):
    ids = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    sums = torch.zeros(len(lengths), states.shape[1]).index_add_(0, ids, states)
    return sums / torch.tensor(lengths).clamp(min=1)[:, None]
"""


def of(**sources: str) -> dict[str, dict[str, str]]:
    return {name: {"pool.py": source} for name, source in sources.items()}


def test_names_comments_and_layout_do_not_matter():
    (pair,) = similar(of(ada=ONE, bob=RENAMED, cleo=OTHER), [GIVEN], least=2)
    assert (pair.a, pair.b) == ("ada", "bob") and pair.of_a > 0.6
    assert pair.places[0].startswith("pool.py:") and " = pool.py:" in pair.places[0]


def test_the_code_that_was_handed_out_does_not_count():
    assert similar(of(ada=GIVEN, bob=GIVEN), [GIVEN], least=1) == []
    assert similar(of(ada=ONE, bob=ONE), [ONE], least=1) == []
    assert similar(of(ada=ONE, bob=ONE), [GIVEN], least=1) != []


def test_what_everybody_writes_does_not_count():
    everybody = {f"s{n:02}": ONE for n in range(MOST_SHARERS + 1)}
    assert similar(of(**everybody), [GIVEN], least=1) == []
    assert similar(of(**dict(list(everybody.items())[1:])), [GIVEN], least=1) != []


def test_code_that_breaks_off_is_read_up_to_there():
    assert tokens(ONE + "\n'''never closed")[:20] == tokens(ONE)[:20]
    assert tokens("x = (((") and tokens("") == []
    assert isinstance(tokens("a\x00b = 1\n\tc\n d"), list)


def test_docstrings_go_and_other_texts_stay():
    found = [text for text, _ in tokens('def f():\n    """Doc."""\n    return "x" + y.strip()')]
    start = ["def", "name", "(", ")", ":", "return", "STRING"]
    assert found == [*start, "+", "name", ".", "strip", "(", ")"]


def test_winnowing_gives_the_example_of_its_paper():
    # Schleimer et al., figure 2: hashes 77 74 42 17 98 50 17 98 8 88 67 39 77 74 42 17 98 and a
    # window of 4 give the fingerprints 17 17 8 39 17.
    row = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "WINDOW", 4)
        assert [row[place] for place in winnowed(row)] == [17, 17, 8, 39, 17]


def test_whatever_is_as_long_as_the_guarantee_shares_a_fingerprint():
    draw = random.Random(0)
    for _ in range(50):
        shared = [(str(draw.randrange(9)), 0) for _ in range(GUARANTEE)]
        rows = []
        for _ in range(2):
            around = [
                [(str(draw.randrange(9)), 0) for _ in range(draw.randrange(30))] for _ in "ab"
            ]
            rows.append(hashes([*around[0], *shared, *around[1]]))
        found = [{row[place] for place in winnowed(row)} for row in rows]
        assert found[0] & found[1]
    assert GUARANTEE == WINDOW + K - 1


def test_every_window_has_a_fingerprint():
    row = [random.Random(1).randrange(50) for _ in range(200)]
    kept = winnowed(row)
    assert kept == sorted(set(kept))
    for start in range(len(row) - WINDOW + 1):
        assert any(start <= place < start + WINDOW for place in kept)

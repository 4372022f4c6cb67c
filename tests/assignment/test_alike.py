"""Similarity of submissions: what does not matter, and what does."""

import random

from assignment.similar import MOST_SHARERS, K, runs, similar, tokens

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


def alike(given: str = GIVEN, **sources: str):
    files = {name: {"pool.py": source} for name, source in sources.items()}
    return similar(files, {"pool.py": given}, least=1)


def test_names_comments_and_layout_do_not_matter():
    (pair,) = alike(ada=ONE, bob=RENAMED, cleo=OTHER)
    assert (pair.a, pair.b) == ("ada", "bob") and pair.of_a > 0.6
    assert pair.places == ["pool.py:8-14 = pool.py:8-17"]


def test_what_was_handed_out_and_what_everybody_writes_do_not_count():
    assert alike(ada=GIVEN, bob=GIVEN) == []
    assert alike(ONE, ada=ONE, bob=ONE) == []
    assert alike(ada=ONE, bob=ONE) != []
    everybody = {f"s{n:02}": ONE for n in range(MOST_SHARERS + 1)}
    assert alike(**everybody) == []
    assert alike(**dict(list(everybody.items())[1:])) != []


def test_code_that_breaks_off_is_read_up_to_there():
    assert tokens(ONE + "\n'''never closed")[:20] == tokens(ONE)[:20]
    assert tokens("x = (((") and tokens("") == []
    assert isinstance(tokens("a\x00b = 1\n\tc\n d"), list)


def test_docstrings_go_and_other_texts_stay():
    found = [text for text, _ in tokens('def f():\n    """Doc."""\n    return "x" + y.strip()')]
    start = ["def", "name", "(", ")", ":", "return", "STRING"]
    assert found == [*start, "+", "name", ".", "strip", "(", ")"]


def test_a_run_is_found_wherever_it_stands():
    draw = random.Random(0)
    row, before, after = (" ".join(str(draw.randrange(9)) for _ in range(n)) for n in (K, 30, 7))
    alone = runs({"a.py": row})
    assert len(alone) == 1 and alone.keys() <= runs({"b.py": f"{before} {row} {after}"}).keys()
    assert not runs({"a.py": "+" * (K - 1)})

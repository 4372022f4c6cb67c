"""Similarity of submissions: what does not matter, and what does."""

import ast
from itertools import count
from pathlib import Path

import pytest
from diagnoses import whole_alternatives

from assignment.intake import asked_files
from assignment.parts import PARTS, chosen_parts
from assignment.similar import LENGTH, MOST_SHARERS, similar, statements
from assignment.trees import with_body, write_tree

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
    out = []
    begin = 0
    for size in sizes:
        nothing = begin

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
    assert pair.places == ["pool.py:11-14 = pool.py:12-17"]


def test_what_was_handed_out_and_what_everybody_writes_do_not_count():
    assert alike(ada=GIVEN, bob=GIVEN) == []
    assert alike(ONE, ada=ONE, bob=ONE) == []
    assert alike(ada=ONE, bob=ONE) != []
    everybody = {f"s{n:02}": ONE for n in range(MOST_SHARERS + 1)}
    assert alike(**everybody) == []
    assert alike(**dict(list(everybody.items())[1:])) != []


def test_code_that_breaks_off_is_read_up_to_there():
    assert statements({"a.py": ONE + "\n'''never closed"}) == statements({"a.py": ONE})
    assert statements({"a.py": "x = ((("}) == statements({"a.py": ""}) == {}
    assert isinstance(statements({"a.py": "a\x00b = 1\n\tc\n d"}), dict)


def test_docstrings_go_and_other_texts_stay():
    (found,) = statements(
        {"a.py": 'def f():\n    """A long and wordy doc."""\n    return "x" + f(1)'}
    )
    assert found == ("return", "STRING", "+", "name", "(", "1", ")") and len(found) > LENGTH


def class_of_honest_students(place: Path) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the sources of all, each solved in a way of its own, and of what was handed out."""
    files = asked_files(PARTS)
    for solved in (False, True):
        write_tree(place / str(solved), chosen_parts(), solved)
    given = {name: (place / "False" / name).read_text("utf-8") for name in files}
    sources = {"reference": {name: (place / "True" / name).read_text("utf-8") for name in files}}
    for name, code in whole_alternatives().items():
        own = sources[name] = dict(given)
        for key, body in code.items():
            file, _, function = key.partition(":")
            own[file] = with_body(own[file], function, body.splitlines())
    return sources, given


def disguised(source: str) -> str:
    """Return code with other names and order, and a dead statement beside each statement."""
    tree, dead = ast.parse(source), count()
    stored = (
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    names = {*stored, *(n.arg for n in ast.walk(tree) if isinstance(n, ast.arg))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = f"other_{node.id}"
        elif isinstance(node, ast.arg):
            node.arg = f"other_{node.arg}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            node.body.reverse()
        elif isinstance(node, ast.FunctionDef | ast.For | ast.If | ast.With):
            lines = [
                ast.parse(f"unused_{next(dead)} = {next(dead)} + 1").body[0] for _ in node.body
            ]
            # Before each, as nothing may follow a return.
            node.body = [line for pair in zip(lines, node.body, strict=True) for line in pair]
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return class_of_honest_students(tmp_path_factory.mktemp("class"))


@pytest.mark.parametrize("name", "reference einsum formulas library loops order padded".split())
def test_a_copy_in_disguise_ranks_above_all_honest_pairs(honest, name):
    sources, given = honest
    copy = {f: disguised(s) if s != given[f] else s for f, s in sources[name].items()}
    first, *others = similar({**sources, "copy": copy}, given, least=1)
    assert {first.a, first.b} == {name, "copy"} and max(first.of_a, first.of_b) > 0.6
    assert len(sources) == 7 and all(max(pair.of_a, pair.of_b) < 0.3 for pair in others)

"""Unlabelled pairs: new, distinct, the same for a seed, and of the nearest texts."""

import numpy as np
import pytest
from conftest import toy_sentences
from experiment.silver import NEAREST, drawn, paired_anew, unlabelled
from sklearn.neighbors import NearestNeighbors

from data.examples import DataError, SentencePair
from data.tasks import Splits

TEXTS = list(dict.fromkeys(toy_sentences(150)))
DRAW = np.random.default_rng(3)
EMBEDDINGS = DRAW.normal(size=(len(TEXTS), 8)).astype(np.float32)
EMBEDDINGS /= np.linalg.norm(EMBEDDINGS, axis=1, keepdims=True)


def pairs_of(*texts: tuple[str, str]) -> list[SentencePair]:
    return [SentencePair(str(k), a, b, 1.0) for k, (a, b) in enumerate(texts)]


def both_orders(pairs) -> list[frozenset[str]]:
    return [frozenset(pair.texts) for pair in pairs]


def test_each_text_meets_its_nearest_ones_and_one_at_random():
    """Every pair is that of a brute-force search, or random; and none of these is left out."""
    found = paired_anew(TEXTS, EMBEDDINGS, [], 10**6, seed=1)
    search = NearestNeighbors(n_neighbors=NEAREST + 1, metric="cosine").fit(EMBEDDINGS)
    _, places = search.kneighbors(EMBEDDINGS)
    near = {
        frozenset((TEXTS[row], TEXTS[other]))
        for row, others in enumerate(places)
        for other in others
        if other != row
    }
    by_search = [pair for pair in found if pair.id.startswith("nearest-")]
    assert set(both_orders(by_search)) <= near <= set(both_orders(found))
    assert set(both_orders(found)) - near
    # Text by text: whoever has only some pairs is the last one, so that a text's pairs are whole.
    first = paired_anew(TEXTS, EMBEDDINGS, [], NEAREST, seed=1)
    assert len({pair.text_a for pair in first}) == 1 and first == found[:NEAREST]


def test_no_pair_is_there_twice_or_labelled_or_of_one_text():
    every = both_orders(paired_anew(TEXTS, EMBEDDINGS, [], 10**6, seed=1))
    assert len(every) == len(set(every)) and all(len(pair) == 2 for pair in every)
    labelled = [SentencePair("x", *sorted(pair)[::-1], 1.0) for pair in every[::3]]
    # Spelled otherwise, they are the same texts.
    labelled = [SentencePair("x", p.text_a.upper(), f"{p.text_b}!", 1.0) for p in labelled]
    left = paired_anew(TEXTS, EMBEDDINGS, labelled, 10**6, seed=1)
    assert both_orders(left) == [pair for row, pair in enumerate(every) if row % 3]


def test_a_seed_decides_the_pairs():
    def found(seed):
        return paired_anew(TEXTS, EMBEDDINGS, [], 50, seed)

    assert found(1) == found(1) and len(found(1)) == 50
    assert set(both_orders(found(1))) != set(both_orders(found(2)))
    assert paired_anew(TEXTS, EMBEDDINGS, [], 0, 1) == []


def test_texts_to_pair_are_of_kept_training_pairs_only():
    kept = pairs_of(("a cat", "the dog"), ("A cat.", "a boat"), ("a lamp", "a storm"))
    held_out = pairs_of(("a river", "a train"))
    splits = Splits([*kept, *held_out], pairs_of(("The  dog!", "x")), pairs_of(("y", "a storm")))
    found = unlabelled("para", splits, kept, None)
    assert sorted(found.texts, key=str.lower) == ["a boat", "A cat.", "a lamp"]
    with pytest.raises(DataError, match="para has no two training texts"):
        unlabelled("para", splits, kept[:1], None)


def test_a_files_pairs_are_new_and_distinct(tmp_path):
    path = tmp_path / "pairs.tsv"
    rows = ["a cat\ta dog", "a dog\tA cat!", "a boat\ta lamp", "a lamp\tA lamp", "a cat\tdev text",
            "a boat\ta cat", "test text\ta lamp", "new\tnewer"]  # fmt: skip
    path.write_text("\n".join(rows) + "\n")
    train = pairs_of(("a lamp", "a boat"))
    splits = Splits(train, pairs_of(("dev text", "x")), pairs_of(("y", "Test text.")))
    found = unlabelled("sts", splits, train, path)
    assert [pair.texts for pair in found.pairs] == [
        ("a cat", "a dog"), ("a boat", "a cat"), ("new", "newer")
    ]  # fmt: skip
    assert found.told == f"of 3 new among 8 in {path}"
    path.write_text("a lamp\ta boat\n")
    with pytest.raises(DataError, match="all 1 pairs are in sts's files"):
        unlabelled("sts", splits, train, path)


def test_some_of_many_are_drawn_by_seed():
    pairs = pairs_of(*((a, "x") for a in TEXTS))
    some = drawn(pairs, 20, 4)
    assert some == drawn(pairs, 20, 4) != drawn(pairs, 20, 5)
    assert [pairs.index(pair) for pair in some] == sorted(pairs.index(pair) for pair in some)
    assert drawn(pairs, 10**6, 4) == pairs

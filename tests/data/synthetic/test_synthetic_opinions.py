"""Opinions: values, classes of equal chances, held-out phrases, and nothing but meaning."""

import collections
import re
from random import Random

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from data.synthetic.evaluations import holds_new_opinion, topics
from data.synthetic.probes.baselines import read
from data.synthetic.sentiment import MAKERS, Opinion, label, opinion
from data.synthetic.vocabulary import lexicon
from data.synthetic.wordlists import blocks, fields, groups

pytestmark = pytest.mark.synthetic

# Words without a meaning of their own that a sentence of any class can have.
FUNCTION_WORDS = (
    "a an the of in on at to for up down out off away with by into after back from over about "
    "or and it its no not then all here there than is was were are be been being do does did "
    "have has had i we you he she they me us my our your his her their this that these those "
    "what which who whom how when where why if although though but yet so as because while "
    "until before since never nor neither either both any some every each nobody nothing none "
    "everything everyone everybody anybody anything something one would could should might "
    "may must can will shall very really too more most less least much many few just only "
    "even still ever "
).split()


@pytest.fixture(scope="module")
def opinions():
    random = Random(2)
    return [opinion(random, "train") for _ in range(6000)]


def of_kind(opinions: list[Opinion], kind: str) -> list[Opinion]:
    return [found for found in opinions if found.phenomenon == kind]


def values_of(name: str) -> dict[str, set[int]]:
    """Return the values with which a list has its entries."""
    found = collections.defaultdict(set)
    for group, entries in groups(name).items():
        for entry in entries:
            found[entry].add(int(group.split()[-1]))
    return found


# --- values


def test_a_negated_word_has_the_other_sign(opinions):
    values = values_of("evaluations")
    seen = 0
    for found in of_kind(opinions, "negation"):
        match = re.search(
            r" (?:is|was|are|were) (?:not|anything but|far from) (\S+)\.$", found.text
        )
        if match and values[match[1]] in ({1}, {-1}):
            assert found.value * min(values[match[1]]) < -0.5, found.text
            seen += 1
    assert seen > 20


def test_the_degree_decides_between_mild_and_extreme(opinions):
    for found in of_kind(opinions, "intensity"):
        words = set(found.text.split())
        if words & {"extremely", "incredibly", "exceptionally", "immensely"}:
            assert abs(found.value) > 1.4, found.text
        if words & {"fairly", "somewhat", "slightly", "moderately"}:
            assert 0.45 < abs(found.value) < 1.4, found.text


def test_as_much_praise_as_blame_is_neutral(opinions):
    assert {found.value for found in of_kind(opinions, "mixed")} == {0.0}
    assert {found.value for found in of_kind(opinions, "description")} == {0.0}


def test_all_values_are_within_the_scale(opinions):
    assert all(abs(found.value) <= 2 for found in opinions)
    assert {label(value, Random(0)) for value in (-2.0, -1.0, 0.0, 1.0, 2.0)} == {0, 1, 2, 3, 4}


def test_no_phrase_is_both_praise_and_blame():
    for name in ("evaluations", "predicates", "verdicts"):
        assert {entry: signs for entry, signs in values_of(name).items() if len(signs) > 1} == {}
    sentences = [sentence for _, body in blocks("idioms") for sentence in body]
    assert len(sentences) == len(set(sentences))


# --- nothing but meaning tells the class


def test_every_phenomenon_is_as_likely_in_every_class(opinions):
    rows = collections.Counter((found.phenomenon, round(found.value)) for found in opinions)
    for name, _, weight, neutral in MAKERS:
        counts = [rows[name, value] for value in (-2, -1, 1, 2)]
        if weight:
            assert min(counts) > 0.35 * max(counts) > 0 and rows[name, 0] > 0, name
        else:
            assert neutral and sum(counts) == 0 < rows[name, 0], name


def test_function_words_and_length_tell_little(bundled_data):
    parts = read(bundled_data, "sst")
    texts = [[row["sentence"] for row in part] for part in parts]
    truth = [np.array([int(row["sentiment"]) for row in part]) for part in parts]
    count = CountVectorizer(vocabulary=FUNCTION_WORDS, token_pattern=r"[\w'-]+")
    features = [
        np.hstack([
            count.transform(part).toarray(),
            [[len(text.split()), *(text.count(mark) for mark in ",;:?!.")] for text in part],
        ])
        for part in texts
    ]  # fmt: skip
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300))
    model.fit(features[0], truth[0])
    scores = [model.score(features[part], truth[part]) for part in (1, 2)]
    assert np.mean(scores) < 0.3  # chance is 0.2


# --- what is held out


def test_what_is_held_out_stands_in_its_part_only(bundled_data):
    texts = [[row["sentence"] for row in part] for part in read(bundled_data, "sst")]
    assert not any(holds_new_opinion(text, part) for part in ("dev", "test") for text in texts[0])
    for here, other, part in ((1, 2, "dev"), (2, 1, "test")):
        assert not any(holds_new_opinion(text, part) for text in texts[other])
        assert np.mean([holds_new_opinion(text, part) for text in texts[here]]) > 0.6


def test_phrases_and_sentences_are_held_out_as_well_as_words():
    held = [owner.removeprefix("opinion ") for owner in lexicon().held if "opinion " in owner]
    assert sum(" " not in phrase for phrase in held) > 100
    assert sum(" " in phrase for phrase in held) > 500


# --- the lists


def test_every_list_knows_the_topics_and_values():
    kinds = {kind for topic in topics() for kind in (*topic.groups, topic.name)}
    for name in ("evaluations", "predicates", "verdicts"):
        for group in groups(name):
            kind, value = group.split()
            assert kind in kinds and int(value) in range(-2, 3), (name, group)
    for header, _ in blocks("idioms"):
        value, names, kind = fields(header)
        assert set(names.split()) <= kinds and int(value) in range(-2, 3), header
        assert kind in {name for name, *_ in MAKERS}, header
    for name in ("facts", "contexts"):
        for header, _ in blocks(name):
            assert set(header.split()) <= {*kinds, "general"}, (name, header)


def test_adverbs_of_degree_stand_before_known_adjectives():
    known = values_of("evaluations")
    assert [word for word in groups("degrees")["ungraded"] if word not in known] == []


def test_the_lists_are_long():
    assert sum(len(entries) for entries in groups("evaluations").values()) > 900
    assert sum(len(body) for _, body in blocks("idioms")) > 1000

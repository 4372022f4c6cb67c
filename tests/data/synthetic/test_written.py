"""The files: balanced, labelled right, without shortcuts, not too easy."""

import collections
import re
from random import Random

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from data.locate import BUNDLED
from data.sentences import iter_sentences
from data.suites import read_hans, read_nli, read_pair_set, read_sts_set, read_transfer_set
from data.synthetic.evaluations import holds_new_opinion
from data.synthetic.generate import SENTENCES, TRIPLETS
from data.synthetic.heuristics import TEMPLATES
from data.synthetic.probes.baselines import baselines, read
from data.synthetic.sentiment import MAKERS, Opinion, opinion
from data.synthetic.vocabulary import lexicon
from data.synthetic.wordlists import groups
from data.tasks import TASKS, read_task
from data.triplets import iter_triplets

pytestmark = pytest.mark.synthetic


HARD = 0.85  # what no baseline without word order may reach


@pytest.fixture(scope="module")
def rows():
    """Return {task: [train, dev, test]}, the rows with all their columns."""
    return {task: read(BUNDLED, task) for task in TASKS}


def texts(row):
    return [row[name] for name in ("sentence", "sentence1", "sentence2") if name in row]


def texts_of(rows, part):
    return {text for tasks in rows.values() for row in tasks[part] for text in texts(row)}


def words(text):
    return re.findall(r"[\w']+", text.lower())


def bag(text):
    return collections.Counter(words(text))


# --- the files


def test_every_row_has_an_id_of_its_own_and_a_phenomenon(rows):
    everything = [row for parts in rows.values() for part in parts for row in part]
    ids = [row["id"] for row in everything]
    assert len(set(ids)) == len(ids) and all(re.fullmatch("[0-9a-f]{25}", i) for i in ids)
    assert all(row["phenomenon"] for row in everything)
    for name, size in (("wiki1m", SENTENCES), ("nli", TRIPLETS)):
        tags = list(iter_sentences(BUNDLED / f"{name}_phenomena.txt"))
        assert len(tags) == size and all(tags)


def test_labels_are_in_range_and_balanced(rows):
    for part in rows["sst"]:
        counts = collections.Counter(row["sentiment"] for row in part)
        assert counts == dict.fromkeys("01234", len(part) // 5)
    for part in rows["para"]:
        assert sum(row["is_duplicate"] == "1.0" for row in part) == 0.4 * len(part)
    for part in rows["sts"]:
        scores = [float(row["similarity"]) for row in part]
        assert min(scores) >= 0 and max(scores) <= 5
        for low, high in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5.1)):
            share = sum(low <= score < high for score in scores) / len(scores)
            assert 0.14 < share < 0.26


def test_no_text_of_one_part_stands_in_another(rows):
    parts = [texts_of(rows, part) for part in (0, 1, 2)]
    parts[0] |= set(iter_sentences(BUNDLED / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(BUNDLED / "nli_for_simcse.csv"):
        parts[0] |= {triplet.anchor, triplet.positive, str(triplet.hard_negative)}
    assert not parts[0] & parts[1] and not parts[0] & parts[2] and not parts[1] & parts[2]


def test_held_out_words_stand_in_their_part_only(rows):
    seen = [set(words(" ".join(texts_of(rows, part)))) for part in (0, 1, 2)]
    for path in ("wiki1m_for_simcse.txt", "nli_for_simcse.csv"):
        seen[0] |= set(words(" ".join(iter_sentences(BUNDLED / path))))
    for here, other, part in ((1, 2, "dev"), (2, 1, "test")):
        held = {token.lower() for token in lexicon().held_tokens(part)}
        assert not held & seen[0] and not held & seen[other]
        assert len(held & seen[here]) > 80


# --- the language


def test_sentences_are_well_formed():
    texts = list(iter_sentences(BUNDLED / "wiki1m_for_simcse.txt"))
    lower = sum(text == text.lower() for text in texts)
    assert 0.05 < lower / len(texts) < 0.15  # as some people type
    for text in texts:
        assert text[0].isupper() or text[0].isdigit() or text == text.lower()
        assert not re.search(r"[{}_*]|  | [,.;?]|\b(\w+) \1\b(?<!had had)", text), text
        assert not re.search(
            r"\b[Aa] (?!one|once-)[aeio]\w|\b[Aa]n [bcdfgjklmnpqrstvwyz]\w", text
        ), text


# --- the tasks


# Similarities of some phenomena, at least and at most.
SCORES = {
    "same meaning": (4.2, 5.0),
    "detail": (3.4, 4.3),
    "same class": (2.3, 3.3),
    "negation": (2.4, 3.4),
    "several parts": (1.4, 2.4),
    "same topic": (0.6, 1.4),
    "unrelated": (0.0, 0.7),
}


def test_scores_by_phenomenon(rows):
    for phenomenon, (low, high) in SCORES.items():
        found = [row for part in rows["sts"] for row in part if row["phenomenon"] == phenomenon]
        scores = [float(row["similarity"]) for row in found]
        assert len(scores) >= 50 and low <= sum(scores) / len(scores) <= high, phenomenon


def test_no_baseline_without_word_order_solves_a_task():
    for (task, name), scores in baselines(BUNDLED).items():
        assert max(scores) < HARD, (task, name)
        if name == "TF-IDF, linear":  # of five classes, chance is 0.2
            least = 0.35 if task == "sst" else 0.5
            assert min(scores) > least, (task, "the labels follow from the texts")


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


# --- nothing but meaning tells the class


def test_every_phenomenon_is_as_likely_in_every_class(opinions):
    rows = collections.Counter((found.phenomenon, round(found.value)) for found in opinions)
    for name, _, weight, neutral in MAKERS:
        counts = [rows[name, value] for value in (-2, -1, 1, 2)]
        if weight:
            assert min(counts) > 0.35 * max(counts) > 0 and rows[name, 0] > 0, name
        else:
            assert neutral and sum(counts) == 0 < rows[name, 0], name


# --- what is held out


def test_what_is_held_out_stands_in_its_part_only():
    texts = [[row["sentence"] for row in part] for part in read(BUNDLED, "sst")]
    assert not any(holds_new_opinion(text, part) for part in ("dev", "test") for text in texts[0])
    for here, other, part in ((1, 2, "dev"), (2, 1, "test")):
        assert not any(holds_new_opinion(text, part) for text in texts[other])
        assert np.mean([holds_new_opinion(text, part) for text in texts[here]]) > 0.6


# --- the lists


def overlap(pair):
    first, second = set(words(pair.text_a)), set(words(pair.text_b))
    return len(first & second) / len(first | second)


def says_nothing_new(pair):
    return set(words(pair.text_b)) <= set(words(pair.text_a))


def linear():
    features = TfidfVectorizer(token_pattern=r"[\w']+", sublinear_tf=True)
    return make_pipeline(features, LogisticRegression(C=10, max_iter=500))


# --- sizes and labels


def test_classes_are_of_equal_size():
    polarity = read_transfer_set(BUNDLED, "synthetic-polarity")
    assert collections.Counter(row.label for row in polarity.train) == {1: 400, 0: 400}
    questions = read_transfer_set(BUNDLED, "synthetic-questions")
    for rows, size in ((questions.train, 100), (questions.test, 50)):
        assert collections.Counter(row.label for row in rows) == dict.fromkeys(range(6), size)
    pairs = read_pair_set(BUNDLED, "synthetic-paraphrase")
    for rows, size in ((pairs.train, 300), (pairs.test, 200)):
        assert collections.Counter(row.label for row in rows) == {1.0: size, 0.0: size}
    labels = collections.Counter(pair.label for pair in read_nli(BUNDLED))
    assert labels == {0.0: 1000, 1.0: 1000, 2.0: 1000}


def test_the_heuristics_are_tested_by_thirty_subcases_of_one_size():
    pairs = read_hans(BUNDLED, "synthetic-hans")
    by_case = collections.defaultdict(list)
    for pair in pairs:
        by_case[pair.phenomenon].append(pair.label)
    assert len(by_case) == len(TEMPLATES) == 30
    assert all(len(labels) == 100 and len(set(labels)) == 1 for labels in by_case.values())
    shares = collections.Counter(
        (case.partition("/")[0], labels[0]) for case, labels in by_case.items()
    )
    expected = ("lexical_overlap", "subsequence", "constituent")
    assert shares == {(name, label): 5 for name in expected for label in (0.0, 1.0)}
    ids = {pair.id for pair in pairs}
    assert len(ids) == 3000


# --- separation


def test_no_text_of_a_suite_stands_in_what_models_learn_from():
    similar = read_sts_set(BUNDLED, "synthetic-sts").values()
    suites = [read_hans(BUNDLED, "synthetic-hans"), [pair for pairs in similar for pair in pairs]]
    for name in ("polarity", "questions", "paraphrase"):
        splits = read_transfer_set(BUNDLED, f"synthetic-{name}")
        suites.append(splits.test or splits.train)
    learnt = set(iter_sentences(BUNDLED / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(BUNDLED / "nli_for_simcse.csv"):
        learnt |= set(triplet.texts)
    for task in TASKS:
        learnt |= {text for row in read_task(BUNDLED, task).train for text in row.texts}
    learnt |= {text for pair in read_nli(BUNDLED) for text in pair.texts}
    for rows in suites:
        assert not learnt & {text for row in rows for text in row.texts}


# --- how far words alone get


def test_words_alone_do_not_solve_a_transfer_set():
    polarity = read_transfer_set(BUNDLED, "synthetic-polarity").train
    texts, labels = [row.text for row in polarity], [row.label for row in polarity]
    assert 0.6 < cross_val_score(linear(), texts, labels, cv=5).mean() < 0.85
    questions = read_transfer_set(BUNDLED, "synthetic-questions")
    model = linear().fit([r.text for r in questions.train], [r.label for r in questions.train])
    score = model.score([r.text for r in questions.test], [r.label for r in questions.test])
    assert 0.4 < score < 0.85  # the majority class: 1/6
    pairs = read_pair_set(BUNDLED, "synthetic-paraphrase")
    edges = sorted(overlap(pair) for pair in pairs.train)
    for edge in edges[::20]:
        right = sum((overlap(pair) >= edge) == pair.label for pair in pairs.test)
        assert right / len(pairs.test) < 0.7


def test_a_swap_and_a_passive_say_who_did_what():
    for pair in read_hans(BUNDLED, "synthetic-hans"):
        case = pair.phenomenon.partition("/")[2]
        if case == "ln_subject/object_swap":
            assert bag(pair.text_a) == bag(pair.text_b) and pair.text_a != pair.text_b
        if case in ("le_passive", "ln_passive"):
            subject, agent = re.split(r" (?:was|were) .* by ", pair.text_a.rstrip(".").lower())
            said_of = agent if case == "le_passive" else subject
            assert pair.text_b.lower().startswith(said_of + " ")


def test_overlap_predicts_entailment_and_word_order_nothing():
    pairs = read_nli(BUNDLED)
    right = sum(says_nothing_new(pair) == (pair.label == 0.0) for pair in pairs)
    assert 0.75 < right / len(pairs) < 0.95
    nothing_new = [pair for pair in pairs if says_nothing_new(pair)]
    assert sum(pair.label == 0.0 for pair in nothing_new) > 0.9 * len(nothing_new)
    assert not any(bag(p.text_a) == bag(p.text_b) for p in pairs if p.label != 0.0)

"""The bundled evaluation suites: sizes, balance, separation, and how far words alone get."""

import collections
import re
from random import Random

import pytest
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from data.sentences import iter_sentences
from data.suites import read_hans, read_nli, read_pair_set, read_sts_set, read_transfer_set
from data.synthetic.asking import LABELS as QUESTION_LABELS
from data.synthetic.heuristics import TEMPLATES
from data.synthetic.scored import scored_genre
from data.synthetic.vocabulary import lexicon
from data.tasks import TASKS, read_task
from data.transfer import TYPES
from data.triplets import iter_triplets

pytestmark = pytest.mark.synthetic


def words(text):
    return re.findall(r"[\w']+", text.lower())


def bag(text):
    return collections.Counter(words(text))


def overlap(pair):
    first, second = set(words(pair.text_a)), set(words(pair.text_b))
    return len(first & second) / len(first | second)


def says_nothing_new(pair):
    return set(words(pair.text_b)) <= set(words(pair.text_a))


def linear():
    features = TfidfVectorizer(token_pattern=r"[\w']+", sublinear_tf=True)
    return make_pipeline(features, LogisticRegression(C=10, max_iter=500))


@pytest.fixture(scope="module")
def suites(bundled_data):
    """All rows to be scored, by set."""
    transfer = [f"synthetic-{name}" for name in ("polarity", "questions", "paraphrase")]
    splits = {name: read_transfer_set(bundled_data, name) for name in transfer}
    similar = read_sts_set(bundled_data, "synthetic-sts").values()
    return {
        "synthetic-sts": [pair for pairs in similar for pair in pairs],
        "HANS": read_hans(bundled_data, "synthetic-hans"),
        **{name: found.test or found.train for name, found in splits.items()},
    }


# --- sizes and labels


def test_similarities_have_three_genres_and_scores_of_all_sizes(bundled_data):
    genres = read_sts_set(bundled_data, "synthetic-sts")
    assert {name: len(pairs) for name, pairs in genres.items()} == {
        "statements": 200, "headlines": 200, "questions": 200
    }  # fmt: skip
    for pairs in genres.values():
        scores = [pair.label for pair in pairs]
        assert min(scores) < 1 and max(scores) > 4.5 and len(set(scores)) > 25
    questions = sum(pair.text_a.endswith("?") for pair in genres["questions"])
    headlines = sum(p.text_a[-1] != "." or p.text_b[-1] != "." for p in genres["headlines"])
    assert questions == 200 and headlines > 120


def test_classes_are_of_equal_size(bundled_data):
    polarity = read_transfer_set(bundled_data, "synthetic-polarity")
    assert collections.Counter(row.label for row in polarity.train) == {1: 400, 0: 400}
    questions = read_transfer_set(bundled_data, "synthetic-questions")
    for rows, size in ((questions.train, 100), (questions.test, 50)):
        assert collections.Counter(row.label for row in rows) == dict.fromkeys(range(6), size)
    pairs = read_pair_set(bundled_data, "synthetic-paraphrase")
    for rows, size in ((pairs.train, 300), (pairs.test, 200)):
        assert collections.Counter(row.label for row in rows) == {1.0: size, 0.0: size}
    labels = collections.Counter(pair.label for pair in read_nli(bundled_data))
    assert labels == {0.0: 1000, 1.0: 1000, 2.0: 1000}


def test_question_types_are_those_of_trec():
    assert tuple(label.partition(":")[0] for label in QUESTION_LABELS) == TYPES


def test_the_heuristics_are_tested_by_thirty_subcases_of_one_size(suites):
    by_case = collections.defaultdict(list)
    for pair in suites["HANS"]:
        by_case[pair.phenomenon].append(pair.label)
    assert len(by_case) == len(TEMPLATES) == 30
    assert all(len(labels) == 100 and len(set(labels)) == 1 for labels in by_case.values())
    shares = collections.Counter(
        (case.partition("/")[0], labels[0]) for case, labels in by_case.items()
    )
    expected = ("lexical_overlap", "subsequence", "constituent")
    assert shares == {(name, label): 5 for name in expected for label in (0.0, 1.0)}
    ids = {pair.id for pair in suites["HANS"]}
    assert len(ids) == 3000


# --- separation


def test_no_text_of_a_suite_stands_in_what_models_learn_from(bundled_data, suites):
    learnt = set(iter_sentences(bundled_data / "wiki1m_for_simcse.txt"))
    for triplet in iter_triplets(bundled_data / "nli_for_simcse.csv"):
        learnt |= set(triplet.texts)
    for task in TASKS:
        learnt |= {text for row in read_task(bundled_data, task).train for text in row.texts}
    learnt |= {text for pair in read_nli(bundled_data) for text in pair.texts}
    for name, rows in suites.items():
        assert not learnt & {text for row in rows for text in row.texts}, name


def test_held_out_words_stand_in_the_suites_only(bundled_data, suites):
    learnt = {word for p in read_nli(bundled_data) for text in p.texts for word in words(text)}
    for name in ("synthetic-questions", "synthetic-paraphrase"):
        train = read_transfer_set(bundled_data, name).train
        test = {token.lower() for token in lexicon().held_tokens("test")}
        assert not test & {word for row in train for text in row.texts for word in words(text)}
    held = {token.lower() for part in ("dev", "test") for token in lexicon().held_tokens(part)}
    found = {w for rows in suites.values() for row in rows for t in row.texts for w in words(t)}
    assert not held & learnt and len(held & found) > 60


def test_no_question_is_both_trained_on_and_scored(bundled_data):
    for name in ("synthetic-questions", "synthetic-paraphrase"):
        splits = read_transfer_set(bundled_data, name)
        train = {text for row in splits.train for text in row.texts}
        assert not train & {text for row in splits.test for text in row.texts}


# --- how far words alone get


def test_words_alone_do_not_solve_a_transfer_set(bundled_data):
    polarity = read_transfer_set(bundled_data, "synthetic-polarity").train
    texts, labels = [row.text for row in polarity], [row.label for row in polarity]
    assert 0.6 < cross_val_score(linear(), texts, labels, cv=5).mean() < 0.85
    questions = read_transfer_set(bundled_data, "synthetic-questions")
    model = linear().fit([r.text for r in questions.train], [r.label for r in questions.train])
    score = model.score([r.text for r in questions.test], [r.label for r in questions.test])
    assert 0.4 < score < 0.85  # the majority class: 1/6
    pairs = read_pair_set(bundled_data, "synthetic-paraphrase")
    edges = sorted(overlap(pair) for pair in pairs.train)
    for edge in edges[::20]:
        right = sum((overlap(pair) >= edge) == pair.label for pair in pairs.test)
        assert right / len(pairs.test) < 0.7


def test_word_overlap_says_a_part_of_the_similarity(bundled_data):
    for pairs in read_sts_set(bundled_data, "synthetic-sts").values():
        correlation, _ = spearmanr([overlap(p) for p in pairs], [p.label for p in pairs])
        assert correlation < 0.75


def test_word_overlap_is_right_on_half_of_the_heuristics(suites):
    assert all(says_nothing_new(pair) for pair in suites["HANS"])
    for pair in suites["HANS"]:
        heuristic = pair.phenomenon.partition("/")[0]
        if heuristic == "subsequence":
            assert " ".join(words(pair.text_b)) in " ".join(words(pair.text_a))
    assert sum(pair.label == 1.0 for pair in suites["HANS"]) == len(suites["HANS"]) / 2


def test_a_swap_and_a_passive_say_who_did_what(suites):
    for pair in suites["HANS"]:
        case = pair.phenomenon.partition("/")[2]
        if case == "ln_subject/object_swap":
            assert bag(pair.text_a) == bag(pair.text_b) and pair.text_a != pair.text_b
        if case in ("le_passive", "ln_passive"):
            subject, agent = re.split(r" (?:was|were) .* by ", pair.text_a.rstrip(".").lower())
            said_of = agent if case == "le_passive" else subject
            assert pair.text_b.lower().startswith(said_of + " ")


def test_overlap_predicts_entailment_and_word_order_nothing(bundled_data):
    pairs = read_nli(bundled_data)
    right = sum(says_nothing_new(pair) == (pair.label == 0.0) for pair in pairs)
    assert 0.75 < right / len(pairs) < 0.95
    nothing_new = [pair for pair in pairs if says_nothing_new(pair)]
    assert sum(pair.label == 0.0 for pair in nothing_new) > 0.9 * len(nothing_new)
    assert not any(bag(p.text_a) == bag(p.text_b) for p in pairs if p.label != 0.0)


def test_every_seed_finds_questions_with_little_in_common():
    for seed in range(8):  # with a mood that fits no verb of a domain, the draw would never end
        random = Random(seed)
        labels = [float(scored_genre(random, "test", "questions").label) for _ in range(40)]
        assert min(labels) < 1.5

"""The similarity task and what contrastive tuning reads: graded meaning, no shortcut, one scene."""

import collections
import re
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from conftest import real_checkpoint, real_data
from scipy.stats import pearsonr, spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict

from data.synthetic.frames import SOMEONE, Frame, Phrase
from data.synthetic.graded import ADVERSARIAL, in_shape, plainness
from data.synthetic.sampling import draw_frame, kept
from data.synthetic.scored import BANDS, GENRES, _first, band_of, scored_genre, scored_pair
from data.synthetic.scores import WEIGHTS, differences, similarity
from data.synthetic.sentences import SCENE, Scenes
from data.synthetic.taxonomy import HYPERNYM, same_noun
from data.synthetic.triplets import triplet
from data.synthetic.vocabulary import lexicon
from data.tasks import read_task
from minbert.encoder import SentenceEncoder

pytestmark = pytest.mark.synthetic

PER_BAND = 160


def words(text):
    return re.findall(r"[\w'-]+", text.lower())


@pytest.fixture(scope="module")
def pairs():
    random = Random(5)
    drawn = [scored_pair(random, "test", band) for band in range(BANDS) for _ in range(PER_BAND)]
    return [drawn[number] for number in np.random.default_rng(0).permutation(len(drawn))]


@pytest.fixture(scope="module")
def scores(pairs):
    return np.array([float(pair.label) for pair in pairs])


def tfidf_cosine(first, second):
    vectorizer = TfidfVectorizer(token_pattern=r"[\w'-]+").fit([*first, *second])
    product = vectorizer.transform(first).multiply(vectorizer.transform(second))
    return np.asarray(product.sum(axis=1)).ravel()


# --- the scale


def test_every_fifth_of_the_scale_holds_as_many_pairs(scores):
    shares = np.histogram(scores, bins=[0, 1, 2, 3, 4, 5.01])[0] / len(scores)
    assert shares.min() > 0.14 and shares.max() < 0.26


def test_a_band_is_kept_but_for_noise():
    random = Random(1)
    for band in range(BANDS):
        found = [float(scored_pair(random, "train", band).label) for _ in range(40)]
        assert abs(np.mean(found) - band - 0.5) < 0.45
        assert min(found) > band - 1.2 and max(found) < band + 2.2
    assert [band_of(score) for score in (0.0, 0.99, 1.0, 4.2, 5.0)] == [0, 0, 1, 4, 4]


@pytest.mark.parametrize("genre", list(GENRES))
def test_a_genre_has_pairs_of_all_distances(genre):
    random = Random(2)
    found = [scored_genre(random, "test", genre) for _ in range(80)]
    labels = [float(pair.label) for pair in found]
    assert min(labels) < 1 and max(labels) > 4
    assert all(pair.texts[0].endswith("?") for pair in found) == (genre == "questions")


def test_words_alone_rank_the_pairs_about_as_they_rank_real_ones(pairs, scores):
    real = read_task(real_data("cs224n"), "sts").dev
    first, second = zip(*(row.texts for row in real), strict=True)
    on_real = spearmanr(tfidf_cosine(first, second), [row.label for row in real])[0]
    first, second = zip(*(pair.texts for pair in pairs), strict=True)
    here = spearmanr(tfidf_cosine(first, second), scores)[0]
    assert abs(here - on_real) < 0.12


def test_an_encoder_that_knows_words_ranks_better_than_overlap(pairs, scores):
    encoder = SentenceEncoder.from_pretrained(real_checkpoint())
    first, second = zip(*(pair.texts for pair in pairs), strict=True)
    ours, theirs = (encoder.encode_quietly(texts) for texts in (first, second))
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    cosines = (ours * theirs).sum(axis=1) / norms
    ranked = spearmanr(cosines, scores)[0]
    assert ranked > 0.75 and ranked > spearmanr(tfidf_cosine(first, second), scores)[0] + 0.04
    for half in (scores < 2.5, scores >= 2.5):
        assert spearmanr(cosines[half], scores[half])[0] > 0.3


# --- shortcuts


def test_one_sentence_does_not_tell_the_score():
    random = Random(8)
    pairs = [scored_pair(random, "train") for _ in range(2000)]
    texts, scores = [pair.texts[0] for pair in pairs], [float(pair.label) for pair in pairs]
    features = TfidfVectorizer(token_pattern=r"[\w'-]+", sublinear_tf=True).fit_transform(texts)
    guess = cross_val_predict(Ridge(alpha=5.0), features, scores, cv=5)
    assert abs(pearsonr(guess, scores)[0]) < 0.1
    assert abs(pearsonr([len(words(text)) for text in texts], scores)[0]) < 0.1


def test_few_pairs_differ_in_order_and_function_words_alone(pairs):
    kinds = collections.Counter(pair.phenomenon for pair in pairs)
    assert 0.05 < sum(kinds[kind] for kind in ADVERSARIAL) / len(pairs) < 1 / 6


# --- what a score follows from


def test_similarity_is_symmetric_and_at_most_that_of_the_same():
    random = Random(3)
    for _ in range(500):
        first, second = draw_frame(random, "train"), draw_frame(random, "train")
        assert similarity(first, second) == pytest.approx(similarity(second, first))
        assert 0 < similarity(first, second) <= similarity(first, first) == 5.0
        assert set(differences(first, second)) <= set(WEIGHTS)


def noun(word):
    found = [noun for nouns in lexicon().kinds.values() for noun in nouns if noun.word == word]
    return Phrase(found[0], word)


def test_near_words_are_nearer_than_far_ones():
    doctor = noun("doctor")
    said = [
        replace(doctor, word=doctor.noun.synonyms[0]), replace(doctor, word=doctor.noun.hypernym),
        noun("nurse"), noun("waiter"), noun("onion"),
    ]  # fmt: skip
    near = [same_noun(doctor, other) for other in said]
    assert near[0] == 1.0 and near[-1] == 0.0
    assert all(first > second for first, second in pairwise(near))
    assert near == [same_noun(other, doctor) for other in said]


def test_a_general_word_names_all_that_it_covers():
    nurse, child, onion = noun("nurse"), noun("child"), noun("onion")
    person = replace(noun("stranger"), word="person")  # as hypernyms are said
    assert [same_noun(person, other) for other in (nurse, child, SOMEONE)] == [HYPERNYM] * 3
    assert same_noun(person, onion) < same_noun(nurse, noun("doctor")) < HYPERNYM


def test_a_word_is_what_any_of_its_classes_says():
    entries = [noun for nouns in lexicon().kinds.values() for noun in nouns if noun.word == "safe"]
    one, other = [entry for entry in entries if entry.hypernym][:2]
    assert one.hypernym != other.hypernym
    assert same_noun(Phrase(one, "safe"), Phrase(other, other.hypernym)) == HYPERNYM


def test_another_scene_is_told_as_the_first_is():
    random, alike, before = Random(9), 0, 0
    for _ in range(400):
        first, second = draw_frame(random, "train"), draw_frame(random, "train")
        shaped = in_shape(first, second, random)
        assert shaped.verb is second.verb and shaped.negated == second.negated
        assert (shaped.tense == "past") >= (shaped.verb.state and shaped.mood == "statement")
        before += first.tense == second.tense
        alike += first.tense == shaped.tense
    assert alike > before + 100


def test_pairs_are_about_plain_words():
    random = Random(3)
    drawn = np.mean([plainness(draw_frame(random, "test")) for _ in range(400)])
    kept_frames = np.mean([plainness(_first(random, "test", "statements")) for _ in range(100)])
    assert kept_frames < drawn - 2


def test_two_differences_count_more_than_one_and_less_than_their_sum():
    verb = next(verb for verb in lexicon().domains["kitchen"] if verb.word == "slice")
    frame = Frame("kitchen", verb, "slice", noun("chef"), noun("onion"))
    agent, patient = replace(frame, agent=noun("baker")), replace(frame, patient=noun("carrot"))
    both = replace(agent, patient=noun("carrot"))
    loss = [5 - similarity(frame, other) for other in (agent, patient, both)]
    assert max(loss[:2]) < loss[2] < sum(loss[:2])


# --- triplets and sentences


def test_triplets_are_short_and_mostly_differ_in_content():
    random = Random(4)
    drawn = [triplet(random, "train") for _ in range(600)]
    lengths = [len(words(text)) for example in drawn for text in example.texts]
    assert np.mean(lengths) < 9.5 and max(lengths) < 24
    kinds = collections.Counter(example.phenomenon.split(" / ")[1] for example in drawn)
    assert 0 < sum(kinds[kind] for kind in ADVERSARIAL) / len(drawn) < 0.25
    anchors = [example.texts[0] for example in drawn]
    assert 0.1 < np.mean([text.endswith("?") for text in anchors]) < 0.35
    assert 0.05 < np.mean([text[-1] not in ".?" for text in anchors]) < 0.35


def test_sentences_come_scene_by_scene_and_never_say_the_same():
    scenes, random = Scenes(), Random(6)
    drawn = [scenes(random, "train").texts[0] for _ in range(40 * SCENE)]
    bags = [set(words(text)) for text in drawn]
    near = [len(a & b) / len(a | b) for a, b in pairwise(bags)]
    far = [len(a & b) / len(a | b) for a, b in zip(bags, bags[4 * SCENE :], strict=False)]
    assert np.mean(near) > 2 * np.mean(far)
    assert len({frozenset(bag) for bag in bags}) > 0.97 * len(bags)


def test_deeds_kept_for_test_are_in_no_sentence_of_train():
    scenes, random = Scenes(), Random(7)
    for _ in range(300):
        scenes(random, "train")
        assert not any(map(kept, scenes.said))

"""Pairs of the paraphrase task: right labels, and nothing beside the meaning that tells them."""

import collections
import csv
import re
from dataclasses import replace
from random import Random

import pytest

from data.synthetic import write
from data.synthetic.changes import EDITS, shows
from data.synthetic.duplicates import KINDS, MILD, ORDER, labelled_pair
from data.synthetic.frames import Frame, Phrase
from data.synthetic.grammar import say
from data.synthetic.meaning import same_meaning
from data.synthetic.pairs import pick, question_frame
from data.synthetic.probes import labels
from data.synthetic.probes.baselines import read
from data.synthetic.probes.shortcuts import edit_of, same_words, shortcuts
from data.synthetic.sampling import kept
from data.synthetic.twins import edited
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import Quality

pytestmark = pytest.mark.synthetic


@pytest.fixture(scope="module")
def parts(bundled_data):
    return read(bundled_data, "para")


@pytest.fixture(scope="module")
def drawn():
    """Return 4,000 pairs in the words of train, half of them drawn as duplicates."""
    random = Random(5)
    return [labelled_pair(random, "train", number % 2 == 0) for number in range(4000)]


@pytest.fixture
def helped():
    """Return a frame: the young doctor helped the old teacher in the kitchen."""
    kitchen = lexicon().domains["kitchen"]
    verb = next(verb for verb in kitchen if verb.word == "help")
    folk = {noun.word: noun for noun in verb.agents}
    names = [name for name in folk if folk[name].human][:2]
    phrases = [Phrase(folk[name], name) for name in names]
    return Frame("kitchen", verb, "help", *phrases, place="in the kitchen")


# --- the second opinion on the labels


def test_the_same_frame_means_the_same_and_an_edit_does_not(helped):
    random = Random(0)
    assert same_meaning((helped,), (helped,))
    for name in ("role swap", "negation", "place", "other agent", "other patient", "other verb"):
        other = EDITS[name](helped, random, "train")
        assert other is not None and not same_meaning((helped,), (other,)), name
    assert same_meaning((helped,), (replace(helped, word=helped.verb.synonyms[0]),))
    two = replace(helped, agent=replace(helped.agent, count=2))
    assert not same_meaning((helped,), (two,))


def test_what_is_true_both_ways_may_be_turned(helped):
    verb = next(verb for verb in lexicon().domains["kitchen"] if verb.symmetric)
    met = replace(helped, verb=verb, word=verb.word)
    turned = replace(met, agent=met.patient, patient=met.agent)
    assert same_meaning((met,), (turned,))
    gladly = Quality("gladly")
    assert not same_meaning((replace(met, manner=gladly),), (replace(turned, manner=gladly),))


def test_acts_at_once_have_no_order(helped):
    other = replace(helped, agent=helped.patient, patient=None)
    assert same_meaning((helped, other), (other, helped))
    assert not same_meaning((helped, other), (helped,))
    assert not same_meaning((helped, other), (helped, helped))


def test_two_denials_are_a_claim(helped):
    failed = replace(helped, attitude="fail")
    managed = replace(helped, attitude="manage")
    assert same_meaning((failed,), (replace(managed, negated=True),))
    assert same_meaning((managed,), (replace(failed, negated=True),))
    assert not same_meaning((managed,), (failed,))
    assert not same_meaning((managed,), (helped,))


@pytest.mark.parametrize(
    ("mood", "part"), [("who", "agent"), ("what", "patient"), ("where", "place"), ("when", "time")]
)
def test_what_a_question_asks_for_is_not_compared_and_never_edited(helped, mood, part):
    asked = replace(helped, mood=mood)
    values = {"agent": helped.patient, "patient": helped.agent, "place": "at the market"}
    other = replace(asked, **{part: values.get(part, Quality("yesterday"))})
    assert same_meaning((asked,), (other,)) and not shows(asked, other)
    assert not same_meaning((helped,), (replace(other, mood="statement"),))
    assert shows(helped, replace(other, mood="statement"))


def test_no_edit_of_a_question_says_what_was_said_already():
    random = Random(1)
    seen = 0
    for kind in ("antonym adjective", "other agent", "other patient", "number"):
        for _ in range(600):
            twins = edited(random, "train", kind)
            if twins and twins.meanings[0][0].mood in ("who", "what"):
                seen += 1
                assert not same_meaning(*twins.meanings)
    assert seen > 20


def test_the_second_opinion_finds_no_wrong_label(capsys):
    assert labels.main(["--pairs", "6000", "--seed", "11"]) == 0
    assert "6,000 pairs, seed 11: 0 contradictions" in capsys.readouterr().out


def test_the_check_would_find_a_wrong_label(monkeypatch, capsys):
    def wrong(random, split, positive, kinds):
        return replace(labelled_pair(random, split, positive, kinds), same=not positive)

    monkeypatch.setattr(labels, "labelled_pair", wrong)
    assert labels.main(["--pairs", "30"]) == 1
    output = capsys.readouterr().out
    assert "30 contradictions" in output and "drawn as different" in output


# --- what must not tell the label


def test_every_kind_occurs_under_both_labels(parts):
    counts = collections.Counter(
        (row["phenomenon"], row["is_duplicate"]) for part in parts for row in part
    )
    for kind in KINDS:
        both = [counts[kind.name, label] for label in ("1.0", "0.0")]
        assert min(both) > 20 and 0.25 < both[0] / sum(both) < 0.55, kind.name


def test_texts_alone_lengths_and_function_words_tell_nothing(parts):
    found = {finding.name: finding for finding in shortcuts(parts, "para")}
    for name in ("first text alone", "second text alone", "lengths", "function words"):
        assert found[name].value < found[name].chance + 0.03, name
    assert found["words, linear"].value <= 0.72


def test_the_same_words_are_duplicates_as_often_as_others(drawn):
    rows = [
        {"sentence1": pair.texts[0], "sentence2": pair.texts[1], "is_duplicate": float(pair.same)}
        for pair in drawn
    ]
    same = [row["is_duplicate"] for row in rows if edit_of(row) == ((), ())]
    assert len(same) > 30 and 0.35 < sum(same) / len(same) < 0.65
    assert same_words([rows], "para")[0].chance == pytest.approx(0.5, abs=0.02)


def test_few_test_rows_differ_by_words_that_a_train_row_differs_by(parts):
    seen = {edit_of(row) for row in parts[0]}
    assert sum(edit_of(row) in seen for row in parts[2]) <= 0.1 * len(parts[2])


def test_most_pairs_differ_by_more_than_the_edit(drawn):
    """Else what differs is the edit, and its word tells the label."""
    for label in (True, False):
        words = [edit_of({"sentence1": p.texts[0], "sentence2": p.texts[1]}) for p in drawn
                 if p.same is label]  # fmt: skip
        assert sum(len(gone) + len(new) >= 2 for gone, new in words) > 0.9 * len(words)


def test_no_pair_of_train_holds_a_kept_frame(drawn):
    assert not any(kept(frame) for pair in drawn for m in pair.meanings for frame in m)


def test_the_kinds_are_shared_by_word_order_and_words():
    total = sum(kind.weight for kind in KINDS)
    ordered = sum(kind.weight for kind in KINDS if kind.ordered or kind.voices)
    assert 0.12 <= ordered / total <= 0.27
    assert {kind.name for kind in MILD} < {kind.name for kind in KINDS}


# --- the pairs that somebody wants


def test_more_pairs_change_no_other_file(tmp_path, monkeypatch):
    monkeypatch.setattr("data.synthetic.generate.SENTENCES", 50)
    monkeypatch.setattr("data.synthetic.generate.TRIPLETS", 50)
    sizes = dict.fromkeys(("sst", "para", "sts"), (100, 20, 20))
    monkeypatch.setattr("data.synthetic.generate.SIZES", sizes)
    for name in ("PARAPHRASES", "QUESTIONS"):
        monkeypatch.setattr(f"data.synthetic.suites.{name}", {"dev": 10, "test": 10})
    for name in ("SIMILARITIES", "OPINIONS", "OVERLAPPING", "INFERENCES"):
        monkeypatch.setattr(f"data.synthetic.suites.{name}", 5)
    write(tmp_path / "usual")
    write(tmp_path / "more", pairs=163, order_pairs=40)
    for path in (tmp_path / "usual").rglob("*"):
        if path.is_file() and path.name != "quora-train.csv":
            other = tmp_path / "more" / path.relative_to(tmp_path / "usual")
            assert path.read_bytes() == other.read_bytes(), path
    usual, more = (
        (tmp_path / name / "quora-train.csv").read_text(encoding="utf-8")
        for name in ("usual", "more")
    )
    assert more.startswith(usual)
    rows = list(csv.DictReader(more.splitlines(), delimiter="\t"))
    assert len(rows) == 203 and len({row["id"] for row in rows}) == 203
    for part in (rows[:163], rows[163:]):
        positive = sum(row["is_duplicate"] == "1.0" for row in part)
        assert positive == pytest.approx(0.4 * len(part), abs=1)
    assert {row["phenomenon"] for row in rows[163:]} <= {kind.name for kind in ORDER}


def test_order_is_mostly_all_that_tells_order_pairs_apart():
    random = Random(4)
    pairs = [labelled_pair(random, "train", number % 2 == 0, ORDER) for number in range(400)]
    bags = [[sorted(re.findall(r"[\w'-]+", text.lower())) for text in pair.texts] for pair in pairs]
    # A passive adds "by" and forms of "to be": those pairs have other words.
    assert 0.3 < sum(first == second for first, second in bags) / len(pairs) < 0.7


def test_every_question_has_a_rendering():
    """An edit must not leave a question that nothing says."""
    random = Random(2)
    for _ in range(200):
        frame = question_frame(random, "train")
        pattern = pick(random, frame)
        assert pattern is not None and say(frame, pattern).endswith("?")

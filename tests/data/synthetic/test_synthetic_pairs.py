"""Pairs of the paraphrase task: right labels, and nothing beside the meaning that tells them."""

import csv
from dataclasses import replace
from random import Random

import pytest

from data.synthetic import write
from data.synthetic.changes import EDITS, shows
from data.synthetic.duplicates import ORDER, labelled_pair
from data.synthetic.frames import Frame, Phrase
from data.synthetic.meaning import same_meaning
from data.synthetic.probes import labels
from data.synthetic.sampling import kept
from data.synthetic.vocabulary import lexicon
from data.synthetic.words import Quality

pytestmark = pytest.mark.synthetic


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


def test_no_pair_of_train_holds_a_kept_frame(drawn):
    assert not any(kept(frame) for pair in drawn for m in pair.meanings for frame in m)


# --- the pairs that somebody wants


def test_more_pairs_change_no_other_file(tmp_path, monkeypatch):
    monkeypatch.setattr("data.synthetic.generate.SENTENCES", 50)
    monkeypatch.setattr("data.synthetic.generate.TRIPLETS", 50)
    sizes = dict.fromkeys(("sst", "para", "sts"), (100, 20, 20))
    monkeypatch.setattr("data.synthetic.generate.SIZES", sizes)
    monkeypatch.setattr("data.synthetic.generate.TEST_ROWS", dict.fromkeys(sizes, 30))
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

"""SimCSE's triplets: read, and made of other labelled sets."""

import csv
import json
import random

import pytest
from conftest import real_data
from reading import write

from data.examples import Triplet
from data.published import iter_nli
from data.triplets import Related, iter_pairs, iter_triplets, main, sample, triplets


def test_triplets_have_two_or_three_columns_of_any_name(tmp_path):
    three = write(tmp_path, 'sent0,sent1,hard_neg\n"a, b",c,d \n')
    assert list(iter_triplets(three)) == [Triplet("a, b", "c", "d")]
    two = write(tmp_path, "premise,entailment\na,b\n")
    assert list(iter_triplets(two)) == [Triplet("a", "b", None)]


# --- other labelled sets


NLI = "premise\thypothesis\tlabel\n" + "".join(
    f"{premise}\t{premise}{label[0]}{number}\t{label}\n"
    for premise, labels in {
        "a": ["entailment", "contradiction", "neutral", "contradiction"],
        "b": ["entailment", "neutral"],
        "c": ["entailment", "entailment", "contradiction"],
    }.items()
    for number, label in enumerate(labels)
)
ANLI = "\n".join(
    json.dumps({"uid": "1", name: "a", "hypothesis": f"h{label}", "label": label})
    for name, label in (("context", "e"), ("premise", "contradiction"), ("context", "n"))
)
QUORA = (
    "\tid\tsentence1\tsentence2\tis_duplicate\n"
    "0\tx\ta\tb\t1.0\n1\ty\tc\tb\t0.0\n2\tz\td\te\t1.0\n3\tw\td\tf\t0.0\n"
)
CAPTIONS = "1.jpg#0\tone\n1.jpg#1\ttwo\n2.jpg#0\talone\n1.jpg#2\tthree\n"


def made(folder, form, content, *flags):
    """Return the rows that the command writes, and check that SimCSE's reader takes them."""
    path, out = folder / "given", folder / "out.csv"
    path.write_text(content, encoding="utf-8")
    assert main([form, str(path), "--out", str(out), *flags]) == 0
    with out.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["sent0", "sent1", "hard_neg"][: len(rows[0])]
    assert [list(triplet.texts) for triplet in iter_triplets(out)] == rows
    return rows


ENTAILED = [["a", "ae0"], ["b", "be0"], ["c", "ce0"], ["c", "ce1"]]
BOTH = sorted([*ENTAILED, ["a", "an2"], ["b", "bn1"]])


@pytest.mark.parametrize(
    ("form", "content", "flags", "expected"),
    [
        ("nli", NLI, "", ENTAILED),
        ("nli", NLI, "--positive entailment neutral", BOTH),
        ("nli", NLI, "--positive contradiction", [["a", "ac1"], ["a", "ac3"], ["c", "cc2"]]),
        ("anli", ANLI, "--hard-negatives contradiction", [["a", "he", "hcontradiction"]]),
        # "b" differs from "c", so the first pair is turned round; "d" is its own anchor.
        ("quora", QUORA, "--hard-negatives different", [["b", "a", "c"], ["d", "e", "f"]]),
        ("quora", QUORA, "", [["a", "b"], ["d", "e"]]),
        ("quora", 'sentence1\tsentence2\tis_duplicate\n"a\tb\t1\nc\td\t0\n', "", [['"a', "b"]]),
        ("pairs", 'a\tb\tscore\n"a, x\tb\t0.8\nc\td\t1\n', "", [['"a, x', "b"], ["c", "d"]]),
        ("captions", CAPTIONS, "", [["one", "two"], ["one", "three"], ["two", "three"]]),
    ],
)
def test_each_form_gives_its_triplets(form, content, flags, expected, tmp_path):
    assert made(tmp_path, form, content, *flags.split()) == expected


def test_a_hard_negative_is_one_of_the_same_premise(tmp_path):
    met = set()
    for seed in range(9):
        flags = ["--hard-negatives", "contradiction", "--seed", str(seed)]
        rows = made(tmp_path, "nli", NLI, *flags)
        assert [row[:2] for row in rows] == [["a", "ae0"], ["c", "ce0"], ["c", "ce1"]]
        met |= {row[2] for row in rows}
    assert met == {"ac1", "ac3", "cc2"}


def test_a_sample_keeps_the_order_and_grows():
    rows = triplets(
        [Related(str(i), "x", "pair") for i in range(200)], ["pair"], [], random.Random(0)
    )
    last: set = set()
    for limit in (1, 10, 100, 200, 999, None):
        kept = sample(rows, limit, seed=3)
        assert len(kept) == min(limit or 200, 200) and last <= set(kept)
        assert kept == [row for row in rows if row in set(kept)]
        last = set(kept)
    assert sample(rows, 10, seed=3) != sample(rows, 10, seed=4)


@pytest.mark.parametrize(
    ("arguments", "content", "said"),
    [
        (["nli", "--positive", "maybe"], NLI, "nli has no label 'maybe'; expected one of"),
        (["captions", "--hard-negatives", "x"], CAPTIONS, "captions has no label 'x'"),
        (["nli", "--hard-negatives", "entailment"], NLI, "positive and hard negative"),
        (
            ["quora", "--hard-negatives", "different"],
            QUORA.replace("0.0", "1"),
            "no positive with a hard",
        ),
        (["anli"], ANLI + "\nx", "given:4: is not JSON"),
        (["anli"], "", "no positive"),
        (["quora"], QUORA.replace("1.0", "3"), "given:2: is_duplicate is 3"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, content, said, tmp_path, capsys):
    path = tmp_path / "given"
    path.write_text(content)
    form, *flags = arguments
    assert main([form, str(path), "--out", str(tmp_path / "out.csv"), *flags]) == 2
    error = capsys.readouterr().err
    assert said in error and error.startswith("error: ") and error.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("labels", [("1", "0"), ("1.0", "0.0"), ("Yes", "No"), ("1", "2.5")])
def test_pairs_whose_label_does_not_say_yes_are_told(labels, tmp_path, caplog):
    path = tmp_path / "pairs.tsv"
    path.write_text("text_a\ttext_b\tlabel\na b\tc d\t{}\ne f\tg h\t{}\n".format(*labels))
    assert len(list(iter_pairs(path))) == 2
    assert "pairs.tsv: 1 row(s) have no positive label (first: line 3)" in caplog.text


def test_the_real_pairs_give_the_triplets_of_a_double_loop(tmp_path):
    path, out = real_data("nli/nli_pairs.tsv"), tmp_path / "out.csv"
    flags = ["--hard-negatives", "contradiction", "--out", str(out)]
    assert main(["nli", str(path), *flags]) == 0
    premises: dict = {}
    for pair in iter_nli(path):
        premises.setdefault(pair.text_a, []).append((pair.text_b, int(pair.label)))
    wanted = [
        (premise, text)
        for premise, others in premises.items()
        for text, label in others
        if label == 0 and any(other == 2 for _, other in others)
    ]
    found = [triplet.texts for triplet in iter_triplets(out)]
    assert sorted(texts[:2] for texts in found) == sorted(wanted)
    assert all((texts[2], 2) in premises[texts[0]] for texts in found)

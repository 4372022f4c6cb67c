"""Tables of the user's own: what the labels say, how one table is split, what is refused."""

import json
import os
import random
from dataclasses import replace

import numpy as np
import pytest
from conftest import toy_sentences

from data.examples import DataError, SentencePair
from data.overlap import groups_by_text, text_hash
from data.pairs import folds_by_texts, label_value, read_pairs, split_by_texts
from data.tasks import OWN


def table(path, labels, header=("text_a", "text_b", "label"), texts=2):
    """Write a table of distinct texts, a row per label; return its path as text."""
    columns = [[f"{i} {s}" for i, s in enumerate(toy_sentences(len(labels), n))] for n in (1, 2)]
    rows = [header, *zip(*columns[:texts], map(str, labels), strict=True)]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def cycle(*labels, count=60):
    return [labels[i % len(labels)] for i in range(count)]


# --- the labels say the task


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("0", "1"), ("0", "1")),
        (("1.0", "0.0"), ("0", "1")),
        (("-1", "1"), ("-1", "1")),
        (("no", "Yes"), ("no", "Yes")),
        (("TRUE", "FALSE"), ("FALSE", "TRUE")),
        (("duplicate", "not_duplicate"), ("not_duplicate", "duplicate")),
        (("different", "same"), ("different", "same")),
        (("entailment", "contradiction"), ("contradiction", "entailment")),
    ],
)
def test_two_labels_are_paraphrase_detection(tmp_path, labels, words):
    own = read_pairs([table(tmp_path / "t.tsv", cycle(*labels))])
    assert (own.task.name, own.task.words) == ("paraphrase", words)
    rows = [*own.splits.train, *own.splits.dev, *own.splits.test]
    by_line = {int(row.id): row.label for row in rows}
    yes = words[1].casefold().removesuffix(".0")
    spelled = [label.casefold().removesuffix(".0") for label in cycle(*labels)]
    assert [by_line[line] for line in sorted(by_line)] == [float(s == yes) for s in spelled]


@pytest.mark.parametrize(
    ("labels", "scale"),
    [
        (("1", "4", "7"), (1, 7)),
        (("0.2", "3.5", "4.8"), (0, 5)),
        (("0,25", "0,5", "1"), (0, 1)),
        (("-1", "0", "0.5"), (-1, 1)),
    ],
)
def test_more_numbers_are_similarity_on_their_own_scale(tmp_path, labels, scale):
    own = read_pairs([table(tmp_path / "t.tsv", cycle(*labels))])
    assert own.task.name == "similarity" and (own.task.lowest, own.task.largest) == scale
    found = {row.label for row in own.splits.train}
    assert found == {float(label.replace(",", ".")) for label in labels}


def test_the_scale_is_that_of_the_training_rows(tmp_path):
    """Heads are trained on it: a label that is scored later does not change it."""
    own = read_pairs([table(tmp_path / "t.tsv", cycle("0", "2", "4"))])
    line = next(row.id for row in own.splits.test if row.label == 4)
    lines = (tmp_path / "t.tsv").read_text().splitlines()
    lines[int(line) - 1] = lines[int(line) - 1].rpartition("\t")[0] + "\t9"
    (tmp_path / "other.tsv").write_text("\n".join(lines) + "\n")
    other = read_pairs([str(tmp_path / "other.tsv")])
    assert max(row.label for row in other.splits.test) == 9
    assert [row.texts for row in other.splits.train] == [row.texts for row in own.splits.train]
    assert other.task == own.task and other.task.largest == 4


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("good", "bad", "ok"), ("bad", "good", "ok")),
        (("3", "1", "2"), ("1", "2", "3")),
        (("1", "0"), ("0", "1")),
    ],
)
def test_one_text_is_classified(tmp_path, labels, words):
    path = table(tmp_path / "t.tsv", cycle(*labels), ("review", "label"), texts=1)
    own = read_pairs([path])
    assert (own.task.name, own.task.words, own.task.largest) == ("classes", words, len(words) - 1)
    assert {row.label for row in own.splits.train} == set(range(len(words)))
    assert own.task.spelled(1) == words[1]


@pytest.mark.parametrize(
    ("labels", "task", "words"),
    [
        (("neutral", "Entailment", "CONTRADICTION"), "", "CONTRADICTION Entailment neutral"),
        (tuple(map(chr, range(97, 117))), "", " ".join(map(chr, range(97, 117)))),
        (("2", "0", "1"), "classes", "0 1 2"),
        (("left", "right"), "classes", "left right"),
    ],
)
def test_pairs_are_classified(tmp_path, labels, task, words):
    own = read_pairs([table(tmp_path / "t.tsv", cycle(*labels, count=200))], task=task)
    assert (own.task.name, own.task.words) == ("classes", tuple(words.split()))
    assert own.task.is_pair and own.task.num_classes == len(labels)
    assert f"200 pairs, label 'label' with {len(labels)} classes (" in own.about
    label_of = {row.id: row.label for row in own.splits.train}
    places = {word.casefold(): float(at) for at, word in enumerate(own.task.words)}
    lines = [places[label.casefold()] for label in cycle(*labels, count=200)]
    assert all(lines[int(id) - 2] == label for id, label in label_of.items())


@pytest.mark.parametrize("labels", [("0", "1", "2"), ("1.0", "0.5", "0.0"), range(21)])
def test_numbers_are_scores_if_the_user_or_their_form_says_so(tmp_path, labels):
    own = read_pairs(
        [table(tmp_path / "t.tsv", cycle(*labels, count=210))],
        task="similarity" if labels == ("0", "1", "2") else "",
    )
    assert own.task.name == "similarity" and own.task.label_kind == "score"


SNLI = (
    "gold_label sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse "
    "sentence1 sentence2 captionID pairID label1 label2 label3 label4 label5"
).split()
MNLI = f"index promptID pairID genre {' '.join(SNLI[1:7])} label1 gold_label".split()


@pytest.mark.parametrize("header", [SNLI, MNLI, None])
def test_snli_and_mnli_are_read_as_people_have_them(tmp_path, caplog, header):
    """Parses, labels of annotators and quotation marks change no text; `-` is no label."""
    golds = ("neutral", "entailment", "contradiction", "-")
    rows = []
    for i in range(80):
        texts = {"sentence1": f'"A kite {i} flies', "sentence2": f'One "kite {i}" here'}
        parses = dict.fromkeys(SNLI[1:5], f'"( {i} ( a "kite ) ')
        rows.append(texts | parses | {"gold_label": golds[i % 4], "pairID": f"{i}.jpg#0r1n"})
    if header:
        lines = ["\t".join(header), *("\t".join(row.get(n, "") for n in header) for row in rows)]
    else:
        lines = [json.dumps({"annotator_labels": ["neutral"]} | row) for row in rows]
    path = tmp_path / ("snli.txt" if header else "snli.jsonl")
    path.write_text("\n".join(lines) + "\n")
    own = read_pairs([str(path)])
    assert own.task.words == ("contradiction", "entailment", "neutral")
    assert "20 row(s) without a label (first: line " in caplog.text
    found = {r.texts for part in (own.splits.train, own.splits.dev, own.splits.test) for r in part}
    kept = [row for row in rows if row["gold_label"] != "-"]
    assert found == {(row["sentence1"].strip(), row["sentence2"]) for row in kept}


def test_two_numbers_are_what_the_user_says(tmp_path):
    path = table(tmp_path / "t.tsv", cycle("1", "5"))
    assert read_pairs([path], task="paraphrase").task.words == ("1", "5")
    similar = read_pairs([path], task="similarity").task
    assert (similar.lowest, similar.largest, similar.words) == (1, 5, ())


def test_the_plan_says_in_one_line_what_was_understood(tmp_path):
    path = table(tmp_path / "my.tsv", ["yes"] * 131 + ["no"] * 281, ("s1", "s2", "is_duplicate"))
    assert read_pairs([path]).about == (
        "my.tsv: 412 pairs, label 'is_duplicate' with 131 yes and 281 no: paraphrase detection; "
        "split 329/41/42 by connected texts"
    )


# --- columns and rows


def test_columns_are_named_or_counted(tmp_path):
    path = table(tmp_path / "t.tsv", cycle("0", "1"), ("satz eins", "satz zwei", "gleich"))
    own = read_pairs([path], ("SATZ ZWEI", "satz eins", "Gleich"))
    assert own.task.texts == ("satz zwei", "satz eins") and own.task.label == "gleich"
    lines = (tmp_path / "t.tsv").read_text().partition("\n")[2]
    (tmp_path / "bare.tsv").write_text(lines)
    bare = read_pairs([str(tmp_path / "bare.tsv")], ("2", "1", "3"))
    assert bare.task.texts == ("sentence1", "sentence2") and bare.task.label == "label"
    parts = (bare.splits.train, own.splits.train)
    assert [row.texts for row in parts[0]] == [row.texts for row in parts[1]]
    with pytest.raises(DataError, match="--columns 'satz eins' 'satz zwei' gleich; or, without a"):
        read_pairs([path])
    first = next(line for line in open(path).read().splitlines() if line.startswith("0 "))
    rows = [*own.splits.train, *own.splits.dev, *own.splits.test]
    row = next(row for row in rows if row.id == "2")
    assert [row.text_b, row.text_a] == first.split("\t")[:2]


def test_a_name_of_a_column_is_one_line(tmp_path):
    rows = [
        {"a": f"{i} a", "b": f"{i} b", "the\nlabel": label} for i, label in enumerate(cycle(0, 1))
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = read_pairs([str(path)], columns=("a", "b", "the\nlabel"))
    assert own.task.label == own.task.prediction_header == "the label"


def test_json_lines_with_ids_are_read(tmp_path):
    path = tmp_path / "t.jsonl"
    texts = toy_sentences(60)
    rows = [
        {"id": f"R{i}", "premise": f"{i} {t}", "hypothesis": t, "label": bool(i % 2)}
        for i, t in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dev = str(table(tmp_path / "dev.tsv", cycle("true", "false", count=10)))
    own = read_pairs([str(path), dev])
    assert [row.id for row in own.splits.train] == [f"R{i}" for i in range(60)]
    assert own.task.words == ("false", "true") and own.splits.test == []


def test_rows_without_label_or_text_are_left_out_with_count_and_line(tmp_path, caplog):
    labels = cycle("0", "1")
    labels[3], labels[8] = "", "nan"
    own = read_pairs([table(tmp_path / "t.tsv", labels)])
    assert sum(map(len, (own.splits.train, own.splits.dev, own.splits.test))) == 58
    assert "2 row(s) without a label (first: line 5); left out" in caplog.text


def test_pairs_with_two_labels_are_told(tmp_path, caplog):
    path = table(tmp_path / "t.tsv", cycle("0", "1"))
    first = open(path).read().splitlines()[1]
    with open(path, "a") as file:
        file.write(f"{first[:-1]}1\n{first}\n")
    read_pairs([path])
    assert "1 row(s) repeat the texts of an earlier row with another label" in caplog.text
    assert "(first: lines 2 and 62)" in caplog.text


def test_a_file_given_for_dev_needs_other_labels_not_other_files(tmp_path):
    train = table(tmp_path / "a.tsv", cycle("0", "1"))
    dev = table(tmp_path / "b.tsv", cycle("0"))
    with pytest.raises(DataError, match=r"b\.tsv: the dev part needs more than one label; give a"):
        read_pairs([train, dev])


def test_only_columns_that_are_not_there_are_named(tmp_path):
    path = table(tmp_path / "t.tsv", cycle("0", "1"), ("links", "rechts", "gleich"))
    with pytest.raises(DataError, match="no column 'glich'; found 'links', 'rechts', 'gleich'"):
        read_pairs([path], ("links", "rechts", "glich"))


def test_a_test_file_without_labels_is_only_predicted(tmp_path):
    train, dev = (table(tmp_path / f"{n}.tsv", cycle("yes", "no", count=n)) for n in (20, 22))
    path = tmp_path / "test.tsv"
    path.write_text("text_b\ttext_a\na kite\ta dog\nthe wind\tthe sea\n")
    own = read_pairs([train, dev, str(path)])
    assert [(row.text_a, row.label) for row in own.splits.test] == [
        ("a dog", None),
        ("the sea", None),
    ]


@pytest.mark.parametrize("unknown", ["-1", "-1.0"])
def test_minus_one_in_all_rows_of_test_is_no_label(tmp_path, caplog, unknown):
    labels = (cycle("0", "1"), cycle("0", "1", count=50), cycle(unknown))
    files = [table(tmp_path / f"{at}.tsv", values) for at, values in enumerate(labels)]
    assert {row.label for row in read_pairs(files).splits.test} == {None}
    assert "2.tsv: all labels are -1; read as a file without labels" in caplog.text


def test_ids_that_are_used_twice_give_way_to_line_numbers(tmp_path, caplog):
    path = tmp_path / "t.tsv"
    rows = [f"{i // 2}\t{i} a\t{i} b\t{i % 2}\n" for i in range(60)]
    path.write_text("id\ttext_a\ttext_b\tlabel\n" + "".join(rows))
    own = read_pairs([str(path)])
    ids = [row.id for part in (own.splits.train, own.splits.dev, own.splits.test) for row in part]
    assert sorted(map(int, ids)) == list(range(2, 62)) and "more than once" in caplog.text


# --- the split


def chained(count: int, seed: int) -> list[SentencePair]:
    """Return pairs of which some share texts, in groups of up to about ten."""
    draw = random.Random(seed)
    text = lambda: f"text {draw.randrange(2 * count)}"  # noqa: E731
    return [SentencePair(str(i), text(), text(), float(draw.random() < 0.3)) for i in range(count)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("task", ["paraphrase", "similarity"])
def test_no_text_is_on_two_sides(task, seed):
    pairs = chained(400, seed)
    parts = split_by_texts(pairs, OWN[task], seed)
    assert sorted(int(p.id) for part in parts for p in part) == list(range(400))
    texts = [{text_hash(text) for pair in part for text in pair.texts} for part in parts]
    assert not (texts[0] & texts[1] or texts[0] & texts[2] or texts[1] & texts[2])
    assert 320 <= len(parts[0]) <= 345 and all(28 <= len(part) <= 40 for part in parts[1:])
    if task == "paraphrase":
        shares = [np.mean([pair.label for pair in part]) for part in parts]
        assert max(shares) - min(shares) < 0.12


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("task", ["paraphrase", "similarity"])
def test_no_text_is_in_two_folds(task, seed):
    pairs = chained(400, seed)
    folds = folds_by_texts(pairs, OWN[task], seed, 5)
    parts = [[p for p, at in zip(pairs, folds, strict=True) if at == fold] for fold in range(5)]
    texts = [{text_hash(text) for pair in part for text in pair.texts} for part in parts]
    assert len(set.union(*texts)) == sum(map(len, texts))
    # A group of connected rows may be larger than a fifth of them.
    most = max(82, np.bincount(groups_by_text(pairs)).max())
    assert all(65 <= len(part) <= most for part in parts) and sum(map(len, parts)) == 400
    if task == "paraphrase":
        shares = [np.mean([pair.label for pair in part]) for part in parts]
        assert max(shares) - min(shares) < 0.12
    assert (folds == folds_by_texts(pairs, OWN[task], seed, 5)).all()
    assert (folds != folds_by_texts(pairs, OWN[task], seed + 1, 5)).any()


def test_rows_that_are_scored_do_not_decide_the_scale_of_a_fold(tmp_path):
    path = table(tmp_path / "t.tsv", [*cycle("1", "2", "3", count=99), "9"])
    splits = read_pairs([path], folds=5).splits
    scales = [fold.task.largest for fold in splits.folds]
    assert sorted(scales) == [3, 9, 9, 9, 9] and splits.task.largest == 9
    assert [row.id for row in splits.all] == [str(line) for line in range(2, 102)]
    other = read_pairs([path], folds=5, seed=1).splits
    assert other.digest != splits.digest != replace(splits, folds=()).digest


def test_the_split_is_the_seeds_and_keeps_the_order():
    pairs = chained(200, 0)
    first, again, other = (split_by_texts(pairs, OWN["paraphrase"], seed) for seed in (1, 1, 2))
    assert first == again and first != other
    for part in first:
        assert [int(pair.id) for pair in part] == sorted(int(pair.id) for pair in part)


def test_texts_that_differ_in_case_only_are_one_text(tmp_path):
    rows = [
        SentencePair(str(i), f"Text {i // 2}{'!' * (i % 2)}", f"b {i}", 0.0 + i % 3)
        for i in range(100)
    ]
    parts = split_by_texts(rows, OWN["similarity"], 3)
    sides = {row.text_a.rstrip("!"): at for at, part in enumerate(parts) for row in part}
    assert all(sides[row.text_a.rstrip("!")] == at for at, p in enumerate(parts) for row in p)


# --- refusals


@pytest.mark.parametrize(
    ("labels", "task", "message"),
    [
        (cycle("yes"), "", "is yes in all rows"),
        (cycle("1", "5"), "", "t.tsv: label 'label' is 1, 5: two scores, or no and yes?"),
        (cycle("left", "right"), "", "which is yes? Write 1 for yes and 0 for no"),
        (cycle("a", "b", "c"), "similarity", "3 words (a, b, c), and --task similarity needs num"),
        (
            cycle(*map(chr, range(97, 118)), count=210),
            "",
            "21 values (a, b, c, ...), expected at most",
        ),
        (
            cycle("0", "1", "2"),
            "",
            "is 0, 1, 2: classes, or scores? Give --task classes or --task s",
        ),
        (cycle("1.0", "3.0", "2.0"), "", "label 'label' is 1, 2, 3: classes, or scores?"),
        (cycle("1", "0", "-1"), "", "is -1, 0, 1: classes, or scores?"),
        (cycle(*map(str, range(6))), "", "is 0, 1, 2, 3, 4, 5: classes, or scores?"),
        (
            cycle(*map(str, range(21)), count=210),
            "classes",
            "21 values (0, 1, 2, ...), expected at",
        ),
        ([*cycle("1", "2", "3"), "high"], "", "t.tsv:62: label is 'high', expected a number"),
        (cycle("0", "1", "2"), "paraphrase", "3 values (0, 1, 2), expected two"),
        (cycle("0", "1", count=30), "", "30 rows, at least 50 to be split; give files"),
        ([*cycle("0", count=59), "1"], "", "part needs"),
        (cycle(""), "", "60 row(s) without a label (first: line 2), and no others"),
    ],
)
def test_labels_that_say_no_task_are_refused(tmp_path, labels, task, message):
    with pytest.raises(DataError) as refusal:
        read_pairs([table(tmp_path / "t.tsv", labels)], task=task)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_forty_words_are_no_classes(tmp_path):
    path = table(tmp_path / "t.tsv", range(80), ("text", "label"), texts=1)
    with pytest.raises(DataError, match=r"80 values .* at most 20 classes"):
        read_pairs([path])


@pytest.mark.parametrize(
    ("train", "dev", "message"),
    [
        (cycle("yes", "no"), cycle("0", "1"), "b.tsv:2: label is '0', those of"),
        (cycle("0", "2.5", "5"), cycle("0", "0.5", "1"), "rescale them to the same range"),
        (cycle("0", "50", "100"), cycle("0", "2", "5"), "rescale them to the same range"),
        (cycle("1", "2.5", "3"), cycle("1", "x"), "b.tsv:3: label is 'x', expected a number"),
        (cycle("0", "1"), cycle("1", count=9), "the dev part needs more than one label"),
    ],
)
def test_a_dev_file_of_other_labels_is_refused(tmp_path, train, dev, message):
    paths = [table(tmp_path / "a.tsv", train), table(tmp_path / "b.tsv", dev)]
    with pytest.raises(DataError) as refusal:
        read_pairs(paths)
    assert message in str(refusal.value)


def test_labels_of_dev_may_lie_closer_together_than_those_of_train(tmp_path):
    files = [
        table(tmp_path / f"{at}.tsv", cycle(*labels))
        for at, labels in enumerate((("0", "2.5", "5"), ("3", "4"), ("2", "3.5")))
    ]
    assert read_pairs(files).task.largest == 5


def test_a_pipe_is_refused(tmp_path):
    # It is empty when it is opened again, or begins in the middle.
    read_end, write_end = os.pipe()
    for path in (f"/dev/fd/{read_end}", "/dev/null"):
        with pytest.raises(DataError, match=r"a pipe or a device, .*write it to a file"):
            read_pairs([path])
    for end in (read_end, write_end):
        os.close(end)


def test_one_text_in_all_rows_leaves_no_split():
    rows = [SentencePair(str(i), "the same", f"b {i}", float(i % 2)) for i in range(100)]
    with pytest.raises(DataError, match=r"connect 100 of 100 rows.*--pairs TRAIN DEV TEST"):
        split_by_texts(rows, OWN["paraphrase"], 1)
    with pytest.raises(DataError, match=r"connect 100 of 100 rows.*--pairs TRAIN DEV TEST"):
        folds_by_texts(rows, OWN["paraphrase"], 1, 5)
    with pytest.raises(DataError, match="40 rows, at least 50 to be split"):
        folds_by_texts(rows[:40], OWN["paraphrase"], 1, 5)


def test_a_fold_whose_other_rows_lack_a_label_is_refused(tmp_path):
    labels = [*cycle("0", count=99), "1"]
    with pytest.raises(DataError, match="the train part needs every label"):
        read_pairs([table(tmp_path / "t.tsv", labels)], folds=5)


def test_an_unknown_header_names_the_remedy(tmp_path):
    for header in (("alpha", "beta", "gamma"), ("query", "text", "label")):
        path = table(tmp_path / "t.tsv", cycle("0", "1"), header)
        with pytest.raises(DataError, match="--columns"):
            read_pairs([path])


@pytest.mark.parametrize("labels", [("north", "south"), ("normal", "odd"), ("notable", "plain")])
def test_a_word_that_only_begins_like_no_does_not_mean_no(tmp_path, labels):
    with pytest.raises(DataError, match="which is yes"):
        read_pairs([table(tmp_path / "t.tsv", cycle(*labels))])


def test_texts_that_stand_for_missing_ones_are_told(tmp_path, caplog):
    path = table(tmp_path / "t.tsv", cycle("yes", "no"))
    lines = (tmp_path / "t.tsv").read_text().splitlines()
    lines[4] = "NaN\t" + lines[4].partition("\t")[2]
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n")
    read_pairs([path])
    assert "1 row(s) whose text is NaN or null (first: line 5); read as words" in caplog.text


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("0,125", 0.125),
        ("4,25", 4.25),
        ("1,250", "1,250"),  # may be thousands
        ("Yes", "yes"),
    ],
)
def test_a_decimal_comma_is_read_where_it_can_be_nothing_else(label, value):
    assert label_value(label) == value

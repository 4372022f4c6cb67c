"""The evaluation suites: every set from little files of its published form, found anywhere."""

import pytest
from conftest import real_data
from reading import write

from data.examples import DataError, Sentence, SentencePair
from data.locate import MissingSet, find
from data.nli import iter_nli
from data.suites import (
    read_hans,
    read_nli,
    read_pair_set,
    read_sts_set,
    read_transfer_set,
)

SST2 = "SST/binary/sentiment-"
HANS_HEADER = (
    "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\t"
    "sentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate\n"
)


def place(folder, files):
    """Write {path: content} below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def error(function, *arguments, kind=DataError):
    with pytest.raises(kind) as caught:
        function(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- finding


def test_files_are_found_breadth_first_and_in_order(tmp_path):
    place(tmp_path, {"z/x.txt": "", "a/deep/x.txt": "", "b/x.txt": "", ".hidden/x.txt": ""})
    assert find(tmp_path, "x.txt") == tmp_path / "b" / "x.txt"
    assert find(tmp_path, "deep/x.txt") == tmp_path / "a" / "deep" / "x.txt"
    assert find(tmp_path / "a" / "deep", "deep") == tmp_path / "a" / "deep"
    assert find(tmp_path, "y.txt") is None and find(tmp_path / "absent", "x.txt") is None


def test_files_are_found_five_levels_deep_and_no_deeper(tmp_path):
    place(tmp_path, {"1/2/3/4/near.txt": "", "1/2/3/4/5/far.txt": ""})
    assert find(tmp_path, "near.txt") and not find(tmp_path, "far.txt")


def test_an_absent_set_is_named_with_its_files_its_folder_and_the_command(tmp_path):
    message = error(read_transfer_set, tmp_path, "MR", kind=MissingSet)
    assert message == (
        f"MR: looked for rt-polarity.pos and rt-polarity.neg in {tmp_path}: not found; "
        f"get them with: python -m data.download transfer --out {tmp_path}"
    )
    message = error(read_sts_set, tmp_path / "no", "STSBenchmark-zh", kind=MissingSet)
    assert "cnsd-sts-test.txt" in message and "there is no such folder" in message
    assert "copy the published files there" in message


@pytest.mark.parametrize("read", [read_sts_set, read_transfer_set, read_pair_set])
def test_an_unknown_set_is_answered_with_the_known_ones(tmp_path, read):
    assert "choose one of" in error(read, tmp_path, "STS99")


# --- similarity


STS16 = ("answer-answer", "headlines", "plagiarism", "postediting", "question-question")


def year(inputs, golds):
    kinds = {"input": inputs, "gs": golds}
    folder = "downstream/STS/STS16-en-test"
    return {f"{folder}/STS.{k}.{s}.txt": kinds[k] for s in STS16 for k in kinds}


def test_a_year_is_read_without_the_pairs_that_have_no_score(tmp_path):
    place(tmp_path, year('a "x\tb\tsource\nc\td\ne\tf\n', "4.5\n\n0\n"))
    found = read_sts_set(tmp_path, "STS16")
    assert list(found) == [
        *("answer-answer", "headlines", "plagiarism", "postediting", "question-question")
    ]
    assert found["headlines"] == [
        SentencePair("headlines-1", 'a "x', "b", 4.5),
        SentencePair("headlines-3", "e", "f", 0.0),
    ]


def test_a_subset_that_is_absent_is_an_error_not_a_smaller_mean(tmp_path):
    place(tmp_path, year("a\tb\n", "1\n"))
    (tmp_path / "downstream/STS/STS16-en-test/STS.gs.plagiarism.txt").unlink()
    message = error(read_sts_set, tmp_path, "STS16", kind=MissingSet)
    assert "looked for STS.gs.plagiarism.txt in" in message


def test_the_originals_of_2016_are_read_under_their_own_names(tmp_path):
    place(tmp_path, year("a b\tc d\n", "2\n"))
    expected = read_sts_set(tmp_path, "STS16")
    for path in list(tmp_path.rglob("STS.*")):
        path.rename(path.with_name(path.name.replace("STS.", "STS2016.")))
    assert read_sts_set(tmp_path, "STS16") == expected and len(expected) == 5


def test_blank_lines_of_polarity_files_are_noted(tmp_path, caplog):
    # The last line is a no-break space, two bytes of UTF-8.
    place(tmp_path, {"mpqa.pos": "good\n\n \nfine\n\xa0\n", "mpqa.neg": "bad\n"})
    rows = read_transfer_set(tmp_path, "MPQA").train
    assert [(row.id, row.label) for row in rows] == [("pos-1", 1), ("pos-4", 1), ("neg-1", 0)]
    assert [r.getMessage() for r in caplog.records] == [
        f"{tmp_path / 'mpqa.pos'}: 3 blank lines are no sentences; left out"
    ]


def test_sets_of_one_part_have_one_subset(tmp_path):
    sick = "7\tA b\tC d\t3.5\tNEUTRAL\n"
    place(
        tmp_path,
        {
            "sts-test.csv": "not this one",
            "STS/STSBenchmark/sts-test.csv": 'g\tf\t2012\t0001\t2.6\t"a\tb\tlicence\n',
            "SICK_test_annotated.txt": f"pair_ID\tA\tB\tscore\tjudgment\n{sick}",
            "cnsd-sts-test.txt": "2012-1||\u4e00||\u4e8c||3\n",
        },
    )
    assert read_sts_set(tmp_path, "STSBenchmark") == {"test": [SentencePair("f-1", '"a', "b", 2.6)]}
    expected = {"test": [SentencePair("7", "A b", "C d", 3.5)]}
    assert read_sts_set(tmp_path, "SICK-R") == expected
    (tmp_path / "SICK_test_annotated.txt").write_text(sick)
    assert read_sts_set(tmp_path, "SICK-R") == expected
    # As MTEB has it: all three files.
    place(
        tmp_path,
        {f"SICK_{part}.txt": f"{row}\tA\tB\t1\tX\n" for row, part in enumerate(("train", "trial"))},
    )
    everything = read_sts_set(tmp_path, "SICK-R-all")["all"]
    assert [pair.id for pair in everything] == ["0", "1", "7"]
    assert read_sts_set(tmp_path, "STSBenchmark-zh") == {
        "test": [SentencePair("2012-1", "\u4e00", "\u4e8c", 3.0)]
    }


# --- classification


@pytest.mark.parametrize(
    ("name", "positive", "negative"),
    [
        ("MR", "MR/rt-polarity.pos", "MR/rt-polarity.neg"),
        ("CR", "custrev.pos", "custrev.neg"),
        ("SUBJ", "plot.tok.gt9.5000", "quote.tok.gt9.5000"),
    ],
)
def test_sets_for_ten_folds_are_all_train(tmp_path, name, positive, negative):
    place(tmp_path, {positive: "caf\u00e9\n\ngood\n".encode("latin-1"), negative: "bad\n"})
    splits = read_transfer_set(tmp_path, name)
    assert splits.train == [
        Sentence("pos-1", "caf\u00e9", 1),
        Sentence("pos-3", "good", 1),
        Sentence("neg-1", "bad", 0),
    ]
    assert splits.dev == splits.test == []


def test_sst2_is_read_in_both_forms(tmp_path):
    tree, flat = tmp_path / "tree", tmp_path / "flat"
    place(tree, {f"{SST2}{split}": 'a "b c\t1\nd 0\t0\n' for split in ("train", "dev", "test")})
    place(tree, {f"SST/fine/sentiment-{split}": "x\t4\n" for split in ("train", "dev", "test")})
    place(flat, {f"stsa.binary.{split}": '1 a "b c\n0 d 0\n' for split in ("train", "dev", "test")})
    expected = [Sentence("1", 'a "b c', 1), Sentence("2", "d 0", 0)]
    for folder in (tree, flat):
        splits = read_transfer_set(folder, "SST2")
        assert splits.train == splits.dev == splits.test == expected


def test_trec_has_six_classes_in_a_fixed_order(tmp_path):
    rows = "NUM:dist How far ?\nABBR:exp What does x mean ?\nLOC:city Where ?\n"
    place(tmp_path, {"TREC/train_5500.label": rows, "TREC/TREC_10.label": "HUM:ind Who ?\n"})
    splits = read_transfer_set(tmp_path, "TREC")
    expected = [("How far ?", 5), ("What does x mean ?", 0), ("Where ?", 4)]
    assert [(row.text, row.label) for row in splits.train] == expected
    assert splits.dev == [] and splits.test == [Sentence("1", "Who ?", 3)]


def test_mrpc_is_a_transfer_set_and_a_pair_set(tmp_path):
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    rows = '1\t10\t11\tHe said "no.\tNo, he said.\n0\t12\t13\ta\tb\n'
    place(tmp_path, {"msr_paraphrase_train.txt": header + rows})
    place(tmp_path, {"msr_paraphrase_test.txt": "\ufeff" + rows})
    pairs = read_pair_set(tmp_path, "MRPC")
    assert pairs.test == pairs.train and pairs.dev == []
    assert pairs.train == [
        SentencePair("10-11", 'He said "no.', "No, he said.", 1.0),
        SentencePair("12-13", "a", "b", 0.0),
    ]
    labels = [pair.label for pair in read_transfer_set(tmp_path, "MRPC").train]
    assert labels == [1, 0] and all(isinstance(label, int) for label in labels)


# --- inference


def test_hans_is_read_by_column_and_tagged_by_subcase(tmp_path):
    row = '{}\t(\t(\t(\t(\tThe cat saw the "dog .\tThe dog .\tex1\tsubsequence\tsn_NP/S\ttemp1\n'
    content = HANS_HEADER + row.format("non-entailment") + row.format("entailment")
    place(tmp_path, {"synthetic_heuristics_evaluation_set.txt": "the published one goes first"})
    place(tmp_path, {"hans/heuristics_evaluation_set.txt": content})
    texts = 'The cat saw the "dog .', "The dog ."
    tag = "subsequence/sn_NP/S"
    assert read_hans(tmp_path / "hans") == [
        SentencePair("ex1", *texts, 0.0, phenomenon=tag),
        SentencePair("ex1", *texts, 1.0, phenomenon=tag),
    ]
    assert len(read_hans(tmp_path)) == 2
    assert "data.download hans" in error(read_hans, tmp_path / "no", kind=MissingSet)


NLI = "premise\thypothesis\tlabel\n"


def test_nli_rows_are_pairs_with_the_number_of_their_class(tmp_path):
    rows = 'a\t"b\tentailment\tx\nc\td\tneutral\ty\ne\tf\t-\tz\ng\th\tcontradiction\n'
    found = list(iter_nli(write(tmp_path, NLI + rows)))
    assert [pair.texts for pair in found] == [("a", '"b'), ("c", "d"), ("g", "h")]
    assert [pair.label for pair in found] == [0.0, 1.0, 2.0]
    assert [pair.id for pair in found] == ["2", "3", "5"]
    labels = [pair.label for pair in iter_nli(real_data("nli/nli_pairs.tsv"))]
    assert len(labels) == 67_895 and set(labels) == {0.0, 1.0, 2.0}


# --- the published files


@pytest.mark.parametrize(
    ("name", "folder", "counts"),
    [
        ("STS13", "sts", [189, 750, 561]),
        ("STS14", "sts", [450, 300, 750, 750, 750, 750]),
        ("STSBenchmark", "sts", [1379]),
        ("STSBenchmark-zh-dev", "chinese", [1458]),
    ],
)
def test_published_similarities_have_the_published_sizes(name, folder, counts):
    found = read_sts_set(real_data(folder), name)
    assert [len(pairs) for pairs in found.values()] == counts
    assert all(0 <= p.label <= 5 and p.text_a and p.text_b for s in found.values() for p in s)


@pytest.mark.parametrize(
    ("name", "sizes", "positive"),
    [
        ("MR", (10662, 0, 0), 5331),
        ("CR", (3771, 0, 0), 2405),  # 3,775 lines, four of them blank
        ("SST2", (6920, 872, 1821), 3610),
        ("MRPC", (4076, 0, 1725), 2753),
    ],
)
def test_published_classes_have_the_published_sizes(name, sizes, positive):
    splits = read_transfer_set(real_data("transfer"), name)
    assert (len(splits.train), len(splits.dev), len(splits.test)) == sizes
    assert sum(row.label for row in splits.train) == positive
    assert all(all(row.texts) for row in [*splits.train, *splits.dev, *splits.test])


def test_published_pairs_of_questions_and_of_nli():
    splits = read_pair_set(real_data("cs224n"), "para-dev")
    assert (len(splits.train), len(splits.dev), len(splits.test)) == (11999, 0, 3999)
    pairs = read_nli(real_data("nli"))
    counts = [sum(pair.label == label for pair in pairs) for label in (0.0, 1.0, 2.0)]
    assert counts == [22791, 22415, 22689]

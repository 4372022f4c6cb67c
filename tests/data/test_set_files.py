"""The evaluation suites: every set from little files of its published form, found anywhere."""

import pytest
from conftest import real_data
from reading import error_of, write

from data.examples import Sentence, SentencePair
from data.locate import MissingSet, find
from data.published import (
    iter_nli,
    read_cnsd,
    read_hans_file,
    read_mrpc,
    read_sick,
    read_sst2,
    read_stsbenchmark,
    read_trec,
)
from data.suites import read_hans, read_nli, read_pair_set, read_sts_set, read_transfer_set

NLI = "premise\thypothesis\tlabel\n"
HANS = (
    "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\t"
    "sentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate\n"
)
HANS_ROW = '{}\t(\t(\t(\t(\tThe "dog ran .\tIt ran .\tex1\tsubsequence\tsn_NP/S\ttemp1\n'
HANS_PAIR = ("ex1", 'The "dog ran .', "It ran .")
TAG = "subsequence/sn_NP/S"
MRPC_ROWS = '1\t10\t11\tHe said "no.\tNo, he said.\n0\t12\t13\ta\tb\n'
MRPC_PAIRS = [
    SentencePair("10-11", 'He said "no.', "No, he said.", 1.0),
    SentencePair("12-13", "a", "b", 0.0),
]
SST2_ROWS = [Sentence("1", 'a "b c', 1), Sentence("3", "d 0", 0)]


def place(folder, files):
    """Write {path: content} below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def missing(read, *arguments):
    with pytest.raises(MissingSet) as caught:
        read(*arguments)
    return str(caught.value)


# --- finding


def test_files_are_found_breadth_first_in_order_and_at_most_five_levels_deep(tmp_path):
    place(tmp_path, {"z/x.txt": "", "a/deep/x.txt": "", "b/x.txt": "", ".hidden/x.txt": ""})
    assert find(tmp_path, "x.txt") == tmp_path / "b" / "x.txt"
    assert find(tmp_path, "deep/x.txt") == tmp_path / "a" / "deep" / "x.txt"
    assert find(tmp_path / "a" / "deep", "deep") == tmp_path / "a" / "deep"
    assert find(tmp_path, "y.txt") is None and find(tmp_path / "absent", "x.txt") is None
    place(tmp_path, {"1/2/3/4/near.txt": "", "1/2/3/4/5/far.txt": ""})
    assert find(tmp_path, "near.txt") and not find(tmp_path, "far.txt")


def test_an_absent_set_is_named_with_its_files_its_folder_and_the_command(tmp_path):
    assert missing(read_transfer_set, tmp_path, "MR") == (
        f"MR: looked for rt-polarity.pos and rt-polarity.neg in {tmp_path}: not found; "
        f"get them with: python -m data.download transfer --out {tmp_path}"
    )
    message = missing(read_sts_set, tmp_path / "no", "STSBenchmark-zh")
    assert "cnsd-sts-test.txt" in message and "there is no such folder" in message
    assert "copy the published files there" in message
    assert "data.download hans" in missing(read_hans, tmp_path)
    for read in (read_sts_set, read_transfer_set, read_pair_set, read_hans):
        assert "set 'STS99' is unknown; choose one of" in error_of(read, tmp_path, "STS99")


# --- formats


@pytest.mark.parametrize(
    ("read", "content", "expected"),
    [
        (
            read_stsbenchmark,
            'g\tf\t2012\t0001\t2.6\t"a\tb\tlicence\n',
            [SentencePair("f-1", '"a', "b", 2.6)],
        ),
        *(
            (
                read_sick,
                f"{header}7\tA b\tC d\t3.5\tNEUTRAL\n",
                [SentencePair("7", "A b", "C d", 3.5)],
            )
            for header in ("", "pair_ID\tA\tB\tscore\tjudgment\n")
        ),
        (read_cnsd, "2012-1||a|b||二||3\n", [SentencePair("2012-1", "a|b", "二", 3.0)]),
        (read_sst2, 'a "b c\t1\n\nd 0\t0\n', SST2_ROWS),
        (read_sst2, '1 a "b c\n\n0 d 0\n', SST2_ROWS),
        (
            read_trec,
            "NUM:dist How far ?\n\nABBR:exp What does x mean ?\nLOC:city Where ?\n",
            [
                Sentence("1", "How far ?", 5),
                Sentence("3", "What does x mean ?", 0),
                Sentence("4", "Where ?", 4),
            ],
        ),
        (read_mrpc, f"\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n{MRPC_ROWS}", MRPC_PAIRS),
        (read_mrpc, f"\ufeff{MRPC_ROWS}", MRPC_PAIRS),
        (
            read_hans_file,
            HANS + HANS_ROW.format("non-entailment") + HANS_ROW.format("entailment"),
            [
                SentencePair(*HANS_PAIR, 0.0, phenomenon=TAG),
                SentencePair(*HANS_PAIR, 1.0, phenomenon=TAG),
            ],
        ),
        (
            iter_nli,
            NLI + 'a\t"b\tentailment\tx\nc\td\tneutral\ty\ne\tf\t-\tz\ng\th\tcontradiction\n',
            [
                SentencePair("2", "a", '"b', 0.0),
                SentencePair("3", "c", "d", 1.0),
                SentencePair("5", "g", "h", 2.0),
            ],
        ),
    ],
)
def test_a_published_format_is_read(read, content, expected, tmp_path):
    assert list(read(write(tmp_path, content))) == expected


# --- sets

STS16 = ("answer-answer", "headlines", "plagiarism", "postediting", "question-question")


def year(inputs, golds):
    kinds = {"input": inputs, "gs": golds}
    folder = "downstream/STS/STS16-en-test"
    return {f"{folder}/STS.{k}.{s}.txt": kinds[k] for s in STS16 for k in kinds}


def test_a_year_is_read_without_the_pairs_that_have_no_score(tmp_path):
    place(tmp_path, year('a "x\tb\tsource\nc\td\ne\tf\n', "4.5\n\n0\n"))
    subsets = read_sts_set(tmp_path, "STS16")
    assert tuple(subsets) == STS16
    assert subsets["headlines"] == [
        SentencePair("headlines-1", 'a "x', "b", 4.5),
        SentencePair("headlines-3", "e", "f", 0.0),
    ]
    # The originals of 2016 have names of their own.
    for path in list(tmp_path.rglob("STS.*")):
        path.rename(path.with_name(path.name.replace("STS.", "STS2016.")))
    assert read_sts_set(tmp_path, "STS16") == subsets


def test_a_subset_that_is_absent_is_an_error_not_a_smaller_mean(tmp_path):
    place(tmp_path, year("a\tb\n", "1\n"))
    (tmp_path / "downstream/STS/STS16-en-test/STS.gs.plagiarism.txt").unlink()
    message = missing(read_sts_set, tmp_path, "STS16")
    assert "looked for STS.gs.plagiarism.txt in" in message


def test_sets_of_one_part_have_one_subset(tmp_path):
    sick = "pair_ID\tA\tB\tscore\tjudgment\n{}\tA\tB\t1\tX\n"
    parts = ("train", "trial", "test_annotated")
    place(
        tmp_path,
        {
            "sts-test.csv": "not this one",
            "STS/STSBenchmark/sts-test.csv": "g\tf\t2012\t0001\t2.6\ta\tb\tlicence\n",
            "cnsd-sts-test.txt": "2012-1||一||二||3\n",
            **{f"SICK_{part}.txt": sick.format(row) for row, part in enumerate(parts)},
        },
    )
    assert read_sts_set(tmp_path, "STSBenchmark") == {"test": [SentencePair("f-1", "a", "b", 2.6)]}
    assert read_sts_set(tmp_path, "SICK-R") == {"test": [SentencePair("2", "A", "B", 1.0)]}
    # As MTEB has it: all three files.
    everything = read_sts_set(tmp_path, "SICK-R-all")["all"]
    assert [pair.id for pair in everything] == ["0", "1", "2"]
    pairs = read_sts_set(tmp_path, "STSBenchmark-zh")["test"]
    assert pairs == [SentencePair("2012-1", "一", "二", 3.0)]


@pytest.mark.parametrize(
    ("name", "positive", "negative"),
    [
        ("MR", "MR/rt-polarity.pos", "MR/rt-polarity.neg"),
        ("CR", "custrev.pos", "custrev.neg"),
        ("SUBJ", "plot.tok.gt9.5000", "quote.tok.gt9.5000"),
        ("MPQA", "mpqa.pos", "mpqa.neg"),
    ],
)
def test_sets_for_ten_folds_are_all_train_and_their_blank_lines_are_noted(
    name, positive, negative, tmp_path, caplog
):
    # In the second file, a line is a no-break space, two bytes of UTF-8.
    place(tmp_path, {positive: "café\n\ngood\n".encode("latin-1"), negative: "bad\n\xa0\n \nsad"})
    splits = read_transfer_set(tmp_path, name)
    assert splits.train == [
        Sentence("pos-1", "café", 1),
        Sentence("pos-3", "good", 1),
        Sentence("neg-1", "bad", 0),
        Sentence("neg-4", "sad", 0),
    ]
    assert splits.dev == splits.test == []
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / file}: skipped {blank} blank lines"
        for file, blank in ((positive, 1), (negative, 2))
    ]


def test_sets_of_classes_have_their_published_parts(tmp_path):
    tree, flat = tmp_path / "tree", tmp_path / "flat"
    for split in ("train", "dev", "test"):
        place(tree, {f"SST/binary/sentiment-{split}": f"{split}\t1\n"})
        place(tree, {f"SST/fine/sentiment-{split}": "x\t4\n"})
        place(flat, {f"stsa.binary.{split}": f"1 {split}\n"})
    for folder in (tree, flat):
        splits = read_transfer_set(folder, "SST2")
        texts = [[row.text for row in part] for part in (splits.train, splits.dev, splits.test)]
        assert texts == [["train"], ["dev"], ["test"]]
    place(flat, {"train_5500.label": "NUM:x a\n", "TREC_10.label": "HUM:ind Who ?\n"})
    splits = read_transfer_set(flat, "TREC")
    assert splits.train == [Sentence("1", "a", 5)] and splits.dev == []
    assert splits.test == [Sentence("1", "Who ?", 3)]


def test_mrpc_is_a_transfer_set_and_a_pair_set(tmp_path):
    files = ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt")
    place(tmp_path, dict.fromkeys(files, MRPC_ROWS))
    pairs = read_pair_set(tmp_path, "MRPC")
    assert pairs.test == pairs.train == MRPC_PAIRS and pairs.dev == []
    labels = [pair.label for pair in read_transfer_set(tmp_path, "MRPC").train]
    assert labels == [1, 0] and all(isinstance(label, int) for label in labels)


def test_hans_is_the_published_one_unless_another_is_named(tmp_path):
    place(tmp_path, {"synthetic_heuristics_evaluation_set.txt": HANS + HANS_ROW.format("x")})
    place(tmp_path, {"hans/heuristics_evaluation_set.txt": HANS + HANS_ROW.format("entailment")})
    assert read_hans(tmp_path) == [SentencePair(*HANS_PAIR, 1.0, phenomenon=TAG)]
    assert "label is 'x'" in error_of(read_hans, tmp_path, "synthetic-hans")


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
    subsets = read_sts_set(real_data(folder), name)
    assert [len(pairs) for pairs in subsets.values()] == counts
    assert all(0 <= p.label <= 5 and p.text_a and p.text_b for s in subsets.values() for p in s)


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


def test_nli_with_commas_is_read_by_the_rules_of_csv(tmp_path):
    """Quotation marks are characters between tabs only."""
    path = write(
        tmp_path,
        'label,premise,hypothesis\nentailment,"In fact, it ""sat"".","It sat, then left."\n',
    )
    (pair,) = iter_nli(path)
    assert pair.texts == ('In fact, it "sat".', "It sat, then left.")
    tabs = write(tmp_path, 'premise\thypothesis\tlabel\n"It sat.\tIt" sat.\tneutral\n', "nli.tsv")
    assert [pair.texts for pair in iter_nli(tabs)] == [('"It sat.', 'It" sat.')]

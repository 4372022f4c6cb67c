"""A folder of toy evaluation sets in the published formats; texts are of the tests' vocabulary."""

from pathlib import Path

from conftest import toy_sentences

HANS_HEADER = (
    "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\t"
    "sentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate"
)


def write_toy_suites(folder: Path) -> Path:
    """Write STSBenchmark (test and dev), MR, MRPC, HANS and NLI pairs; return the folder."""
    texts, others = toy_sentences(60, 1), toy_sentences(60, 2)
    # Every second pair is a paraphrase: (first text, second text, 0 or 1).
    rows = [
        (text, text.replace("the", "a") if i % 2 else other, i % 2)
        for i, (text, other) in enumerate(zip(texts, others, strict=True))
    ]
    scored = [f"news\tx\t2012\t{i}\t{5 * same}\t{a}\t{b}" for i, (a, b, same) in enumerate(rows)]
    for split in ("test", "dev"):
        _lines(folder / f"STS/STSBenchmark/sts-{split}.csv", scored)
    _lines(folder / "MR/rt-polarity.pos", [f"{text} happy" for text in texts[:40]])
    _lines(folder / "MR/rt-polarity.neg", [f"{text} broken" for text in others[:40]])
    header = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    judged = [f"{same}\t1\t2\t{a}\t{b}" for a, b, same in rows]
    _lines(folder / "MRPC/msr_paraphrase_train.txt", header + judged[:40])
    _lines(folder / "MRPC/msr_paraphrase_test.txt", header + judged[40:])
    words = ("contradiction", "entailment")
    nli = [f"{a}\t{b}\t{words[same]}\ttoy" for a, b, same in rows]
    _lines(folder / "nli_pairs.tsv", ["premise\thypothesis\tlabel\tsource", *nli])
    swap = "ln_subject/object_swap"
    hans = [
        "\t".join(
            (label, "", "", "", "", first, second, f"{i}{label}", "lexical_overlap", subcase, "t")
        )
        for i, (x, y) in enumerate([("cat", "dog"), ("baker", "teacher"), ("train", "boat")])
        for first in (f"the {x} sees the {y} .",)
        for label, second, subcase in (
            ("entailment", first, "le_around"),
            ("non-entailment", f"the {y} sees the {x} .", swap),
        )
    ]
    _lines(folder / "heuristics_evaluation_set.txt", [HANS_HEADER, *hans])
    return folder


def _lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

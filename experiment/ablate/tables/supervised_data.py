"""Which labelled pairs make the best positives, and how many does it take? SimCSE, table 4."""

from experiment.ablate.table import LESS, MORE, Expectation, Row, Table

NEGATIVES = ("--hard-negatives", "contradiction")


def _made(label: str, published: float | None, *words: str) -> Row:
    return Row(label, published=published, pretrain="sup", made=words)


def _nli(label: str, published: float | None, *labels: str) -> Row:
    return _made(label, published, "nli", "--positive", *labels)


TABLE = Table(
    name="supervised-data",
    title="What supervised SimCSE is trained on",
    source="Gao et al. 2021, table 4 (whole sets)",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("unsup", published=82.5),
        _made("Quora duplicates", 81.8, "quora"),
        _made("captions", 81.4, "captions"),
        _made("paraphrases", 78.7, "pairs"),
        _nli("entailment", 84.9, "entailment"),
        _nli("neutral", 82.9, "neutral"),
        _nli("contradiction", 77.6, "contradiction"),
        _nli("entailment, neutral", None, "entailment", "neutral"),
        _nli("all three", 81.9, "entailment", "neutral", "contradiction"),
        _nli("entailment + hard negatives", 86.2, "entailment", *NEGATIVES),
        _nli("100 of them", None, "entailment", *NEGATIVES, "--limit", "100"),
        _nli("1,000 of them", None, "entailment", *NEGATIVES, "--limit", "1000"),
        _nli("10,000 of them", None, "entailment", *NEGATIVES, "--limit", "10000"),
        _made("ANLI", None, "anli"),
    ),
    expected=(
        *(
            Expectation(label, LESS, "entailment", "entailment is the best: SimCSE, table 4")
            for label in (
                *("unsup", "Quora duplicates", "captions", "paraphrases", "neutral"),
                *("contradiction", "all three"),
            )
        ),
        Expectation(
            *("entailment", LESS, "entailment + hard negatives"),
            "hard negatives help: SimCSE, table 4",
        ),
        Expectation(
            *("unsup", MORE, "contradiction"),
            "worse than no labels at all: SimCSE, table 4",
        ),
        Expectation("100 of them", LESS, "10,000 of them", "more is better; our own"),
    ),
    reading=(
        "All rows see equally many examples; a small set is read again and again. What is called a "
        "positive is what embeddings become blind to: contradictions as positives teach that a "
        "denied claim means the same. As hard negatives they are what the batch lacks, sentences "
        "with the same words and another meaning."
    ),
    needs=("nli", "quora", "captions", "pairs", "anli"),
)

"""The tables of SimCSE's paper as records: rows, published numbers, what the paper found.

A table is data, which `measuring` and `telling` read: a new one is a record here and an entry of
SIMCSE_TABLES.
"""

from experiment.ablate.table import ALIKE, LESS, MORE, Expectation, Row, Table

# How much dropout makes two views of one sentence? SimCSE, table 3 and figure 2.
DROPOUT_WHY = "the default is the best rate: SimCSE, table 3"
DROPOUT_COLLAPSE = "equal views: alignment is lost in tuning; SimCSE, figure 2"

DROPOUT = Table(
    name="dropout",
    title="Dropout of the encoder in unsupervised SimCSE",
    source="Gao et al. 2021, table 3",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("0", {"dropout": 0.0}, 71.1),
        Row("0.01", {"dropout": 0.01}, 72.6),
        Row("0.05", {"dropout": 0.05}, 81.1),
        Row("0.1", {"dropout": 0.1}, 82.5),
        Row("0.15", {"dropout": 0.15}, 81.4),
        Row("0.2", {"dropout": 0.2}, 80.5),
        Row("0.5", {"dropout": 0.5}, 71.0),
        Row("fixed 0.1", {"dropout": 0.1, "fixed_mask": True}, 43.6),
    ),
    expected=(
        Expectation("0", LESS, "0.1", "without dropout both views are equal: SimCSE, table 3"),
        Expectation("fixed 0.1", LESS, "0.1", "one mask for both views: SimCSE, table 3"),
        Expectation("fixed 0.1", LESS, "0", "worse than no dropout at all: SimCSE, table 3"),
        Expectation("0.01", LESS, "0.1", DROPOUT_WHY),
        Expectation("0.2", LESS, "0.1", DROPOUT_WHY),
        Expectation("0.5", LESS, "0.1", DROPOUT_WHY),
        Expectation("0", MORE, "0.1", DROPOUT_COLLAPSE, of="alignment"),
        Expectation("fixed 0.1", MORE, "0.1", DROPOUT_COLLAPSE, of="alignment"),
    ),
    reading=(
        "Unsupervised SimCSE has no other augmentation than dropout: both views are the same "
        "sentence, read under two masks. With no dropout, or with one mask for both, the positive "
        "pair is equal and its loss is small from the start; all that is left to learn is to push "
        "other sentences away, and pairs that mean the same drift apart with the rest. With much "
        "dropout the views say too little about the sentence."
    ),
    trajectory=True,
    minutes=3.3,
)

# Is another view of a sentence better than dropout alone? SimCSE, table 1.
AUGMENTATIONS_WHY = "no discrete augmentation beats dropout: SimCSE, table 1"


def _augmentations_rows(name: str, positive: str, published: tuple[float, ...]) -> tuple[Row, ...]:
    shares = zip((0.1, 0.2, 0.3), published, strict=True)
    return tuple(
        Row(f"{name} {share:.0%}", {"positive": positive, "positive_share": share}, score)
        for share, score in shares
    )


AUGMENTATIONS_ROWS = (
    Row("none", published=82.5),
    *_augmentations_rows("crop", "crop", (77.8, 71.4, 63.6)),
    *_augmentations_rows("word deletion", "delete", (75.9, 72.2, 68.2)),
    Row("delete one word", {"positive": "delete-one"}, 75.9),
    Row("delete one word, no dropout", {"positive": "delete-one", "dropout": 0.0}, 74.2),
    Row("synonym", {"positive": "synonym"}, 77.4),
    Row("MLM 15%", {"positive": "mlm", "positive_share": 0.15}, 62.2),
    # In the paper's first version only.
    Row("crop 10% + MLM", {"positive": "crop+mlm", "positive_share": 0.1}),
)
AUGMENTATIONS = Table(
    name="augmentations",
    title="Discrete augmentations in unsupervised SimCSE",
    source="Gao et al. 2021, table 1",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=AUGMENTATIONS_ROWS,
    expected=(
        *(
            Expectation(row.label, LESS, "none", AUGMENTATIONS_WHY)
            for row in AUGMENTATIONS_ROWS[1:]
        ),
        Expectation("crop 30%", LESS, "crop 10%", "the more, the worse: SimCSE, table 1"),
        Expectation(
            "word deletion 30%",
            LESS,
            "word deletion 10%",
            "the more, the worse: SimCSE, table 1",
        ),
    ),
    reading=(
        "The second view is the sentence with words cut off, deleted or replaced, and dropout on "
        "top. Whatever is changed, the encoder is told that it does not matter; where a word "
        "matters, that is wrong. Dropout changes no word."
    ),
    minutes=5.8,
)

# Is the next sentence a good positive, and do two encoders help? SimCSE, table 2.
# Name -> the positive, and what is published with one encoder and with two.
NEXT_SENTENCE_OBJECTIVES = {
    "next sentence": ("next", 67.1, 68.9),
    "next 3 sentences": ("next3", 67.4, 68.8),
    "delete one word": ("delete-one", 75.9, 73.1),
    "SimCSE": ("same", 82.5, 80.7),
}
NEXT_SENTENCE_ENCODERS = {"one encoder": "unsup", "two encoders": "dual"}
NEXT_SENTENCE_WHY = "predicting itself is better: SimCSE, table 2"

NEXT_SENTENCE = Table(
    name="next-sentence",
    title="What is the positive, and are there one or two encoders?",
    source="Gao et al. 2021, table 2",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=tuple(
        Row(
            f"{name}, {encoders}",
            {"positive": positive},
            published[tuple(NEXT_SENTENCE_ENCODERS).index(encoders)],
            pretrain,
        )
        for name, (positive, *published) in NEXT_SENTENCE_OBJECTIVES.items()
        for encoders, pretrain in NEXT_SENTENCE_ENCODERS.items()
    ),
    expected=(
        *(
            Expectation(f"{name}, one encoder", LESS, "SimCSE, one encoder", NEXT_SENTENCE_WHY)
            for name in tuple(NEXT_SENTENCE_OBJECTIVES)[:-1]
        ),
        Expectation(
            "SimCSE, two encoders",
            LESS,
            "SimCSE, one encoder",
            "one encoder is better for SimCSE: table 2",
        ),
        Expectation(
            "next sentence, one encoder",
            LESS,
            "next sentence, two encoders",
            "two encoders are better for the next sentence: SimCSE, table 2",
        ),
    ),
    reading=(
        "The next sentence is about the same matter and does not mean the same. With two encoders "
        "one may learn to ask and the other to answer, which suits two different sentences; for "
        "two readings of the same one there is nothing to gain."
    ),
    needs=("documents",),
    trajectory=True,
    minutes=10.5,
)

# Which states become the embedding? SimCSE, table 6.
# [CLS] without an MLP, by SimCSE's name for it.
POOLERS_POOLINGS = ("cls", "cls_before_pooler", "avg", "avg_top2", "avg_first_last")
# Unsupervised models drop the MLP after training, supervised ones keep it; table `mlp` has more.
POOLERS_PUBLISHED = {
    "unsup": {"cls": 82.5, "cls_before_pooler": 80.9, "avg_first_last": 81.2},
    "sup": {"cls": 86.2, "cls_before_pooler": 86.2, "avg_first_last": 86.1},
}
POOLERS_WHY = "supervised, the pooling hardly matters: SimCSE, table 6"

POOLERS = Table(
    name="poolers",
    title="From token states to the embedding",
    source="Gao et al. 2021, table 6",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=tuple(
        Row(
            f"{pretrain} {pooling}",
            published=POOLERS_PUBLISHED[pretrain].get(pooling),
            pretrain=pretrain,
            settings={"pooling": pooling},
        )
        for pretrain in POOLERS_PUBLISHED
        for pooling in POOLERS_POOLINGS
    ),
    expected=(
        Expectation(
            "unsup cls_before_pooler",
            LESS,
            "unsup cls",
            "the MLP in training helps: SimCSE, table 6",
        ),
        Expectation(
            "unsup avg_first_last",
            LESS,
            "unsup cls",
            "[CLS] is better than averages: SimCSE, table 6",
        ),
        Expectation("sup cls_before_pooler", ALIKE, "sup cls", POOLERS_WHY),
        Expectation("sup avg_first_last", ALIKE, "sup cls", POOLERS_WHY),
    ),
    reading=(
        "BERT was pre-trained with [CLS] for another task, so untuned its average is much better. "
        "Contrastive tuning is free to make [CLS] an embedding. An encoder that was already tuned "
        "with an average, as mini was, starts far ahead with that average: what the table then "
        "shows is where each pooling started."
    ),
    minutes=12.1,
)

# An MLP over [CLS]: in training, in test, or not at all? SimCSE, table 6.
# --mlp -> what is published of unsupervised and of supervised SimCSE.
MLP_PUBLISHED = {"always": (81.7, 86.2), "training": (82.5, 85.8), "never": (80.9, 86.2)}
MLP_OBJECTIVES = ("unsup", "sup")
MLP_WHY = "unsupervised, the MLP belongs into training only: SimCSE, table 6"

MLP = Table(
    name="mlp",
    title="The MLP over [CLS]",
    source="Gao et al. 2021, table 6 (w/ MLP, w/ MLP (train), w/o MLP)",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=tuple(
        Row(f"{pretrain} {when}", {"mlp": when}, published[k], pretrain)
        for k, pretrain in enumerate(MLP_OBJECTIVES)
        for when, published in MLP_PUBLISHED.items()
    ),
    expected=(
        Expectation("unsup always", LESS, "unsup training", MLP_WHY),
        Expectation("unsup never", LESS, "unsup training", MLP_WHY),
        Expectation("sup never", ALIKE, "sup always", "hardly matters: SimCSE, table 6"),
        Expectation("sup training", ALIKE, "sup always", "hardly matters: SimCSE, table 6"),
    ),
    reading=(
        "The MLP is drawn at random. It takes up what the contrastive task wants of an embedding "
        "beyond its meaning, and unsupervised models are better without it afterwards."
    ),
    minutes=4.0,
)

# Does contrastive learning need large batches? SimCSE, appendix A, says: not here.
BATCH_SIZE_WHY = "not sensitive to batch size with a rate to match: SimCSE, appendix A"
BATCH_SIZE_CHUNK = 4096  # tokens at a time, by gradient caching: a batch of any size fits


def _batch_size_row(size: int) -> Row:
    # Adam's usual rule: the rate grows with the root of the batch size.
    rate = round((size / 64) ** 0.5, 2)
    return Row(str(size), {"batch_size": size, "chunk_tokens": BATCH_SIZE_CHUNK}, rate=rate)


BATCH_SIZE = Table(
    name="batch-size",
    title="Batch size in unsupervised SimCSE, for the same number of sentences",
    source="Gao et al. 2021, appendix A (a remark on a grid search, no numbers)",
    published_on="bert-base-uncased, STS-B dev",
    rows=tuple(_batch_size_row(size) for size in (32, 64, 128, 256, 512, 1024)),
    expected=tuple(
        Expectation(size, ALIKE, "64", BATCH_SIZE_WHY, within=0.02)
        for size in ("32", "128", "256", "512")
    ),
    reading=(
        "A batch of B sentences gives each anchor B - 1 negatives. All rows see the same number of "
        "sentences, so a batch twice as large takes half as many steps, at a rate larger by the "
        "root of 2. Where few steps are left, too few steps is what is measured and not too many "
        "negatives. Gradient caching makes the largest batch fit; its gradients are the same."
    ),
    longer=4,  # else 1024 would take two steps
    minutes=7.8,
)

# How sharp should the contrastive softmax be? SimCSE, table D.1.
TEMPERATURE_WHY = "0.05 is the best of those tried: SimCSE, table D.1"

TEMPERATURE = Table(
    name="temperature",
    title="Temperature of the contrastive loss in supervised SimCSE",
    source="Gao et al. 2021, table D.1",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("0.001", {"temperature": 0.001}, 84.9, "sup"),
        Row("0.01", {"temperature": 0.01}, 85.4, "sup"),
        Row("0.05", {"temperature": 0.05}, 86.2, "sup"),
        Row("0.1", {"temperature": 0.1}, 82.0, "sup"),
        Row("1", {"temperature": 1.0}, 64.0, "sup"),
        # "N/A" in the paper: dot products, which no temperature divides.
        Row("dot product", {"similarity": "dot"}, 85.9, "sup"),
    ),
    expected=(
        Expectation("0.001", LESS, "0.05", TEMPERATURE_WHY),
        Expectation("0.01", LESS, "0.05", TEMPERATURE_WHY),
        Expectation("0.1", LESS, "0.05", TEMPERATURE_WHY),
        Expectation("1", LESS, "0.05", "hardly any gradient from negatives: SimCSE, table D.1"),
        Expectation("1", LESS, "0.1", "the warmer, the worse: SimCSE, table D.1"),
        Expectation("dot product", LESS, "0.05", "cosines scale better: SimCSE, table D.1"),
    ),
    reading=(
        "Cosines lie between -1 and 1, so at temperature 1 even a perfect positive is only e^2 "
        "times as likely as the worst negative, and the loss cannot become small. A low "
        "temperature looks at the hardest negatives alone, which are sometimes no negatives. A dot "
        "product sets its own scale by the length of the vectors; the cosine that we score with "
        "does not see that length."
    ),
    minutes=2.4,
)

# Do contradictions as hard negatives help, and how much should they weigh? SimCSE, table 7.
HARD_NEGATIVE_WEIGHT_WHY = "the weight hardly matters: SimCSE, table 7"


def _hard_negative_weight_row(label: str, weight: float, published: float | None = None) -> Row:
    return Row(label, {"hard_negative_weight": weight}, published, "sup")


HARD_NEGATIVE_WEIGHT = Table(
    name="hard-negative-weight",
    title="Weight of the own hard negative in supervised SimCSE",
    source="Gao et al. 2021, table 7",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        # The others' hard negatives stay in the batch: table `supervised-data` drops all of them.
        _hard_negative_weight_row("1e-6", 1e-6),
        _hard_negative_weight_row("0.5", 0.5, 86.1),
        _hard_negative_weight_row("1", 1.0, 86.2),
        _hard_negative_weight_row("2", 2.0, 86.2),
        _hard_negative_weight_row("10", 10.0),
        # What a program does that adds alpha itself to the logit, not log(alpha).
        _hard_negative_weight_row("e (logit + 1)", 2.718281828459045),
    ),
    expected=(
        Expectation("0.5", ALIKE, "1", HARD_NEGATIVE_WEIGHT_WHY),
        Expectation("2", ALIKE, "1", HARD_NEGATIVE_WEIGHT_WHY),
        Expectation("1e-6", LESS, "1", "hard negatives help: SimCSE, table 7, N/A"),
    ),
    reading=(
        "Equation 8 weighs the own hard negative by alpha, which is the same as adding log(alpha) "
        "to its logit: 1 changes nothing, and 2 adds 0.69 where cosines divided by 0.05 spread "
        "over 40. SimCSE's program takes the logarithm's place with the number itself, so its "
        "--hard_negative_weight 1 is an alpha of e here, the last row. A weight of nearly nothing "
        "removes the own hard negative, but those of the other examples remain."
    ),
    minutes=4.3,
)

# Does an auxiliary masked-language-model loss help? SimCSE, table D.2.
MLM_WEIGHT_WHY = "a consistent drop in similarity: SimCSE, table D.2"

MLM_WEIGHT = Table(
    name="mlm-weight",
    title="Weight of the auxiliary MLM loss in supervised SimCSE",
    source="Gao et al. 2021, table D.2",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("0", {"mlm_weight": 0.0}, 86.2, "sup"),
        Row("0.01", {"mlm_weight": 0.01}, 85.7, "sup"),
        Row("0.1", {"mlm_weight": 0.1}, 85.7, "sup"),
        Row("1", {"mlm_weight": 1.0}, 85.1, "sup"),
    ),
    expected=tuple(Expectation(row, LESS, "0", MLM_WEIGHT_WHY) for row in ("0.01", "0.1", "1")),
    reading=(
        "Masked words keep the states of single tokens useful. The paper finds that this helps "
        "tasks which train a classifier on the embeddings a little, and costs similarity a little; "
        "only the latter is measured here."
    ),
    minutes=2.2,
)

# Which labelled pairs make the best positives, and how many does it take? SimCSE, table 4.
SUPERVISED_DATA_NEGATIVES = ("--hard-negatives", "contradiction")


def _supervised_data_made(label: str, published: float | None, *words: str) -> Row:
    return Row(label, published=published, pretrain="sup", made=words)


def _supervised_data_nli(label: str, published: float | None, *labels: str) -> Row:
    return _supervised_data_made(label, published, "nli", "--positive", *labels)


SUPERVISED_DATA = Table(
    name="supervised-data",
    title="What supervised SimCSE is trained on",
    source="Gao et al. 2021, table 4 (whole sets)",
    published_on="bert-base-uncased, STS-B dev, Spearman x 100",
    rows=(
        Row("unsup", published=82.5),
        _supervised_data_made("Quora duplicates", 81.8, "quora"),
        _supervised_data_made("captions", 81.4, "captions"),
        _supervised_data_made("paraphrases", 78.7, "pairs"),
        _supervised_data_nli("entailment", 84.9, "entailment"),
        _supervised_data_nli("neutral", 82.9, "neutral"),
        _supervised_data_nli("contradiction", 77.6, "contradiction"),
        _supervised_data_nli("entailment, neutral", None, "entailment", "neutral"),
        _supervised_data_nli("all three", 81.9, "entailment", "neutral", "contradiction"),
        _supervised_data_nli(
            "entailment + hard negatives", 86.2, "entailment", *SUPERVISED_DATA_NEGATIVES
        ),
        _supervised_data_nli(
            "100 of them", None, "entailment", *SUPERVISED_DATA_NEGATIVES, "--limit", "100"
        ),
        _supervised_data_nli(
            "1,000 of them", None, "entailment", *SUPERVISED_DATA_NEGATIVES, "--limit", "1000"
        ),
        _supervised_data_nli(
            "10,000 of them", None, "entailment", *SUPERVISED_DATA_NEGATIVES, "--limit", "10000"
        ),
        _supervised_data_made("ANLI", None, "anli"),
    ),
    expected=(
        *(
            Expectation(label, LESS, "entailment", "entailment is the best: SimCSE, table 4")
            for label in (
                "unsup",
                "Quora duplicates",
                "captions",
                "paraphrases",
                "neutral",
                "contradiction",
                "all three",
            )
        ),
        Expectation(
            "entailment",
            LESS,
            "entailment + hard negatives",
            "hard negatives help: SimCSE, table 4",
        ),
        Expectation(
            "unsup",
            MORE,
            "contradiction",
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
    minutes=7.9,
)

SIMCSE_TABLES = (
    DROPOUT,
    AUGMENTATIONS,
    NEXT_SENTENCE,
    POOLERS,
    MLP,
    BATCH_SIZE,
    TEMPERATURE,
    HARD_NEGATIVE_WEIGHT,
    MLM_WEIGHT,
    SUPERVISED_DATA,
)

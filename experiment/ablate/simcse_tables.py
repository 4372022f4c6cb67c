"""The tables of SimCSE's paper (Gao et al. 2021) as records: rows, published numbers, claims.

A table is data, which `measuring` and `telling` read: a new one is a record here.
"""

from experiment.ablate.table import Row, Table, claims

# --- Unsupervised: what makes two views of one sentence?

BEST = "the default is the best rate: SimCSE, table 3"
COLLAPSE = "equal views: alignment is lost in tuning; SimCSE, figure 2"
DROPOUT = Table(
    name="dropout",
    title="Dropout of the encoder in unsupervised SimCSE",
    source="Gao et al. 2021, table 3",
    rows=(
        Row("0", 71.1, "--simcse-dropout 0"),
        Row("0.01", 72.6, "--simcse-dropout 0.01"),
        Row("0.05", 81.1, "--simcse-dropout 0.05"),
        Row("0.1", 82.5, "--simcse-dropout 0.1"),
        Row("0.15", 81.4, "--simcse-dropout 0.15"),
        Row("0.2", 80.5, "--simcse-dropout 0.2"),
        Row("0.5", 71.0, "--simcse-dropout 0.5"),
        Row("fixed 0.1", 43.6, "--simcse-dropout 0.1 --fixed-mask"),
    ),
    expected=(
        *claims("without dropout both views are equal: SimCSE, table 3", "0 < 0.1"),
        *claims("one mask for both views: SimCSE, table 3", "fixed 0.1 < 0.1"),
        *claims("worse than no dropout at all: SimCSE, table 3", "fixed 0.1 < 0"),
        *claims(BEST, "0.01 < 0.1", "0.2 < 0.1", "0.5 < 0.1"),
        *claims(COLLAPSE, "0 > 0.1", "fixed 0.1 > 0.1", of="alignment"),
    ),
    reading=(
        "Unsupervised SimCSE has no other augmentation than dropout: both views are the same "
        "sentence, read under two masks. With no dropout, or with one mask for both, the positive "
        "pair is equal and its loss is small from the start; all that is left to learn is to push "
        "other sentences away, and pairs that mean the same drift apart with the rest. With much "
        "dropout the views say too little about the sentence."
    ),
    trajectory=True,
)

CHANGED = (
    *("crop 10%", "crop 20%", "crop 30%"),
    *("word deletion 10%", "word deletion 20%", "word deletion 30%"),
    *("delete one word", "delete one word, no dropout", "synonym", "MLM 15%", "crop 10% + MLM"),
)
AUGMENTATIONS = Table(
    name="augmentations",
    title="Discrete augmentations in unsupervised SimCSE",
    source="Gao et al. 2021, table 1",
    rows=(
        Row("none", 82.5),
        Row("crop 10%", 77.8, "--positive crop --positive-share 0.1"),
        Row("crop 20%", 71.4, "--positive crop --positive-share 0.2"),
        Row("crop 30%", 63.6, "--positive crop --positive-share 0.3"),
        Row("word deletion 10%", 75.9, "--positive delete --positive-share 0.1"),
        Row("word deletion 20%", 72.2, "--positive delete --positive-share 0.2"),
        Row("word deletion 30%", 68.2, "--positive delete --positive-share 0.3"),
        Row("delete one word", 75.9, "--positive delete-one"),
        Row("delete one word, no dropout", 74.2, "--positive delete-one --simcse-dropout 0"),
        Row("synonym", 77.4, "--positive synonym"),
        Row("MLM 15%", 62.2, "--positive mlm --positive-share 0.15"),
        # In the paper's first version only.
        Row("crop 10% + MLM", None, "--positive crop+mlm --positive-share 0.1"),
    ),
    expected=(
        *claims(
            "no discrete augmentation beats dropout: SimCSE, table 1",
            *(f"{label} < none" for label in CHANGED),
        ),
        *claims(
            "the more, the worse: SimCSE, table 1",
            "crop 30% < crop 10%",
            "word deletion 30% < word deletion 10%",
        ),
    ),
    reading=(
        "The second view is the sentence with words cut off, deleted or replaced, and dropout on "
        "top. Whatever is changed, the encoder is told that it does not matter; where a word "
        "matters, that is wrong. Dropout changes no word."
    ),
)

NEXT_SENTENCE = Table(
    name="next-sentence",
    title="What is the positive, and are there one or two encoders?",
    source="Gao et al. 2021, table 2",
    rows=(
        Row("next sentence, one encoder", 67.1, "--positive next"),
        Row("next sentence, two encoders", 68.9, "--positive next", "dual"),
        Row("next 3 sentences, one encoder", 67.4, "--positive next3"),
        Row("next 3 sentences, two encoders", 68.8, "--positive next3", "dual"),
        Row("delete one word, one encoder", 75.9, "--positive delete-one"),
        Row("delete one word, two encoders", 73.1, "--positive delete-one", "dual"),
        Row("SimCSE, one encoder", 82.5),
        Row("SimCSE, two encoders", 80.7, "", "dual"),
    ),
    expected=(
        *claims(
            "predicting itself is better: SimCSE, table 2",
            "next sentence, one encoder < SimCSE, one encoder",
            "next 3 sentences, one encoder < SimCSE, one encoder",
            "delete one word, one encoder < SimCSE, one encoder",
        ),
        *claims(
            "one encoder is better for SimCSE: table 2",
            "SimCSE, two encoders < SimCSE, one encoder",
        ),
        *claims(
            "two encoders are better for the next sentence: SimCSE, table 2",
            "next sentence, one encoder < next sentence, two encoders",
        ),
    ),
    reading=(
        "The next sentence is about the same matter and does not mean the same. With two encoders "
        "one may learn to ask and the other to answer, which suits two different sentences; for "
        "two readings of the same one there is nothing to gain."
    ),
    needs=("documents",),
)

# --- From token states to the embedding: table 6.

POOLINGS = {
    "unsup": {
        "cls": 82.5,
        "cls_before_pooler": 80.9,
        "avg": None,
        "avg_top2": None,
        "avg_first_last": 81.2,
    },
    "sup": {
        "cls": 86.2,
        "cls_before_pooler": 86.2,
        "avg": None,
        "avg_top2": None,
        "avg_first_last": 86.1,
    },
}
POOLERS = Table(
    name="poolers",
    title="From token states to the embedding",
    source="Gao et al. 2021, table 6",
    rows=tuple(
        Row(f"{pretrain} {pooling}", published, f"--pooling {pooling}", pretrain)
        for pretrain, scores in POOLINGS.items()
        for pooling, published in scores.items()
    ),
    expected=(
        *claims(
            "the MLP in training helps: SimCSE, table 6",
            "unsup cls_before_pooler < unsup cls",
        ),
        *claims(
            "[CLS] is better than averages: SimCSE, table 6",
            "unsup avg_first_last < unsup cls",
        ),
        *claims(
            "supervised, the pooling hardly matters: SimCSE, table 6",
            "sup cls_before_pooler ~ sup cls",
            "sup avg_first_last ~ sup cls",
        ),
    ),
    reading=(
        "BERT was pre-trained with [CLS] for another task, so untuned its average is much better. "
        "Contrastive tuning is free to make [CLS] an embedding. An encoder that was already tuned "
        "with an average, as mini was, starts far ahead with that average: what the table then "
        "shows is where each pooling started."
    ),
)

MLP = Table(
    name="mlp",
    title="The MLP over [CLS]",
    source="Gao et al. 2021, table 6 (w/ MLP, w/ MLP (train), w/o MLP)",
    rows=(
        Row("unsup always", 81.7, "--mlp always"),
        Row("unsup training", 82.5, "--mlp training"),
        Row("unsup never", 80.9, "--mlp never"),
        Row("sup always", 86.2, "--mlp always", "sup"),
        Row("sup training", 85.8, "--mlp training", "sup"),
        Row("sup never", 86.2, "--mlp never", "sup"),
    ),
    expected=(
        *claims(
            "unsupervised, the MLP belongs into training only: SimCSE, table 6",
            "unsup always < unsup training",
            "unsup never < unsup training",
        ),
        *claims(
            "hardly matters: SimCSE, table 6",
            "sup never ~ sup always",
            "sup training ~ sup always",
        ),
    ),
    reading=(
        "The MLP is drawn at random. It takes up what the contrastive task wants of an embedding "
        "beyond its meaning, and unsupervised models are better without it afterwards."
    ),
)

# --- Supervised: the loss, and the data.

TEMPERATURE = Table(
    name="temperature",
    title="Temperature of the contrastive loss in supervised SimCSE",
    source="Gao et al. 2021, table D.1",
    rows=(
        Row("0.001", 84.9, "--temperature 0.001", "sup"),
        Row("0.01", 85.4, "--temperature 0.01", "sup"),
        Row("0.05", 86.2, "--temperature 0.05", "sup"),
        Row("0.1", 82.0, "--temperature 0.1", "sup"),
        Row("1", 64.0, "--temperature 1", "sup"),
        # "N/A" in the paper: dot products, which no temperature divides.
        Row("dot product", 85.9, "--similarity dot", "sup"),
    ),
    expected=(
        *claims(
            "0.05 is the best of those tried: SimCSE, table D.1",
            "0.001 < 0.05",
            "0.01 < 0.05",
            "0.1 < 0.05",
        ),
        *claims("hardly any gradient from negatives: SimCSE, table D.1", "1 < 0.05"),
        *claims("the warmer, the worse: SimCSE, table D.1", "1 < 0.1"),
        *claims("cosines scale better: SimCSE, table D.1", "dot product < 0.05"),
    ),
    reading=(
        "Cosines lie between -1 and 1, so at temperature 1 even a perfect positive is only e^2 "
        "times as likely as the worst negative, and the loss cannot become small. A low "
        "temperature looks at the hardest negatives alone, which are sometimes no negatives. A dot "
        "product sets its own scale by the length of the vectors; the cosine that we score with "
        "does not see that length."
    ),
)

HARD_NEGATIVE_WEIGHT = Table(
    name="hard-negative-weight",
    title="Weight of the own hard negative in supervised SimCSE",
    source="Gao et al. 2021, table 7",
    rows=(
        # The others' hard negatives stay in the batch: table `supervised-data` drops all of them.
        Row("1e-6", None, "--hard-negative-weight 1e-6", "sup"),
        Row("0.5", 86.1, "--hard-negative-weight 0.5", "sup"),
        Row("1", 86.2, "--hard-negative-weight 1", "sup"),
        Row("2", 86.2, "--hard-negative-weight 2", "sup"),
        Row("10", None, "--hard-negative-weight 10", "sup"),
        # What a program does that adds alpha itself to the logit, not log(alpha).
        Row("e (logit + 1)", None, "--hard-negative-weight 2.718281828459045", "sup"),
    ),
    expected=(
        *claims("the weight hardly matters: SimCSE, table 7", "0.5 ~ 1", "2 ~ 1"),
        *claims("hard negatives help: SimCSE, table 7, N/A", "1e-6 < 1"),
    ),
    reading=(
        "Equation 8 weighs the own hard negative by alpha, which is the same as adding log(alpha) "
        "to its logit: 1 changes nothing, and 2 adds 0.69 where cosines divided by 0.05 spread "
        "over 40. SimCSE's program takes the logarithm's place with the number itself, so its "
        "--hard_negative_weight 1 is an alpha of e here, the last row. A weight of nearly nothing "
        "removes the own hard negative, but those of the other examples remain."
    ),
)

MLM_WEIGHT = Table(
    name="mlm-weight",
    title="Weight of the auxiliary MLM loss in supervised SimCSE",
    source="Gao et al. 2021, table D.2",
    rows=(
        Row("0", 86.2, "--mlm-weight 0", "sup"),
        Row("0.01", 85.7, "--mlm-weight 0.01", "sup"),
        Row("0.1", 85.7, "--mlm-weight 0.1", "sup"),
        Row("1", 85.1, "--mlm-weight 1", "sup"),
    ),
    expected=claims(
        "a consistent drop in similarity: SimCSE, table D.2", "0.01 < 0", "0.1 < 0", "1 < 0"
    ),
    reading=(
        "Masked words keep the states of single tokens useful. The paper finds that this helps "
        "tasks which train a classifier on the embeddings a little, and costs similarity a little; "
        "only the latter is measured here."
    ),
)

NLI = "nli --positive"
TRIPLETS = f"{NLI} entailment --hard-negatives contradiction"
SUPERVISED_DATA = Table(
    name="supervised-data",
    title="What supervised SimCSE is trained on",
    source="Gao et al. 2021, table 4 (whole sets)",
    rows=(
        Row("unsup", 82.5),
        Row("Quora duplicates", 81.8, "", "sup", "quora"),
        Row("captions", 81.4, "", "sup", "captions"),
        Row("paraphrases", 78.7, "", "sup", "pairs"),
        Row("entailment", 84.9, "", "sup", f"{NLI} entailment"),
        Row("neutral", 82.9, "", "sup", f"{NLI} neutral"),
        Row("contradiction", 77.6, "", "sup", f"{NLI} contradiction"),
        Row("entailment, neutral", None, "", "sup", f"{NLI} entailment neutral"),
        Row("all three", 81.9, "", "sup", f"{NLI} entailment neutral contradiction"),
        Row("entailment + hard negatives", 86.2, "", "sup", TRIPLETS),
        Row("100 of them", None, "", "sup", f"{TRIPLETS} --limit 100"),
        Row("1,000 of them", None, "", "sup", f"{TRIPLETS} --limit 1000"),
        Row("10,000 of them", None, "", "sup", f"{TRIPLETS} --limit 10000"),
        Row("ANLI", None, "", "sup", "anli"),
    ),
    expected=(
        *claims(
            "entailment is the best: SimCSE, table 4",
            "unsup < entailment",
            "Quora duplicates < entailment",
            "captions < entailment",
            "paraphrases < entailment",
            "neutral < entailment",
            "contradiction < entailment",
            "all three < entailment",
        ),
        *claims("hard negatives help: SimCSE, table 4", "entailment < entailment + hard negatives"),
        *claims("worse than no labels at all: SimCSE, table 4", "unsup > contradiction"),
        *claims("more is better; our own", "100 of them < 10,000 of them"),
    ),
    reading=(
        "All rows see equally many examples; a small set is read again and again. What is called a "
        "positive is what embeddings become blind to: contradictions as positives teach that a "
        "denied claim means the same. As hard negatives they are what the batch lacks, sentences "
        "with the same words and another meaning."
    ),
    needs=("nli", "quora", "captions", "pairs", "anli"),
)

SIMCSE_TABLES = (
    DROPOUT,
    AUGMENTATIONS,
    NEXT_SENTENCE,
    POOLERS,
    MLP,
    TEMPERATURE,
    HARD_NEGATIVE_WEIGHT,
    MLM_WEIGHT,
    SUPERVISED_DATA,
)

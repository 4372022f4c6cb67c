"""Settings of the contrastive stage, and the published recipes. Loads no torch.

*The paper* is Gao et al. 2021; *the report* had less memory and smaller batches (docs/answer.md).
"""

from dataclasses import dataclass, replace

from runtime.options import option

MOST = 1e12
POSITIVES = ("same", "next", "next3", "crop", "delete", "delete-one", "synonym", "mlm", "crop+mlm")
SHARED = ("crop", "delete", "mlm", "crop+mlm")  # these take a share of the words


@dataclass(frozen=True)
class SimCSEConfig:
    """The settings of one contrastive run; the defaults are common to all recipes."""

    symmetric: bool = option(False, "symmetric loss (NT-Xent), with both views as anchors")
    # Stops early; the schedule ends there too.
    max_steps: int | None = option(
        None,
        "maximum number of contrastive steps, unless epochs are given",
        flag="--simcse-steps",
        least=1,
        most=MOST,
    )
    num_epochs: int = option(1, "contrastive epochs", flag="--simcse-epochs", least=1, most=MOST)
    batch_size: int = option(
        64,
        "examples (not sentences) per contrastive batch; the others are in-batch negatives",
        flag="--simcse-batch-size",
        least=1,
        most=MOST,
    )
    learning_rate: float = option(
        3e-5, "contrastive learning rate", flag="--simcse-lr", least=1e-12, most=MOST
    )
    # At least one piece between [CLS] and [SEP].
    max_length: int = option(
        32,
        "longest sentence in the contrastive stage",
        flag="--simcse-max-length",
        unit="tokens",
        source="SimCSE, section A",
        least=3,
        most=1e6,
    )
    chunk_tokens: int | None = option(
        None,
        "gradient caching: encode at most this many tokens at a time, for batches of any "
        "size; 4096 needs 4 GB with bert-base (default: the whole batch)",
        least=1,
        most=MOST,
    )
    eval_steps: int = option(
        125,
        "steps between checks on the selection pairs; the best checkpoint is kept",
        source="SimCSE's scripts; the paper says 250",
        least=1,
        most=MOST,
    )
    # A setting, so it is part of the tuned folder's name: a curve belongs to one tuning run.
    geometry_steps: int | None = option(
        None,
        "contrastive steps between two points of the curves of alignment and uniformity in "
        "metrics.jsonl, on the pairs that checkpoints are selected by (default: none)",
        source="SimCSE, figure 2, has one every 10 steps",
        least=1,
        most=MOST,
    )
    temperature: float = option(
        0.05,
        "temperature of the contrastive loss",
        source="SimCSE, table D.1",
        least=1e-12,
        most=MOST,
    )
    similarity: str = option(
        "cosine",
        "similarity in the contrastive loss; dot: dot products, without temperature",
        choices=("cosine", "dot"),
        source='SimCSE, table D.1, "N/A"',
    )
    hard_negative_weight: float = option(
        1.0,
        "weight alpha of the anchor's hard negative",
        source="SimCSE, equation 8",
        least=1e-12,
        most=MOST,
    )
    # The tuned checkpoint's config.json keeps the backbone's rates for later tuning.
    dropout: float | None = option(
        None,
        "dropout of the encoder in the contrastive stage, hidden and attention (default: as "
        "in the backbone, 0.1); SimCSE's reproduction in Chinese uses 0.3",
        flag="--simcse-dropout",
        source="SimCSE, table 3, tried 0 to 0.5",
        least=0,
        most=0.9,
    )
    # Drawn once, when the file is read.
    positive: str = option(
        "same",
        "second view of a sentence in unsup and dual: the sentence itself; the next line of its "
        "document, or one of the next three (a blank line ends a document); the sentence with a "
        "share of its words cut off at the ends or deleted anywhere, or with one word deleted; "
        "with a word replaced by a synonym, or tokens by guesses of the MLM head of the backbone",
        choices=POSITIVES,
        source="SimCSE, tables 1 and 2",
    )
    positive_share: float | None = option(
        None,
        "share of words that --positive crop or delete takes away (0.1), of tokens that mlm "
        "replaces (0.15); for crop+mlm, the share of the crop",
        source="SimCSE, table 1, tried 0.1 to 0.3",
        least=0,
        most=0.9,
    )
    # Only for the same sentence twice: texts of different lengths have different masks.
    fixed_mask: bool = option(
        False,
        "one dropout mask for both views of a sentence, which are then equal",
        source='SimCSE, table 3, "fixed 0.1"',
    )
    # Examples of a batch share texts where data repeats itself or has groups, as captions have.
    keep_duplicates: bool = option(
        False,
        "use candidates with the text of the anchor or its positive as negatives, as in "
        "SimCSE (default: left out)",
    )
    mlm_weight: float = option(
        0.0,
        "lambda of the auxiliary masked-language-model loss",
        source="SimCSE, table D.2, tried 0.1",
        least=0,
        most=MOST,
    )
    pooling: str | None = None  # None: chosen by minbert.pooling.choose_pooling
    mlp: str = option(
        "always",
        "the MLP over [CLS]: in training only and then dropped, always, or never",
        choices=("training", "always", "never"),
        source="SimCSE, table 6",
    )
    mlm_probability: float = 0.15
    warmup_ratio: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 42


# (batch size, learning rate, epochs, dev check) are the paper's, section A and the SimCSE scripts.
UNSUP = SimCSEConfig(mlp="training")
SUP_PAPER = SimCSEConfig(batch_size=512, learning_rate=5e-5, num_epochs=3)
# The report had memory for 128 triplets. It skipped the dev check; its authors regret that.
SUP_REPORT = SimCSEConfig(batch_size=128, learning_rate=5e-5, num_epochs=3)
# Less than a minute on two cores, hence small encoders and high rates: ten times bert-base's, and
# for unsupervised views, which a small encoder distinguishes after a few steps, three times.
UNSUP_QUICK = replace(UNSUP, learning_rate=1e-4, warmup_ratio=0.1, max_steps=40, eval_steps=10)
# Triplets improve the encoder to the last step. More dev checks would only take time.
SUP_QUICK = SimCSEConfig(learning_rate=5e-4, warmup_ratio=0.1, max_steps=40, eval_steps=20)
# Learning from a teacher is regression: no dropout, high rates. No paper states these values.
TEACHER = SimCSEConfig(
    mlp="training",
    batch_size=128,
    learning_rate=5e-4,
    num_epochs=3,
    warmup_ratio=0.1,
    max_length=64,
    dropout=0.0,
)
TEACHER_QUICK = replace(TEACHER, max_steps=200, eval_steps=50)

# By preset, then by objective (the names of simcse.objectives.OBJECTIVES).
PRESETS: dict[str, dict[str, SimCSEConfig]] = {
    "quick": {"unsup": UNSUP_QUICK, "sup": SUP_QUICK, "teacher": TEACHER_QUICK},
    "report": {"unsup": UNSUP, "sup": SUP_REPORT, "teacher": TEACHER},
    "paper": {"unsup": UNSUP, "sup": SUP_PAPER, "teacher": TEACHER},
}

"""The sizes of an encoder, read from a Hugging Face `config.json`.

`ARCHITECTURES` holds the differences of RoBERTa and XLM-R from BERT: names and first position.
"""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from runtime.errors import UserError

POOLINGS = ("cls", "cls_before_pooler", "avg", "avg_top2", "avg_first_last")

# What this encoder computes. With other values it would load the weights and compute wrongly.
SUPPORTED: dict[str, tuple[Any, ...]] = {
    "position_embedding_type": ("absolute",),
    # The names of `minbert.activations`.
    "hidden_act": ("gelu", "gelu_python", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "swish"),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
}
# The largest accepted size; no published BERT has a size half as large.
LARGEST = 2**31


class CheckpointError(UserError):
    """A checkpoint cannot be used; the message is one line with the file and the fault."""


@dataclass(frozen=True)
class Architecture:
    """The names in checkpoints of one `model_type`; all of them compute the same as BERT.

    RoBERTa (Liu et al. 2019) changed BERT's training and vocabulary, not its encoder.
    """

    # transformers' classes: this and `Model`, this and `ForMaskedLM`.
    class_name: str
    # The encoder's weights begin with this name where a prediction head is in the same file.
    prefix: str
    # A sequence classifier's two layers on [CLS], see `minbert.classifier`.
    classifier: tuple[str, str]
    # Whether the first position is pad_token_id + 1, after that of padding, instead of 0.
    counts_from_padding: bool = False
    # The parts of the prediction head, and BERT's names for them.
    head: dict[str, str] = field(default_factory=dict)
    # Sizes where config.json has none.
    defaults: dict[str, int] = field(default_factory=dict)


ROBERTA_HEAD = {
    "lm_head.dense.": "cls.predictions.transform.dense.",
    "lm_head.layer_norm.": "cls.predictions.transform.LayerNorm.",
    "lm_head.decoder.": "cls.predictions.decoder.",
    "lm_head.bias": "cls.predictions.bias",
}
ROBERTA_CLASSIFIER = ("classifier.dense.", "classifier.out_proj.")
ARCHITECTURES = {
    "bert": Architecture("Bert", "bert.", ("bert.pooler.dense.", "classifier.")),
    "roberta": Architecture(
        "Roberta",
        "roberta.",
        ROBERTA_CLASSIFIER,
        True,
        ROBERTA_HEAD,
        {"vocab_size": 50265, "pad_token_id": 1},
    ),
    # XLM-R (Conneau et al. 2020): RoBERTa with another vocabulary.
    "xlm-roberta": Architecture(
        "XLMRoberta", "roberta.", ROBERTA_CLASSIFIER, True, ROBERTA_HEAD, {"pad_token_id": 1}
    ),
}


@dataclass(frozen=True)
class BertConfig:
    """Sizes and rates of BERT, with the field names of the published `config.json`.

    The defaults are those of bert-base-uncased (Devlin et al. 2019, section 3).
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    model_type: str = "bert"

    @property
    def architecture(self) -> Architecture:
        return ARCHITECTURES[self.model_type]

    @property
    def first_position(self) -> int:
        """Return the position of a sequence's first token: 0, or in RoBERTa pad_token_id + 1."""
        return self.pad_token_id + 1 if self.architecture.counts_from_padding else 0

    @property
    def num_positions(self) -> int:
        """Return how many tokens a sequence may have: RoBERTa's 514 embeddings place 512."""
        return self.max_position_embeddings - self.first_position

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads

    @classmethod
    def from_dict(cls, raw: dict[str, Any], path: Path) -> "BertConfig":
        """Take the sizes from the content of the file `path`; other fields are ignored.

        Raises:
            CheckpointError: an architecture other than this encoder's, or impossible sizes.
        """
        model = raw.get("model_type", "bert")
        if not isinstance(model, str) or model not in ARCHITECTURES:
            raise CheckpointError(
                f"{path}: model_type is {model!r:.60}; supported are {', '.join(ARCHITECTURES)}"
            )
        raw = {**ARCHITECTURES[model].defaults, **raw}
        # Refuse what this encoder would load but compute wrongly.
        for name, values in SUPPORTED.items():
            if name in raw and raw[name] not in values:
                raise CheckpointError(
                    f"{path}: {name} is {raw[name]!r:.60}; supported: {', '.join(map(str, values))}"
                )
        stated = {field.name: raw[field.name] for field in fields(cls) if field.name in raw}
        for name, value in stated.items():
            _check_value(name, value, getattr(cls, name), path)
        config = cls(**stated)
        if config.pad_token_id >= config.vocab_size:
            raise CheckpointError(
                f"{path}: pad_token_id {config.pad_token_id} is not one of {config.vocab_size} "
                "pieces"
            )
        if config.hidden_size % config.num_attention_heads:
            raise CheckpointError(
                f"{path}: hidden_size {config.hidden_size} is not a multiple of "
                f"num_attention_heads {config.num_attention_heads}"
            )
        if config.num_positions < 1:
            raise CheckpointError(
                f"{path}: max_position_embeddings {config.max_position_embeddings} leaves no "
                f"position; the first one is {config.first_position}"
            )
        return config

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a `config.json` that `transformers` reads as a BertModel."""
        names = [f"{self.architecture.class_name}Model"]
        architecture = {"model_type": self.model_type, "architectures": names}
        return {**architecture, "position_embedding_type": "absolute", **asdict(self)}


def _check_value(name: str, value: Any, default: Any, path: Path) -> None:
    """Refuse a size that is not a positive integer, or a rate that is not a number in bounds."""
    if isinstance(default, str):
        return  # hidden_act was checked by value
    # In Python, True and False are integers too.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    whole = isinstance(default, int)
    least = 1 if whole and name != "pad_token_id" else 0
    # NaN is neither below a number nor above it.
    if not number or (whole and not isinstance(value, int)) or not least <= value <= LARGEST:
        wanted = "an integer" if whole else "a number"
        raise CheckpointError(
            f"{path}: {name} is {value!r:.60}; expected {wanted} of at least {least}"
            + (f" and at most {LARGEST}" if number and value > LARGEST else "")
        )
    if name.endswith("_prob") and value >= 1:
        raise CheckpointError(f"{path}: {name} is {value!r}; expected less than 1")

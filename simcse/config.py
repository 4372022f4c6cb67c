"""Settings of the contrastive stage, and the published recipes. Feeds: everything in simcse."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class SimCSEConfig:
    """One contrastive run; the defaults are those that all recipes share."""

    batch_size: int = 64  # examples, not sentences; the in-batch negatives are the others
    learning_rate: float = 3e-5
    num_epochs: int = 1
    max_steps: int | None = None  # stop early (the schedule ends there too)
    chunk_tokens: int | None = None  # encoded at a time (gradient caching); None: the whole batch
    compile: bool = False  # fuse elementwise work by torch.compile, on a GPU
    max_length: int = 32  # tokens, paper section A
    temperature: float = 0.05  # paper, table D.1
    hard_negative_weight: float = 1.0  # alpha of paper equation (8); its logarithm is added
    symmetric: bool = False  # NT-Xent over 2N views instead of one direction
    pooling: str | None = None  # None: what the backbone states, else "cls" as in the paper
    mlp_only_train: bool = False  # drop the MLP over [CLS] after training (paper, table 8)
    mlm_weight: float = 0.0  # lambda of the auxiliary objective; 0.1 in paper, table D.2
    mlm_probability: float = 0.15
    warmup_ratio: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    eval_steps: int = 125  # SimCSE's scripts; the paper's text says 250
    seed: int = 42


# (batch size, learning rate, epochs, dev check) are the paper's, section A and the SimCSE scripts.
UNSUP = SimCSEConfig(mlp_only_train=True)
SUP_PAPER = SimCSEConfig(batch_size=512, learning_rate=5e-5, num_epochs=3)
# The report had memory for 128 triplets. It skipped the dev check; its authors regret that.
SUP_REPORT = SimCSEConfig(batch_size=128, learning_rate=5e-5, num_epochs=3)


def simcse_config(preset: str, pretrain: str) -> SimCSEConfig:
    """Return the recipe of a preset for `unsup` or `sup`.

    `quick` is for minutes on two cores, and so for small encoders: its rate is ten times what
    suits bert-base.
    """
    paper = {"unsup": UNSUP, "sup": SUP_PAPER}
    report = {"unsup": UNSUP, "sup": SUP_REPORT}
    short = {
        "unsup": replace(UNSUP, max_steps=200, eval_steps=50),
        "sup": replace(SUP_REPORT, batch_size=64, num_epochs=1, max_steps=160, eval_steps=40),
    }
    quick = {
        name: replace(config, learning_rate=3e-4, warmup_ratio=0.1)
        for name, config in short.items()
    }
    return {"paper": paper, "report": report, "quick": quick}[preset][pretrain]

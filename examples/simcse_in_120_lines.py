"""SimCSE, the freeze and a head: python -m examples.simcse_in_120_lines

`simcse/train.py` and `heads/train.py` do the same, with more settings: they keep the best state,
stop and resume, take batches larger than memory, and share them among processes. With the settings
used here their numbers are those of this file (`tests/test_examples.py`).
Legend: B examples, H hidden_size, F features.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from data.examples import SentencePair
from data.locate import data_folder
from data.tasks import TASKS, read_task
from data.triplets import iter_triplets
from evaluation.cosine import sts_metrics
from evaluation.metrics import pearson
from heads.config import HeadConfig
from heads.features import BiFeatures
from heads.heads import Head, build_head
from minbert.encoder import SentenceEncoder
from minbert.model import UNDECAYED
from runtime.training import AdamW, adamw, batch_rows, linear_schedule, set_seed, steps_per_epoch
from simcse.config import SUP_QUICK, SimCSEConfig
from simcse.loss import info_nce
from simcse.objectives import attach_projection
from simcse.views import ContrastiveData, supervised

TRIPLETS, PAIRS = 2560, 1000  # how many of the included data are read


def tune(encoder: SentenceEncoder, data: ContrastiveData, config: SimCSEConfig) -> list[float]:
    """Tune an encoder with supervised SimCSE, in place; return the loss of every step."""
    set_seed(config.seed)
    attach_projection(encoder, config)  # sets the pooling; over [CLS] it adds SimCSE's MLP
    optimizer = adamw([(encoder.model, config.learning_rate)], config.weight_decay, UNDECAYED)
    all_steps = steps_per_epoch(len(data), config.batch_size) * config.num_epochs
    num_steps = min(all_steps, config.max_steps or all_steps)
    schedule = linear_schedule(optimizer, num_steps, config.warmup_ratio)
    losses = []
    encoder.model.train()  # with dropout
    for step in range(num_steps):
        examples = batch_rows(step, len(data), config.batch_size, config.seed)  # (B,)
        # Anchors, positives and hard negatives in one packed batch, longest first.
        rows = data.rows[examples].T.ravel()  # (3B,)
        order = np.argsort(-data.sequences.lengths[rows], kind="stable")
        embeddings = encoder.embed(data.sequences.pack(rows[order]))  # (3B, H)
        views = embeddings[torch.from_numpy(np.argsort(order))].split(len(examples))  # (B, H) each
        # Candidates with the text of the anchor or its positive are no negatives.
        texts = torch.from_numpy(data.texts(examples)).to(embeddings.device)  # (3, B)
        loss = info_nce(views[0], views[1], views[2], config.temperature, texts=texts)
        loss.backward()
        take_step(encoder.model, optimizer, schedule, config.max_grad_norm)
        losses.append(loss.item())
    return losses


def features_of(encoder: SentenceEncoder, pairs: Sequence[SentencePair]) -> Tensor:
    """Return features of pairs, (N, F): [u; v; |u-v|; u*v] of texts that are read once each."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair.texts))
    rows = {text: row for row, text in enumerate(texts)}
    embeddings = torch.from_numpy(encoder.encode(texts))
    index = torch.tensor([[rows[text] for text in pair.texts] for pair in pairs])  # (N, 2)
    return BiFeatures("interaction").combine([embeddings[column] for column in index.T])


def fit_head(features: Tensor, labels: Tensor, config: HeadConfig, hidden_size: int) -> Head:
    """Return a similarity head that has learnt labels (N,) from features (N, F)."""
    set_seed(config.seed)
    head = build_head(TASKS["sts"], "bi", hidden_size, config.features, config.dropout)
    set_seed(config.seed)  # the dropout does not depend on the size of the head
    optimizer = adamw([(head, config.learning_rate)], config.weight_decay)
    num_steps = steps_per_epoch(len(labels), config.batch_size) * config.num_epochs
    schedule = linear_schedule(optimizer, num_steps, config.warmup_ratio)
    head.train()  # with dropout
    for step in range(num_steps):
        rows = batch_rows(step, len(labels), config.batch_size, config.seed)
        head.loss(head(features[rows]), labels[rows]).backward()
        take_step(head, optimizer, schedule, config.max_grad_norm)
    return head.eval()


def take_step(module: nn.Module, optimizer: AdamW, schedule: LambdaLR, most: float) -> None:
    """Change a module by its gradients, cut to a norm of `most`, and clear them."""
    nn.utils.clip_grad_norm_(module.parameters(), most)
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()


def main() -> None:
    """Tune the included encoder, freeze it, train a head, and score both on dev."""
    encoder = SentenceEncoder.from_pretrained("mini", tuning=True)
    pairs = read_task(data_folder("bundled"), "sts")
    train, dev = pairs.train[:PAIRS], pairs.dev
    before = sts_metrics(encoder.encode, dev)["spearman"]

    triplets = iter_triplets(data_folder("bundled") / "nli_for_simcse.csv.xz")
    data = supervised(islice(triplets, TRIPLETS), encoder.tokenizer, SUP_QUICK.max_length)
    losses = tune(encoder, data, SUP_QUICK)
    encoder.freeze()  # from here on nothing changes it
    after = sts_metrics(encoder.encode, dev)["spearman"]
    print(f"SimCSE: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print(f"cosine, Spearman on dev: {before:.3f} -> {after:.3f}")

    labels = torch.tensor([pair.label for pair in train])
    features = features_of(encoder, train)
    head = fit_head(features, labels, HeadConfig(num_epochs=3), encoder.embedding_size)
    with torch.inference_mode():
        scores = head.predict(head(features_of(encoder, dev))).numpy()
    print(f"head, Pearson on dev: {pearson(scores, np.array([pair.label for pair in dev])):.3f}")


if __name__ == "__main__":
    main()

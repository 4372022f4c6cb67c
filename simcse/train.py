"""One training loop for all contrastive objectives; stops and resumes without changing a number.

Legend: B examples, b of them in this process's share, V views, M masked positions, H hidden_size.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from minbert.encoder import SentenceEncoder
from minbert.fast.dropout import set_dropout
from minbert.mlm import BertForMaskedLM, mask_tokens
from minbert.model import UNDECAYED
from runtime.device import RELEASE_STEPS, autocast, keep_memory, release_memory
from runtime.processes import (
    draw_apart,
    is_main,
    join_shares,
    main_decides,
    share,
    sum_gradients,
    sum_over_ranks,
    world_size,
)
from runtime.progress import progress
from runtime.training import (
    adamw,
    batch_rows,
    check_finite,
    host_copy,
    linear_schedule,
    resume_trainer,
    save_trainer,
    set_seed,
    steps_per_epoch,
)
from simcse.config import SimCSEConfig
from simcse.grad_cache import Chunk, backward, cut
from simcse.objectives import Form, Siamese, check_settings
from simcse.views import ContrastiveData

History = list[dict[str, Any]]


class SimCSETrainer:
    """Tunes `encoder` in place.

    Args:
        encoder: its pooling is set by the config.
        data: the training data.
        config: the settings.
        dev_score: called every `eval_steps`; higher is better; the best state is kept.
        state_path: where the resumable state is written at every dev check; None keeps none.
        mlm_source: the checkpoint folder whose prediction head the MLM objective starts from.
        form: how the objective embeds and compares views.
        geometry: called every `config.geometry_steps`; its results go into the history.

    Raises:
        TrainingError: batches with fewer examples than processes; settings that
            `check_settings` or the form refuses.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        data: ContrastiveData,
        config: SimCSEConfig,
        dev_score: Callable[[], float] | None = None,
        state_path: Path | None = None,
        mlm_source: Path | None = None,
        form: Form = Siamese,
        geometry: Callable[[], dict[str, Any]] | None = None,
    ):
        check_settings(encoder.model.config, config)
        # From here on all draws are seeded: the projection's weights first.
        set_seed(config.seed)
        if config.dropout is not None:
            set_dropout(encoder.model, config.dropout)
        self.encoder, self.data, self.config = encoder, data, config
        self.dev_score, self.state_path, self.geometry = dev_score, state_path, geometry
        self.form = form(encoder, config)
        self.form.check(config, data)
        mlm = BertForMaskedLM.around(encoder.model, mlm_source) if config.mlm_weight else None
        # With a fixed mask, one pass through the encoder gives both views.
        self.rows = data.rows[:, :1] if config.fixed_mask else data.rows
        # The parameters of the optimizer; the MLM model contains the encoder.
        self.trained = nn.ModuleDict(dict(self.form.named_children()))
        self.trained["encoder"] = mlm or encoder.model
        self.trained.to(encoder.device)
        # The schedule needs the number of steps in advance.
        self.num_steps = steps_per_epoch(len(data), config.batch_size) * config.num_epochs
        if config.max_steps is not None:
            self.num_steps = min(self.num_steps, config.max_steps)
        # One learning rate for encoder and projection (the paper's).
        self.optimizer = adamw(
            [(self.trained, config.learning_rate)], config.weight_decay, UNDECAYED
        )
        self.schedule = linear_schedule(self.optimizer, self.num_steps, config.warmup_ratio)
        self.step = 0
        self.history: History = []
        self.best_score: float | None = None
        self.best_state: dict[str, Tensor] = {}
        # All processes have equal weights up to here; from now on each draws its dropout.
        draw_apart(config.seed)

    def run(self, resume: bool = False) -> History:
        """Train to the end and leave the best state (or the last, without dev checks) in place.

        `resume` continues from `state_path` if it exists, with the numbers of an uninterrupted run.

        Returns:
            One record per dev check (step, loss, in-batch accuracy, dev score, sentences/s), and
            one per measurement of the geometry.
        """
        if not (resume and resume_trainer(self)):
            if self.dev_score is not None:
                # The score before training: the curve's first point, but not a state to keep.
                self.history.append({"step": 0, "dev_score": self._of_main(self.dev_score)})
            self._measure_geometry()
        window: History = []
        started = time.perf_counter()
        with progress("simcse", self.num_steps, "step") as bar:
            bar.update(self.step)
            # The window holds the steps since the last dev check.
            while self.step < self.num_steps:
                window.append(self._train_step())
                bar.update(1)
                # The previous step's numbers are read while a GPU computes this one: nothing waits.
                if len(window) > 1:
                    _read(window[-2], self.step - 1)
                # Before a check, which saves all records; not counted as training time.
                started += self._measure_geometry()
                if self.step % self.config.eval_steps == 0 or self.step == self.num_steps:
                    self._check(window, time.perf_counter() - started, bar)
                    window, started = [], time.perf_counter()
                best = {} if self.best_score is None else {"dev": f"{self.best_score:.4f}"}
                if len(window) > 1:
                    bar.set_postfix(loss=f"{window[-2]['loss']:.3f}", **best)
        # Without dev checks there is no best state, and the last one stays.
        if self.best_state:
            self.form.kept.load_state_dict(self.best_state)
        self.form.kept.eval()
        return self.history

    def _train_step(self) -> dict[str, Any]:
        """Train on one batch; return its numbers without waiting for them."""
        # Training mode: dropout is on, and so the two views of a sentence differ.
        self.trained.train()
        # Keep all freed memory for the next step; a dev check has set a lower limit.
        keep_memory(-1)
        # Every epoch has its own seeded order.
        config = self.config
        examples = batch_rows(self.step, len(self.data), config.batch_size, config.seed)
        loss, accuracy = self.add_gradients(examples)
        nn.utils.clip_grad_norm_(self.trained.parameters(), config.max_grad_norm)
        self.optimizer.step()
        # Cleared now, so the next forward pass does not hold gradients and activations.
        self.optimizer.zero_grad()
        self.schedule.step()
        self.step += 1
        # Batches differ in size from step to step, and freed pieces rarely fit the next.
        if self.step % RELEASE_STEPS == 0:
            release_memory()
        # Views of unsupervised examples count, too: each is a pass through the encoder.
        num_sentences = len(examples) * self.rows.shape[1]
        return {"loss": loss, "accuracy": accuracy, "sentences": num_sentences}

    def add_gradients(self, examples: np.ndarray) -> tuple[Tensor, Tensor]:
        """Add the gradients of the loss on a batch; return the loss and the in-batch accuracy.

        Apart from the draws of dropout and masks, they do not depend on how the batch is cut into
        chunks or shared by processes.
        """
        local = share(examples)
        # All anchors, then all positives, then all hard negatives: (V * b,).
        rows = self.rows[local].T.ravel()
        num_first = len(local) if self.form.two_encoders else 0
        chunks, order = cut(self.data.sequences, rows, num_first, self.config.chunk_tokens)
        labels, texts = self._labels_and_texts(examples)

        def objective(embeddings: Tensor) -> tuple[Tensor, Tensor]:
            # Encoded longest first; put back into the order of `rows`, one block per view.
            inverse = torch.from_numpy(np.argsort(order)).to(embeddings.device)
            views = embeddings[inverse].unflatten(0, (-1, len(local)))  # (V, b, H)
            # The one pass stands for both views; it gets the sum of their gradients.
            if self.config.fixed_mask:
                views = views.expand(2, -1, -1)
            # The negatives of all processes count, so the loss needs the whole batch's embeddings.
            joint = join_shares(views.transpose(0, 1), len(examples)).unbind(1)  # V times (B, H)
            return self.form.measure(joint, labels, texts)  # in SimCSE: simcse.loss.info_nce

        def embed(chunk: Chunk) -> Tensor:
            return self.form.embed(chunk.batch, chunk.first)  # (n, H)

        # In one piece, or piece by piece with the same gradients (gradient caching).
        loss, accuracy = backward(embed, chunks, objective, not self.config.chunk_tokens)
        # The auxiliary objective adds its gradients to those of the contrastive one.
        model = self.trained["encoder"]
        if isinstance(model, BertForMaskedLM):
            loss = loss + mlm_backward(model, self.encoder, chunks, self.config)
        self._average_head()
        sum_gradients(self.trained.parameters())
        return loss, accuracy

    def _labels_and_texts(self, examples: np.ndarray) -> tuple[Tensor | None, Tensor | None]:
        """Return what the loss reads besides embeddings, for the examples of all processes.

        Labels (B,), or a teacher's embeddings (B, D); numbers of texts (V, B). None: not needed.
        """
        labels = texts = None
        if self.data.labels is not None:
            labels = torch.from_numpy(self.data.labels[examples]).to(self.encoder.device)
        if self.form.in_batch and not self.config.keep_duplicates:
            texts = torch.from_numpy(self.data.texts(examples)).to(self.encoder.device)
        return labels, texts

    def _average_head(self) -> None:
        """Divide the gradients of the modules that compare embeddings by the number of processes.

        Each process has the gradient of the whole loss for them; their sum must equal one of these.
        """
        for parameter in self.form.head.parameters() if self.form.head else ():
            if parameter.grad is not None:
                parameter.grad /= world_size()

    def _check(self, window: History, seconds: float, bar: Any) -> None:
        """Score on dev, keep the best state, record, and save so that a killed run can resume."""
        # The mean over the steps since the last check, which is smoother than one step's loss.
        _read(window[-1], self.step)
        record: dict[str, Any] = {"step": self.step}
        record["loss"] = float(np.mean([entry["loss"] for entry in window]))
        record["accuracy"] = float(np.mean([entry["accuracy"] for entry in window]))
        if self.dev_score is not None:
            bar.set_postfix_str("dev check")
            score = record["dev_score"] = self._of_main(self.dev_score)
            # The earlier of two equal scores is kept: it trained less.
            if self.best_score is None or score > self.best_score:
                self.best_score = score
                self.best_state = host_copy(self.form.kept.state_dict())
        # Excludes the check itself, which is not training.
        record["sentences_per_second"] = sum(e["sentences"] for e in window) / seconds
        self.history.append(record)
        # Everything that later steps or the selection of the best state depend on.
        save_trainer(self, ("step", "history", "best_score", "best_state"))
        release_memory()

    def _of_main(self, measure: Callable[[], Any]) -> Any:
        """Return the first process's measurement; the others wait for it."""
        return main_decides(measure() if is_main() else None)

    def _measure_geometry(self) -> float:
        """Add a point to the curves if it is time for one; return the seconds it took."""
        steps, began = self.config.geometry_steps, time.perf_counter()
        due = steps and (self.step % steps == 0 or self.step == self.num_steps)
        if due and self.geometry is not None:
            self.history.append({"step": self.step, **self._of_main(self.geometry)})
        return time.perf_counter() - began


def mlm_backward(
    model: BertForMaskedLM, encoder: SentenceEncoder, chunks: Sequence[Chunk], config: SimCSEConfig
) -> Tensor:
    """Add the gradients of the weighted mean loss over all M masked positions; return that loss.

    The auxiliary objective (Gao et al. 2021, section 5.1): l + lambda * l_mlm keeps token-level
    knowledge alive. Chunk by chunk, as in `grad_cache`; here no chunk needs the others.
    """
    # The same sentences as in the contrastive loss, now with holes.
    tokenizer = encoder.tokenizer
    vocabulary = tokenizer.special_ids, tokenizer.mask_id, tokenizer.vocab_size
    # Drawn again at every step, as in RoBERTa, not once for the whole training.
    masked = [mask_tokens(chunk.batch, *vocabulary, config.mlm_probability) for chunk in chunks]
    # The mean over all M masked positions, wherever they are: each chunk is weighted by its share.
    counts = torch.stack([(labels != -100).sum() for _, labels in masked])
    parts = counts / sum_over_ranks(counts.sum()).clamp(min=1)  # of M, by chunk
    total = torch.zeros((), device=encoder.device)
    for (batch, labels), part in zip(masked, parts.tolist(), strict=True):
        # A chunk of short sentences may have no masked token at all.
        if part:
            with autocast(encoder.device, encoder.dtype):
                loss = model.loss(batch.to(encoder.device), labels.to(encoder.device))
            # l + lambda l_mlm: the weight enters with the gradient, chunk by chunk.
            loss = loss * (config.mlm_weight * part)
            loss.backward()
            total += loss.detach()
    return sum_over_ranks(total)


def _read(record: dict[str, Any], step: int) -> None:
    """Wait for a step's loss and accuracy, and stop a run that has diverged."""
    record.update({name: record[name].item() for name in ("loss", "accuracy")})
    check_finite(record["loss"], step)

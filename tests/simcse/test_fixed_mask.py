"""One dropout mask for both views: they are equal, and cost one pass."""

import copy

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from tuning import trainer

from baselines.objectives import ALL_OBJECTIVES
from runtime.errors import TrainingError
from runtime.training import random_state, restore_random_state
from simcse.config import SimCSEConfig
from simcse.grad_cache import cut
from simcse.objectives import Siamese, contrastive_loss
from simcse.views import unsupervised

BATCH = np.arange(24)


class Kept(Siamese):
    """SimCSE's form; it keeps what it compared."""

    def measure(self, views, *rest):
        self.views = [view.detach().clone() for view in views]
        return super().measure(views, *rest)


def run_of(encoder, **settings):
    data = unsupervised(toy_sentences(24), encoder.tokenizer, 32)
    run = trainer(encoder, SimCSEConfig(**settings), data, form=Kept)
    run.trained.train()
    return run


@pytest.mark.parametrize(("fixed", "chunk_tokens"), [(True, None), (True, 60), (False, 60)])
def test_both_views_are_equal_to_the_last_bit_under_one_mask_only(
    fixed, chunk_tokens, tiny_encoder
):
    run = run_of(tiny_encoder, fixed_mask=fixed, chunk_tokens=chunk_tokens)
    assert run._train_step()["sentences"] == (24 if fixed else 48)
    first, second = run.form.views
    assert first.shape == (24, 32) and torch.equal(first, second) == fixed
    again = run_of(copy.deepcopy(tiny_encoder), fixed_mask=fixed, chunk_tokens=chunk_tokens)
    again.trained.eval()
    again.add_gradients(BATCH)
    assert not torch.equal(again.form.views[0], first)  # there was dropout


@pytest.mark.parametrize("chunk_tokens", [None, 60])
def test_gradients_are_those_of_two_passes_with_one_random_state(chunk_tokens, tiny_encoder):
    config = {"fixed_mask": True, "pooling": "avg", "chunk_tokens": chunk_tokens}
    config["keep_duplicates"] = True  # the slow form below does
    run = run_of(tiny_encoder, **config)
    torch.manual_seed(3)
    loss, _ = run.add_gradients(BATCH)
    found = [p.grad.clone() for p in run.trained.parameters() if p.grad is not None]
    run.optimizer.zero_grad()
    # As written in the paper: the second view is encoded with the random state of the first. Each
    # chunk is encoded as it was cut, for dropout's numbers are drawn in its order.
    torch.manual_seed(3)
    chunks, _ = cut(run.data.sequences, BATCH, 0, chunk_tokens)
    first, second = [], []
    for chunk in chunks:
        state = random_state()
        first.append(run.form.embed(chunk.batch, False))
        restore_random_state(state)
        second.append(run.form.embed(chunk.batch, False))
    slow = contrastive_loss([torch.cat(first), torch.cat(second)], run.config)
    slow.backward()
    wanted = [p.grad for p in run.trained.parameters() if p.grad is not None]
    assert loss.item() == pytest.approx(slow.item(), rel=1e-5) and len(found) == len(wanted) > 10
    for gradient, expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-6)


def test_where_there_is_no_second_view_of_the_same_text_it_is_refused(tiny_encoder):
    sentences = unsupervised(toy_sentences(24), tiny_encoder.tokenizer, 32)
    for form, data in (("sup", None), ("dual", sentences)):  # triplets; two encoders
        with pytest.raises(TrainingError, match="--fixed-mask requires"):
            form = ALL_OBJECTIVES[form].form
            trainer(tiny_encoder, SimCSEConfig(fixed_mask=True), data, form=form)

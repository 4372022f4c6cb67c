"""Heads by themselves: their layers, their scale, their losses, their recipes."""

import pytest
import torch
from pairings import KINDS, H

from data.tasks import TASKS
from heads.config import NUM_EPOCHS, USUAL_EPOCHS, HeadConfig, head_config
from heads.heads import STSHead
from heads.train import build_head


def test_sts_predictions_never_leave_the_scale():
    logits = torch.tensor([-1e3, 0.0, 1e3])
    assert STSHead(4, 8).predict(logits).tolist() == [0.0, 2.5, 5.0]
    assert STSHead(4, 8, largest=1).predict(logits).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(("largest", "label"), [(5, 3.8), (1, 0.3)])
def test_sts_loss_is_smallest_at_the_label(largest, label):
    head = STSHead(4, 8, largest=largest)
    logits = torch.linspace(-6, 6, 2001)
    losses = torch.stack([head.loss(x[None], torch.tensor([label])) for x in logits])
    assert head.predict(logits[losses.argmin()]).item() == pytest.approx(label, abs=0.01)


@pytest.mark.parametrize(
    ("task", "kind", "hidden_layers"),
    [
        ("sst", "bi", 1),
        ("para", "bi", 2),
        ("sts", "bi", 3),
        ("para", "cross", 1),
        ("sts", "cross", 1),
    ],
)
def test_heads_have_the_reports_number_of_hidden_layers(task, kind, hidden_layers):
    head = build_head(TASKS[task], kind, H, HeadConfig())
    linears = [layer for layer in head.layers if isinstance(layer, torch.nn.Linear)]
    assert len(linears) == hidden_layers + 1
    assert linears[-1].out_features == (5 if task == "sst" else 1)


def test_recipes_know_the_tasks_of_the_report_and_any_other():
    assert NUM_EPOCHS.keys() <= TASKS.keys()
    for task in (*TASKS, "nli"):
        frozen = head_config("paper", "frozen", task)
        assert frozen.num_epochs == NUM_EPOCHS.get(task, USUAL_EPOCHS)
        assert (frozen.learning_rate, frozen.backbone_learning_rate) == (1e-3, 0.0)
        assert head_config("report", "full", task).backbone_learning_rate == 1e-5
        assert head_config("quick", "full", task).num_epochs == 3


@pytest.mark.parametrize(("task", "kind"), KINDS)
def test_what_heads_decide_by_leads_to_what_they_predict(task, kind):
    head = build_head(TASKS[task], kind, H, HeadConfig())
    logits = torch.linspace(-3, 3, 7)
    if TASKS[task].label_kind == "classes":
        logits = torch.stack([logits.roll(shift) for shift in range(5)], dim=1)
    soft = head.soft(logits)
    called = {"classes": lambda: soft.argmax(dim=1), "binary": lambda: soft > 0.5}
    assert torch.equal(called.get(TASKS[task].label_kind, lambda: soft)(), head.predict(logits))
    if TASKS[task].label_kind != "score":
        probabilities = soft if soft.ndim == 2 else torch.stack([soft, 1 - soft], dim=1)
        assert torch.allclose(probabilities.sum(dim=1), torch.ones(7))

"""Heads by themselves: their layers, their scale, their losses, their recipes."""

import pytest
import torch
from pairings import READINGS, H
from torch import nn

from data.tasks import TASKS
from heads.config import NUM_EPOCHS, USUAL_EPOCHS, head_config
from heads.heads import STSHead, build_head


@pytest.mark.parametrize("largest", [5, 1])
def test_similarities_never_leave_the_scale_and_their_loss_is_smallest_at_the_label(largest):
    head, label = STSHead(4, 8, largest=largest), 0.76 * largest
    edges = head.predict(torch.tensor([-1e3, 0.0, 1e3])).tolist()
    assert edges == [0.0, largest / 2, largest]
    logits = torch.linspace(-6, 6, 2001)
    losses = torch.stack([head.loss(x[None], torch.tensor([label])) for x in logits])
    assert head.predict(logits[losses.argmin()]).item() == pytest.approx(label, abs=0.01)


@pytest.mark.parametrize(
    ("task", "reader", "form", "hidden_layers"),
    [
        ("sst", "bi", "interaction", 1),
        ("para", "bi", "concat", 2),
        ("para", "late", "interaction", 2),
        ("sts", "bi", "interaction", 3),
        ("sts", "bi", "cls", 3),  # two embeddings, which no classifier reads
        ("para", "cross", "interaction", 1),
        ("sts", "cross", "concat", 1),
        ("sst", "bi", "cls", 1),
        ("para", "cross", "cls", 1),
        ("sts", "cross", "cls", 1),
    ],
)
def test_heads_have_the_reports_layers_or_those_of_a_classifier(task, reader, form, hidden_layers):
    head = build_head(TASKS[task], reader, H, form, dropout=0.3)
    as_classifier = form == "cls" and (reader == "cross" or task == "sst")
    hidden = [nn.Linear, nn.Tanh if as_classifier else nn.ReLU, nn.Dropout]
    assert [type(layer) for layer in head.layers] == [*hidden_layers * hidden, nn.Linear]
    assert {layer.p for layer in head.layers if isinstance(layer, nn.Dropout)} == {0.3}
    assert head.layers[-1].out_features == (5 if task == "sst" else 1)
    # With the label's scale, a fresh score on [CLS] begins in its middle.
    middle = head.layers[-1].bias.tolist() == [2.5]
    assert middle == (task == "sts" and as_classifier)


def test_recipes_know_the_tasks_of_the_report_and_any_other():
    assert NUM_EPOCHS.keys() <= TASKS.keys()
    for task in (*TASKS, "nli"):
        frozen = head_config("paper", "frozen", task)
        assert frozen.num_epochs == NUM_EPOCHS.get(task, USUAL_EPOCHS)
        assert (frozen.learning_rate, frozen.backbone_learning_rate) == (1e-3, 0.0)
        assert head_config("report", "full", task).backbone_learning_rate == 1e-5
        assert head_config("quick", "full", task).num_epochs == 3


@pytest.mark.parametrize(("task", "reader"), READINGS)
def test_what_heads_decide_by_leads_to_what_they_predict(task, reader):
    label_kind = TASKS[task].label_kind
    head = build_head(TASKS[task], reader, H)
    logits = torch.linspace(-3, 3, 7)
    if label_kind == "classes":
        logits = torch.stack([logits.roll(shift) for shift in range(5)], dim=1)
    soft = head.soft(logits)
    decided = {"classes": lambda: soft.argmax(dim=1), "binary": lambda: soft > 0.5}
    assert torch.equal(decided.get(label_kind, lambda: soft)(), head.predict(logits))
    if label_kind != "score":
        probabilities = soft if soft.ndim == 2 else torch.stack([soft, 1 - soft], dim=1)
        assert torch.allclose(probabilities.sum(dim=1), torch.ones(7))

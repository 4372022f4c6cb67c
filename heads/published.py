"""Published classifiers as heads, and heads as published classifiers.

A head on [CLS] is a classifier in the sense of transformers: BERT's pooler and a linear layer. So
a published cross-encoder can be scored and tuned like any other head, and a head of this form can
be exported to a folder that `CrossEncoder` loads.
"""

import logging
from collections.abc import Sequence

from torch import nn

from data.tasks import Task, says_yes
from heads.heads import Head, STSClassifierHead, reads_cls
from minbert.classifier import BertClassifier
from minbert.encoder import SentenceEncoder

logger = logging.getLogger(__name__)


def fitting_labels(task: Task) -> tuple[int, ...]:
    """Return the possible numbers of labels of a classifier for a task."""
    # One logit is a score, or its sign is the class; two logits are two classes.
    kinds = {"score": (1,), "binary": (1, 2), "ranking": (1, 2), "classes": (task.num_classes,)}
    return kinds[task.label_kind]


def published_classifier(
    encoder: SentenceEncoder, task: Task, reader: str, form: str
) -> BertClassifier | None:
    """Return the checkpoint's classifier if a task's head starts from it, else None."""
    classifier = encoder.classifier
    if classifier is None or not reads_cls(task, reader, form):
        return None
    reads_states = encoder.pooling == "cls_before_pooler" and not len(encoder.steps)
    if reader == "bi" and not reads_states:
        return None  # it was trained on [CLS] itself
    return classifier if classifier.out.out_features in fitting_labels(task) else None


def load_classifier(head: Head, classifier: BertClassifier, words: Sequence[str] = ()) -> None:
    """Copy a classifier into a head of the same form; the head then gives its scores.

    If the classifier's labels have the names of the classes, `words`, they get the order of these.
    """
    dense, out = _two_layers(head)
    last = classifier.out.state_dict()
    if classifier.out.out_features == 2 and out.out_features == 1:
        # softmax([s, t])[1] is sigmoid(t - s): one logit can replace two.
        yes = _positive(classifier.labels)
        last = {name: tensor[[yes]] - tensor[[1 - yes]] for name, tensor in last.items()}
    names = [name.casefold() for name in classifier.labels]
    wanted = [word.casefold() for word in words]
    if len(wanted) == out.out_features and sorted(names) == sorted(wanted):
        order = [names.index(word) for word in wanted]
        last = {name: tensor[order] for name, tensor in last.items()}
    dense.load_state_dict(classifier.dense.state_dict())
    out.load_state_dict(last)
    if isinstance(head, STSClassifierHead):
        head.score_activation = classifier.activation


def _positive(labels: Sequence[str]) -> int:
    """Return which of a classifier's two labels means yes: by their names, else the second."""
    answers = [says_yes(label) for label in labels]
    if True in answers or False in answers:
        return answers.index(True) if True in answers else 1 - answers.index(False)
    logger.warning(
        "the published head's labels are %s; the second is taken for yes",
        " and ".join(labels) or "not named",
    )
    return 1


def to_classifier(head: Head) -> BertClassifier:
    """Return a head of this form as a classifier."""
    dense, out = _two_layers(head)
    # The activation gives the head's scores, or the probability of the positive class; logits of
    # several classes are not changed.
    activation = "Sigmoid" if out.out_features == 1 else "Identity"
    if isinstance(head, STSClassifierHead):
        activation = head.score_activation
    classifier = BertClassifier(dense.in_features, out.out_features, activation)
    classifier.dense.load_state_dict(dense.state_dict())
    classifier.out.load_state_dict(out.state_dict())
    return classifier


def _two_layers(head: Head) -> tuple[nn.Linear, nn.Linear]:
    """Return BERT's pooler and classifier in a head: its layers are dense, tanh, dropout, out."""
    dense, out = head.layers[0], head.layers[-1]
    assert isinstance(dense, nn.Linear) and isinstance(out, nn.Linear)
    return dense, out

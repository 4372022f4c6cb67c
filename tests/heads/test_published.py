"""Published classifiers become heads and heads become published classifiers, with equal scores.

The references are sentence-transformers' CrossEncoder and transformers' sequence classifiers.
"""

import json
import shutil

import numpy as np
import pytest
import torch
from families import checkpoint, transformers
from killable import encoder_of
from pairings import examples, fit
from safetensors.torch import load_file, save_file
from scipy.special import softmax

from data.tasks import TASKS
from heads.config import JointConfig
from heads.features import FEATURES
from heads.heads import build_head
from heads.published import load_classifier, published_classifier, to_classifier
from heads.saved import SavedHead
from minbert.classifier import write_classifier
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder

sentence_transformers = pytest.importorskip("sentence_transformers")

FAMILIES = pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
CUT = 16  # tokens: pairs below are longer, equal and shorter


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return tiny published cross-encoders of each family, by family and number of labels."""
    folder, found = tmp_path_factory.mktemp("published"), {}

    def make(family: str, labels: int):
        if (family, labels) not in found:
            path = folder / f"{family}-{labels}"
            checkpoint(path, family, "AutoModelForSequenceClassification", num_labels=labels)
            state(path / "tokenizer_config.json", model_max_length=CUT)
            found[family, labels] = path
        return found[family, labels]

    return make


def state(path, **values) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def pairs() -> list[tuple[str, str]]:
    """Return pairs that fit, pairs of which one text or both are cut, and empty texts."""
    short = [example.texts for example in examples("sts", 8)]
    long = " ".join(text for texts in short for text in texts)
    return [*short, ("a cat", long), (long, "a cat"), (long, long[5:]), ("", "a cat"), ("", "")]


def opened(folder, task: str, reader: str = "cross") -> SavedHead:
    """Return a published head as the head of a task."""
    encoder = encoder_of(folder).freeze()
    classifier = published_classifier(encoder, TASKS[task], reader, "cls")
    assert classifier is not None
    head = build_head(TASKS[task], reader, 32, "cls")
    load_classifier(head, classifier)
    return SavedHead(encoder, head.eval(), FEATURES[reader]("cls"), TASKS[task], reader)


def theirs(folder, texts) -> np.ndarray:
    return sentence_transformers.CrossEncoder(str(folder), device="cpu").predict(texts)


@FAMILIES
def test_a_published_head_gives_what_cross_encoder_predicts(made, family):
    texts = pairs()
    one, two = made(family, 1), made(family, 2)
    expected = theirs(one, texts)
    assert expected.std() > 0.01  # scores that tell the pairs apart
    for task in "sts", "para":  # by default a single logit's sigmoid
        np.testing.assert_allclose(opened(one, task).soft(texts), expected, atol=1e-5)
    both = torch.from_numpy(theirs(two, texts)).softmax(dim=1)  # logits, as its activation says
    np.testing.assert_allclose(opened(two, "para").soft(texts), both[:, 1], atol=1e-5)


# Where versions of sentence-transformers keep the activation; the last one is foreign code.
ACTIVATIONS = [
    {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
    {"sbert_ce_default_activation_function": "torch.nn.modules.activation.Tanh"},
    {"sentence_transformers": {"activation_fn": "foreign.Code"}},
]


def test_its_own_activation_is_found_where_cross_encoder_finds_it(made, tmp_path):
    texts = pairs()[:8]
    for number, stated in enumerate(ACTIVATIONS):
        folder = shutil.copytree(made("bert", 1), tmp_path / str(number))
        state(folder / "config.json", **stated)
        scores = opened(folder, "sts").predict(texts)
        np.testing.assert_allclose(scores, theirs(folder, texts), atol=1e-5)


def test_a_folder_that_cross_encoder_saved_has_its_activation(made, tmp_path):
    theirs_saved = sentence_transformers.CrossEncoder(
        str(made("bert", 1)), device="cpu", activation_fn=torch.nn.Tanh()
    )
    theirs_saved.save_pretrained(str(tmp_path))
    expected, found = theirs_saved.predict(pairs()), opened(tmp_path, "sts").predict(pairs())
    assert expected.min() < -0.01  # which no sigmoid is
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_classifier_of_single_texts_is_read_too(made):
    folder = made("bert", 5)
    texts = [example.texts[0] for example in examples("sst", 8)]
    head = opened(folder, "sst", "bi")
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        batch = tokens(texts, padding=True, truncation=True, return_tensors="pt")
        expected = model(**batch).logits
    np.testing.assert_allclose(head.logits([(t,) for t in texts]), expected, atol=1e-5)
    assert head.predict(texts).tolist() == expected.argmax(dim=1).tolist()


@FAMILIES
@pytest.mark.parametrize("task", ["para", "sts"])
def test_a_head_written_as_a_classifier_is_a_cross_encoder_and_reads_back(
    made, family, task, tmp_path
):
    """A head of our own on another encoder than the one its classifier was published with."""
    encoder = encoder_of(made(family, 3))
    torch.manual_seed(3)
    head = build_head(TASKS[task], "cross", 32, "cls").eval()
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    ours = SavedHead(encoder.freeze(), head, FEATURES["cross"]("cls"), TASKS[task], "cross")
    write_classifier(tmp_path, encoder.model, to_classifier(head))
    encoder.tokenizer.save(tmp_path, encoder.max_length)
    texts = pairs()
    expected = ours.soft(texts)
    assert expected.std() > 0.01
    np.testing.assert_allclose(theirs(tmp_path, texts), expected, atol=1e-5)
    np.testing.assert_allclose(opened(tmp_path, task).soft(texts), expected, atol=1e-6)
    tokens = transformers.AutoTokenizer.from_pretrained(tmp_path)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        columns = map(list, zip(*texts, strict=True))
        batch = tokens(*columns, padding=True, truncation=True, return_tensors="pt")
        logits = model(**batch).logits[:, 0]
    np.testing.assert_allclose(logits, ours.logits(texts), atol=1e-5)


def test_the_loss_of_a_published_score_is_smallest_at_the_labels(made):
    """Of a sigmoid on its own scale, of another activation where the score is the label."""
    labels = torch.tensor([0.0, 2.0, 5.0])
    head = opened(made("bert", 1), "sts").head
    at = (labels / 5).logit(eps=1e-6)
    assert head.score_activation == "Sigmoid"
    assert head.loss(at, labels) < head.loss(at + 0.5, labels)
    head.score_activation = "Identity"
    assert head.loss(labels, labels) == 0 < head.loss(labels + 0.5, labels)


@pytest.mark.parametrize("joint", [False, True])
def test_a_training_begins_with_the_published_head(made, joint, tmp_path):
    expected = opened(made("bert", 1), "sts")
    rows = examples("sts", 8)
    # For no epoch, unless jointly: as it was published.
    config = {"tune": "joint" if joint else "frozen", "num_epochs": int(joint)}
    config |= {"features": "cls", "learning_rate": 1e-12}
    how = {"joint": JointConfig("sequential") if joint else None}
    fitted = fit(encoder_of(made("bert", 1)), tmp_path, rows, reader="cross", how=how, **config)
    scores = expected.predict([row.texts for row in rows])
    np.testing.assert_allclose(fitted.predictions["dev"], scores, atol=1e-5)


@pytest.mark.parametrize(
    ("labels", "yes", "told"),
    [
        (("duplicate", "not_duplicate"), 0, ""),
        (("not_entailment", "entailment"), 1, ""),
        (("NO", "YES"), 1, ""),
        (("LABEL_0", "LABEL_1"), 1, "labels are LABEL_0 and LABEL_1; the second is taken for yes"),
    ],
)
def test_which_of_two_published_labels_means_yes_is_read_by_its_name(
    made, tmp_path, labels, yes, told, caplog
):
    folder = shutil.copytree(made("bert", 2), tmp_path / "named")
    named = {str(number): label for number, label in enumerate(labels)}
    state(folder / "config.json", id2label=named, label2id={v: k for k, v in named.items()})
    shares = opened(folder, "para").soft(pairs())
    np.testing.assert_allclose(shares, softmax(theirs(folder, pairs()), axis=1)[:, yes], atol=1e-5)
    assert told in caplog.text and bool(told) == ("taken for yes" in caplog.text)


def test_what_is_no_such_head_is_told_in_one_line(made, tmp_path, tiny_encoder):
    three, one = encoder_of(made("bert", 3)), encoder_of(made("bert", 1))
    for encoder, task, form in (
        (three, "sts", "cls"),
        (three, "para", "cls"),
        (tiny_encoder, "sts", "cls"),
        (one, "sts", "interaction"),
    ):
        assert published_classifier(encoder, TASKS[task], "cross", form) is None
    five = encoder_of(made("bert", 5))
    five.pool_by("avg")  # while the classifier was trained on [CLS] itself
    assert published_classifier(five, TASKS["sst"], "bi", "cls") is None
    folder = checkpoint(tmp_path / "x", "bert", "AutoModelForSequenceClassification", num_labels=1)
    weights = load_file(folder / "model.safetensors")
    damaged = {
        "missing": {name: t for name, t in weights.items() if name != "classifier.bias"},
        "shape": weights | {"classifier.weight": torch.zeros(2, 32)},
    }
    for what, tensors in damaged.items():
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(CheckpointError, match=rf"out\.\w+ .*{what}"):
            SentenceEncoder.from_pretrained(str(folder), device="cpu")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    state(folder / "config.json", sentence_transformers={"activation_fn": "torch.nn.Linear"})
    with pytest.raises(CheckpointError, match=r"unknown activation 'torch\.nn\.Linear'"):
        SentenceEncoder.from_pretrained(str(folder), device="cpu")
    state(folder / "config.json", id2label=0)
    state(folder / "config.json", num_labels="many")
    with pytest.raises(CheckpointError, match=r"config\.json: num_labels is 'many'"):
        SentenceEncoder.from_pretrained(str(folder), device="cpu")

"""The other objectives: their examples, their losses against libraries, what training leaves."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import toy_sentences
from sentence_transformers.sentence_transformer.losses import ContrastiveTensionLoss, SoftmaxLoss

from baselines.isbert import (
    FILE,
    MutualInformation,
    jensen_shannon_loss,
    load_tuned,
)
from baselines.objectives import (
    ALL_OBJECTIVES,
    NEGATIVES,
    ContrastiveTension,
    SoftmaxOverPair,
    bags,
    labelled_pairs,
    single,
)
from data.examples import DataError, SentencePair
from data.overlap import Seen, text_hash
from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from runtime.errors import TrainingError
from runtime.progress import progress
from simcse.config import SimCSEConfig
from simcse.objectives import contrastive_loss
from simcse.stage import Backbone, TrainingTexts, tuned_backbone
from simcse.train import SimCSETrainer

OTHERS = ("dual", "ct", "isbert", "sbert")
QUICK = SimCSEConfig(batch_size=8, learning_rate=1e-3, num_epochs=4, eval_steps=5, pooling="avg")
TEXTS = toy_sentences(20, 5)


def nli_pairs(count: int = 60) -> list[SentencePair]:
    """Return pairs with a rule: shortened is entailed, negated contradicts, another is neutral."""
    pairs = []
    texts = zip(toy_sentences(count, 1), toy_sentences(count, 2), strict=True)
    for number, (text, other) in enumerate(texts):
        hypotheses = (text.replace("the", "a"), other, f"not {text}")
        pairs.append(SentencePair(str(number), text, hypotheses[number % 3], float(number % 3)))
    return pairs


def data_of(name, encoder, count=60):
    examples = nli_pairs(count) if name == "sbert" else toy_sentences(count)
    return ALL_OBJECTIVES[name].views(examples, encoder.tokenizer, 32)


def trainer_of(name, encoder, config=QUICK, **more) -> SimCSETrainer:
    form = ALL_OBJECTIVES[name].form
    return SimCSETrainer(encoder, data_of(name, encoder), config, form=form, **more)


def load(folder) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(folder), device="cpu", precision="float32")


# --- examples


def test_labelled_pairs_are_two_views_and_a_class(tiny_encoder):
    data = labelled_pairs(iter(nli_pairs(9)), tiny_encoder.tokenizer, 32)
    assert data.rows.tolist() == [[2 * i, 2 * i + 1] for i in range(9)]
    assert data.labels.tolist() == [0, 1, 2] * 3
    decode = tiny_encoder.tokenizer.backend.decode
    assert decode(data.sequences[1]) == nli_pairs(9)[0].text_b


def test_a_bag_is_a_sentence_with_itself_and_seven_others(tiny_encoder):
    data = bags(iter(toy_sentences(10)), tiny_encoder.tokenizer, 32)
    assert data.rows.shape == (10, 2 + NEGATIVES)
    own = np.arange(10)
    assert np.array_equal(data.rows[:, 0], own) and np.array_equal(data.rows[:, 1], own)
    others = data.rows[:, 2:]
    assert not (others == own[:, None]).any() and set(others.ravel()) == set(own.tolist())
    again = bags(iter(toy_sentences(10)), tiny_encoder.tokenizer, 32)
    assert np.array_equal(data.rows, again.rows)
    with pytest.raises(DataError, match="give a file with more"):
        bags(["the cat"], tiny_encoder.tokenizer, 32)


def test_sentences_are_noted_on_the_way_to_token_ids(tiny_encoder):
    seen, texts = Seen(), toy_sentences(5)
    data = single(texts, tiny_encoder.tokenizer, 32, seen)
    assert all(text_hash(text) in seen.texts for text in texts) and len(data.sequences) == 5


# --- losses


class Given(torch.nn.Module):
    """A model, to sentence-transformers, whose embeddings are given."""

    device = torch.device("cpu")

    def forward(self, features):
        return {"sentence_embedding": features["vectors"]}


def test_sberts_loss_is_that_of_sentence_transformers(tiny_encoder):
    form = SoftmaxOverPair(tiny_encoder, QUICK)
    library = SoftmaxLoss(Given(), 32, num_labels=3)
    library.classifier.load_state_dict(form.classifier.state_dict())
    u, v = torch.randn(2, 6, 32)
    labels = torch.tensor([2, 1, 0, 0, 1, 2])
    loss, accuracy = form.measure([u, v], labels)
    torch.testing.assert_close(loss, library([{"vectors": u}, {"vectors": v}], labels))
    calls = form.classifier(torch.cat([u, v, (u - v).abs()], dim=1)).argmax(dim=1)
    assert accuracy.item() == pytest.approx((calls == labels).float().mean().item())


def test_cts_loss_is_that_of_sentence_transformers(tiny_encoder):
    form = ContrastiveTension(tiny_encoder, QUICK)
    views = list(torch.randn(9, 4, 5))
    # There a batch is a list of pairs: each anchor beside every slot of its bag.
    anchors = views[0].repeat_interleave(8, dim=0)
    others = torch.stack(views[1:], dim=1).flatten(0, 1)
    labels = torch.tensor([1, *[0] * 7] * 4)
    expected = ContrastiveTensionLoss(Given())([{"vectors": anchors}, {"vectors": others}], labels)
    loss, accuracy = form.measure(views, None)
    torch.testing.assert_close(loss, expected)
    right = ((anchors * others).sum(dim=1) > 0) == labels.bool()
    assert accuracy.item() == pytest.approx(right.float().mean().item())


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def slow_information(features, lengths):
    """Return the loss of IS-BERT by loops over tokens and sentences, from ragged features."""
    sentences = [f[:n].mean(dim=0) for f, n in zip(features, lengths, strict=True)]
    positives, negatives, right = [], [], 0
    for own, (tokens, length) in enumerate(zip(features, lengths, strict=True)):
        for token in tokens[:length]:
            scores = [float(token @ sentence) for sentence in sentences]
            positives.append(softplus(-scores[own]))
            negatives += [softplus(s) for other, s in enumerate(scores) if other != own]
            right += scores.index(max(scores)) == own
    loss = sum(positives) / len(positives) + sum(negatives) / max(1, len(negatives))
    return loss, right / len(positives)


@pytest.mark.parametrize("lengths", [[5, 2, 3, 1], [3]])
def test_isberts_loss_is_the_estimator_token_by_token(lengths):
    features = torch.randn(len(lengths), max(lengths), 6)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    expected, right = slow_information(features, lengths)
    loss, accuracy = jensen_shannon_loss(features * real[..., None], real)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert accuracy.item() == pytest.approx(right)


def test_isberts_embeddings_carry_every_token_to_its_loss(tiny_encoder):
    """From texts: convolutions over each sentence by itself, padded to one shape."""
    form = MutualInformation(tiny_encoder, QUICK).eval()
    tiny_encoder.model.eval()
    batch = tiny_encoder.tokenize(["the cat sees a dog .", "a boat", "the old lamp"]).pack(range(3))
    embeddings = form.embed(batch, False)
    assert embeddings.shape == (3, QUICK.max_length, 33)
    states = tiny_encoder.model.packed(batch).last_hidden_state
    features = []
    for alone in states.split(batch.lengths):
        columns = [F(alone.T[None])[0].T.relu() for F in form.features.convolutions]
        features.append(torch.cat(columns, dim=1))
    expected, _ = slow_information([f.detach() for f in features], batch.lengths)
    assert form.measure([embeddings], None)[0].item() == pytest.approx(expected, rel=1e-5)
    means = torch.stack([f.mean(dim=0) for f in features])
    torch.testing.assert_close(form.tuned_encoder.embed(batch), means)


# --- training


@pytest.mark.parametrize("name", OTHERS)
def test_training_lowers_the_loss_and_leaves_an_ordinary_checkpoint(
    name, tiny_encoder, tiny_checkpoint, tmp_path
):
    texts = TrainingTexts("toy", data_of(name, tiny_encoder), {})
    backbone, config = Backbone(tiny_checkpoint, tiny_encoder), replace(QUICK, num_epochs=6)
    folder = tuned_backbone(ALL_OBJECTIVES[name], backbone, texts, config, tmp_path)
    notes = json.loads((folder / "training.json").read_text())
    first, *_, last = notes["history"]
    assert last["loss"] < 0.9 * first["loss"] and last["accuracy"] > first["accuracy"]
    assert notes["pretrain"] == name
    # Only losses over a batch have a number of negatives that follows from its size.
    assert notes["negatives_per_anchor"] == (7 if name == "dual" else None)
    encoder = load(folder)
    assert encoder.pooling == encoder.stated_pooling == "avg"
    assert not np.allclose(encoder.encode(TEXTS), tiny_encoder.encode(TEXTS))


def test_isbert_scores_and_keeps_what_embeds_by_its_convolutions(
    tiny_encoder, tiny_checkpoint, tmp_path
):
    scored = []

    def dev_score(encoder):
        scored.append(encoder.encode(TEXTS))
        return -float(len(scored))  # the first check after training began is the best

    texts = TrainingTexts("toy", data_of("isbert", tiny_encoder), {})
    backbone = Backbone(tiny_checkpoint, tiny_encoder)
    folder = tuned_backbone(
        ALL_OBJECTIVES["isbert"], backbone, texts, QUICK, tmp_path, dev_score=dev_score
    )
    encoder = load_tuned(folder, "cpu", "float32")
    assert encoder.encode(TEXTS) == pytest.approx(scored[1], abs=1e-6)
    assert not np.allclose(scored[1], scored[-1])
    assert not np.allclose(load(folder).encode(TEXTS), scored[1])
    plain = load_tuned(folder, "cpu", "float32", "avg")
    assert plain.encode(TEXTS) == pytest.approx(load(folder).encode(TEXTS), abs=1e-6)
    assert encoder.fingerprint() != load(folder).fingerprint()
    (folder / FILE).unlink()
    with pytest.raises(CheckpointError, match=FILE):
        load_tuned(folder)


def test_each_view_is_embedded_by_its_own_encoder(tiny_encoder):
    run = trainer_of("dual", tiny_encoder)
    run.trained.eval()
    pairs = zip(run.form.first_model.parameters(), tiny_encoder.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs) and run.form.tuned_encoder is tiny_encoder
    with torch.no_grad():
        run.form.first_model.embeddings.LayerNorm.weight.mul_(3)
        batch = tiny_encoder.tokenize(TEXTS).pack(range(20))
        first, second = run.form.embed(batch, True), run.form.embed(batch, False)
        torch.testing.assert_close(second, tiny_encoder.embed(batch))
        torch.testing.assert_close(first, run.form.first_encoder.embed(batch))
        expected = contrastive_loss([first[:8], second[:8]], QUICK)
        run.data = replace(run.data, sequences=tiny_encoder.tokenize(TEXTS))
    loss, _ = run.add_gradients(np.arange(8))
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("name", ["ct", "isbert", "sbert"])
def test_chunks_have_the_gradients_of_the_whole_batch(name, tiny_checkpoint):
    found = []
    for chunk_tokens in (None, 40):
        run = trainer_of(name, load(tiny_checkpoint), replace(QUICK, chunk_tokens=chunk_tokens))
        run.trained.eval()
        loss, accuracy = run.add_gradients(np.arange(12))
        named = {key: p.grad for key, p in run.trained.named_parameters() if p.grad is not None}
        found.append((loss, accuracy, named))
    (loss, accuracy, whole), (cut_loss, cut_accuracy, cut) = found
    torch.testing.assert_close(cut_loss, loss)
    assert cut_accuracy == accuracy and cut.keys() == whole.keys()
    for key, gradient in whole.items():
        scale = gradient.abs().max().item()
        torch.testing.assert_close(cut[key], gradient, rtol=1e-4, atol=1e-5 * max(1, scale))


def test_what_a_form_trains_besides_the_encoder_is_resumed_too(tiny_checkpoint, tmp_path):
    name = "isbert"
    config = replace(QUICK, num_epochs=1, eval_steps=2)
    whole = load(tiny_checkpoint)
    expected = trainer_of(name, whole, config).run()
    path = tmp_path / "state.pt"
    stopped = trainer_of(name, load(tiny_checkpoint), config, state_path=path)
    for _ in range(4):
        window = [stopped._train_step()]
    stopped._check(window, 1.0, progress("simcse", 1, "step"))
    resumed = load(tiny_checkpoint)
    history = trainer_of(name, resumed, config, state_path=path).run(resume=True)
    assert [r["loss"] for r in history[1:]] == [r["loss"] for r in expected[2:]]
    pairs = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_settings_that_leave_nothing_to_learn_are_refused(tiny_encoder):
    for name in ("ct", "isbert", "sbert"):
        with pytest.raises(TrainingError, match="--symmetric"):
            trainer_of(name, tiny_encoder, replace(QUICK, symmetric=True))
    one = replace(QUICK, batch_size=1)
    with pytest.raises(TrainingError, match="without negatives"):
        trainer_of("dual", tiny_encoder, one)
    with pytest.raises(TrainingError, match="without other sentence"):
        trainer_of("isbert", tiny_encoder, one)
    trainer_of("sbert", tiny_encoder, one)  # a pair has its label
    trainer_of("ct", tiny_encoder, one)  # a bag has its negatives

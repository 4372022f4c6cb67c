"""MTEB runs on the encoder for real, where it is installed."""

import json
import sys

import pytest
from texts import toy_pairs

from evaluation.suites.sts import sts_metrics
from minbert import interop
from runtime.errors import UserError

HINT = "mteb is not installed: pip install -r tests/interop/requirements.txt"


def test_an_absent_library_is_named_with_the_command(tiny_encoder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb.models", None)
    with pytest.raises(UserError, match=r'as_mteb: .*; pip install "mteb') as caught:
        interop.as_mteb(tiny_encoder)
    assert "\n" not in str(caught.value)


def sts_task(pairs):
    """Return a task of MTEB that holds these pairs, without a network."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    class LocalSTS(AbsTaskSTS):
        metadata = TaskMetadata(
            name="LocalSTS",
            description="Pairs of this test.",
            type="STS",
            dataset={"path": "local", "revision": "1"},
            eval_langs=["eng-Latn"],
            main_score="cosine_spearman",
        )

        def load_data(self, **keywords):
            columns = {"sentence1": "text_a", "sentence2": "text_b", "score": "label"}
            rows = {name: [getattr(p, key) for p in pairs] for name, key in columns.items()}
            self.dataset = DatasetDict(test=Dataset.from_dict(rows))
            self.data_loaded = True

    return LocalSTS()


def mteb_scores(encoder, pairs, **keywords):
    import mteb

    model = interop.as_mteb(encoder)
    result = mteb.evaluate(
        model, sts_task(pairs), cache=None, show_progress_bar=False, co2_tracker=False, **keywords
    )
    assert (result.model_name, result.model_revision) == ("local/minbert", encoder.fingerprint())
    return result.task_results[0].scores["test"][0]


@pytest.mark.interop
@pytest.mark.parametrize("keywords", [{}, {"encode_kwargs": {"batch_size": 3}}], ids=str)
def test_mteb_and_we_agree_on_toy_pairs(keywords, tiny_encoder):
    pytest.importorskip("mteb", reason=HINT)
    pairs = toy_pairs(60)
    scores = mteb_scores(tiny_encoder, pairs, **keywords)
    expected = sts_metrics(tiny_encoder.encode_quietly, pairs)
    for name in ("pearson", "spearman"):
        assert scores[f"cosine_{name}"] == pytest.approx(expected[name], abs=1e-4)
        assert scores[name] == pytest.approx(expected[name], abs=1e-4)


@pytest.mark.interop
def test_mteb_is_refused_bits_and_names_without_an_organization(tiny_encoder):
    pytest.importorskip("mteb", reason=HINT)
    with pytest.raises(UserError, match="packed bits"):
        mteb_scores(tiny_encoder, toy_pairs(9), encode_kwargs={"precision": "binary"})
    with pytest.raises(UserError, match="organization/model"):
        interop.as_mteb(tiny_encoder, "mine")


def test_notes_of_a_checkpoint_and_of_the_one_below_it_are_training_datasets(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    notes = {
        first: {"trained_on": "/d/wiki1m.txt.xz", "backbone": str(tmp_path)},
        second: {"trained_on": "/d/nli.csv", "selected_by": "/d/cs224n", "backbone": str(first)},
    }
    for folder, content in notes.items():
        folder.mkdir()
        (folder / "training.json").write_text(json.dumps(content))
    assert interop.training_datasets(second) == {"nli", "cs224n", "wiki1m"}
    assert interop.training_datasets(tmp_path) is None


@pytest.mark.interop
def test_mteb_is_told_what_a_checkpoint_was_trained_on(tiny_encoder, tmp_path):
    pytest.importorskip("mteb", reason=HINT)
    (tmp_path / "training.json").write_text('{"trained_on": "/d/nli.csv", "backbone": "/gone"}')
    model = interop.as_mteb(tiny_encoder, folder=tmp_path)
    assert model.mteb_model_meta.training_datasets == {"nli"}
    assert interop.as_mteb(tiny_encoder).mteb_model_meta.training_datasets is None

"""MTEB reads an exported folder through sentence-transformers, where it is installed."""

import pytest
from conftest import toy_sentences
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from minbert.encoder import SentenceEncoder


@pytest.mark.interop
def test_mteb_scores_an_exported_folder_as_we_do(tiny_checkpoint, tmp_path):
    mteb = pytest.importorskip("mteb", reason="mteb is not installed: pip install 'mteb>=2.20,<3'")
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    firsts, seconds = toy_sentences(60, 1), toy_sentences(60, 2)
    labels = [row % 6 for row in range(60)]

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
            columns = {"sentence1": firsts, "sentence2": seconds, "score": labels}
            self.dataset = DatasetDict(test=Dataset.from_dict(columns))
            self.data_loaded = True

    encoder = SentenceEncoder.from_pretrained(str(tiny_checkpoint), "avg", device="cpu")
    encoder.save(tmp_path / "exported")
    model = SentenceTransformer(str(tmp_path / "exported"), device="cpu")
    result = mteb.evaluate(
        model, LocalSTS(), cache=None, show_progress_bar=False, co2_tracker=False
    )
    cosines = (
        encoder.encode(firsts, normalize_embeddings=True)
        * encoder.encode(seconds, normalize_embeddings=True)
    ).sum(axis=1)
    found = result.task_results[0].scores["test"][0]["cosine_spearman"]
    assert found == pytest.approx(spearmanr(cosines, labels).statistic, abs=1e-4)

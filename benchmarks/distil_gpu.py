"""mini-sts on a GPU: python distil_gpu.py pilot|main --lots DIR ... --out DIR.

Sentences come as numbers of words (benchmarks/lots.py), the teacher with rounded weights. The
model, its packed batches, the loss of a distillation and that of supervised SimCSE are the
project's; here are the loop, whose rate falls with the clock, and batches put together on the GPU.

Legend: n texts of the pool, W words of all sentences, P pieces of all words, B texts of a batch,
T tokens of a batch, H the student's hidden_size, D the teacher's.
"""

import argparse
import copy
import csv
import json
import lzma
import time
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr
from torch import Tensor, nn

from minbert.checkpoint import write_tensors
from minbert.config import BertConfig
from minbert.fast.attention import SelfAttention
from minbert.fast.switch import accelerate
from minbert.model import BertModel
from minbert.packing import PackedBatch
from minbert.tokenizer import BertTokenizer
from simcse.loss import DIRECTION_WEIGHT, distillation_loss, info_nce

BEGAN = time.perf_counter()
ON = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LONGEST = 126  # pieces of a text, without [CLS] and [SEP]
LOG: list[dict[str, Any]] = []


def say(**what: Any) -> None:
    """Print a line of JSON with the clock, and keep it."""
    LOG.append({"t": round(time.perf_counter() - BEGAN, 1), **what})
    print(json.dumps(LOG[-1]), flush=True)


# --- attention on a GPU ---------------------------------------------------------------------------


def attend_flash(q: Tensor, k: Tensor, v: Tensor, batch: PackedBatch) -> Tensor:
    """Return attention by PyTorch's variable-length kernel, (T, N, D) in 16 bits."""
    borders = batch.cu_seqlens.int()
    longest = max(batch.lengths)
    q, k, v = (x.contiguous() for x in (q, k, v))
    return torch.ops.aten._flash_attention_forward(
        q, k, v, borders, borders, longest, longest, 0.0, False, False
    )[0]


def attend_padded(q: Tensor, k: Tensor, v: Tensor, batch: PackedBatch) -> Tensor:
    """Return attention through padding: in any precision, on any device."""
    longest = max(batch.lengths)
    counts = batch.cu_seqlens.diff()
    places = torch.arange(longest, device=q.device)
    real = places < counts[:, None]  # (B, longest)
    where = (batch.cu_seqlens[:-1, None] + places).clamp(max=len(q) - 1)  # (B, longest)
    q, k, v = (x[where].transpose(1, 2) for x in (q, k, v))  # (B, N, longest, D)
    context = F.scaled_dot_product_attention(q, k, v, attn_mask=real[:, None, None])
    back = torch.repeat_interleave(
        torch.arange(len(counts), device=q.device), counts, output_size=len(batch.position_ids)
    )
    return context.transpose(1, 2)[back, batch.position_ids]


FLASH = False


def attend(self: SelfAttention, q: Tensor, k: Tensor, v: Tensor, batch: PackedBatch) -> Tensor:
    """Stand in for `SelfAttention.attend`."""
    if FLASH and q.dtype in (torch.bfloat16, torch.float16):
        return attend_flash(q, k, v, batch)
    return attend_padded(q, k, v, batch)


def use_attention() -> None:
    """Put `attend` into the project's layers; use the kernel if it computes what padding does."""
    global FLASH
    SelfAttention.attend = attend  # type: ignore[method-assign]
    if ON.type != "cuda":
        return
    try:
        torch.manual_seed(0)
        lengths = [3, 17, 5, 40, 2]
        borders = torch.tensor([0, *np.cumsum(lengths)], device=ON)
        places = torch.cat([torch.arange(n, device=ON) for n in lengths])
        batch = PackedBatch(places, places, places, borders, (2, 40))
        for size in (64, 32):
            x = torch.randn(3, sum(lengths), 4, size, device=ON, dtype=torch.bfloat16)
            results = []
            for form in (attend_flash, attend_padded):
                leaf = x.clone().requires_grad_()
                out = form(*leaf, batch)
                (out.float() ** 2).sum().backward()
                results.append((out.detach().float(), leaf.grad.float()))
            for a, b in zip(*results, strict=True):
                assert (a - b).abs().max() < 0.1, (a - b).abs().max().item()
        FLASH = True
    except Exception as error:
        say(flash=f"not used: {type(error).__name__}: {error}"[:300])
    say(flash=FLASH)


# --- sentences ------------------------------------------------------------------------------------


def read_numbers(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the words' numbers (W,) and how many each sentence has; 0 in the file ends one.

    Seven bits a byte, the higher ones first; a byte below 128 ends a number.
    """
    codes = np.frombuffer(lzma.decompress(path.read_bytes()), np.uint8)
    ends = np.flatnonzero(codes < 128)
    numbers = codes[ends].astype(np.int32)
    sizes = np.diff(ends, prepend=-1)
    for back, shift in ((1, 7), (2, 14)):
        has = sizes > back
        numbers[has] |= (codes[ends[has] - back].astype(np.int32) & 127) << shift
    stops = np.flatnonzero(numbers == 0)
    lengths = np.diff(stops, prepend=-1) - 1
    return np.delete(numbers, stops) - 1, lengths


@dataclass
class Pool:
    """Texts as spans of one row of words, and their targets."""

    words: list[str]
    stream: np.ndarray  # (W,) numbers of words
    starts: np.ndarray  # (n,)
    counts: np.ndarray  # (n,)
    kinds: np.ndarray  # (n,) 0 short, 1 long, 2 span, 3 word
    targets: Tensor | None = None  # (n, D) float16

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, row: int) -> str:
        start = self.starts[row]
        return " ".join(self.words[i] for i in self.stream[start : start + self.counts[row]])


def read_pool(lots: list[Path], spans: float, most_words: int, limit: int | None) -> Pool:
    """Read all sentences; add spans of them, and frequent words."""
    words = lzma.decompress((lots[0] / "words.txt.xz").read_bytes()).decode().split("\n")
    about = json.loads((lots[0] / "about.json").read_text())
    streams, lengths = zip(
        *(read_numbers(p) for lot in lots for p in sorted(lot.glob("ids*.xz"))), strict=True
    )
    stream, counts = np.concatenate(streams), np.concatenate(lengths)
    if limit:
        counts = counts[:limit]
        stream = stream[: counts.sum()]
    starts = np.cumsum(counts) - counts
    kinds = (np.arange(len(counts)) >= about["short"]).astype(np.int8)
    draw = np.random.default_rng(1)
    # Spans of two to twelve words from sentences that are longer.
    chosen = np.flatnonzero((counts > 6) & (draw.random(len(counts)) < spans))
    size = draw.integers(2, 13, len(chosen)).clip(max=counts[chosen] - 1)
    begin = starts[chosen] + (draw.random(len(chosen)) * (counts[chosen] - size + 1)).astype(int)
    # The words stand in the order of their frequency, the commonest first.
    single = np.arange(min(most_words, len(words)), dtype=np.int32)
    ones = np.ones(len(single), np.int64)
    pool = Pool(
        words,
        np.concatenate([stream, single]).astype(np.int32),
        np.concatenate([starts, begin, len(stream) + single]),
        np.concatenate([counts, size, ones]).astype(np.int64),
        np.concatenate([kinds, 2 * np.ones(len(chosen), np.int8), 3 * ones.astype(np.int8)]),
    )
    say(pool=len(pool), kinds=np.bincount(pool.kinds).tolist(), words=len(stream))
    return pool


class Pieces:
    """The pool in the pieces of one tokenizer, on the GPU."""

    def __init__(self, pool: Pool, tokenizer: BertTokenizer):
        self.cls_id, self.sep_id = tokenizer.cls_id, tokenizer.sep_id
        encoded = tokenizer.backend.encode_batch(pool.words, add_special_tokens=False)
        each = [e.ids for e in encoded]
        sizes = np.array([len(ids) for ids in each])
        flat = np.fromiter((i for ids in each for i in ids), np.int32)
        first = np.cumsum(sizes) - sizes
        # Words (W,) to pieces (P,), by a gather on the GPU.
        of_word = torch.from_numpy(sizes).to(ON)[torch.from_numpy(pool.stream).to(ON).long()]
        borders = np.concatenate([[0], np.cumsum(sizes[pool.stream])])
        begin = torch.from_numpy(first).to(ON)[torch.from_numpy(pool.stream).to(ON).long()]
        shift = begin - torch.from_numpy(borders[:-1]).to(ON)
        place = torch.repeat_interleave(shift, of_word, output_size=int(borders[-1]))
        place += torch.arange(len(place), device=ON)
        self.ids = torch.from_numpy(flat).to(ON)[place]  # (P,) int32
        self.starts = borders[pool.starts]  # (n,)
        self.lengths = (borders[pool.starts + pool.counts] - self.starts).clip(max=LONGEST)

    def batch(self, rows: np.ndarray) -> PackedBatch:
        """Pack texts of the pool, with [CLS] and [SEP]."""
        lengths = self.lengths[rows] + 2
        borders = np.concatenate([[0], np.cumsum(lengths)])
        host = np.stack([borders[:-1], self.starts[rows], lengths])  # (3, B)
        on = torch.from_numpy(host)
        if ON.type == "cuda":
            on = on.pin_memory().to(ON, non_blocking=True)
        each = torch.repeat_interleave(
            torch.arange(len(rows), device=ON), on[2], output_size=int(borders[-1])
        )
        places = torch.arange(len(each), device=ON) - on[0][each]  # (T,)
        where = (on[1][each] + places - 1).clamp(0, len(self.ids) - 1)
        ids = self.ids[where].long()
        ids = torch.where(places == 0, self.cls_id, ids)
        ids = torch.where(places == on[2][each] - 1, self.sep_id, ids)
        cu = torch.cat([on[0], on.new_full((1,), int(borders[-1]))])
        # Only the shortest and the longest are read.
        return PackedBatch(
            ids, torch.zeros_like(ids), places, cu, (int(lengths.min()), int(lengths.max()))
        )


def mean_of_tokens(states: Tensor, batch: PackedBatch) -> Tensor:
    """Average (T, H) over the tokens of each text: (B, H) float32."""
    counts = batch.cu_seqlens.diff()
    each = torch.repeat_interleave(
        torch.arange(len(counts), device=states.device), counts, output_size=len(states)
    )
    sums = states.new_zeros(len(counts), states.shape[1], dtype=torch.float32)
    return sums.index_add(0, each, states.float()) / counts[:, None]


def pack_texts(tokenizer: BertTokenizer, texts: list[str]) -> PackedBatch:
    """Pack texts that are no part of the pool."""
    sequences = tokenizer(texts, max_length=LONGEST + 2)
    return sequences.pack(np.arange(len(texts))).to(ON)


# --- the teacher ----------------------------------------------------------------------------------


def read_teacher(lot: Path) -> BertModel:
    """Return the teacher: numbers of 16 bits in two planes, rows times their step."""
    about = json.loads((lot / "teacher.json").read_text())
    low, high = (
        np.frombuffer(zlib.decompress((lot / f"teacher-{name}.z").read_bytes()), np.int8)
        for name in ("low", "high")
    )
    whole = low.astype(np.int16) + (high.astype(np.int16) << 8)
    floats = np.load(lot / "teacher-floats.npy")
    config = lot / "teacher-config.json"
    model = BertModel(BertConfig.from_dict(json.loads(config.read_text()), config), True)
    state = {}
    at = on = 0
    for name, shape in about["tensors"]:
        size = int(np.prod(shape))
        if len(shape) == 2:
            steps = floats[on : on + shape[0]]
            on += shape[0]
            value = whole[at : at + size].reshape(shape).astype(np.float32) * steps[:, None]
            at += size
        else:
            value = floats[on : on + size].copy()
            on += size
        state[name] = torch.from_numpy(value)
    model.load_state_dict(state)
    return accelerate(model).eval()


@torch.no_grad()
def embed_pool(model: BertModel, pieces: Pieces, tokens: int) -> Tensor:
    """Return the teacher's embeddings of the pool, (n, D) float16 of length 1."""
    size = model.config.hidden_size
    order = np.argsort(-pieces.lengths, kind="stable")
    result = torch.empty(len(order), size, dtype=torch.float16, device=ON)
    ends = np.cumsum(pieces.lengths[order] + 2)
    cuts = np.searchsorted(ends, np.arange(tokens, ends[-1], tokens))
    for rows in np.split(order, np.unique(cuts)):
        if len(rows):
            batch = pieces.batch(rows)
            states = model.packed(batch).last_hidden_state
            embedding = F.normalize(mean_of_tokens(states, batch), dim=1)
            result[torch.from_numpy(rows).to(ON)] = embedding.half()
    return result


def teach(pool: Pool, lot: Path, tokens: int) -> None:
    """Embed the pool by the teacher; check a few against float32 of its own weights."""
    began = time.perf_counter()
    model = read_teacher(lot).to(ON)
    if ON.type == "cuda":
        model = model.half()
    tokenizer = BertTokenizer.from_vocab(lot / "teacher-vocab.txt")
    reference = np.load(lot / "reference.npz")
    texts = [str(text) for text in reference["texts"]]
    with torch.no_grad():
        batch = pack_texts(tokenizer, texts)
        mine = F.normalize(mean_of_tokens(model.packed(batch).last_hidden_state, batch), dim=1)
    cosines = (mine.cpu().numpy() * reference["embeddings"].astype(np.float32)).sum(1)
    say(teacher_cosine=float(cosines.mean()), least=float(cosines.min()))
    assert cosines.mean() > 0.9995, "the teacher is not what it should be"
    pieces = Pieces(pool, tokenizer)
    pool.targets = embed_pool(model, pieces, tokens)
    if ON.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    say(teacher_seconds=round(seconds, 1), a_second=round(len(pool) / seconds))


# --- the student ----------------------------------------------------------------------------------


@dataclass
class Student:
    """A model, its tokenizer, and the pool in its pieces."""

    model: BertModel
    tokenizer: BertTokenizer
    pieces: Pieces


PIECES: dict[bool, Pieces] = {}  # of the small and the large vocabulary


def first_student(pool: Pool, folder: Path, lot: Path, layers: int, wide: bool) -> Student:
    """Return mini-sts, or it with more layers and the larger vocabulary."""
    model = BertModel.from_pretrained(folder)
    tokenizer = BertTokenizer.from_pretrained(folder)
    config = model.config
    if wide or layers > config.num_hidden_layers:
        old = tokenizer
        if wide:
            tokenizer = BertTokenizer.from_vocab(lot / "vocab-wide.txt")
        more = replace(config, num_hidden_layers=layers, vocab_size=tokenizer.vocab_size)
        state = model.state_dict()
        # Further layers begin as copies of the last one ...
        last = config.num_hidden_layers - 1
        for number in range(config.num_hidden_layers, layers):
            for name in list(state):
                if name.startswith(f"encoder.layer.{last}."):
                    new = name.replace(f"layer.{last}.", f"layer.{number}.")
                    state[new] = state[name].clone()
        # ... and new pieces as the mean of their old pieces.
        names = tokenizer.backend.get_vocab()
        fresh = sorted((i, piece) for piece, i in names.items() if i >= config.vocab_size)
        word = state["embeddings.word_embeddings.weight"]
        means = [
            word[e.ids].mean(0)
            for e in old.backend.encode_batch([p for _, p in fresh], add_special_tokens=False)
        ]
        if means:
            state["embeddings.word_embeddings.weight"] = torch.cat([word, torch.stack(means)])
        model = BertModel(more, "pooler.dense.weight" in state)
        model.load_state_dict(state)
    model = accelerate(model).to(ON)
    set_dropout(model)
    if wide not in PIECES:
        PIECES[wide] = Pieces(pool, tokenizer)
    return Student(model, tokenizer, PIECES[wide])


def set_dropout(model: nn.Module) -> None:
    """Switch dropout off."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def embed(model: BertModel, batch: PackedBatch, fast: bool) -> Tensor:
    """Return embeddings (B, H) in float32; products in bfloat16 if fast."""
    with torch.autocast(ON.type, torch.bfloat16, enabled=fast and ON.type == "cuda"):
        states = model.packed(batch).last_hidden_state
    return mean_of_tokens(states, batch)


class Dev:
    """STS-Benchmark's dev file and SICK's trial file."""

    def __init__(self, path: Path):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        self.names = [row[0] for row in rows]
        self.gold = np.array([float(row[1]) for row in rows])
        self.texts = [row[2] for row in rows] + [row[3] for row in rows]
        self.packed: dict[int, PackedBatch] = {}  # by the size of a vocabulary

    @torch.no_grad()
    def scores(self, student: Student, fast: bool = True) -> dict[str, float]:
        """Return both Spearman correlations and their mean."""
        key = student.tokenizer.vocab_size
        if key not in self.packed:
            self.packed[key] = pack_texts(student.tokenizer, self.texts)
        vectors = F.normalize(embed(student.model, self.packed[key], fast), dim=1)
        cosines = (vectors[: len(self.gold)] * vectors[len(self.gold) :]).sum(1).cpu().numpy()
        found = {}
        for name in ("stsb_dev", "sick_trial"):
            rows = np.array([n == name for n in self.names])
            found[name] = round(float(spearmanr(cosines[rows], self.gold[rows])[0]), 4)
        return found | {"dev": round(float(np.mean(list(found.values()))), 4)}


@dataclass(frozen=True)
class Settings:
    """Of a distillation."""

    seconds: float
    batch: int = 4096
    rate: float = 2e-3
    tau: float = 0.05
    pull: float = 0.0  # weight of squared differences of cosines
    direction: float = DIRECTION_WEIGHT
    near: int = 8  # neighbouring texts that stay together
    short: int = 2  # times that a short sentence stands in an epoch
    spans: float = 0.5  # share of the spans that an epoch has
    decay: float = 0.01
    steps: int = 10**9


def loss_of(made: Tensor, mapped: Tensor, targets: Tensor, s: Settings) -> tuple[Tensor, Tensor]:
    """Return `distillation_loss` and the share of right neighbours, without copies of (B, B - 1).

    With `pull`, also the squared differences of cosines, weighted as the teacher's neighbours are.
    """
    direction = 1 - F.cosine_similarity(mapped, targets)
    made, targets = F.normalize(made, dim=1), F.normalize(targets, dim=1)
    mine, theirs = made @ made.T, targets @ targets.T  # (B, B)
    itself = torch.eye(len(made), dtype=torch.bool, device=made.device)
    student = (mine / s.tau).masked_fill(itself, -1e4)
    teacher = (theirs / s.tau).masked_fill(itself, -1e4)
    log_p, log_q = teacher.log_softmax(1), student.log_softmax(1)
    p = log_p.exp()
    divergence = (p * (log_p - log_q)).sum(1)
    same = (student.detach().argmax(1) == teacher.argmax(1)).float().mean()
    loss = (s.direction * direction + divergence).mean()
    if s.pull:
        squares = (mine - theirs).square().masked_fill(itself, 0.0)
        # Half on neighbours, half on all: what is far must be as far as it is for the teacher.
        loss = loss + s.pull * ((p * squares).sum(1).mean() + squares.mean())
    return loss, same


def batches(pool: Pool, s: Settings, seed: int):
    """Yield rows of the pool without end, epoch by epoch."""
    draw = np.random.default_rng(seed)
    kinds = pool.kinds
    full = np.flatnonzero((kinds == 1) | (kinds == 3))
    short, spans = np.flatnonzero(kinds == 0), np.flatnonzero(kinds == 2)
    while True:
        blocks = []
        few = spans
        if s.spans < 1 and len(spans):
            # A piece of the spans, another one in every epoch.
            size = int(len(spans) * s.spans)
            begin = draw.integers(0, len(spans) - size + 1)
            few = spans[begin : begin + size]
        for rows in [full, few] + [short] * s.short:
            rows = rows[draw.integers(0, s.near) :]
            rows = rows[: len(rows) // s.near * s.near]
            blocks.append(rows.reshape(-1, s.near))
        rows = draw.permutation(np.concatenate(blocks)).ravel()
        for start in range(0, len(rows) - s.batch + 1, s.batch):
            yield rows[start : start + s.batch]
        if len(rows) < s.batch:
            yield rows


def fit_map(student: Student, pool: Pool, width: int) -> nn.Linear:
    """Return the least-squares map from the student's embeddings to the teacher's."""
    layer = nn.Linear(student.model.config.hidden_size, width).to(ON)
    rows = np.random.default_rng(0).permutation(len(pool))[:20000]
    with torch.no_grad():
        x = torch.cat(
            [
                embed(student.model, student.pieces.batch(r), True)
                for r in np.split(rows, range(4096, len(rows), 4096))
            ]
        )
        assert pool.targets is not None
        y = pool.targets[torch.from_numpy(rows).to(ON)].float()
        x = F.normalize(x, dim=1)
        # Embeddings are scaled to length 1 here, so the bias would be too large beside them.
        gram = x.T @ x + 1e-3 * len(x) / x.shape[1] * torch.eye(x.shape[1], device=ON)
        layer.weight.copy_(torch.linalg.solve(gram, x.T @ y).T)
        layer.bias.zero_()
    return layer


def distil(student: Student, pool: Pool, dev: Dev, s: Settings, name: str, seed: int) -> None:
    """Train the student in place until its time is over; the rate falls with the clock."""
    assert pool.targets is not None
    model = student.model.train()
    mapping = fit_map(student, pool, pool.targets.shape[1])
    decayed = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": s.decay},
        {"params": [*plain, *mapping.parameters()], "weight_decay": 0.0},
    ]
    every = [p for group in groups for p in group["params"]]
    optimizer = torch.optim.AdamW(groups, lr=0.0, fused=ON.type == "cuda")
    say(run=name, settings=vars(s), start=dev.scores(student))
    stream = batches(pool, s, seed)
    began = time.perf_counter()
    step = seen = 0
    sums = torch.zeros(2, device=ON)
    counted = 0
    marks = [s.seconds * part for part in (0.25, 0.5, 0.75)]
    while True:
        spent = (time.perf_counter() - began) / s.seconds
        spent = max(spent, step / s.steps)
        if spent >= 1:
            break
        rate = s.rate * min(spent / 0.04 + 1e-3, (1 - spent) / 0.96)
        for group in optimizer.param_groups:
            group["lr"] = rate
        rows = next(stream)
        made = embed(model, student.pieces.batch(rows), True)
        targets = pool.targets[torch.from_numpy(rows).to(ON)].float()
        loss, same = loss_of(made, mapping(made), targets, s)
        loss.backward()
        nn.utils.clip_grad_norm_(every, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        sums += torch.stack([loss.detach(), same])
        counted += 1
        step += 1
        seen += len(rows)
        if step % 10 == 0 and ON.type == "cuda":
            torch.cuda.synchronize()  # the clock must be that of the GPU
        if marks and time.perf_counter() - began > marks[0]:
            marks.pop(0)
            report(student, dev, name, step, seen, began, sums / counted, rate)
            sums.zero_()
            counted = 0
    report(student, dev, name, step, seen, began, sums / max(counted, 1), 0.0)


def report(
    student: Student,
    dev: Dev,
    name: str,
    step: int,
    seen: int,
    began: float,
    means: Tensor,
    rate: float,
) -> None:
    """Say how far a run is."""
    loss, same = means.tolist()
    if not np.isfinite(loss):
        raise FloatingPointError(f"{name}: the loss is {loss}")
    seconds = time.perf_counter() - began
    student.model.eval()
    say(
        run=name,
        step=step,
        sentences=seen,
        a_second=round(seen / seconds),
        loss=round(loss, 4),
        accuracy=round(same, 4),
        rate=rate,
        **dev.scores(student),
    )
    student.model.train()


def contrast(student: Student, dev: Dev, lot: Path, rates: list[float], name: str) -> dict:
    """Tune by supervised SimCSE on NLI triplets at several rates; keep the best state."""
    with lzma.open(lot / "nli.csv.xz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    texts = [list(column) for column in zip(*rows, strict=True)]
    sides = [student.tokenizer(column, max_length=32) for column in texts]
    model = student.model
    first = copy.deepcopy(model.state_dict())
    best = dev.scores(student, fast=False) | {"rate": 0.0, "step": 0, "batch": 0}
    best_state = first
    say(run=name, contrast="start", **best)
    for size in (128, 512):
        for rate in rates:
            model.load_state_dict(first)
            model.train()
            optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
            steps = len(rows) // size
            if not steps:
                continue
            order = np.random.default_rng(42).permutation(len(rows))
            for step in range(steps):
                part = min(step / max(1, steps // 10) + 1e-2, 1 - step / steps, 1.0)
                for group in optimizer.param_groups:
                    group["lr"] = rate * part
                chosen = order[step * size : (step + 1) * size]
                views = [embed(model, side.pack(chosen).to(ON), True) for side in sides]
                info_nce(*views, temperature=0.05).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                if (step + 1) % max(1, steps // 4) == 0 or step + 1 == steps:
                    model.eval()
                    now = dev.scores(student, fast=False)
                    model.train()
                    now |= {"rate": rate, "step": step + 1, "batch": size}
                    if now["dev"] > best["dev"]:
                        best, best_state = now, copy.deepcopy(model.state_dict())
            say(run=name, contrast=rate, batch=size, last=now["dev"], best=best)
    model.load_state_dict(best_state)
    model.eval()
    return best


def save(student: Student, out: Path, name: str) -> None:
    """Write the weights in float16, and the log so far."""
    state = {key: value.half() for key, value in student.model.state_dict().items()}
    write_tensors(state, out / f"{name}.safetensors")
    (out / "log.json").write_text(json.dumps(LOG, indent=1))
    say(saved=name)


# --- the runs -------------------------------------------------------------------------------------

PILOTS: list[tuple[str, dict[str, Any]]] = [
    ("batch", {"batch": 4096, "rate": 2e-3}),
    ("batch", {"batch": 2048, "rate": 1e-3}),
    ("batch", {"batch": 8192, "rate": 3e-3}),
    ("rate", {"rate": 4e-3}),
    ("pull", {"pull": 10.0}),
    ("near", {"near": 1}),
    ("tau", {"tau": 0.03}),
]


def pilot(pool: Pool, dev: Dev, options: argparse.Namespace) -> dict[str, Any]:
    """Run short trials of mini-sts, one change after another; return the best settings."""
    chosen: dict[str, Any] = {}
    best = -1.0
    for number, (what, change) in enumerate(PILOTS):
        if time.perf_counter() - BEGAN > options.until:
            break
        # A batch comes with its rate; what comes after them is added to the best so far.
        settings = change if what == "batch" else chosen | change
        student = first_student(pool, options.mini, options.lots[0], 4, wide=False)
        name = f"pilot-{number}"
        try:
            distil(student, pool, dev, Settings(options.seconds, **settings), name, number)
            score = dev.scores(student, fast=False)["dev"]
        except (FloatingPointError, RuntimeError) as error:
            say(run=name, failed=str(error)[:300])
            continue
        # Less than this is noise between two trials.
        if score > best + (0.0 if what == "batch" else 0.0005):
            best, chosen = score, dict(settings)
        say(run=name, what=what, settings=settings, score=score, best=best, chosen=chosen)
    return chosen


def long_runs(pool: Pool, dev: Dev, options: argparse.Namespace, chosen: dict[str, Any]) -> None:
    """Train the variants that are asked for, each followed by the contrastive stage."""
    for number, plan in enumerate(options.plan.split(",")):
        name, seconds = plan.split(":")
        layers, wide = int(name[0]), "w" in name
        if name.endswith("m"):  # more of a student that an earlier call has left
            student = first_student(pool, options.mini, options.lots[0], layers, wide)
            student.model.load_state_dict(torch.load(options.keep / f"{name[:-1]}.pt"))
            student.model.to(ON)
        else:
            student = first_student(pool, options.mini, options.lots[0], layers, wide)
        left = options.until - (time.perf_counter() - BEGAN) - 8
        s = Settings(max(1.0, min(float(seconds), left)), **chosen)
        distil(student, pool, dev, s, name, 100 + number)
        torch.save(student.model.state_dict(), options.keep / f"{name.removesuffix('m')}.pt")
        save(student, options.out, f"{name}-distilled")
        try:
            best = contrast(student, dev, options.lots[0], options.rates, name)
            save(student, options.out, f"{name}-tuned")
            say(run=name, final=best)
        except RuntimeError as error:
            say(run=name, failed=str(error)[:300])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["pilot", "main"])
    parser.add_argument("--lots", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", type=Path, default=Path("/tmp/gpu57"))
    parser.add_argument("--mini", type=Path, default=Path("minbert/mini_sts"))
    parser.add_argument("--plan", default="5w:150,4:50")
    parser.add_argument("--seconds", type=float, default=12.0, help="of a pilot")
    parser.add_argument("--until", type=float, default=270.0, help="seconds of the whole")
    parser.add_argument("--spans", type=float, default=1.0)
    parser.add_argument("--words", type=int, default=40000)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--tokens", type=int, default=131072)
    parser.add_argument("--rates", type=float, nargs="+", default=[5e-5, 1e-4, 2e-4])
    parser.add_argument("--set", default="{}", help="settings over those of the pilots, as JSON")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    if ON.type == "cuda":
        say(device=torch.cuda.get_device_name(), torch=torch.__version__)
    use_attention()
    best = options.keep / "chosen.json"
    try:
        pool = read_pool(options.lots, options.spans, options.words, options.limit)
        teach(pool, options.lots[0], options.tokens)
        dev = Dev(options.lots[0] / "dev.tsv")
        check_loss()
        if options.what == "pilot":
            chosen = pilot(pool, dev, options)
            best.write_text(json.dumps(chosen))
        else:
            chosen = json.loads(best.read_text()) if best.exists() else {}
            chosen |= json.loads(options.set)
            say(chosen=chosen)
            long_runs(pool, dev, options, chosen)
    finally:
        (options.out / f"log-{options.what}.json").write_text(json.dumps(LOG, indent=1))


def check_loss() -> None:
    """Compare `loss_of` with the project's `distillation_loss`."""
    a, b, c = (torch.randn(50, size, device=ON) for size in (256, 384, 384))
    expected, share = distillation_loss(a, b, c, 0.05)
    mine, same = loss_of(a, b, c, Settings(1.0))
    say(loss=[expected.item(), mine.item()], share=[share.item(), same.item()])


if __name__ == "__main__":
    main()

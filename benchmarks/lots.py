"""What a GPU machine gets: python -m benchmarks.lots TEXT --data DATA --teacher MODEL --out DIR.

TEXT is the folder that benchmarks.sentences has written. Words go as numbers in the order of their
frequency, seven bits a byte, 0 behind each sentence; the teacher's matrices as whole numbers of
steps, a 64th of a row's root mean square each.
"""

import argparse
import json
import lzma
import re
import unicodedata
import zlib
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from minbert.encoder import SentenceEncoder
from minbert.model import BertModel

APART = re.compile(r"([^\w\s]|_)")
ALLOWED = re.compile(r"[\x20-\x7e–—‘’“”]*\Z")
LEAST = 4  # times that a word stands in the sentences; one with a rarer word is left out
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 7, "lc": 4, "lp": 0, "pb": 0, "dict_size": 2**24}]


def words_of(text: str) -> list[str]:
    """Return a text's words and marks as uncased BERT cuts it, [] for one with other letters."""
    text = text.lower()
    if not text.isascii():
        parts = unicodedata.normalize("NFD", text)
        text = "".join(c for c in parts if unicodedata.category(c) != "Mn")
        if not ALLOWED.match(text):
            return []
    return APART.sub(r" \1 ", text).split()


def numbers(path: Path, ids: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the words (W,) of a file's sentences, and how many each has."""
    words: list[int] = []
    lengths = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = words_of(line)
            if 0 < len(row) <= 40 and max(map(len, row)) <= 20:
                words += [ids.setdefault(word, len(ids)) for word in row]
                lengths.append(len(row))
    return np.array(words, np.int32), np.array(lengths)


def coded(words: np.ndarray, lengths: np.ndarray) -> bytes:
    """Return numbers from 1 and a 0 behind each sentence, seven bits a byte."""
    values = np.insert(words.astype(np.int64) + 1, np.cumsum(lengths), 0)
    parts = np.stack([values >> 14 | 128, values >> 7 & 127 | 128, values & 127], axis=1)
    shown = np.stack([values >= 2**14, values >= 2**7, values >= 0], axis=1)
    return parts.astype(np.uint8)[shown].tobytes()


def packed(content: bytes) -> bytes:
    """Compress."""
    return lzma.compress(content, filters=FILTERS)


def write_teacher(model: BertModel, source: Path, out: Path) -> None:
    """Write the weights, and round them in the model, too."""
    wholes, floats, tensors = [], [], []
    for name, tensor in model.state_dict().items():
        value = tensor.numpy()
        tensors.append((name, value.shape))
        if value.ndim == 2:
            steps = np.sqrt((value**2).mean(1)).clip(1e-8) / 64
            whole = np.round(value / steps[:, None])
            assert np.abs(whole).max() < 2**15
            wholes.append(whole.astype(np.int16).ravel())
            floats.append(steps.astype(np.float32))
        else:
            floats.append(value.ravel())
    whole = np.concatenate(wholes)
    # Near 0, the high byte is 0 and the low one has a sign.
    high = (whole + 128) >> 8
    planes = [(whole & 255).astype(np.uint8), high.astype(np.uint8)]
    # No matches are looked for: there are none in the low bytes and far too many in the high ones.
    for plane, strategy, name in zip(planes, (2, 3), ("low", "high"), strict=True):
        press = zlib.compressobj(9, zlib.DEFLATED, 15, 9, strategy)
        (out / f"teacher-{name}.z").write_bytes(press.compress(plane.tobytes()) + press.flush())
    np.save(out / "teacher-floats.npy", np.concatenate(floats))
    about = {"numbers": len(whole), "tensors": tensors}
    (out / "teacher.json").write_text(json.dumps(about))
    (out / "teacher-config.json").write_text((source / "config.json").read_text())
    (out / "teacher-vocab.txt").write_text((source / "vocab.txt").read_text())


def write_dev(data: Path, out: Path) -> None:
    """Write both files that choose."""
    with (out / "dev.tsv").open("w", encoding="utf-8") as file:
        for line in (data / "sts/STSBenchmark/sts-dev.csv").open(encoding="utf-8"):
            row = line.rstrip("\n").split("\t")
            file.write("\t".join(["stsb_dev", *row[4:7]]) + "\n")
        for line in (data / "sts/SICK/SICK_trial.txt").open(encoding="utf-8"):
            row = line.rstrip("\n").split("\t")
            if row[0].isdigit():
                file.write("\t".join(["sick_trial", row[3], row[1], row[2]]) + "\n")


def write_vocabulary(words: list[str], mini: Path, size: int, out: Path) -> None:
    """Write mini's pieces and the most frequent whole words that it has not."""
    pieces = (mini / "vocab.txt").read_text(encoding="utf-8").splitlines()
    known = set(pieces)
    for word in words:
        if len(pieces) == size:
            break
        if word not in known and word.isalpha():
            pieces.append(word)
    (out / "vocab-wide.txt").write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("text", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--mini", type=Path, default=Path("minbert/mini_sts"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pieces", type=int, default=15360)
    parser.add_argument("--mb", type=float, nargs=2, default=[33.5, 33.5], help="of each lot")
    options = parser.parse_args()
    first, second = (options.out / name for name in ("lot1", "lot2"))
    first.mkdir(parents=True, exist_ok=True)
    second.mkdir(parents=True, exist_ok=True)

    saved = options.text / "canonical.npz"
    if saved.exists():
        loaded = np.load(saved, allow_pickle=True)
        stream, lengths, short, words = (loaded[n] for n in ("stream", "lengths", "short", "words"))
        words = list(words)
    else:
        ids: dict[str, int] = {}
        parts = [numbers(options.text / f"{kind}.txt", ids) for kind in ("short", "long")]
        stream = np.concatenate([part[0] for part in parts])
        lengths = np.concatenate([part[1] for part in parts])
        short = np.arange(len(lengths)) < len(parts[0][1])
        counts = np.bincount(stream)
        rare = np.add.reduceat((counts < LEAST)[stream].astype(int), np.cumsum(lengths) - lengths)
        kept = rare == 0
        print(f"{len(lengths):,} sentences, {kept.sum():,} of frequent words", flush=True)
        stream, lengths, short = stream[np.repeat(kept, lengths)], lengths[kept], short[kept]
        counts = np.bincount(stream, minlength=len(ids))
        order = np.argsort(-counts, kind="stable")[: (counts > 0).sum()]
        rank = np.zeros(len(ids), np.int32)
        rank[order] = np.arange(len(order))
        names = list(ids)
        stream, words = rank[stream], [names[i] for i in order]
        np.savez(
            saved, stream=stream, lengths=lengths, short=short, words=np.array(words, dtype=object)
        )
    print(f"{short.sum():,} short, {len(lengths):,} in all, {len(words):,} words", flush=True)

    (first / "words.txt.xz").write_bytes(packed("\n".join(words).encode()))
    write_dev(options.data, first)
    (first / "nli.csv.xz").write_bytes(
        packed((options.data / "nli/nli_for_simcse.csv").read_bytes())
    )
    write_vocabulary(words, options.mini, options.pieces, first)
    encoder = SentenceEncoder.from_pretrained(str(options.teacher), precision="float32")
    if not (first / "teacher-floats.npy").exists():
        write_teacher(encoder.model, options.teacher, first)
    starts = np.cumsum(lengths) - lengths
    draw = np.random.default_rng(0).choice(len(lengths), 200, replace=False)
    texts = [" ".join(words[w] for w in stream[starts[i] : starts[i] + lengths[i]]) for i in draw]
    made = encoder.encode(texts, normalize_embeddings=True)
    np.savez(first / "reference.npz", texts=np.array(texts), embeddings=made.astype(np.float16))

    # In parts of 100,000 sentences, as many as there is room for in a lot.
    (first / "about.json").write_text(json.dumps({"short": int(short.sum())}))
    begins = range(0, len(lengths), 100_000)
    borders = np.append(starts, len(stream))
    jobs = [
        (stream[borders[b] : (borders[b : b + 100_001])[-1]], lengths[b : b + 100_000])
        for b in begins
    ]
    lots = zip((first, second), options.mb, strict=True)
    lot, most = next(lots)
    used = sum(p.stat().st_size for p in lot.iterdir() if not p.name.startswith("ids"))
    with Pool(3) as workers:
        for number, content in enumerate(workers.imap(part_of, jobs)):
            if used + len(content) > most * 1e6:
                lot, most = next(lots, (None, 0.0))
                if lot is None:
                    print(f"full after {number} parts", flush=True)
                    break
                used = 0
            used += len(content)
            (lot / f"ids{number:02d}.xz").write_bytes(content)
            print(f"{lot.name}: {used:,} bytes after part {number}", flush=True)


def part_of(job: tuple[np.ndarray, np.ndarray]) -> bytes:
    """Return a part of the sentences, compressed."""
    stream, lengths = job
    return packed(coded(stream[: lengths.sum()], lengths))


if __name__ == "__main__":
    main()

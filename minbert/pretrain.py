"""Masked-language-model pre-training from scratch, on your own text.

    python -m minbert.pretrain --corpus articles*.txt.xz --valid held_out.txt --out my-bert
    python -m minbert.pretrain --corpus articles*.txt.xz --valid held_out.txt --out my-bert --resume

The result is an ordinary checkpoint: `python run_multitask.py --backbone my-bert ...`. The recipe
follows what "Cramming" (Geiping and Goldstein 2023) found to matter at small compute: short packed
sequences, no dropout, a high peak rate that falls to zero, one pass over as much text as there is.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from minbert.config import BertConfig, CheckpointError
from minbert.cooccurrence import cooccurrence_embeddings
from minbert.corpus import (
    CorpusError,
    as_sequences,
    read_paragraphs,
    tokenize_corpus,
    train_vocabulary,
)
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.pretrainer import PretrainConfig, Pretrainer, save_pretrained
from minbert.runtime import MachineError, TrainingError, set_seed
from minbert.tokenizer import BertTokenizer

INIT_ROWS = 200_000  # rows whose co-occurrences are counted: enough, and quick


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    args = build_parser().parse_args(argv)
    try:
        return _run(args)
    except (CorpusError, CheckpointError, MachineError, TrainingError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the same command with --resume goes on", file=sys.stderr)
        return 130


def _run(args: argparse.Namespace) -> int:
    work = args.out.with_name(args.out.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    vocab = args.vocab or work / "vocab.txt"
    if not args.vocab and not vocab.is_file():
        print(f"training a vocabulary of {args.vocab_size} pieces", flush=True)
        train_vocabulary(read_paragraphs(args.corpus), args.vocab_size, work)
    tokenizer = BertTokenizer.from_vocab(vocab)
    config = PretrainConfig(
        tokens=args.tokens,
        length=args.length,
        batch_size=args.batch_size,
        learning_rate=args.lr,
        mask_probability=args.mask_probability,
        warmup_steps=args.warmup_steps,
        eval_steps=args.eval_steps,
        seed=args.seed,
    )
    train = tokenize_corpus(args.corpus, tokenizer, args.length, work / f"train-{args.length}.npy")
    valid = tokenize_corpus([args.valid], tokenizer, args.length, work / f"valid-{args.length}.npy")
    set_seed(args.seed)
    sizes = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=args.hidden_size,
        num_hidden_layers=args.layers,
        num_attention_heads=args.hidden_size // 64,
        intermediate_size=4 * args.hidden_size,
        max_position_embeddings=args.length,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForMaskedLM(BertModel(sizes, add_pooling_layer=False))
    if args.init == "cooccurrence":
        _start_from_counts(model, train[:INIT_ROWS], args.seed)
    trainer = Pretrainer(
        model,
        tokenizer,
        as_sequences(train),
        as_sequences(valid[: config.valid_rows]),
        config,
        work,
        args.device,
        args.precision,
    )
    print(f"{train.size / 1e6:.1f} million tokens, {trainer.num_steps} steps", flush=True)
    history = trainer.run(args.resume)
    options = {name: _by_name(value) for name, value in vars(args).items()}
    notes = {"options": options, "config": asdict(config), "history": history}
    save_pretrained(model, tokenizer, args.out, notes)
    print(f"checkpoint, vocabulary and curve: {args.out} (to train on: {work})")
    return 0


def _by_name(value: Any) -> Any:
    """Return an option as it can be published: files by their names, not by somebody's folders."""
    if isinstance(value, list):
        return [_by_name(item) for item in value]
    return value.name if isinstance(value, Path) else value


def _start_from_counts(model: BertForMaskedLM, rows: np.ndarray, seed: int) -> None:
    """Give the word embeddings the corpus's co-occurrence statistics."""
    config = model.bert.config
    weight = model.bert.embeddings.word_embeddings.weight
    start = cooccurrence_embeddings(
        np.asarray(rows), config.vocab_size, config.hidden_size, config.initializer_range, seed
    )
    with torch.no_grad():
        weight.copy_(start)


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m minbert.pretrain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--corpus", nargs="+", type=Path, required=True, metavar="FILE",
                        help="text, a paragraph a line, documents apart by an empty line; "
                             ".xz, .gz and .bz2 too")  # fmt: skip
    parser.add_argument("--valid", type=Path, required=True, metavar="FILE", help="held-out text")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the checkpoint")
    parser.add_argument(
        "--vocab", type=Path, metavar="FILE", help="a vocab.txt to use instead of training one"
    )
    defaults = PretrainConfig()
    for flag, value, text in (
        ("--tokens", defaults.tokens, "tokens seen in all"),
        ("--length", defaults.length, "tokens a sequence"),
        ("--batch-size", defaults.batch_size, "sequences a step"),
        ("--lr", defaults.learning_rate, "peak learning rate"),
        ("--warmup-steps", defaults.warmup_steps, "steps in which the rate rises to its peak"),
        ("--mask-probability", defaults.mask_probability, "share of tokens to predict"),
        ("--eval-steps", defaults.eval_steps, "steps between validations (and saved states)"),
        ("--seed", defaults.seed, "of weights, order and masks"),
        ("--vocab-size", 8192, "pieces"),
        ("--layers", 4, "layers"),
        ("--hidden-size", 256, "hidden size, a multiple of 64"),
    ):
        parser.add_argument(
            flag, type=type(value), default=value, metavar="X", help=f"{text} ({value})"
        )
    parser.add_argument(
        "--init",
        choices=["cooccurrence", "random"],
        default="cooccurrence",
        help="word embeddings at the start: factorised co-occurrence counts, or noise",
    )
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto")
    parser.add_argument("--resume", action="store_true", help="go on where a run stopped")
    return parser


if __name__ == "__main__":
    sys.exit(main())

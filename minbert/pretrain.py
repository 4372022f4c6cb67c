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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from minbert.checkpoint import find_checkpoint
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

FRESH = ("cooccurrence", "random")
NO_DROPOUT: Any = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
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
    loaded = None if args.init in FRESH else without_dropout(args.init, args.length)
    tokenizer = _tokenizer(args, work)
    config = PretrainConfig(
        tokens=args.tokens,
        length=args.length,
        batch_size=args.batch_size,
        learning_rate=args.lr,
        mask_probability=args.mask_probability,
        contrast_weight=args.contrast_weight,
        warmup_steps=args.warmup_steps,
        decay_ratio=args.decay_ratio,
        eval_steps=args.eval_steps,
        seed=args.seed,
    )
    train = tokenize_corpus(args.corpus, tokenizer, args.length, work / f"train-{args.length}.npy")
    valid = tokenize_corpus([args.valid], tokenizer, args.length, work / f"valid-{args.length}.npy")
    set_seed(args.seed)
    model = loaded or _fresh(args, tokenizer, train)
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
    steps = f"{trainer.num_steps} steps of {config.tokens_per_step:,.0f}"
    print(f"a corpus of {train.size / 1e6:.1f} million tokens, {steps}", flush=True)
    history = trainer.run(args.resume)
    options = {name: _by_name(value) for name, value in vars(args).items()}
    options["init"] = Path(args.init).name
    notes = {"options": options, "config": asdict(config), "history": history}
    save_pretrained(model, tokenizer, args.out, notes)
    print(f"checkpoint, vocabulary and curve: {args.out} (to train on: {work})")
    return 0


def _by_name(value: Any) -> Any:
    """Return an option as it can be published: files by their names, not by somebody's folders."""
    if isinstance(value, list):
        return [_by_name(item) for item in value]
    return value.name if isinstance(value, Path) else value


def _tokenizer(args: argparse.Namespace, work: Path) -> BertTokenizer:
    """Return the vocabulary: the checkpoint's, a given one, or one trained on the corpus."""
    if args.init not in FRESH:
        return BertTokenizer.from_pretrained(find_checkpoint(args.init))
    vocab = args.vocab or work / "vocab.txt"
    if not vocab.is_file() and not args.vocab:
        print(f"training a vocabulary of {args.vocab_size} pieces", flush=True)
        train_vocabulary(read_paragraphs(args.corpus), args.vocab_size, work)
    return BertTokenizer.from_vocab(vocab)


def without_dropout(init: str, length: int) -> BertForMaskedLM:
    """Return a checkpoint's model as it is pre-trained: without dropout.

    Raises:
        CheckpointError: it has no prediction head, or fewer than `length` positions.
    """
    loaded = BertForMaskedLM.from_pretrained(init)
    config = replace(loaded.bert.config, **NO_DROPOUT)
    if length > config.max_position_embeddings:
        positions = config.max_position_embeddings
        raise CheckpointError(f"{init}: has {positions} positions, too few for --length {length}")
    model = BertForMaskedLM(BertModel(config, loaded.bert.pooler is not None))
    model.load_state_dict(loaded.state_dict())
    return model


def _fresh(args: argparse.Namespace, tokenizer: BertTokenizer, rows: np.ndarray) -> BertForMaskedLM:
    """Return a new model of the sizes asked for."""
    sizes = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=args.hidden_size,
        num_hidden_layers=args.layers,
        num_attention_heads=args.hidden_size // 64,
        intermediate_size=4 * args.hidden_size,
        max_position_embeddings=args.length,
        **NO_DROPOUT,
    )
    model = BertForMaskedLM(BertModel(sizes, add_pooling_layer=False))
    if args.init == "cooccurrence":
        _start_from_counts(model, rows[:INIT_ROWS], args.seed)
    return model


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
        ("--contrast-weight", defaults.contrast_weight, "of the loss over two spans of a row"),
        ("--decay-ratio", defaults.decay_ratio, "share of the steps in which the rate falls"),
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
        default="cooccurrence",
        metavar="HOW",
        help="word embeddings at the start: cooccurrence (factorised counts) or random; or a "
        "checkpoint to go on from, with its vocabulary and sizes (mini, a folder, a hub id)",
    )
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto")
    parser.add_argument("--resume", action="store_true", help="go on where a run stopped")
    return parser


if __name__ == "__main__":
    sys.exit(main())

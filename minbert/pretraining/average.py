"""The mean of two checkpoints' weights, as one checkpoint (Wortsman et al. 2022, "Model soups").

    python -m minbert.pretraining.average BEFORE AFTER --valid held_out.txt --out my-bert

Where one was trained on from the other, their mean often keeps what both can do: it predicts
words and finds spans at least as well as either, at no cost. Reads: loop, corpus, minbert.pretrain.
"""

import sys

from runtime.commands import begin, exit_code

# Before the other imports, so that Ctrl-C answers at once.
if __name__ == "__main__":
    begin()

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from minbert.checkpoint import check_target
from minbert.config import BertConfig, CheckpointError
from minbert.hub import find_checkpoint
from minbert.mlm import BertForMaskedLM
from minbert.pretrain import NO_DROPOUT, save_pretrained
from minbert.pretraining.corpus import as_sequences, tokenize_corpus
from minbert.pretraining.loop import Pretrainer
from minbert.pretraining.options import PretrainConfig
from minbert.tokenizer import BertTokenizer
from runtime.json_file import read_object
from runtime.options import option, parse


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    before: str = option(
        help="a checkpoint of minbert.pretrain", flag="before", metavar="BEFORE", required=True
    )
    after: str = option(
        help="one of the same sizes and vocabulary, whose notes are kept",
        flag="after",
        metavar="AFTER",
        required=True,
    )
    valid: Path = option(help="held-out text to score the mean on", metavar="FILE", required=True)
    out: Path = option(help="the checkpoint", metavar="DIR", required=True)


def average(first: BertForMaskedLM, second: BertForMaskedLM) -> None:
    """Move the weights of `second` to the mean of both, in place.

    Raises:
        CheckpointError: they are not of the same sizes.
    """
    weights = dict(first.named_parameters())
    theirs = dict(second.named_parameters())
    shapes = [{name: tensor.shape for name, tensor in w.items()} for w in (weights, theirs)]
    if shapes[0] != shapes[1]:
        raise CheckpointError("the two checkpoints have other sizes; only equal ones have a mean")
    with torch.no_grad():
        for name, tensor in theirs.items():
            tensor.add_(weights[name]).mul_(0.5)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the mean and print its scores; return 0, or 2 where a checkpoint will not do."""
    program = "python -m minbert.pretraining.average"
    options = parse(Options, argv, prog=program, description=__doc__)
    return exit_code(lambda: _tell(options))


def _tell(options: Options) -> None:
    scores = run(options)
    told = ", ".join(f"{name.removeprefix('valid_')} {value:.3f}" for name, value in scores.items())
    print(f"{told}\nthe mean of both: {options.out}")


def run(options: Options) -> dict[str, float]:
    """Write the mean of two checkpoints; return its scores on the held-out text.

    Raises:
        UserError: a checkpoint or the text cannot be used, or the folder is taken.
    """
    check_target(options.out)
    before, after = find_checkpoint(options.before), find_checkpoint(options.after)
    first, second = (BertForMaskedLM.from_pretrained(str(f), **NO_DROPOUT) for f in (before, after))
    average(first, second)
    tokenizer = BertTokenizer.from_pretrained(after)
    notes = read_object(after / "training.json", CheckpointError)
    try:
        config = PretrainConfig(**notes["config"])
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{after}/training.json: not of pre-training ({error!r})") from None
    work = options.out.resolve().with_name(options.out.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    rows = tokenize_corpus([options.valid], tokenizer, config.length, work)
    valid = as_sequences(rows[: config.valid_rows])
    # The heads for pairs are not part of a checkpoint: what they tell cannot be scored.
    spans = PretrainConfig(contrast_weight=1.0, seed=config.seed)
    scores = Pretrainer(second, tokenizer, valid, valid, spans, work).evaluate()
    published = BertConfig.from_json(after / "config.json")
    dropout = {name: getattr(published, name) for name in NO_DROPOUT}
    notes = {"averaged": {"with": before.name, **scores}, **notes}
    save_pretrained(second, tokenizer, options.out, notes, dropout)
    return scores


if __name__ == "__main__":
    sys.exit(main())

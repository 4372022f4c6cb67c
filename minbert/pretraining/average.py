"""The mean of two checkpoints' weights, as one checkpoint (Wortsman et al. 2022, "Model soups").

    python -m minbert.pretraining.average BEFORE AFTER --valid held_out.txt --out my-bert

Where one was trained on from the other, their mean often keeps what both can do: it predicts
words and finds spans at least as well as either, at no cost.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.commands import begin, exit_code
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    program = "python -m minbert.pretraining.average"
    options = parse(Options, argv, prog=program, description=__doc__)
    return exit_code(lambda: work(options))


def work(options: Options) -> None:
    """Write the mean of two checkpoints; print its scores on the held-out text.

    Raises:
        UserError: a checkpoint or the text cannot be used, or the folder is taken.
    """
    import torch

    from minbert.checkpoint import check_target
    from minbert.config import BertConfig, CheckpointError
    from minbert.hub import find_checkpoint
    from minbert.mlm import BertForMaskedLM
    from minbert.pretraining.corpus import as_sequences, tokenize_corpus
    from minbert.pretraining.loop import Pretrainer
    from minbert.pretraining.options import NO_DROPOUT, PretrainConfig
    from minbert.pretraining.run import save_pretrained
    from minbert.tokenizer import BertTokenizer
    from runtime.files import read_object

    check_target(options.out)
    before, after = find_checkpoint(options.before), find_checkpoint(options.after)
    first, second = (BertForMaskedLM.from_pretrained(str(f), **NO_DROPOUT) for f in (before, after))
    weights, theirs = dict(first.named_parameters()), dict(second.named_parameters())
    shapes = [{name: tensor.shape for name, tensor in w.items()} for w in (weights, theirs)]
    if shapes[0] != shapes[1]:
        raise CheckpointError("the two checkpoints have other sizes; only equal ones have a mean")
    with torch.no_grad():
        for name, tensor in theirs.items():
            tensor.add_(weights[name]).mul_(0.5)
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
    # The heads for pairs are not part of a checkpoint: what they predict cannot be scored.
    spans = PretrainConfig(contrast_weight=1.0, seed=config.seed)
    scores = Pretrainer(second, tokenizer, valid, valid, spans, work).evaluate()
    published = BertConfig.from_json(after / "config.json")
    dropout = {name: getattr(published, name) for name in NO_DROPOUT}
    notes = {"averaged": {"with": before.name, **scores}, **notes}
    save_pretrained(second, tokenizer, options.out, notes, dropout)
    shown = [f"{name.removeprefix('valid_')} {value:.3f}" for name, value in scores.items()]
    print(f"{', '.join(shown)}\nthe mean of both: {options.out}")


if __name__ == "__main__":
    begin()
    sys.exit(main())

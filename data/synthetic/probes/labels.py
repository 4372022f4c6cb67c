"""Are the labels of the paraphrase task right?

`python -m data.synthetic.probes.labels --pairs 1000000`

Draws pairs, of which 40 percent are drawn as duplicates, and holds each label against
data.synthetic.meaning, which judges the frames and knows nothing of how they were drawn.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from data.synthetic.duplicates import KINDS, MILD, Labelled, labelled_pair
from data.synthetic.meaning import same_meaning
from data.synthetic.words import SPLITS
from runtime.commands import begin, exit_code
from runtime.options import option, parse
from runtime.progress import progress

SHOWN = 20  # contradictions


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    pairs: int = option(200_000, "to draw", least=1, most=1e12)
    seed: int = option(0, "of the draws")


def contradictions(pairs: int, seed: int = 0) -> Iterator[Labelled]:
    """Yield the drawn pairs whose label contradicts data.synthetic.meaning."""
    random = Random(seed)
    with progress("label", pairs, "pair") as bar:
        for number in range(pairs):
            kinds = MILD if number % 7 == 0 else KINDS
            drawn = labelled_pair(random, SPLITS[number % 3], number % 5 < 2, kinds)
            bar.update()
            if same_meaning(*drawn.meanings) != drawn.same:
                yield drawn


def main(argv: Sequence[str] | None = None) -> int:
    """Print the contradictions; return 0 if there is none, else 1."""
    options = parse(
        Options, argv, prog="python -m data.synthetic.probes.labels", description=__doc__
    )
    return exit_code(lambda: run(options))


def run(options: Options) -> int:
    """Print the contradictions; return 0 if there is none, else 1."""
    count = 0
    for drawn in contradictions(options.pairs, options.seed):
        count += 1
        if count <= SHOWN:
            print(f"{drawn.phenomenon}, drawn as {'the same' if drawn.same else 'different'}:")
            print("\n".join(f"    {text}" for text in drawn.texts))
    print(f"{options.pairs:,} pairs, seed {options.seed}: {count:,} contradictions")
    return int(count > 0)


if __name__ == "__main__":
    begin()
    sys.exit(main())

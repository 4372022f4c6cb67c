"""Draws the rows of all files, without repeated rows or texts in two parts, and writes them.

Reads: pairs, surface. Feeds: generate, suites.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from data.synthetic.pairs import Example
from data.synthetic.surface import typed_texts

Maker = Callable[[Random, str], Example]


def shuffle(examples: list[Example], random: Random) -> None:
    """Shuffle in place, by draws that are the same in every version of Python."""
    for last in range(len(examples) - 1, 0, -1):
        other = int(random.random() * (last + 1))
        examples[last], examples[other] = examples[other], examples[last]


class Writer:
    """Draws examples, never the same twice, and never a text of one part in another."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.part_of: dict[str, str] = {}  # text: its part
        self.rows: dict[tuple[str, ...], None] = {}

    def draw(
        self, name: str, split: str, size: int, make: Maker, styled: bool = True
    ) -> list[Example]:
        """Return `size` new examples; each file has its own generator, so sizes do not interact.

        Repetitions are detected before the texts are `styled`, that is written as people type.
        """
        random = Random(f"{self.seed} {name} {split}")
        examples: list[Example] = []
        while len(examples) < size:
            example = make(random, split)
            if self._is_new(example, split):
                texts = typed_texts(random, example.texts) if styled else example.texts
                examples.append(replace(example, texts=texts))
        return examples

    def _is_new(self, example: Example, split: str) -> bool:
        key = tuple(sorted(example.texts))
        if key in self.rows or any(self.part_of.get(t, split) != split for t in example.texts):
            return False
        self.rows[key] = None
        self.part_of.update(dict.fromkeys(example.texts, split))
        return True

    def table(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Write a tab-separated file, with the same line ends on every system."""
        with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)

    def lines(self, name: str, lines: Iterable[str]) -> None:
        """Write a file with one text per line, possibly in a subfolder."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
            file.writelines(f"{line}\n" for line in lines)

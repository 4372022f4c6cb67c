"""Writes evaluation suites in the formats of STS, SentEval, MRPC, TREC and HANS.

Their names differ from the published sets, so scores are not confused; names of files are those of
data.suites. The words are held out for dev and test, except in nli_pairs.tsv, which is for
training.
Reads: asking, duplicates, heuristics, inference, scored, sentiment, writing. Feeds: generate.
"""

from collections.abc import Sequence
from functools import partial
from random import Random

from data.suites import HANS_SETS, NLI_FILE, STS_SETS, SYNTHETIC_SUBSETS, TRANSFER_SETS
from data.synthetic.asking import LABELS as QUESTION_LABELS
from data.synthetic.asking import typed_question
from data.synthetic.duplicates import MILD, duplicate_pair
from data.synthetic.frames import chance
from data.synthetic.heuristics import TEMPLATES, heuristic, overlapping_pair
from data.synthetic.inference import LABELS, inferred_pair
from data.synthetic.pairs import Example
from data.synthetic.scored import scored_genre
from data.synthetic.sentiment import labelled
from data.synthetic.writing import Maker, Writer, shuffle

SIMILARITIES = 200  # per subset
OPINIONS = 400  # per class
QUESTIONS = {"dev": 100, "test": 50}  # per class
PARAPHRASES = {"dev": 300, "test": 200}  # per class
OVERLAPPING = 100  # per subcase
INFERENCES = 1000  # per class
HANS_HEADER = (
    "gold_label", "sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse",
    "sentence2_parse", "sentence1", "sentence2", "pairID", "heuristic", "subcase", "template",
)  # fmt: skip


def write_suites(writer: Writer) -> None:
    """Write all suites into the folder of the writer, test sets before training sets."""
    _similarities(writer)
    _opinions(writer)
    _questions(writer)
    _paraphrases(writer)
    _heuristics(writer)
    _inferences(writer)


def _classes(
    writer: Writer, name: str, split: str, makers: Sequence[Maker], size: int
) -> list[Example]:
    """Return `size` examples by each of the makers, shuffled."""
    examples: list[Example] = []
    for number, make in enumerate(makers):
        examples += writer.draw(f"{name} {number}", split, size, make, styled=False)
    shuffle(examples, Random(f"{writer.seed} {name} {split}"))
    return examples


def _similarities(writer: Writer) -> None:
    folder = f"sts/{STS_SETS['synthetic-sts'].files[0]}"
    for genre in SYNTHETIC_SUBSETS.split():
        make = partial(scored_genre, genre=genre)
        examples = writer.draw(f"synthetic-sts {genre}", "test", SIMILARITIES, make)
        writer.lines(f"{folder}/STS.input.{genre}.txt", ("\t".join(e.texts) for e in examples))
        writer.lines(f"{folder}/STS.gs.{genre}.txt", (e.label for e in examples))


def _opinion(random: Random, split: str, positive: bool) -> Example:
    """Return an opinion of a class, clear or mild with equal probability."""
    clear = chance(random, 0.5)
    wanted = (4 if clear else 3) if positive else (0 if clear else 1)
    view = labelled(random, split, wanted)
    return Example((view.text,), str(int(positive)), view.phenomenon)


def _opinions(writer: Writer) -> None:
    for name, positive in zip(
        TRANSFER_SETS["synthetic-polarity"].files, (True, False), strict=True
    ):
        make = partial(_opinion, positive=positive)
        examples = writer.draw(name, "test", OPINIONS, make)
        writer.lines(f"transfer/{name}", (e.texts[0] for e in examples))


def _questions(writer: Writer) -> None:
    makers = [partial(typed_question, wanted=wanted) for wanted in QUESTION_LABELS]
    names = TRANSFER_SETS["synthetic-questions"].files
    for name, (split, size) in zip(names, QUESTIONS.items(), strict=True):
        examples = _classes(writer, "synthetic-questions", split, makers, size)
        writer.lines(f"transfer/{name}", (f"{e.label} {e.texts[0]}" for e in examples))


def _paraphrases(writer: Writer) -> None:
    makers = [partial(duplicate_pair, positive=positive, kinds=MILD) for positive in (True, False)]
    names = TRANSFER_SETS["synthetic-paraphrase"].files
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    for name, (split, size) in zip(names, PARAPHRASES.items(), strict=True):
        examples = _classes(writer, "synthetic-paraphrase", split, makers, size)
        rows = (
            f"{e.label[0]}\t{2 * number}\t{2 * number + 1}\t{e.texts[0]}\t{e.texts[1]}"
            for number, e in enumerate(examples)
        )
        writer.lines(f"transfer/{name}", [header, *rows])


def _heuristics(writer: Writer) -> None:
    rows: list[tuple[str, ...]] = []
    for subcase in TEMPLATES:
        make = partial(overlapping_pair, subcase=subcase)
        for example in writer.draw(f"hans {subcase}", "test", OVERLAPPING, make, styled=False):
            about = (f"ex{len(rows)}", heuristic(subcase), subcase, subcase)
            # The parses of the published columns are left empty.
            rows.append((example.label, "", "", "", "", *example.texts, *about))
    (name,) = HANS_SETS["synthetic-hans"].files
    writer.lines(f"hans/{name}", ("\t".join(row) for row in [HANS_HEADER, *rows]))


def _inferences(writer: Writer) -> None:
    makers = [partial(inferred_pair, wanted=wanted) for wanted in LABELS]
    examples = _classes(writer, "nli pairs", "train", makers, INFERENCES)
    header = ("premise", "hypothesis", "label", "source")
    rows = ((*e.texts, e.label, f"synthetic, {e.phenomenon}") for e in examples)
    writer.lines(NLI_FILE, ("\t".join(row) for row in (header, *rows)))

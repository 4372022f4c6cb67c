"""Makes a set to search in BEIR's format: short texts, and queries that one sentence answers.

Two meanings that differ in one to three parts are worded twice, as for the paraphrase task. The
query is about the first meaning. A relevant text states it in the second words; a distractor states
the other meaning in the words of the query. The other sentences of a text are about the same topic.
Reads: changes, duplicates, edits, graded, grammar, pairs, renderings, sampling, wordings, writing.
Feeds: generate.
"""

import json
from random import Random

from data.synthetic.changes import said_of, shows
from data.synthetic.duplicates import KINDS
from data.synthetic.edits import reword
from data.synthetic.frames import PRONOUN, Frame, chance, choose, replace, shuffled, weighted
from data.synthetic.graded import other_scene
from data.synthetic.grammar import clause, finish
from data.synthetic.pairs import Example, pick
from data.synthetic.renderings import filled
from data.synthetic.sampling import kept
from data.synthetic.wordings import two_sides
from data.synthetic.writing import Writer

FOLDER = "search"
SIZES = {"test": 240, "dev": 60, "train": 300}  # queries; test first, as in the tasks
DIFFERENT = ("several parts", "other agent", "other patient", "other verb", "place")
FACTS = [kind for kind in KINDS if kind.name in DIFFERENT]
TWICE = 0.2  # share of the queries with two relevant texts
DISTRACTED = 0.3  # share of the queries with a distractor
LEAST_PARTS = 2  # a query names, in addition to the act: "who sat down" has many answers
MORE_SENTENCES = (1, 2, 3)
REWORDED = 0.5  # share of the words of the other sentences with a synonym


def searched(random: Random, split: str) -> Example:
    """Return a query and texts; the label is the number of relevant texts, which come first."""
    while True:
        kind = weighted(random, FACTS, [kind.weight for kind in FACTS])
        twins = kind.draw(random, split)
        if twins is None:
            continue
        (asked, near), (stated, _) = (
            (first[0], other[0]) for first, other in two_sides(random, twins, plain=False)
        )
        if asked.mood != "statement" or (split == "train" and any(map(kept, (asked, near)))):
            continue
        query = _query(random, asked, near)
        relevant = 1 + chance(random, TWICE)
        facts = [stated, asked][:relevant] + [near] * chance(random, DISTRACTED)
        texts = [_text(random, split, fact) for fact in facts]
        if query and all(texts):
            return Example((query, *filter(None, texts)), str(relevant), kind.name)


def _query(random: Random, fact: Frame, near: Frame) -> str | None:
    """Return a question that a fact answers and a near one does not, or another wording of it."""
    fits = {
        "statement": True,
        "polar": True,
        "who": fact.agent.noun.human and fact.agent.noun.kind != PRONOUN,
        "what": fact.patient is not None and not fact.patient.noun.animate,
        "where": bool(fact.place),
        "when": fact.time is not None,
    }
    mood = choose(random, [mood for mood in fits if fits[mood]])
    query, other = (_asked(frame, mood) for frame in (fact, near))
    if len(filled(query)) < LEAST_PARTS or not shows(query, other):
        return None
    return _sentence(random, query)


def _asked(frame: Frame, mood: str) -> Frame:
    """Return a frame in another mood, without the place or time that it asks for."""
    place = "" if mood == "where" else frame.place
    return replace(frame, mood=mood, place=place, time=None if mood == "when" else frame.time)


def _text(random: Random, split: str, fact: Frame) -> str | None:
    """Return a fact among sentences about other acts of its topic."""
    frames = [fact]
    for _ in range(choose(random, MORE_SENTENCES)):
        other = other_scene(fact, random, split)
        if said_of(other.verb) & said_of(fact.verb) or (split == "train" and kept(other)):
            return None
        frames.append(reword(other, random, REWORDED))
    sentences = [_sentence(random, frame) for frame in shuffled(random, tuple(frames))]
    return " ".join(filter(None, sentences)) if all(sentences) else None


def _sentence(random: Random, frame: Frame) -> str | None:
    pattern = pick(random, frame)
    return finish(clause(frame, pattern)) if pattern else None


def write_search(writer: Writer) -> None:
    """Draw the set and write its corpus, its queries and the relevant texts of each query."""
    queries: list[str] = []
    texts: list[tuple[str, str, int | None]] = []  # text, split, the query that it answers
    for split, size in SIZES.items():
        for example in writer.draw(FOLDER, split, size, searched):
            for number, text in enumerate(example.texts[1:]):
                texts.append((text, split, len(queries) if number < int(example.label) else None))
            queries.append(example.texts[0])
    corpus = shuffled(Random(f"{writer.seed} {FOLDER}"), tuple(texts))
    documents = [{"title": "", "text": text} for text, _, _ in corpus]
    _write_texts(writer, "corpus.jsonl", "d", documents)
    _write_texts(writer, "queries.jsonl", "q", [{"text": text} for text in queries])
    for part in SIZES:
        pairs = sorted(
            (query, row)
            for row, (_, split, query) in enumerate(corpus)
            if query is not None and split == part
        )
        lines = (f"q{query}\td{row}\t1" for query, row in pairs)
        writer.lines(f"{FOLDER}/qrels/{part}.tsv", ["query-id\tcorpus-id\tscore", *lines])


def _write_texts(writer: Writer, name: str, letter: str, rows: list[dict[str, str]]) -> None:
    """Write JSON lines; the ids are a letter and the number of the row."""
    lines = (json.dumps({"_id": f"{letter}{n}", **row}) for n, row in enumerate(rows))
    writer.lines(f"{FOLDER}/{name}", lines)

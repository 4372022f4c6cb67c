"""The names of columns in tables, and a test of whether a first line has column names."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

# Names of two text columns in common data sets.
PAIRS = (
    ("sentence1", "sentence2"),
    ("sentence_a", "sentence_b"),
    ("sent0", "sent1"),
    ("sent1", "sent2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("question1", "question2"),
    ("string1", "string2"),
    ("1_string", "2_string"),
    ("phrase1", "phrase2"),
    ("s1", "s2"),
    ("q1", "q2"),
    ("a", "b"),
    ("premise", "hypothesis"),
    ("context", "hypothesis"),
    ("anchor", "positive"),
    ("anchor", "entailment"),
    ("query", "positive"),
    ("query", "pos"),
    ("query", "document"),
    ("query", "passage"),
    ("query", "answer"),
    ("question", "answer"),
    ("source", "target"),
)
FIRST = tuple(dict.fromkeys(first for first, _ in PAIRS))
SECOND = tuple(dict.fromkeys(second for _, second in PAIRS))
NEGATIVE = ("negative", "neg", "hard_neg", "hard_negative", "contradiction", "sent2", "c")
TEXT = ("sentence", "text", "review", "phrase", "content", "comment", "tweet", "utterance", "body")
LABEL = (
    "label",
    "labels",
    "is_duplicate",
    "is_paraphrase",
    "duplicate",
    "paraphrase",
    "similarity",
    "similarity_score",
    "score",
    "relatedness_score",
    "relatedness",
    "gold_label",
    "gold",
    "sentiment",
    "rating",
    "stars",
    "class",
    "category",
    "target",
    "quality",
)
# Labels of pairs that mean the same, and of others.
YES = {
    *("1", "yes", "y", "true", "t", "duplicate", "paraphrase", "same", "match", "similar"),
    *("equivalent", "positive", "entailment", "related", "is_duplicate", "is_paraphrase"),
}
NO = {
    *("0", "-1", "no", "n", "false", "f", "different", "negative", "unrelated", "dissimilar"),
    *("nomatch", "mismatch"),
}
# Placeholders of unknown labels; the second is that of GLUE's test files.
NO_LABEL = {"", "nan", "null", "none", "na", "n/a", "#n/a", "-", "?"}
UNKNOWN = "-1"
NOT = re.compile(r"(not|non|no)[ _-]?(\w+)")  # not_duplicate, non-paraphrase
ID = ("id", "pair_id", "idx", "index", "guid", "uid", "qid", "sentence_id", "row_id", "unnamed: 0")


@dataclass(frozen=True)
class Column:
    """A column that a reader needs.

    Attributes:
        name: its name in the rows.
        also: other names of it in headers.
        required: whether a table without it is refused.
        kind: the kind of its fields: "text", "label", "id", or "other", which is not checked.
        several: whether a JSON list of several texts makes a row of each; otherwise it is refused.
    """

    name: str
    also: tuple[str, ...] = ()
    required: bool = True
    kind: str = "text"
    several: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names as `plain` writes them, the column's name first."""
        return tuple(dict.fromkeys(map(plain, (self.name, *self.also))))


def pair_columns(first: str = "sentence1", second: str = "sentence2") -> tuple[Column, Column]:
    """Return the columns of two texts, with all usual names."""
    return Column(first, FIRST), Column(second, SECOND)


def plain(name: str) -> str:
    """Return a column's name without case, blanks, quotation marks and other marks."""
    return re.sub(r"[\W_]+", "", name.casefold())


def says_yes(label: str) -> bool | None:
    """Return whether a label means yes, in any case; None if it means neither yes nor no."""
    word = label.strip().casefold()
    if word in YES:
        return True
    negated = NOT.fullmatch(word)
    return False if word in NO or (negated and negated[2] in YES) else None


KNOWN = {plain(name) for name in chain(FIRST, SECOND, NEGATIVE, TEXT, LABEL, ID)}
# A word in other spellings of a header: "First sentence", "Satz_1_text".
WORDS = re.compile(
    r"sent(ence|nce)?s?|texts?|questions?|quer(y|ies)|premise|hypothesis|phrases?|documents?"
    r"|passages?|anchor|labels?|scores?|similarity|ids?|class|rating|index|column"
)
# Up to three words, also as in "#1 String" and "Phrase A (fr)".
NAME = re.compile(r"(#\d+ )?[^\W\d]\w*([ _.:-]\w+){0,2}( \(\w+\))?")
# The number of a column among several: "Satz 1" and "Satz 2", "Phrase A (fr)" and "Phrase B (en)".
ONE_OF_TWO = re.compile(r"(.*[\W_])?(1|2|a|b)([\W_].*)?", re.I)


def is_number(text: str) -> bool:
    """Return whether a field is a number, with a decimal point or comma."""
    return re.fullmatch(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?\s*", text, re.I) is not None


def can_be_header(first: Sequence[str]) -> bool:
    """Return whether the fields of a line are distinct, short names (the first may be empty)."""
    written = [field.strip().strip('"').strip() for field in first]
    written = written[1:] if written and not written[0] else written
    return (
        bool(written)
        and len(set(map(str.casefold, written))) == len(written)
        and all(len(name) <= 40 and NAME.fullmatch(name) for name in written)
    )


def looks_like_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line of a table is one of column names, known or not.

    Its fields must be possible names that do not occur again in their columns, and must differ from
    the rows below: a column of numbers or labels has a word on top; or most fields contain a word
    that is common in headers; or two differ only in their number, as in no row below; or they are
    single words above texts of several words. The numbers 0, 1, ..., which pandas gives to columns
    without names, count as names above texts.
    """
    names = [field.strip().strip('"').strip() for field in first]
    written = list(filter(None, names))
    columns = [[row[at].strip() for row in below if at < len(row)] for at in range(len(names))]
    if len(written) > 1 and written == [str(at) for at in range(len(written))]:
        return not all(map(is_number, chain(*columns)))
    if not can_be_header(first):
        return False
    if any(name and name in column for name, column in zip(names, columns, strict=True)):
        return False
    filled = [
        (name, column) for name, column in zip(names, columns, strict=True) if name and column
    ]
    if any(_is_word_over_labels(name, column) for name, column in filled):
        return True
    usual = [
        plain(name) in KNOWN or any(map(WORDS.fullmatch, re.split(r"[\W\d_]+", name.casefold())))
        for name in written
    ]
    if 2 * sum(usual) > len(usual):
        return True
    if _are_numbered(names) and not any(map(_are_numbered, below)):
        return True
    if any(" " in name for name in written):
        return False
    longer = [2 * sum(" " in field for field in column) > len(column) for _, column in filled]
    return any(longer) and 2 * sum(longer) >= len(longer)


def _are_numbered(fields: Sequence[str]) -> bool:
    """Return whether two fields begin alike, up to the numbers 1 and 2, or a and b."""
    numbers = [ONE_OF_TWO.fullmatch(field.strip()) for field in fields]
    found = {(m[1] or "", m[2].casefold()) for m in numbers if m}
    return any(
        {(before, one), (before, two)} <= found for before, _ in found for one, two in ("12", "ab")
    )


def _is_word_over_labels(name: str, column: Sequence[str]) -> bool:
    if all(map(is_number, column)):
        return True
    labels = [field.casefold() in LABEL_WORDS for field in column]
    return all(labels) and name.casefold() not in LABEL_WORDS


# --- the content of columns

ID_LIKE = re.compile(r"[A-Za-z_.:#-]*\d[\w.:#-]*", re.ASCII)
LABEL_WORDS = {
    *("yes", "no", "true", "false", "entailment", "neutral", "contradiction", "positive"),
    *("negative", "duplicate", "different", "paraphrase", "not_entailment", "same"),
}


def is_json(text: str) -> bool:
    """Return whether a field holds an object or a list in JSON's form."""
    text = text.strip()
    if not text.startswith(("{", '["', "[{")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


NO_TEXTS = 0.9  # from this share of such fields on, a column holds no texts


class Contents:
    """Counts the kinds of fields in a text column, to detect columns without texts."""

    def __init__(self) -> None:
        self.rows = self.empty = self.numbers = self.ids = self.labels = self.json = 0

    def add(self, field: str) -> None:
        """Count one field."""
        field = field.strip()
        self.rows += 1
        self.empty += not field
        self.json += is_json(field)
        # Nearly all texts of several words are of no other kind.
        if field and " " not in field:
            self.numbers += is_number(field)
            self.ids += len(field) > 5 and ID_LIKE.fullmatch(field) is not None
            self.labels += field.casefold() in LABEL_WORDS

    @property
    def fault(self) -> str:
        """Return "numbers", "labels", "ids", "JSON" or "nothing" if nearly all fields are this.

        A text may be a number now and then, and a column of numbers may lack some ("n/a").
        """
        filled = self.rows - self.empty
        if self.rows and not filled:
            return "nothing"
        if filled < 2:  # the text of a single row may be a number
            return "JSON" if self.json else ""
        counts = (self.numbers, self.labels, self.ids, self.json)
        kinds = ("numbers", "labels", "ids", "JSON")
        enough = NO_TEXTS * filled
        return next((k for k, count in zip(kinds, counts, strict=True) if count >= enough), "")


# --- columns detected by their content


def by_content(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> dict[str, int] | None:
    """Return {name: position} of the needed columns in rows without a header, None if ambiguous.

    The text columns are taken in order. Columns of numbers or of few words are labels, distinct
    words with digits and row numbers are ids. The numbers of text and label columns must match;
    labels that are not needed and one column of ids are allowed.
    """
    places: dict[str, list[int]] = {"text": [], "label": [], "id": []}
    for at, fields in enumerate(zip(*rows, strict=True)):
        places[_kind([field.strip() for field in fields])].append(at)
    wanted = {k: [c for c in columns if c.kind == k] for k in places}
    texts, labels = len(places["text"]), len(places["label"])
    if not sum(c.required for c in wanted["text"]) <= texts <= len(wanted["text"]):
        return None
    needed = sum(c.required for c in wanted["label"])
    if labels < needed or (wanted["label"] and labels > 1) or len(places["id"]) > 1:
        return None
    pairs = ((c, at) for k in places for c, at in zip(wanted[k], places[k], strict=False))
    return {column.name: at for column, at in pairs}


def _kind(fields: Sequence[str]) -> str:
    contents = Contents()
    for field in fields:
        contents.add(field)
    distinct = len(set(fields))
    if contents.numbers == len(fields):
        whole = [int(field) for field in fields if field.isdecimal()]
        counts = len(whole) == len(fields) > 2 and whole == list(range(whole[0], whole[-1] + 1))
        return "id" if counts else "label"
    if all(map(ID_LIKE.fullmatch, fields)) and distinct == len(fields):
        return "id"
    single = not any(" " in field for field in fields)
    few = single and len(fields) >= 4 and distinct <= max(2, len(fields) // 4)
    return "label" if few or (fields and contents.labels == len(fields)) else "text"


def match(header: Sequence[str], columns: Sequence[Column]) -> tuple[dict[str, int], list[str]]:
    """Return {name: position} of the columns in a header, and the ambiguous names.

    A column's main name has priority, then, for two texts, names that belong together. A label or
    text is ambiguous if several of the other names fit; for ids the first name counts.
    """
    names = [plain(name) for name in header]
    at: dict[str, int] = {}
    doubts: list[str] = []
    texts = [column for column in columns if column.kind == "text"]
    if len(texts) > 1 and not all(plain(column.name) in names for column in texts[:2]):
        for both in PAIRS:
            if all(
                plain(name) in names and plain(name) in column.names
                for name, column in zip(both, texts, strict=False)
            ):
                at |= {c.name: names.index(plain(n)) for n, c in zip(both, texts, strict=False)}
                break
    for column in columns:
        if column.name in at:
            continue
        places = {
            name: names.index(name)
            for name in column.names
            if name in names and names.index(name) not in at.values()
        }
        if not places:
            continue
        usual = len(places) == 1 or plain(column.name) in places
        if column.kind in ("text", "label") and not usual:
            doubts += [header[place] for place in places.values()]
            continue
        at[column.name] = next(iter(places.values()))
    return at, doubts

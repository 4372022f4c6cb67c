"""The files of the course in Göttingen, in its exact form: read as CS224N's are, and told apart."""

import csv

import pytest
from reading import error_of

from data import locate
from data.examples import Sentence, SentencePair
from data.tasks import COURSE, SPLITS, files_in_doubt, read_task, split_file

ID = "{:08d}-0c1d-4e2f-8a3b-4c5d6e7f8a9b"  # ids are UUIDs there
# Of each task: rows of texts and label. The label is a word of the table.
ROWS = {
    "sst": [
        ("A slow , warm film about a lighthouse .", "3"),
        ('It says " storm " , and means drizzle .', "0"),
        ("Neither the map nor the boat helps .", "1"),
    ],
    "para": [
        ('What does "ebb" mean, exactly?', 'What is the meaning of "ebb"?', "1"),
        ("How do I fold a kite?", "Where is the harbour?", "0"),
        ("Is it far?", "Is it far, or near?", "0"),
    ],
    "sts": [
        ("A dog swims.", "The dog, it swims.", "4.75"),
        ('"It rains," she said.', "A man ties a knot.", "0.0"),
        ("Two boats meet", "Two boats meet", "5.0"),
    ],
}


def write_course(folder, separator=",", end="\n", endings=("train", "dev", "test-student")):
    """Write the files of all three tasks; those for the test have no labels. Return the folder."""
    folder.mkdir(exist_ok=True)
    for name, rows in ROWS.items():
        task = COURSE[name]
        for ending in endings:
            width = len(task.texts) + (ending != "test-student")
            path = folder / f"{task.elsewhere[0]}-{ending}.csv"
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, delimiter=separator, lineterminator=end)
                writer.writerow(["id", *[*task.texts, task.label][:width]])
                writer.writerows([ID.format(k), *row[:width]] for k, row in enumerate(rows))
    return folder


# Commas and line feeds in 2025 and 2026, tabs and line ends of Windows in 2024.
@pytest.mark.parametrize(("separator", "end"), [(",", "\n"), ("\t", "\r\n"), (",", "\r\n")])
@pytest.mark.parametrize("name", COURSE)
def test_the_courses_files_are_read_as_they_are(name, separator, end, tmp_path):
    splits = read_task(write_course(tmp_path, separator, end), name)
    make = Sentence if name == "sst" else SentencePair
    labelled = [
        make(ID.format(k), *texts, float(label)) for k, (*texts, label) in enumerate(ROWS[name])
    ]
    assert splits.train == splits.dev == labelled
    assert splits.test == [
        make(ID.format(k), *texts, None) for k, (*texts, _) in enumerate(ROWS[name])
    ]


def test_a_labelled_test_file_is_scored(tmp_path):
    write_course(tmp_path, endings=("train", "dev", "test"))
    assert [pair.label for pair in read_task(tmp_path, "sts").test] == [4.75, 0, 5]


@pytest.mark.parametrize(
    ("names", "read", "unread"),
    [
        (["sts-train", "sts-dev", "sts-test"], ["sts-train", "sts-dev", "sts-test"], []),
        (
            ["sts-train", "sts-dev", "sts-test", "sts-test-student"],
            ["sts-train", "sts-dev", "sts-test-student"],
            ["sts-test"],
        ),
        (
            ["sts-train", "sts-dev", "sts-similarity-train", "sts-similarity-dev"],
            ["sts-train", "sts-dev"],
            ["sts-similarity-train", "sts-similarity-dev"],
        ),
        (  # no mixture: the names of which more files are there
            ["sts-train", "sts-similarity-train", "sts-similarity-dev"],
            ["sts-similarity-train", "sts-similarity-dev"],
            ["sts-train"],
        ),
        (  # the test file of one course is none of the other's
            ["sts-train", "sts-dev", "sts-similarity-test-student"],
            ["sts-train", "sts-dev"],
            ["sts-similarity-test-student"],
        ),
        (["sts-similarity-dev", "sst-sentiment-train"], ["sts-similarity-dev"], []),
        ([], [], []),
    ],
)
def test_of_several_files_those_of_one_course_are_read_and_named(names, read, unread, tmp_path):
    for name in names:
        (tmp_path / f"{name}.csv").touch()
    task = COURSE["sts"]
    paths = [split_file(tmp_path, task, split) for split in SPLITS]
    assert [path.stem for path in paths if path.exists()] == read
    said = files_in_doubt(tmp_path, task)
    if not unread:
        assert said == ""
    else:
        before, after = said.split("; there too, and not read: ")
        assert before == "reads " + ", ".join(f"{name}.csv" for name in read)
        assert after == ", ".join(f"{name}.csv" for name in unread)


def test_a_repository_of_the_course_is_searched(tmp_path):
    home = write_course(tmp_path / "data")
    for task in COURSE.values():
        assert locate.find_task(tmp_path, task) == home
        message = error_of(read_task, tmp_path, task.name)
        assert message.endswith(f"files of {task.name} are in {home}; give that folder")

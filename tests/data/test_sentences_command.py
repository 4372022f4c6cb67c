"""Running text as sentences, one per line, with the borders of documents."""

import pytest

from data.sentences import main, sentences, split


@pytest.mark.parametrize(
    "expected",
    [
        ["One.", "Two!", "Three?", "No end"],
        ['He said "No."', "Then he left."],
        ["It costs 3.50 now.", "7 of them."],
        [
            "Dr. Smith met J. Doe vs. Mr. X at 5 p.m. sharp.",
            "They left (at last.)",
            "“Why?”",
            "Well.",
        ],
        [
            "Lower case follows. so it goes on",
        ],
        [""],
    ],
)
def test_sentences_end_where_another_begins(expected):
    assert split(" ".join(expected)) == expected


def test_documents_are_one_blank_line_apart():
    lines = ["", "", "Ah. Be.", "C.", "", "", "D.", ""]
    assert list(sentences(lines)) == ["Ah.", "Be.", "C.", "", "D."]


def test_the_command_writes_what_next_reads(tmp_path, capsys):
    (tmp_path / "1.txt").write_text("One. Two.\nThree.\n\n\nFour. Five.")
    (tmp_path / "2.txt").write_text("Six.\n")
    out = tmp_path / "out.txt"
    files = [str(tmp_path / f"{number}.txt") for number in (1, 2)]
    assert main([*files, "--out", str(out)]) == 0
    assert out.read_text() == "One.\nTwo.\nThree.\n\nFour.\nFive.\n\nSix.\n"
    assert "6 sentences of 3 document(s)" in capsys.readouterr().out
    (tmp_path / "2.txt").write_text("\n\n")
    assert main([*files, "--out", str(tmp_path / "other.txt")]) == 2
    assert "2.txt: is empty" in capsys.readouterr().err and not (tmp_path / "other.txt").exists()

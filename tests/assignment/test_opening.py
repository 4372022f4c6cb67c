"""Submissions of strangers: read within bounds, or refused in one line; nothing else happens."""

import os
import random
import stat
import zipfile

import pytest

from assignment.submission import opening
from assignment.submission.opening import open_submission, printable
from data.examples import DataError

GOOD = b"id , 1 \n"


def packed(path, entries, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
    return path


def refused(path) -> str:
    with pytest.raises(DataError) as error:
        open_submission(path)
    assert str(error.value).isprintable()
    return str(error.value)


def test_a_file_a_folder_and_a_zip_give_the_same_documents(tmp_path):
    folder = tmp_path / "a"
    (folder / "predictions" / "deep").mkdir(parents=True)
    for name in ("b.csv", "predictions/a.txt", "predictions/deep/c.TSV", "run.py", ".d.csv"):
        (folder / name).write_bytes(GOOD)
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    archive = packed(tmp_path / "a.zip", [(str(name), GOOD) for name in names])
    found = [[one.shown for one in open_submission(path)] for path in (folder, archive)]
    assert found[0] == ["a/b.csv", "a/predictions/a.txt", "a/predictions/deep/c.TSV"]
    assert found[1] == [name.replace("a/", "a.zip/", 1) for name in found[0]]
    (alone,) = open_submission(folder / "b.csv")
    assert (alone.name, alone.content) == ("b.csv", GOOD)


@pytest.mark.parametrize("name", ["../up.csv", "/root.csv", "a/../../up.csv", "..\\up.csv"])
def test_a_zip_that_names_places_outside_is_refused(name, tmp_path):
    info = zipfile.ZipInfo("x.csv")
    info.filename = name
    path = packed(tmp_path / "s.zip", [("good.csv", GOOD), (info, GOOD)])
    assert "names a place outside the zip" in refused(path)
    assert sorted(os.listdir(tmp_path)) == ["s.zip"]


def test_links_are_refused_wherever_they_are(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("the labels")
    info = zipfile.ZipInfo("x.csv")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    assert "is a symbolic link" in refused(packed(tmp_path / "s.zip", [(info, str(secret))]))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x.csv").symlink_to(secret)
    assert "x.csv: a symbolic link" in refused(folder)
    (tmp_path / "other").symlink_to(folder)
    assert "a symbolic link" in refused(tmp_path / "other")
    (folder / "x.csv").unlink()
    (folder / "inner").symlink_to(tmp_path)  # a folder behind a link is not entered
    assert "no file .csv or .tsv or .txt" in refused(folder)


def test_a_pipe_does_not_make_the_reader_wait(tmp_path):
    os.mkfifo(tmp_path / "x.csv")
    assert "x.csv: not a plain file" in refused(tmp_path)


def test_bombs_are_read_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MOST_BYTES", 100_000)
    path = packed(tmp_path / "s.zip", [("x.csv", bytes(10_000_000))])
    assert path.stat().st_size < 20_000
    assert "s.zip/x.csv: more than" in refused(path)
    # An entry that lies about its size is cut at what it says, or found out by its checksum.
    lying = path.read_bytes().replace((10_000_000).to_bytes(4, "little"), b"\x08\0\0\0")
    path.write_bytes(lying)
    assert "s.zip" in refused(path)
    monkeypatch.setattr(opening, "MOST_TOTAL", 250_000)
    many = [(f"{k}.csv", bytes(90_000)) for k in range(3)]
    assert "MB of text; submit less" in refused(packed(tmp_path / "m.zip", many))
    monkeypatch.setattr(opening, "MOST_ENTRIES", 2)
    assert "3 entries" in refused(tmp_path / "m.zip")


def test_what_an_honest_program_does_not_write_is_refused(tmp_path):
    path = packed(tmp_path / "l.zip", [("x.csv", GOOD)], zipfile.ZIP_LZMA)
    assert "compressed in an unusual way" in refused(path)
    with pytest.warns(UserWarning, match="Duplicate"):
        packed(tmp_path / "d.zip", [("x.csv", GOOD), ("x.csv", b"other")])
    assert "is there twice" in refused(tmp_path / "d.zip")
    whole = bytearray(packed(tmp_path / "e.zip", [("x.csv", GOOD)]).read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        whole[whole.index(signature) + flags] |= 1
    (tmp_path / "e.zip").write_bytes(whole)
    assert "is encrypted" in refused(tmp_path / "e.zip")
    (tmp_path / "n.zip").write_bytes(b"PK no zip")
    assert "not a sound zip" in refused(tmp_path / "n.zip")
    (tmp_path / "f.zip").mkdir()
    assert "no file" in refused(tmp_path / "f.zip")


def test_damaged_zips_are_read_or_refused_and_nothing_else(tmp_path):
    entries = [("a/x.csv", GOOD * 50), ("a/y.csv", b"id,2\n" * 70)]
    whole = packed(tmp_path / "s.zip", entries).read_bytes()
    draw, outcomes = random.Random(0), set()
    for _ in range(400):
        damaged = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole))])])
        for _ in range(draw.randrange(1, 4)):
            if damaged:
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        (tmp_path / "s.zip").write_bytes(damaged)
        try:
            outcomes.add(len(open_submission(tmp_path / "s.zip")))
        except DataError as error:
            outcomes.add("refused")
            assert str(error).isprintable()
    assert outcomes >= {2, "refused"}


def test_names_are_shown_without_what_steers_a_terminal(tmp_path):
    path = packed(tmp_path / "s.zip", [("a\x1b[2J\u202e|<b>.csv", GOOD)])
    (found,) = open_submission(path)
    assert found.shown == "s.zip/a\ufffd[2J\ufffd|<b>.csv"
    assert printable("x" * 300) == "x" * 199 + "…"


def test_a_zip_is_never_written_to_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile.ZipFile, "extract", None)
    monkeypatch.setattr(zipfile.ZipFile, "extractall", None)
    assert len(open_submission(packed(tmp_path / "s.zip", [("x.csv", GOOD)]))) == 1
    assert os.listdir(tmp_path) == ["s.zip"]

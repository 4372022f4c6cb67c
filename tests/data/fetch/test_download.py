"""The command line of data.download: what is fetched, where it lies, and one line of each fault."""

from dataclasses import replace

import pytest
from kites import DATA, archive, kite_server, ranged

from data import download
from data import download as transfer
from data.download import main
from data.sources import SOURCES


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setattr(transfer, "RETRY_PAUSE", 0)
    with kite_server() as start:
        yield start


def test_main_fetches_and_ends_with_where_the_files_are(serve, tmp_path, monkeypatch, capsys):
    remote, _ = serve(ranged)
    monkeypatch.setitem(SOURCES, "kites", [remote])
    assert main(["kites", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert output.out.splitlines()[-1] == f"kites: 1 file(s) in {tmp_path}"
    assert output.err == ""  # no progress bar where stderr is not a terminal


def test_main_defaults_to_a_folder_of_the_data_sets_name(serve, tmp_path, monkeypatch):
    remote, _ = serve(ranged)
    monkeypatch.setitem(SOURCES, "kites", [remote])
    monkeypatch.chdir(tmp_path)
    assert main(["kites"]) == 0
    assert (tmp_path / "downloads" / "kites" / "kites.csv").read_bytes() == DATA


def test_folders_of_an_archive_are_unpacked_and_an_archive_in_common_is_fetched_once(
    serve, tmp_path, monkeypatch, capsys
):
    data = archive({"STS/a.txt": b"a", "SICK/b.txt": b"b", "MR/c.txt": b"c"})
    remote, asked = serve(lambda handler, offset: ranged(handler, offset, data))
    for name, members in (("sts", ("STS", "SICK")), ("transfer", ("MR",))):
        monkeypatch.setitem(SOURCES, name, [replace(remote, members=members)])
    monkeypatch.chdir(tmp_path)
    assert main(["sts", "transfer"]) == 0
    folder = tmp_path / "downloads" / "senteval"
    assert (folder / "STS/a.txt").read_bytes() == b"a" and (folder / "MR/c.txt").is_file()
    assert len(asked) == 1
    assert f"{folder / 'SICK'}\n" in capsys.readouterr().out


def test_a_broken_archive_is_told_in_one_line(serve, tmp_path, monkeypatch, capsys):
    remote, _ = serve(ranged)
    monkeypatch.setitem(SOURCES, "sts", [replace(remote, members=("STS",))])
    assert main(["sts", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "cannot be unpacked" in error and "delete it" in error and error.count("\n") == 1


def test_main_answers_2_and_one_line_when_a_file_is_not_there(serve, tmp_path, monkeypatch, capsys):
    remote, _ = serve(lambda handler, offset: handler.reply(404))
    monkeypatch.setitem(SOURCES, "kites", [remote])
    assert main(["kites", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {remote.url}: ") and error.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["kytes"]])
def test_main_answers_2_to_an_unknown_or_missing_name(arguments, capsys):
    assert main(arguments) == 2
    assert "expected one of cs224n, wiki1m, nli" in capsys.readouterr().err


def test_main_answers_130_when_interrupted_and_says_that_it_resumes(monkeypatch, tmp_path, capsys):
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "fetch", interrupt)
    assert main(["nli", "--out", str(tmp_path)]) == 130
    assert "again to resume" in capsys.readouterr().err


def test_list_names_every_file_and_fetches_nothing(monkeypatch, capsys):
    monkeypatch.setattr(download, "fetch", None)
    assert main(["--list"]) == 0
    output = capsys.readouterr().out
    assert all(remote.url in output for files in SOURCES.values() for remote in files)


def test_help_names_every_data_set_and_the_flags(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    output = capsys.readouterr().out
    assert all(word in output for word in ("[NAME ...]", "--out DIR", "--list", "downloads/NAME"))
    assert all(f"{name} = " in output for name in SOURCES)


def test_an_unknown_flag_ends_with_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--nonsense"])
    assert stop.value.code == 2
    assert "--nonsense" in capsys.readouterr().err

"""A run ends with its verdict and its page; a page that fails loses nothing."""

import pytest
from toy_runs import cells_of, results, run

from report.__main__ import main
from report.page import command
from report.page.material import Material

SHORT = ["--task", "sts", "--encoder", "bi", "cross", "--pretrain", "none", "sup"]
SHORT += ["--geometry-steps", "2"]


@pytest.fixture(scope="module")
def finished(tiny_checkpoint, toy_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("paged") / "runs" / "grid"
    assert run(tiny_checkpoint, toy_data, folder, *SHORT) == 0
    return folder


def test_the_terminal_ends_with_the_pages_verdict(tiny_checkpoint, toy_data, finished, capsys):
    assert run(tiny_checkpoint, toy_data, finished, *SHORT) == 0
    said = capsys.readouterr().out
    *_, verdict, last = said.strip().rsplit("\n\n", 1)[1].rsplit("\n", 1)
    assert last == f"page: {finished / 'report.html'}"
    page = (finished / "report.html").read_text()
    assert "Similarity 0-5 (sts): " in verdict and max(map(len, verdict.splitlines())) <= 100
    start = " ".join(verdict.split()).split(": ")[0]
    assert start in page


def test_a_run_keeps_what_the_page_shows(finished):
    material = Material.read(finished)
    for cell in cells_of(finished):
        soft = material.soft(cell)
        assert soft is not None and soft == pytest.approx(material.predictions(cell), abs=1e-5)
        assert (material.soft(cell, "cosines") is not None) == (cell.encoder == "bi")
    page = (finished / "report.html").read_text()
    for id in ("bars-sts", "density-sts-sup", "curve-tuning", "trajectory", "curve-heads-sts"):
        assert f'<figure id="{id}">' in page


def test_the_command_makes_the_same_page_again(finished):
    page = (finished / "report.html").read_bytes()
    (finished / "report.html").unlink()
    assert main(["page", str(finished)]) == 0
    assert (finished / "report.html").read_bytes() == page


@pytest.mark.parametrize("problem", [RuntimeError("a bug"), ImportError("no matplotlib")])
def test_a_page_that_fails_leaves_the_results(
    problem, tiny_checkpoint, toy_data, tmp_path, monkeypatch, caplog
):
    def fail(path, content):
        raise problem

    monkeypatch.setattr(command, "write_text", fail)
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--task", "sst") == 0
    assert len(results(tmp_path / "r")) == 1
    assert str(problem) in caplog.text and "python -m report html" in caplog.text


def test_a_dry_run_has_no_page(tiny_checkpoint, toy_data, tmp_path):
    assert run(tiny_checkpoint, toy_data, tmp_path / "r", "--dry-run") == 0
    assert not (tmp_path / "r").exists()

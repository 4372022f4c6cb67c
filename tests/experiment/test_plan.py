"""What a run says before it computes: where its model and data come from, and what it will do."""

from toy_runs import compare, small

from experiment.plan import notes_on_defaults
from experiment.settings import parse_options


def test_the_defaults_say_what_they_are_and_how_to_have_the_originals():
    text = "\n".join(notes_on_defaults(parse_options([])))
    assert "--backbone bert-base-uncased" in text and "--data cs224n" in text
    assert notes_on_defaults(parse_options(["--backbone", "b", "--data", "d"])) == []


def test_nothing_is_said_of_what_a_folder_of_that_name_hides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundled").mkdir()
    (line,) = notes_on_defaults(parse_options([]))
    assert line.startswith("mini ")


def test_a_dry_run_says_the_whole_plan_and_does_nothing(tiny_checkpoint, toy_data, tmp_path):
    lines = []
    grid = {"pretrain": ("none", "sup"), "task": "all", "encoder": ("bi", "cross"), "seeds": 2}
    settings = small(tiny_checkpoint, toy_data, tmp_path / "r", dry_run=True, **grid)
    assert compare(settings, lines.append) == []
    plan = "\n".join(lines)
    for said in (
        *(str(tiny_checkpoint), str(toy_data), "cpu, float32 products", "nli_for_simcse.csv"),
        *("sst: 48 train, 16 dev, 8 test", "the best of 48 STS training pairs"),
        "2 seed(s) x none sup x sst/bi para/bi para/cross sts/bi sts/cross; frozen, interaction",
    ):
        assert said in plan, said
    assert not (tmp_path / "r").exists()

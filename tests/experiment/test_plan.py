"""What a run says before it computes: where its model and data come from, and what it will do."""

from toy_runs import compare, small

from experiment.opening import find_inputs
from experiment.plan import plan
from experiment.settings import parse_options


def test_what_ships_is_named_with_how_to_have_the_original():
    text = plan(find_inputs(parse_options(["--task", "sts"])))
    assert "--backbone bert-base-uncased" in text and "--data cs224n" in text


def test_a_dry_run_says_the_whole_plan_and_does_nothing(tiny_checkpoint, toy_data, tmp_path):
    lines = []
    grid = {"pretrain": ("none", "sup"), "task": "all", "encoder": ("bi", "cross"), "seeds": 2}
    settings = small(tiny_checkpoint, toy_data, tmp_path / "r", dry_run=True, **grid)
    assert compare(settings, lines.append) == []
    text = "\n".join(lines)
    for said in (
        *(str(tiny_checkpoint), str(toy_data), "cpu, float32 products", "nli_for_simcse.csv"),
        *("sst: 48 train, 16 dev, 8 test", "the best of 48 STS training pairs"),
        "2 seed(s) x none sup x sst/bi para/bi para/cross sts/bi sts/cross; frozen, interaction",
    ):
        assert said in text, said
    assert "--backbone bert" not in text and "--data cs224n" not in text
    assert not (tmp_path / "r").exists()

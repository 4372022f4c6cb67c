"""Settings: what they accept and refuse, what the help tells of them, the folder they name."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from baselines.objectives import ALL_OBJECTIVES as TABLE
from data.tasks import COURSE
from experiment.settings import OBJECTIVES, PRESET_TABLE, Settings, parse_options
from heads.config import RATES, HeadConfig, head_config
from runtime.errors import UserError
from runtime.options import build_parser, shown_value
from simcse.config import PRESETS, SimCSEConfig

FULL = {"tune": "full"}
JOINT = {"tune": "joint", "task": "all"}
AS_IT_IS = {"tune": "none", "task": "sts"}


def test_the_table_of_presets_in_the_help_is_what_they_are():
    rows = {line.split()[0]: line for line in PRESET_TABLE.splitlines()}
    for stage in ("unsup", "sup"):
        shown = []
        for preset in PRESETS:
            config = PRESETS[preset][stage]
            count, unit = (
                (config.max_steps, "step") if config.max_steps else (config.num_epochs, "epoch")
            )
            length = f"{count} {unit}{'s' * (count > 1)}"
            shown.append(f"{length}, {config.batch_size}, {shown_value(config.learning_rate)}")
        assert re.split(r"  +", rows[stage].strip())[1:] == shown
    for preset in PRESETS:
        for task in COURSE:
            frozen = head_config(preset, "frozen", task)
            assert f"{frozen.num_epochs} ({task})" in rows["head"]
            assert f"{frozen.batch_size}, {shown_value(frozen.learning_rate)}" in rows["head"]
        tuned = [head_config(preset, "full", task) for task in ("sst", "para", "sts")]
        epochs = "/".join(dict.fromkeys(str(config.num_epochs) for config in tuned))
        rate, encoders = tuned[0].learning_rate, tuned[0].backbone_learning_rate
        assert f"{epochs} epochs, 64, " in PRESET_TABLE
        assert f"encoder {shown_value(encoders)}" in PRESET_TABLE
        assert shown_value(rate) in PRESET_TABLE


def test_single_values_are_fields_of_their_stages_settings():
    dests = [action.dest for action in build_parser(Settings)._actions]
    for stage, config in (("simcse", SimCSEConfig), ("head", HeadConfig)):
        names = {dest.partition(".")[2] for dest in dests if dest.startswith(f"{stage}.")}
        assert 4 <= len(names) and names < {found.name for found in fields(config)}
        assert getattr(parse_options([]), stage) == {}
    settings = parse_options("--symmetric --simcse-lr 1e-4 --head-epochs 3".split())
    assert settings.simcse == {"symmetric": True, "learning_rate": 1e-4}
    assert settings.head == {"num_epochs": 3}


def test_epochs_that_are_asked_for_are_not_cut_by_the_presets_steps():
    def config(flags):
        return parse_options(flags.split()).simcse_config("sup", 42)

    assert (config("").num_epochs, config("").max_steps) == (1, 40)
    assert config("--simcse-epochs 3").max_steps is None
    assert config("--simcse-epochs 3 --simcse-steps 480").max_steps == 480
    assert config("--simcse-steps 480").max_steps == 480


def test_single_values_stand_over_the_preset_and_both_under_seed_features_and_pooling():
    settings = Settings(
        preset="paper",
        pooling="avg",
        features="concat",
        simcse={"temperature": 0.1},
        head={"batch_size": 7},
    )
    expected = replace(PRESETS["paper"]["sup"], temperature=0.1, pooling="avg", seed=5)
    assert settings.simcse_config("sup", 5) == expected
    expected = replace(head_config("paper", "full", "sts"), batch_size=7, features="concat", seed=5)
    assert settings.head_config("sts", "full", 5) == expected


def test_rates_are_tried_where_an_encoder_is_tuned_and_none_is_published():
    assert Settings(tune="full").rates_to_try("full") == RATES
    assert Settings(rates=(1e-3, 1e-4, 1e-3), tune="full").rates_to_try("full") == (1e-4, 1e-3)
    for settings, tune, rate in (
        (Settings(tune="full", preset="report"), "full", 1e-5),
        (Settings(tune="full", rates=1e-3), "full", 1e-3),
        (Settings(tune="full", head={"backbone_learning_rate": 1e-3}), "full", 1e-3),
        (Settings(**JOINT), "joint-proportional", 5e-4),
        (Settings(), "frozen", 0.0),
    ):
        assert settings.rates_to_try(tune) == ()
        assert settings.head_config("sts", tune, 1).backbone_learning_rate == rate


def test_a_recipes_own_pooling_stands_unless_another_is_asked_for():
    assert Settings().simcse_config("sbert", 1).pooling == "avg"
    assert Settings(pooling="cls").simcse_config("sbert", 1).pooling == "cls"
    assert Settings().simcse_config("sup", 1).pooling is None


def test_a_program_says_the_same_as_the_command_line():
    words = "--pretrain none sup --task sts --reader bi cross --seeds 2 --simcse-lr 1e-4"
    assert parse_options(words.split()) == Settings(
        pretrain=("none", "sup"),
        task="sts",
        reader=("bi", "cross"),
        seeds=2,
        simcse={"learning_rate": 1e-4},
    )
    assert parse_options([]) == Settings()
    assert parse_options(["--encoder", "late"]) == Settings(reader="late")  # as up to 1.1


def test_one_word_is_accepted_where_several_are_possible_and_twice_is_once():
    settings = Settings(pretrain="sup", task="all", reader="cross", tune="full")
    assert (settings.pretrain, settings.reader, settings.tune) == (("sup",), ("cross",), ("full",))
    assert settings.tasks == tuple(COURSE) and list(settings.training_files()) == ["sup"]
    assert Settings(task=["sts", "sst", "sts"]).tasks == ("sts", "sst")
    assert list(Settings(pretrain=("none", "unsup", "none")).training_files()) == ["unsup"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"task": "mnli"}, "--task mnli: expected one of sst, para, sts"),
        ({"pretrain": ("none", "mlm")}, "--pretrain mlm: expected one of none, unsup, sup"),
        ({"tune": "half"}, "--tune half: expected one of frozen, full, joint, none"),
        ({"pooling": "max"}, "--pooling max"),
        ({"seeds": 0}, "--seeds 0: expected a whole number from 1 to 1000"),
        ({"seed": -1}, "--seed -1"),
        ({"seed": 2**31, "seeds": 2}, "--seed 2147483648 --seeds 2: the last seed is 2147483649"),
        ({"simcse": {"lr": 1e-4}}, "simcse: unknown setting 'lr'; one of"),
        ({"head": {"epochs": 3}}, "head: unknown setting 'epochs'; one of num_epochs"),
        ({"simcse": {"temperature": 0.0}}, "--temperature 0.0: expected a number"),
        ({"head": {"backbone_learning_rate": -1.0}}, "--backbone-lr -1.0"),
        ({"rates": 0}, "--rates 0: expected a number from"),
        ({"rates": (1e-4, 1e-3)}, "--rates: has no effect; add --tune full"),
        (FULL | {"rates": 1e-4, "head": {"backbone_learning_rate": 1.0}}, "twice; leave one out"),
        ({"train_rows": "9"}, "--train-rows 9: expected 10 or more, or all"),
        ({"train_rows": "many"}, "expected 10 or more, or all"),
        (
            JOINT | {"train_rows": "12"},
            "single-task heads; leave out --tune joint",
        ),
        ({"schedule": "sequential"}, "have no effect; add --tune joint"),
        ({"remedies": "replay"}, "have no effect; add --tune joint"),
        ({"tune": "joint", "task": "sst"}, "--tune joint: sst is one task; give --task several"),
        (JOINT | {"remedies": "replay"}, "--remedies replay: needs --schedule sequential"),
        (JOINT | {"joint": {"replay_share": 0.2}}, "--replay-share: has no effect; add --rem"),
        (AS_IT_IS | {"pretrain": "unsup"}, "evaluates a published model; use --pretrain none"),
        (AS_IT_IS | {"train_rows": "10"}, "--tune none: trains nothing; leave out --train-rows"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line_that_names_it(given, said):
    with pytest.raises(UserError) as caught:
        Settings(**given)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_objectives_to_choose_from_are_those_of_the_table():
    assert {*TABLE, "teacher"} == {*OBJECTIVES}
    places = {"unsup_data": "u.txt", "sup_data": "s.csv", "sbert_data": "p.tsv"}
    settings = Settings(pretrain=OBJECTIVES, teacher="large", **places)
    files = {name: named for name, (named, _) in settings.training_files().items()}
    sentences = dict.fromkeys(("unsup", "teacher", "dual", "ct", "isbert"), "u.txt")
    assert files == sentences | {"sup": "s.csv", "sbert": "p.tsv"}
    assert settings.training_files()["ct"] == ("u.txt", "--unsup-data")
    assert Settings(pretrain="sup").training_files() == {"sup": (None, "--sup-data")}


def test_the_folders_name_differs_with_any_setting_that_decides_a_number():
    plain = Settings(task=("sst", "sts"))
    assert re.fullmatch(r"runs/none_sst\+sts_bi\+cross_frozen_[0-9a-f]{8}", str(plain.folder()))
    others = [
        *({"task": "sst"}, {"reader": "cross"}, {"tune": "full"}, {"pretrain": "sup"}),
        *({"seed": 1}, {"seeds": 2}, {"features": "concat"}, {"preset": "paper"}),
        *({"simcse": {"temperature": 0.1}}, {"head": {"num_epochs": 3}}, {"backbone": "b"}),
        *({"data": "d"}, {"pooling": "avg"}, {"sup_data": "f"}, {"precision": "float32"}),
    ]
    folders = {replace(plain, **other).folder() for other in others}
    assert len(folders | {plain.folder()}) == len(others) + 1
    for same in ({"resume": True}, {"dry_run": True}, {"threads": 3}):
        assert replace(plain, **same).folder() == plain.folder()
    assert replace(plain, run_dir=Path("here")).folder() == Path("here")

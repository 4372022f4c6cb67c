"""The table of objectives, and the published recipes."""

import math

import pytest
import torch
from conftest import toy_sentences

from data.overlap import Seen, text_hash
from data.sources import SOURCES
from simcse.config import PRESETS, SUP_PAPER, UNSUP, SimCSEConfig
from simcse.loss import dot_matrix, info_nce, nt_xent
from simcse.objectives import OBJECTIVES, contrastive_loss


def test_presets_are_the_published_recipes():
    assert PRESETS["paper"]["unsup"] == UNSUP
    paper = PRESETS["paper"]["sup"]
    assert paper == SUP_PAPER
    assert (paper.batch_size, paper.learning_rate, paper.num_epochs) == (512, 5e-5, 3)
    assert (UNSUP.batch_size, UNSUP.learning_rate, UNSUP.num_epochs) == (64, 3e-5, 1)
    assert PRESETS["report"]["sup"].batch_size == 128
    assert {paper.temperature, UNSUP.temperature} == {0.05}
    assert {(config.max_length, config.eval_steps) for config in (paper, UNSUP)} == {(32, 125)}


def test_every_objective_has_a_recipe_in_every_preset_and_data_to_fetch():
    # A teacher's objective is made when the teacher is known.
    assert all(recipes.keys() == {*OBJECTIVES, "teacher"} for recipes in PRESETS.values())
    assert all(name == objective.name for name, objective in OBJECTIVES.items())
    assert {objective.source for objective in OBJECTIVES.values()} <= SOURCES.keys()


@pytest.mark.parametrize(
    ("name", "file", "examples", "views"),
    [("unsup", "wiki1m_for_simcse.txt", 120, 2), ("sup", "nli_for_simcse.csv", 60, 3)],
)
def test_a_training_file_becomes_rows_of_views(name, file, examples, views, toy_data, tiny_encoder):
    seen = Seen()
    objective = OBJECTIVES[name]
    data = objective.views(objective.read(toy_data / file), tiny_encoder.tokenizer, 32, seen)
    assert data.rows.shape == (examples, views)
    assert text_hash(toy_sentences(120, 77)[0]) in seen.texts


def test_the_loss_follows_the_settings():
    torch.manual_seed(0)
    a, p, n = torch.randn(3, 5, 7)
    texts = torch.arange(15).view(3, 5) % 12
    for settings, count, expected in (
        ({"temperature": 0.1}, 2, info_nce(a, p, None, 0.1, texts=texts[:2])),
        ({"symmetric": True}, 3, nt_xent(a, p, n, 0.05, texts=texts)),
        ({"hard_negative_weight": 4.0}, 3, info_nce(a, p, n, 0.05, math.log(4.0), texts)),
        (
            {"similarity": "dot", "hard_negative_weight": 4.0},
            3,
            info_nce(a, p, n, 1.0, math.log(4.0), texts, dot_matrix),
        ),
    ):
        config = SimCSEConfig(**settings)
        found = contrastive_loss([a, p, n][:count], config, texts[:count])
        assert torch.equal(found, expected)

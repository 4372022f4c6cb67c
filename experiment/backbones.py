"""The encoder under the heads: as loaded, or tuned now or by an earlier run.

Reads: inputs, simcse. Feeds: cells, comparison.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch

from baselines.isbert import load_tuned
from baselines.objectives import ALL_OBJECTIVES
from evaluation.geometry import pair_geometry
from evaluation.sts import selection_score
from experiment.inputs import Inputs
from minbert.encoder import SentenceEncoder
from minbert.pooling import choose_pooling
from report.run_folder import RunFolder
from simcse.stage import Backbone, read_notes, tuned_backbone

Say = Callable[[str], None]  # called with every line of output


@dataclass(frozen=True)
class Reader:
    """The encoder that heads are trained on, loaded once, and its fingerprint."""

    encoder: SentenceEncoder
    fingerprint: str


def reader_of(
    inputs: Inputs, untuned: Backbone, pretrain: str, seed: int, folder: RunFolder, say: Say
) -> Reader:
    """Return the encoder of one contrastive stage."""
    settings = inputs.settings
    if pretrain == "none":
        folder.link("backbones/none", untuned.folder)
        encoder = copy.copy(untuned.encoder)  # the same weights, pooled as the user asks
        encoder.pool_by(choose_pooling(settings.pooling, encoder.stated_pooling))
        return Reader(encoder, encoder.fingerprint(untuned.weights))

    def dev_score(encoder: SentenceEncoder) -> float:
        return selection_score(encoder.encode_quietly, inputs.selection)

    def geometry(encoder: SentenceEncoder) -> dict[str, float | None]:
        return pair_geometry(encoder.encode_quietly, inputs.selection)

    say(f"tuning    {pretrain}, seed {seed}")
    tuned = tuned_backbone(
        ALL_OBJECTIVES[pretrain],
        untuned,
        inputs.texts[pretrain],
        settings.simcse_config(pretrain, seed),
        folder.path.parent / "backbones",
        dev_score if inputs.selection else None,
        settings.resume,
        geometry if inputs.selection else None,
    )
    folder.link(f"backbones/{pretrain}-{seed}", tuned)
    notes = read_notes(tuned)
    folder.add_curve(f"{pretrain}-{seed}", notes["history"])
    score = "no dev check" if notes["best_score"] is None else f"dev {notes['best_score']:.4f}"
    say(f"          {score}, {notes['seconds']:.0f} s: {tuned}")
    threads, now = notes["threads"], torch.get_num_threads()
    if untuned.encoder.device.type == "cpu" and threads not in (None, now):
        say(f"          tuned with {threads} threads, this run has {now}: last digits may differ")
    # A tuned checkpoint states its own pooling.
    encoder = load_tuned(tuned, settings.device, settings.precision)
    return Reader(encoder, encoder.fingerprint())

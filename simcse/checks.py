"""What is refused before anything is read or trained. Feeds: train, experiment."""

from minbert.encoder import SentenceEncoder
from runtime.errors import TrainingError
from simcse.config import SHARED, SimCSEConfig


def check_settings(encoder: SentenceEncoder, config: SimCSEConfig) -> None:
    """Refuse settings that cannot work, before anything is read or trained.

    Raises:
        TrainingError: sentences longer than the encoder has positions; `compile` on a CPU, where
            it loses time, or with `chunk_tokens`; a `positive_share` that nothing reads.
    """
    # BERT has an embedding for each position, and none beyond the last.
    positions = encoder.model.config.num_positions
    if config.max_length > positions:
        raise TrainingError(
            f"--simcse-max-length {config.max_length}: this backbone has {positions} positions"
        )
    if config.positive_share is not None and config.positive not in SHARED:
        raise TrainingError(
            f"--positive-share: nothing reads it with --positive {config.positive}; leave it out"
        )
    if config.compile and encoder.device.type == "cpu":
        raise TrainingError("--compile is for GPUs, a CPU loses time with it; leave it out")
    if config.compile and config.chunk_tokens:
        raise TrainingError(
            "--compile and --chunk-tokens exclude each other: compiled dropout may differ "
            "when a chunk is encoded again; leave one out"
        )

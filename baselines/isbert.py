"""IS-BERT: maximises mutual information between a sentence and its tokens (Zhang et al. 2020).

Convolutions over the encoder's token states give each token features of its neighbourhood; their
mean is the sentence's vector. Training raises the mutual information between the two.
Legend: B sentences, n of them in a chunk, T tokens, H hidden_size.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from minbert.checkpoint import (
    check_whole,
    load_module,
    read_file,
    tensors_digest,
    whole_checkpoint,
    write_tensors,
)
from minbert.encoder import SentenceEncoder
from minbert.packing import PackedBatch
from runtime.device import autocast
from runtime.errors import TrainingError
from simcse.config import SimCSEConfig
from simcse.objectives import Siamese, too_few
from simcse.views import ContrastiveData

# The window sizes of the convolutions, in tokens.
WINDOWS = (1, 3, 5)
FILE = "isbert.safetensors"  # the convolutions, in the folder of the encoder's weights


class TokenFeatures(nn.Module):
    """Concatenated convolutions of several windows over token states: H numbers per token."""

    def __init__(self, hidden_size: int):
        super().__init__()
        # As in the paper, where 3 x 256 = 768: the features are as wide as the states.
        share, rest = divmod(hidden_size, len(WINDOWS))
        self.convolutions = nn.ModuleList(
            nn.Conv1d(hidden_size, share + (number < rest), window, padding=window // 2)
            for number, window in enumerate(WINDOWS)
        )

    def forward(self, states: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return features (n, T, H) and which tokens are real (n, T), from packed states."""
        # Zeros around each sentence: no window reaches into the next one.
        padded = pad_sequence(list(states.split(list(lengths))), batch_first=True)  # (n, T, H)
        places = torch.arange(padded.shape[1], device=states.device)
        real = places < torch.tensor(lengths, device=states.device)[:, None]  # (n, T)
        channels = padded.transpose(1, 2)  # (n, H, T), as convolutions read
        features = torch.cat([F.relu(convolve(channels)) for convolve in self.convolutions], dim=1)
        return features.transpose(1, 2) * real[..., None], real


def mean_features(features: Tensor, real: Tensor) -> Tensor:
    """Return the mean (n, H) of features (n, T, H), zero where `real` (n, T) is not."""
    return features.sum(dim=1) / real.sum(dim=1, keepdim=True)


class InfoEncoder(SentenceEncoder):
    """An encoder whose embeddings are the mean of its token features."""

    features: TokenFeatures

    @classmethod
    def around(cls, encoder: SentenceEncoder, features: TokenFeatures) -> "InfoEncoder":
        """Return an encoder with the weights of `encoder`, and `features` on top of them."""
        info = cls.__new__(cls)
        vars(info).update(vars(encoder))
        info.features = features.to(encoder.device)
        info.steps = nn.Sequential()  # these belong to another pooling
        return info

    def embed_tokens(self, batch: PackedBatch) -> tuple[Tensor, Tensor]:
        """Return float32 features of all tokens (n, T, H), and which tokens are real (n, T)."""
        batch = batch.to(self.device)
        with autocast(self.device, self.dtype):
            output = self.model.packed(batch)
        features: tuple[Tensor, Tensor] = self.features(
            output.last_hidden_state.float(), batch.lengths
        )
        return features

    @property
    def averages(self) -> bool:
        """Whether an embedding is a mean of token states: of convolutions, here."""
        return False

    def embed(self, batch: PackedBatch) -> Tensor:
        """Return the mean of each sentence's token features, (n, H), with gradient."""
        return mean_features(*self.embed_tokens(batch))

    def save(self, path: str | Path, notes: dict[str, Any] | None = None) -> None:
        """Write the encoder's checkpoint, and the convolutions as isbert.safetensors next to it."""
        with whole_checkpoint(Path(path)) as folder:
            super().save(folder, notes)
            write_tensors(self.features.state_dict(), folder / FILE)

    def fingerprint(self, weights: str | None = None) -> str:
        """Return a SHA-256 of everything that determines the embeddings, with the convolutions."""
        made_of = super().fingerprint(weights) + tensors_digest(self.features.state_dict())
        return hashlib.sha256(made_of.encode()).hexdigest()


def load_tuned(
    folder: Path, device: str = "auto", precision: str = "auto", pooling: str | None = None
) -> SentenceEncoder:
    """Return the encoder in the folder of a contrastive stage with any objective.

    IS-BERT's encoder has its convolutions; with another `pooling` than the folder states, the plain
    encoder is returned.

    Raises:
        CheckpointError: the folder is missing, damaged or not as it was saved.
    """
    check_whole(folder)
    encoder = SentenceEncoder.from_pretrained(str(folder), pooling, device, precision)
    path = folder / FILE
    if pooling is not None or not path.is_file():
        return encoder
    features = TokenFeatures(encoder.model.config.hidden_size)
    load_module(features, read_file(path), path)
    return InfoEncoder.around(encoder, features)


class MutualInformation(Siamese):
    """The mutual information between sentences and their tokens, as a loss."""

    in_batch = False

    def __init__(self, encoder: SentenceEncoder, config: SimCSEConfig):
        """Draw the convolutions' weights."""
        # The mean of token features is the pooling, so the saved folder states the mean, too.
        super().__init__(encoder, replace(config, pooling="avg"))
        self.features = TokenFeatures(encoder.model.config.hidden_size)
        self.info = InfoEncoder.around(encoder, self.features)

    @classmethod
    def check(cls, config: SimCSEConfig, data: ContrastiveData) -> None:
        """Check as every form does, and refuse batches of one sentence."""
        super().check(config, data)
        if min(config.batch_size, len(data)) == 1:
            raise TrainingError(too_few(config, "other sentences"))

    def embed(self, batch: PackedBatch, first: bool) -> Tensor:
        """Return token features (n, max_length, H + 1); the last number is 1 for real tokens.

        All sentences have the same shape, so chunks and processes can be joined.
        """
        features, real = self.info.embed_tokens(batch)
        marked = torch.cat([features, real[..., None].float()], dim=2)
        return F.pad(marked, (0, 0, 0, self.config.max_length - marked.shape[1]))

    def measure(
        self, views: Sequence[Tensor], labels: Tensor | None, texts: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the loss, and the share of tokens whose sentence has the highest score."""
        features, real = views[0][..., :-1], views[0][..., -1].bool()
        return jensen_shannon_loss(features, real)

    @property
    def kept(self) -> nn.Module:
        return nn.ModuleDict({"model": self.encoder.model, "features": self.features})

    @property
    def tuned_encoder(self) -> InfoEncoder:
        return self.info


def jensen_shannon_loss(features: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
    """Return minus the estimated mutual information, and the share of tokens matched correctly.

    The Jensen-Shannon estimator (paper, equation 2; Hjelm et al. 2019) with the dot product as its
    discriminator T, as in the published code: the mean of sp(-T) over tokens with their sentence,
    plus the mean of sp(T) over tokens with every other sentence, where sp(x) = log(1 + e^x).
    `features` (B, T, H) are of tokens; `real` (B, T) marks those that are not padding.
    """
    sentences = mean_features(features, real)  # (B, H)
    tokens = features[real]  # (all tokens, H)
    scores = tokens @ sentences.T  # (all tokens, B)
    # Token i is of sentence owners[i].
    owners = real.nonzero()[:, 0]
    matching = F.one_hot(owners, len(sentences)).bool()  # (all tokens, B)
    positive = F.softplus(-scores[matching]).mean()
    # A last batch of one sentence has no other sentences, and an empty mean would be NaN.
    others = scores[~matching]
    negative = F.softplus(others).sum() / max(1, others.numel())
    accuracy = (scores.argmax(dim=1) == owners).float().mean()
    return positive + negative, accuracy

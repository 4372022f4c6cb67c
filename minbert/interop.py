"""The encoder in the shapes that MTEB and scikit-learn accept.

    as_mteb(encoder, name, folder)    pip install "mteb>=2.20,<3"
    as_sklearn(encoder)               comes with requirements.txt

MTEB is imported by its own function only, so nothing else needs it.
Evaluators of sentence-transformers take the encoder as it is, and most other libraries the arrays
that `encode` returns. Examples: docs/start.md.
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from minbert.encoder import SentenceEncoder
from minbert.folder import CheckpointFolder
from runtime.errors import UserError

SOURCES = ("trained_on", "selected_by")  # of the notes of a tuned checkpoint


def as_mteb(
    encoder: SentenceEncoder, name: str = "local/minbert", folder: str | Path | None = None
) -> Any:
    """Return a model for `mteb.evaluate`.

    Its revision is the encoder's fingerprint, so MTEB's cache never mixes results of different
    weights: call this function again after training. The cache lists the model as `name`, in the
    form `organization/model`.

    Args:
        encoder: the model.
        name: see above.
        folder: its checkpoint. The training and selection data in its notes become MTEB's
            `training_datasets`; None, or a folder without notes, leaves them unknown.

    Raises:
        UserError: MTEB is not installed, or the name has no organization.
    """
    try:
        from mteb.models import ModelMeta
        from mteb.models.abs_encoder import AbsEncoder
        from mteb.models.model_meta import ScoringFunction
    except ImportError as error:
        raise UserError(f'as_mteb: {error}; pip install "mteb>=2.20,<3"') from None
    if name.count("/") != 1:
        raise UserError(f"as_mteb: the name is {name!r}; MTEB expects organization/model")

    class MinbertForMTEB(AbsEncoder):
        def __init__(self) -> None:
            self.model = encoder
            self.mteb_model_meta = ModelMeta.create_empty(
                {
                    "name": name,
                    "revision": encoder.fingerprint(),
                    "n_parameters": sum(p.numel() for p in encoder.model.parameters()),
                    "embed_dim": encoder.embedding_size,
                    "max_tokens": encoder.max_length,
                    "similarity_fn_name": ScoringFunction.COSINE,
                    "use_instructions": False,
                    "framework": ["PyTorch"],
                    "training_datasets": training_datasets(folder) if folder else None,
                }
            )

        def encode(self, inputs: Any, *, prompt_type: Any = None, **keywords: Any) -> Any:
            side = getattr(prompt_type, "value", prompt_type)
            if keywords.get("precision") not in (None, "float32"):
                raise UserError("as_mteb: MTEB would compare packed bits; use precision='float32'")
            # The source of a text does not matter; a query may have a prompt.
            for word in ("task_metadata", "hf_split", "hf_subset"):
                keywords.pop(word, None)
            texts = [text for batch in inputs for text in batch["text"]]
            by_side = {"query": encoder.encode_query, "document": encoder.encode_document}
            return by_side.get(side, encoder.encode)(texts, **keywords)

    return MinbertForMTEB()


def training_datasets(folder: str | Path) -> set[str] | None:
    """Return the names of the files that a tuned checkpoint was trained on and selected by.

    The names for the checkpoint that it was tuned from are included. None if there are no notes.

    Raises:
        CheckpointError: damaged notes.
    """
    notes = CheckpointFolder(Path(folder)).training
    if not notes:
        return None
    # The name of a file without extensions, or of a folder in CS224N's format, whose STS files
    # hold pairs of STS-Benchmark (`bundled`: synthetic pairs).
    names = {Path(notes[key]).name.partition(".")[0] for key in SOURCES if key in notes}
    earlier = training_datasets(notes["backbone"]) if "trained_on" in notes else None
    return names | (earlier or set())


class MinbertTransformer(TransformerMixin, BaseEstimator):
    """A transformer of scikit-learn that learns nothing: texts in, embeddings (N, H) out."""

    def __init__(self, encoder: SentenceEncoder, batch_tokens: int | None = None):
        self.encoder = encoder
        self.batch_tokens = batch_tokens

    def fit(self, X: Any, y: Any = None) -> "MinbertTransformer":
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the embeddings of a column of texts."""
        texts = _column(X)
        return np.asarray(self.encoder.encode(texts, self.batch_tokens, show_progress=False))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> "MinbertTransformer":
        return type(self)(**self.get_params(deep=False))


def as_sklearn(encoder: SentenceEncoder, batch_tokens: int | None = None) -> MinbertTransformer:
    """Return a transformer for scikit-learn's pipelines: texts in, embeddings (N, H) out.

    It learns nothing. Clones share its encoder, so a grid search holds the weights once.
    """
    return MinbertTransformer(encoder, batch_tokens)


def _column(texts: Any) -> list[str]:
    """Return the texts of a list, an array (N,) or (N, 1), or a table with one column."""
    if isinstance(texts, str):
        raise UserError("as_sklearn: got one string; give a list of texts")
    shape: tuple[int, ...] = getattr(texts, "shape", (len(texts),))
    if len(shape) == 1:
        return list(texts)
    if shape[1:] != (1,):
        raise UserError(f"as_sklearn: expected one column of texts, got shape {tuple(shape)}")
    return list(np.asarray(texts)[:, 0])

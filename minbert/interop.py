"""The encoder in the shapes that other libraries accept: one function for each.

    as_mteb(encoder, name)    pip install "mteb>=2.20,<3"
    as_bertopic(encoder)      pip install "bertopic>=0.17,<1"
    as_langchain(encoder)     pip install "langchain-core>=1,<2"
    as_llama_index(encoder)   pip install "llama-index-core>=0.14,<1"
    as_sklearn(encoder)       comes with requirements.txt

Each library is imported by its own function only, so none of them is needed by anything else; one
that is not installed is a UserError with the command that installs it.
Evaluators of sentence-transformers take the encoder as it is. Examples: docs/interop.md.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from minbert.encoder import SentenceEncoder
from runtime.errors import UserError

LARGEST_LLAMA_INDEX_BATCH = 2048  # the most texts that LlamaIndex hands over at a time


@contextmanager
def _imported_for(function: str, requirement: str) -> Iterator[None]:
    """Turn a failed import inside the block into a UserError that says what to install."""
    try:
        yield
    except ImportError as error:
        raise UserError(f'{function}: {error}; pip install "{requirement}"') from None


def as_mteb(encoder: SentenceEncoder, name: str = "local/minbert") -> Any:
    """Return a model for `mteb.evaluate`.

    Its revision is the encoder's fingerprint, so MTEB's cache of results never takes those of
    other weights for these: make a new one after training. What the cache calls the model is
    `name`, as `organization/model`.

    Raises:
        UserError: the name has no organization.
    """
    with _imported_for("as_mteb", "mteb>=2.20,<3"):
        from mteb.models import ModelMeta
        from mteb.models.abs_encoder import AbsEncoder
        from mteb.models.model_meta import ScoringFunction
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
                    "embed_dim": encoder.model.config.hidden_size,
                    "max_tokens": encoder.max_length,
                    "similarity_fn_name": ScoringFunction.COSINE,
                    "use_instructions": False,
                    "framework": ["PyTorch"],
                }
            )

        def encode(self, inputs: Any, *, prompt_type: Any = None, **keywords: Any) -> Any:
            if keywords.get("precision") not in (None, "float32"):
                raise UserError("as_mteb: MTEB would compare packed bits; use precision='float32'")
            # Where a text comes from, and whether it is a query, changes nothing: no prompts.
            for word in ("task_metadata", "hf_split", "hf_subset"):
                keywords.pop(word, None)
            texts = [text for batch in inputs for text in batch["text"]]
            return encoder.encode(texts, **keywords)

    return MinbertForMTEB()


def as_bertopic(encoder: SentenceEncoder) -> Any:
    """Return an `embedding_model` for `bertopic.BERTopic`."""
    with _imported_for("as_bertopic", "bertopic>=0.17,<1"):
        from bertopic.backend import BaseEmbedder

    class MinbertForBERTopic(BaseEmbedder):
        def embed(self, documents: Sequence[str], verbose: bool = False) -> np.ndarray:
            return np.asarray(encoder.encode(documents, show_progress=verbose))

    return MinbertForBERTopic(embedding_model=encoder)


def as_langchain(encoder: SentenceEncoder) -> Any:
    """Return an `Embeddings` of LangChain; its asynchronous calls compute in a thread."""
    with _imported_for("as_langchain", "langchain-core>=1,<2"):
        from langchain_core.embeddings import Embeddings

    class MinbertForLangChain(Embeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return encoder.encode_quietly(texts).tolist()

        def embed_query(self, text: str) -> Any:
            return self.embed_documents([text])[0]

    return MinbertForLangChain()


def as_llama_index(encoder: SentenceEncoder, name: str = "minbert") -> Any:
    """Return an `embed_model` of LlamaIndex; its asynchronous calls compute in a thread."""
    with _imported_for("as_llama_index", "llama-index-core>=0.14,<1"):
        from llama_index.core.base.embeddings.base import BaseEmbedding

    class MinbertForLlamaIndex(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return encoder.encode_quietly(texts).tolist()

        def _get_text_embedding(self, text: str) -> Any:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> Any:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> Any:
            return await asyncio.to_thread(self._get_query_embedding, query)

        async def _aget_text_embeddings(self, texts: list[str]) -> Any:
            return await asyncio.to_thread(self._get_text_embeddings, texts)

    # The encoder makes its own batches, so it is given as many texts at a time as may be.
    return MinbertForLlamaIndex(model_name=name, embed_batch_size=LARGEST_LLAMA_INDEX_BATCH)


def as_sklearn(encoder: SentenceEncoder, batch_tokens: int | None = None) -> Any:
    """Return a transformer for scikit-learn's pipelines: texts in, embeddings (N, H) out.

    It learns nothing. Clones share its encoder, so a grid search holds the weights once.
    """
    return _sklearn_transformer()(encoder, batch_tokens)


@cache  # one class, so that clones and unpickled copies are of the same type
def _sklearn_transformer() -> Any:
    with _imported_for("as_sklearn", "scikit-learn>=1.4,<2"):
        from sklearn.base import BaseEstimator, TransformerMixin

    class MinbertTransformer(TransformerMixin, BaseEstimator):
        def __init__(self, encoder: SentenceEncoder, batch_tokens: int | None = None):
            self.encoder = encoder
            self.batch_tokens = batch_tokens

        def fit(self, X: Any, y: Any = None) -> "MinbertTransformer":
            return self

        def transform(self, X: Any) -> np.ndarray:
            texts = _column(X)
            return np.asarray(self.encoder.encode(texts, self.batch_tokens, show_progress=False))

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def __sklearn_clone__(self) -> "MinbertTransformer":
            return type(self)(**self.get_params(deep=False))

        # A class made inside a function has no name that pickle could find it by.
        def __reduce__(self) -> tuple[Any, ...]:
            return as_sklearn, (self.encoder, self.batch_tokens)

    return MinbertTransformer


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

"""Libraries that are not requirements run on the encoder for real, where they are installed."""

import asyncio
import sys

import pytest
from conftest import toy_sentences
from texts import toy_pairs

from evaluation.sts import sts_metrics
from minbert import interop
from runtime.errors import UserError

TEXTS, QUERY = toy_sentences(40), "the red boat ."


def library(name: str):
    """Return a library, or skip the test."""
    hint = f"{name} is not installed: pip install -r tests/interop/requirements.txt"
    return pytest.importorskip(name, reason=hint)


def best_cosines(encoder) -> list[float]:
    """Return the cosines of the query with the three texts nearest to it, best first."""
    cosines = encoder.similarity(encoder.encode(QUERY), encoder.encode(TEXTS))
    return cosines[0].sort(descending=True).values[:3].tolist()


@pytest.mark.parametrize(
    ("function", "module"),
    [
        (interop.as_mteb, "mteb.models"),
        (interop.as_bertopic, "bertopic.backend"),
        (interop.as_langchain, "langchain_core.embeddings"),
        (interop.as_llama_index, "llama_index.core.base.embeddings.base"),
    ],
)
def test_an_absent_library_is_named_with_the_command(function, module, tiny_encoder, monkeypatch):
    monkeypatch.setitem(sys.modules, module.split(".")[0], None)
    monkeypatch.setitem(sys.modules, module, None)
    name = module.split(".")[0].replace("_", "-")
    with pytest.raises(UserError, match=f'{function.__name__}: .*; pip install "{name}') as caught:
        function(tiny_encoder)
    assert "\n" not in str(caught.value)


def sts_task(pairs):
    """Return a task of MTEB that holds these pairs, without a network."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    class LocalSTS(AbsTaskSTS):
        metadata = TaskMetadata(
            name="LocalSTS",
            description="Pairs of this test.",
            type="STS",
            dataset={"path": "local", "revision": "1"},
            eval_langs=["eng-Latn"],
            main_score="cosine_spearman",
        )

        def load_data(self, **keywords):
            columns = {"sentence1": "text_a", "sentence2": "text_b", "score": "label"}
            rows = {name: [getattr(p, key) for p in pairs] for name, key in columns.items()}
            self.dataset = DatasetDict(test=Dataset.from_dict(rows))
            self.data_loaded = True

    return LocalSTS()


def mteb_scores(encoder, pairs, **keywords):
    import mteb

    model = interop.as_mteb(encoder)
    result = mteb.evaluate(
        model, sts_task(pairs), cache=None, show_progress_bar=False, co2_tracker=False, **keywords
    )
    assert (result.model_name, result.model_revision) == ("local/minbert", encoder.fingerprint())
    return result.task_results[0].scores["test"][0]


@pytest.mark.interop
@pytest.mark.parametrize("keywords", [{}, {"encode_kwargs": {"batch_size": 3}}], ids=str)
def test_mteb_and_we_agree_on_toy_pairs(keywords, tiny_encoder):
    library("mteb")
    pairs = toy_pairs(60)
    scores = mteb_scores(tiny_encoder, pairs, **keywords)
    expected = sts_metrics(tiny_encoder.encode_quietly, pairs)
    for name in ("pearson", "spearman"):
        assert scores[f"cosine_{name}"] == pytest.approx(expected[name], abs=1e-4)
        assert scores[name] == pytest.approx(expected[name], abs=1e-4)


@pytest.mark.interop
def test_mteb_is_refused_bits_and_names_without_an_organization(tiny_encoder):
    library("mteb")
    with pytest.raises(UserError, match="packed bits"):
        mteb_scores(tiny_encoder, toy_pairs(9), encode_kwargs={"precision": "binary"})
    with pytest.raises(UserError, match="organization/model"):
        interop.as_mteb(tiny_encoder, "mine")


@pytest.mark.interop
def test_bertopic_finds_topics_in_our_embeddings(tiny_encoder):
    bertopic = library("bertopic")
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    def model():
        reduction, clusters = PCA(3, random_state=0), KMeans(3, random_state=0, n_init=1)
        return bertopic.BERTopic(
            embedding_model=interop.as_bertopic(tiny_encoder),
            umap_model=reduction,
            hdbscan_model=clusters,
        )

    found, _ = model().fit_transform(TEXTS)
    expected, _ = model().fit_transform(TEXTS, embeddings=tiny_encoder.encode(TEXTS))
    assert len(set(found)) == 3 and list(found) == list(expected)
    topics, _ = model().fit(TEXTS).find_topics("cat", top_n=2)  # embeds the word
    assert len(topics) == 2


@pytest.mark.interop
def test_langchain_searches_with_our_embeddings(tiny_encoder):
    library("langchain_core")
    from langchain_core.vectorstores import InMemoryVectorStore

    embeddings = interop.as_langchain(tiny_encoder)
    store = InMemoryVectorStore(embeddings)
    store.add_texts(TEXTS)
    found = store.similarity_search_with_score(QUERY, k=3)
    assert [score for _, score in found] == pytest.approx(best_cosines(tiny_encoder), abs=1e-5)
    assert embeddings.embed_documents(TEXTS) == tiny_encoder.encode(TEXTS).tolist()
    assert embeddings.embed_documents([]) == []


@pytest.mark.interop
@pytest.mark.parametrize("name", ["langchain", "llama_index"])
def test_asynchronous_calls_give_what_others_give(name, tiny_encoder):
    if name == "langchain":
        library("langchain_core")
        calls = interop.as_langchain(tiny_encoder)
        embed, aembed = calls.embed_query, calls.aembed_query
    else:
        library("llama_index.core")
        calls = interop.as_llama_index(tiny_encoder)
        embed, aembed = calls.get_query_embedding, calls.aget_query_embedding

    async def all_at_once():
        return await asyncio.gather(*(aembed(text) for text in TEXTS))

    assert asyncio.run(all_at_once()) == [embed(text) for text in TEXTS]


@pytest.mark.interop
def test_llama_index_searches_with_our_embeddings(tiny_encoder):
    library("llama_index.core")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    model = interop.as_llama_index(tiny_encoder)
    index = VectorStoreIndex([TextNode(text=text) for text in TEXTS], embed_model=model)
    found = index.as_retriever(similarity_top_k=3).retrieve(QUERY)
    assert [node.score for node in found] == pytest.approx(best_cosines(tiny_encoder), abs=1e-5)
    assert model.get_text_embedding_batch(TEXTS) == tiny_encoder.encode(TEXTS).tolist()
    at_once = asyncio.run(model.aget_text_embedding_batch(TEXTS))
    assert at_once == tiny_encoder.encode(TEXTS).tolist()

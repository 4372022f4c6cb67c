"""A head and its encoder as one ONNX graph, from token ids to logits and scores.

The graph takes padded batches, which every runtime supports. minbert's modules can compute them
with an attention mask and explicit positions. The weights are those of the encoder, in float32.
Legend: B examples, T tokens, H hidden_size, N attention heads, D head size, C classes.
"""

import copy
import importlib.util
import logging
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from data.examples import DataError
from data.tasks import Task
from heads.saved import SavedHead
from minbert.encoder import SentenceEncoder
from minbert.model import BertEmbeddings, BertModel, BertSelfAttention
from minbert.tokenizer import BertTokenizer
from runtime.errors import UserError
from runtime.files import whole_file, write_text

PACKAGES = ("onnx", "onnxscript")


@dataclass(frozen=True)
class PaddedBatch:
    """The tensors of a batch that the layers use, (B, T) each."""

    input_ids: Tensor
    token_type_ids: Tensor
    position_ids: Tensor
    mask: Tensor  # bool


class PaddedEmbeddings(BertEmbeddings):
    """`minbert.model.BertEmbeddings` with the positions of the batch."""

    def positions(self, batch: Any) -> Tensor:
        """Return each token's row of the position table, (B, T)."""
        positions: Tensor = batch.position_ids
        return positions


class PaddedSelfAttention(BertSelfAttention):
    """`minbert.model.BertSelfAttention` with a mask instead of packed sequences."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, batch: Any) -> Tensor:
        """Return softmax(Q K^T / sqrt(D)) V over the real tokens of each row, (B, T, N, D)."""
        # (B, T, N, D) -> (B, N, T, D), so each head is a separate matrix product.
        q, k, v = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
        # (B, N, T, D) x (B, N, D, T) -> (B, N, T, T)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        # No token attends to padding: exp(-inf) is 0. The mask (B, T) is of keys, the last axis.
        scores = scores.masked_fill(~batch.mask[:, None, None, :], -math.inf)
        # (B, N, T, T) x (B, N, T, D) -> (B, N, T, D) -> (B, T, N, D)
        return (scores.softmax(dim=-1) @ v).transpose(1, 2)


FORMS: dict[type[nn.Module], type[nn.Module]] = {
    BertEmbeddings: PaddedEmbeddings,
    BertSelfAttention: PaddedSelfAttention,
}


class Graph(nn.Module):
    """From the token ids of padded batches to logits and scores; the head is not changed."""

    def __init__(self, head: SavedHead):
        super().__init__()
        config = head.encoder.model.config
        self.model = BertModel(config, head.encoder.model.pooler is not None).eval()
        # The run's encoder computes with packed batches and fast forms; this is a plain twin of it.
        self.model.load_state_dict(head.encoder.model.state_dict())
        # The padded forms have no additional state, so only the class of an instance changes.
        for module in self.model.modules():
            module.__class__ = FORMS.get(type(module), type(module))
        self.head, self.features = head.head, head.features
        self.pooling, self.reader = head.encoder.pooling, head.reader
        self.steps = copy.deepcopy(head.encoder.steps)  # those of the encoder may be on a GPU
        self.texts = head.task.num_texts if head.reader == "bi" else 1
        tokenizer = head.encoder.tokenizer
        self.has_types, self.sep_id = bool(tokenizer.second_type), tokenizer.sep_id

    @property
    def inputs(self) -> list[str]:
        """Return the names of the inputs, int64 (B, T) each; T differs between texts."""
        names = ["input_ids", "attention_mask"]
        if self.reader == "cross":
            return [*names, *(["token_type_ids"] if self.has_types else [])]
        ends = [""] if self.texts == 1 else ["_1", "_2"]
        return [name + end for end in ends for name in names]

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits, (B,) or (B, C), and scores or probabilities, see `Head.soft`."""
        if self.reader == "cross":
            embeddings = [self._joined(*inputs)]
        else:
            # Ids and mask of each text: (B, T) -> (B, H).
            texts = range(0, len(inputs), 2)
            embeddings = [self.steps(self._alone(*inputs[at : at + 2])) for at in texts]
        # The head's features, (B, F), and its logits (B, C).
        logits = self.head.layers(self.features.combine(embeddings))
        # As `Head.forward`, whose squeeze ONNX refuses where there are several classes.
        if logits.shape[-1] == 1:
            logits = logits[:, 0]
        return logits, self.head.soft(logits)

    def _states(self, ids: Tensor, mask: Tensor, types: Tensor) -> list[Tensor]:
        """Return the states of the embeddings and of every layer, (B, T, H) each."""
        padding_id = self.model.embeddings.position_embeddings.padding_idx
        positions = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        # RoBERTa's first token is at padding_id + 1, and padding itself stays at padding_id.
        if padding_id is not None:
            real = (ids != padding_id).long()
            positions = real.cumsum(dim=1) * real + padding_id
        batch: Any = PaddedBatch(ids, types, positions, mask)
        states: list[Tensor] = self.model.encoder(self.model.embeddings(batch), batch)
        return states

    def _alone(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the pooled embeddings of single texts (B, H), as `minbert.pooling.pool`."""
        real = mask.bool()
        states = self._states(ids, real, torch.zeros_like(ids))
        if self.pooling == "cls":
            assert self.model.pooler is not None
            pooled: Tensor = self.model.pooler(states[-1][:, 0])
            return pooled
        if self.pooling == "cls_before_pooler":
            return states[-1][:, 0]
        if self.pooling == "avg":
            return mean_of(states[-1], real)
        # states[0] are the embeddings, so states[1] is the output of the first layer.
        other = states[-2] if self.pooling == "avg_top2" else states[1]
        return mean_of((other + states[-1]) / 2, real)

    def _joined(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        """Return [CLS], the mean over a and the mean over b of joined pairs, (B, 3, H)."""
        real = mask.bool()
        # RoBERTa has one token type. Its pairs `<s> a </s></s> b </s>` are cut after the first
        # separator: all later tokens belong to the second text.
        if types is None:
            types = torch.zeros_like(ids)
            separators = (ids == self.sep_id).long()
            second = separators.cumsum(dim=1) - separators > 0
        else:
            second = types.bool()
        states = self._states(ids, real, types)[-1]
        # Each text with its separator; [CLS] counts to the first text.
        parts = [mean_of(states, real & ~second), mean_of(states, real & second)]
        return torch.stack([states[:, 0], *parts], dim=1)


def mean_of(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (B, H) of the states (B, T, H) where mask (B, T) is true."""
    weights = mask[..., None].to(states.dtype)
    # Weights (B, T, 1) are 1 or 0; each text has at least one token, its separator.
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def need_packages() -> None:
    """Raise UserError if a package that writes graphs is missing."""
    if absent := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise UserError(
            f"--onnx: {' and '.join(absent)} not installed; pip install onnx onnxscript onnxruntime"
        )


def why_no_graph(head: SavedHead) -> str:
    """Return why a head and its encoder cannot be exported as a graph, "" if they can."""
    if head.reader == "bi" and head.encoder.prompts.default:
        return "its encoder puts a prompt before every text, which a graph cannot"
    if head.reader in ("bi", "cross") and type(head.encoder) is SentenceEncoder:
        return ""
    return "only bi- and cross-encoders can be exported to a graph"


def write_graph(head: SavedHead, path: Path) -> tuple[Path, Path]:
    """Write a head and its encoder as an ONNX file.

    Returns:
        The two files written with it: the tokenizer, and a program that scores texts.

    Raises:
        UserError: a package is missing, or the encoder cannot be exported.
    """
    need_packages()
    if problem := why_no_graph(head):
        raise DataError(f"{path}: {problem}")
    graph = Graph(head).cpu().eval()
    batch = torch.export.Dim("batch")
    inputs, shapes = [], []
    for number, name in enumerate(graph.inputs):
        # Any sizes except 0 and 1, which are traced as constants.
        text = int(name.endswith("_2"))
        inputs.append(torch.ones(2, 6 + text, dtype=torch.long))
        shapes.append({0: batch, 1: torch.export.Dim(f"length{text + 1}")})
        # Both texts of the traced pairs have tokens, as in every pair.
        if name == "token_type_ids":
            inputs[number][:, :3] = 0
    with warnings.catch_warnings(), whole_file(path) as temporary:
        # Messages for developers of the exporter.
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            graph,
            tuple(inputs),
            temporary,
            input_names=graph.inputs,
            output_names=["logits", "scores"],
            dynamic_shapes=(tuple(shapes),),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    tokenizer_path = path.with_suffix(".tokenizer.json")
    write_text(tokenizer_path, padding_tokenizer(head.encoder.tokenizer, head.encoder.max_length))
    program_path = path.with_suffix(".example.py")
    write_text(program_path, example_program(head, graph.inputs, path, tokenizer_path))
    return tokenizer_path, program_path


def example_program(head: SavedHead, inputs: list[str], path: Path, tokenizer_path: Path) -> str:
    """Return a Python program that scores texts with onnxruntime, tokenizers and numpy only."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("example.py.j2").render(
        graph=repr(path.name),
        tokenizer=repr(tokenizer_path.name),
        task=head.task,
        joined=head.reader == "cross",
        has_types="token_type_ids" in inputs,
        gives=gives(head.task),
    )


def gives(task: Task) -> str:
    """Return a description of the graph's scores, in the words of the labels."""
    if task.label_kind == "score":
        return f"the score, where labels go from {task.lowest:g} to {task.largest:g}"
    names = [task.spelled(label) for label in range(task.num_classes)]
    if task.label_kind == "binary":
        return f"the probability of {names[1]!r}"
    return f"the probabilities of {', '.join(map(repr, names))}"


def padding_tokenizer(tokenizer: BertTokenizer, max_length: int) -> str:
    """Return a tokenizer in the format of `tokenizers`, which also truncates and pads."""
    backend = Tokenizer.from_str(tokenizer.backend.to_str())
    backend.enable_truncation(max_length, direction=tokenizer.truncation_side)
    # BERT's [PAD] or RoBERTa's <pad>.
    pad = tokenizer.names[-1]
    backend.enable_padding(pad_id=backend.token_to_id(pad), pad_token=pad)
    return str(backend.to_str(pretty=True))

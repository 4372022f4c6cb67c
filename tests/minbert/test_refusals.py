"""A checkpoint's folder that cannot be used is refused in one line that names the file.

One table for weights, sizes, tokenizers and the files of sentence-transformers: what is done to a
sound folder, and what the message says.
"""

import json
import os
import pickle
import shutil
from functools import partial

import pytest
import torch
from conftest import real_checkpoint, toy_vocabulary
from families import transformers
from safetensors.torch import load_file, save_file
from tokenizers.processors import TemplateProcessing

from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel
from minbert.tokenizer import BertTokenizer

WEIGHTS, PICKLE, INDEX = "model.safetensors", "pytorch_model.bin", "model.safetensors.index.json"
FAST, SETTINGS, VOCAB = "tokenizer.json", "tokenizer_config.json", "vocab.txt"
POOLING, SENTENCE = "1_Pooling/config.json", "sentence_bert_config.json"
PROMPTS, MODULES = "config_sentence_transformers.json", "modules.json"
NAME = "encoder.layer.1.output.dense.weight"
WORDS = "embeddings.word_embeddings.weight"
PIECES = len(toy_vocabulary())
ODD = PIECES + (1 if (PIECES + 1) % 8 else 2)  # a matrix padded for speed has a multiple of 8 rows
TEXTS = ["the Cat sees a dog .", "Ångström\x00 猫在 café", "[SEP] a [Mask]"]
EVEN = PIECES + 8 - PIECES % 8
FLAGS = {"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}


@pytest.fixture(scope="module")
def sound(tiny_checkpoint, tmp_path_factory):
    """A folder of sentence-transformers' format, with a Dense step."""
    folder = tmp_path_factory.mktemp("sound") / "cls"
    SentenceEncoder.from_pretrained(str(tiny_checkpoint), "cls", device="cpu").save(folder)
    return folder


def change(folder, faults):
    """Delete a file (None), write it (bytes), change its JSON, or call what changes it."""
    for name, fault in faults.items():
        path = folder / name
        if fault is None:
            path.unlink()
        elif isinstance(fault, bytes):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(fault)
        elif isinstance(fault, dict):
            content = json.loads(path.read_text("utf-8")) if path.exists() else {}
            path.write_text(json.dumps({**content, **fault}), "utf-8")
        else:
            fault(path)


class Attack:
    """A pickle that would run a command when loaded."""

    def __reduce__(self):
        return os.system, ("echo executed > executed.txt",)


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


def tensor(name, changed):
    """Return a change of one tensor of the weights, to None to leave it out."""

    def change_it(path):
        tensors = load_file(path)
        tensors[name] = changed(tensors[name])
        save_file({key: t for key, t in tensors.items() if t is not None}, path)

    return change_it


def pickled(content):
    return partial(torch.save, content)


def lines(changed):
    def change_them(path):
        pieces = changed(path.read_text("utf-8").splitlines())
        path.write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")

    return change_them


def parts(changed):
    """Return a change of a JSON file by a function that alters its content."""

    def change_them(path):
        content = json.loads(path.read_text("utf-8"))
        changed(content)
        path.write_text(json.dumps(content), "utf-8")

    return change_them


def types_of_seven(backend):
    for piece in backend["post_processor"]["pair"]:
        next(iter(piece.values()))["type_id"] = 7


def other_template(backend):
    processor = TemplateProcessing(
        single="$A:0 [SEP]:0", pair="$A:0 [SEP]:0 $B:1", special_tokens=[("[SEP]", 3)]
    )
    backend["post_processor"] = json.loads(processor.__getstate__())


def without_a_mask(backend):
    del backend["model"]["vocab"]["[MASK]"]
    backend["added_tokens"] = [t for t in backend["added_tokens"] if t["content"] != "[MASK]"]


def without_the_special_tokens(backend):
    backend["post_processor"]["special_tokens"] = {}


def one_step_more(name):
    def add(steps):
        steps.append({**steps[-1], "type": f"sentence_transformers.models.{name}"})

    return parts(add)


def bytes_of(vocab, merges):
    """Return the faults that leave a byte-level vocabulary."""
    no_class = {"tokenizer_class": None}
    return {FAST: None, VOCAB: None, SETTINGS: no_class, "vocab.json": vocab, "merges.txt": merges}


def one_step(**values):
    return parts(lambda steps: steps[-1].update(values))


def dense(**values):
    return {"2_Dense/config.json": values}


def dense_tensors(changed):
    def change_them(path):
        tensors = load_file(path)
        changed(tensors)
        save_file(tensors, path)

    return {"2_Dense/model.safetensors": change_them}


def no_special_token(backend):
    backend["post_processor"]["special_tokens"]["[SEP]"]["ids"] = []


def of_sentencepiece(pieces):
    """Return the pieces as sentencepiece has them: the beginning of a word is marked."""
    marked = [p[2:] if p.startswith("##") else f"\u2581{p}" for p in pieces[5:]]
    return [*pieces[:5], *(f"{p}{n}" if p in marked[:n] else p for n, p in enumerate(marked))]


def settings(**values):
    return {SETTINGS: values}


def old_settings(**values):
    return {FAST: None, SETTINGS: values}


def sizes(**values):
    return {"config.json": values}


OF_WEIGHTS = [
    ({WEIGHTS: b"\x08\0\0\0\0\0\0\0{}"}, "model.safetensors: not a readable weights file"),
    ({WEIGHTS: b""}, "model.safetensors: not a readable weights file, truncated"),
    ({WEIGHTS: cut_short}, "model.safetensors: not a readable weights file, truncated"),
    ({WEIGHTS: None}, "no weights; expected model.safetensors, model.safetensors.index.json"),
    ({WEIGHTS: None, PICKLE: pickle.dumps({"a": Attack()})}, "pytorch_model.bin: not a readable"),
    ({WEIGHTS: None, PICKLE: pickled({1: torch.zeros(2)})}, "bin: expected a dictionary of"),
    ({WEIGHTS: None, PICKLE: pickled({"a": "b"})}, "bin: expected a dictionary of tensors"),
    ({WEIGHTS: None, PICKLE: pickled({"a": torch.eye(3).to_sparse()})}, "tensor a is sparse"),
    ({WEIGHTS: None, PICKLE: pickled({"a": torch.empty(2, device="meta")})}, "without values"),
    ({WEIGHTS: None, INDEX: b"[" * 100_000}, "index.json: not a readable JSON file"),
    ({WEIGHTS: None, INDEX: {"weight_map": None}}, "index.json: not a readable index"),
    ({WEIGHTS: None, INDEX: {"weight_map": {"a": "../x"}}}, "'../x' is not a file name"),
    ({WEIGHTS: None, INDEX: {"weight_map": {"a": 3}}}, "index.json: shard 3 is not a file name"),
    ({WEIGHTS: None, INDEX: {"weight_map": {"a": "b.bin"}}}, "b.bin: missing; model.safetensors"),
    ({WEIGHTS: tensor(NAME, lambda t: None)}, f"tensor {NAME} is missing from the weights"),
    ({WEIGHTS: tensor(NAME, lambda t: torch.zeros(16, 17))}, f"{NAME} has shape (16, 17), config"),
    ({WEIGHTS: tensor(NAME, torch.Tensor.int)}, f"{NAME} is of type int32; expected floats"),
    ({WEIGHTS: tensor(NAME, lambda t: t * torch.inf)}, f"{NAME} holds NaN or infinity"),
    ({WEIGHTS: tensor(WORDS, lambda t: None)} | sizes(vocab_size=2 * 10**9), f"{WORDS} is missing"),
    ({"config.json": None}, "config.json: no such file; a BERT checkpoint folder has one"),
    # What would compute wrongly ...
    (sizes(model_type=None), "config.json: model_type is None; supported are bert, roberta, xlm-"),
    (sizes(model_type="b" * 10**6), "config.json: model_type is"),
    (sizes(position_embedding_type="relative_key"), "'relative_key'; supported: absolute"),
    (sizes(hidden_act="tanh"), "hidden_act is 'tanh'; supported: gelu, gelu_python, gelu_new,"),
    (sizes(is_decoder=True), "is_decoder is True; supported: False"),
    (sizes(hidden_size=30), "hidden_size 30 is not a multiple of num_attention_heads 4"),
    (sizes(hidden_size="large"), "hidden_size is 'large'; expected an integer of at least 1"),
    (sizes(hidden_size=True), "hidden_size is True; expected an integer"),
    (sizes(num_hidden_layers=0), "num_hidden_layers is 0; expected an integer of at least 1"),
    (sizes(layer_norm_eps=float("nan")), "layer_norm_eps is nan; expected a number of at least 0"),
    (sizes(hidden_dropout_prob=1.0), "hidden_dropout_prob is 1.0; expected less than 1"),
    (sizes(pad_token_id=PIECES), f"pad_token_id {PIECES} is not one of {PIECES} pieces"),
    (sizes(model_type="roberta", max_position_embeddings=1), "leaves no position; the first one"),
    # ... what would take all memory before the weights are compared ...
    (sizes(initializer_range=10**400), "too large a number"),
    (
        sizes(vocab_size=10**12),
        "vocab_size is 1000000000000; expected an integer of at least 1 and",
    ),
    (sizes(vocab_size=2 * 10**9), f"tensor {WORDS} has shape ({PIECES}, 32), config.json asks"),
    (sizes(max_position_embeddings=10**9), "embeddings.position_embeddings.weight has shape"),
    (sizes(type_vocab_size=10**9), "embeddings.token_type_embeddings.weight has shape"),
    (sizes(num_hidden_layers=10**6), "the weights have 3 layers, config.json asks for 1000000"),
    # ... and what is no object.
    ({"config.json": b"null"}, "config.json: expected a JSON object, found NoneType"),
    ({"config.json": b"{"}, "config.json: not a readable JSON file"),
]
OF_TOKENIZERS = [
    ({FAST: None, VOCAB: None}, "no tokenizer; expected tokenizer.json, vocab.txt, or vocab.json"),
    ({FAST: None, VOCAB: "é".encode("latin-1")}, "vocab.txt: not a readable vocabulary"),
    ({FAST: None, VOCAB: b"[UNK]\n[PAD]\na\n"}, "vocab.txt: has no line [CLS]; not a BERT"),
    ({FAST: None, VOCAB: lines(lambda p: p[1:])}, "vocab.txt: has no line [PAD]"),
    ({FAST: None, VOCAB: lines(lambda p: [*p[:9], "", *p[10:]])}, "vocab.txt:10: a blank line"),
    ({FAST: None, VOCAB: lines(lambda p: [*p, ""])}, f"vocab.txt:{PIECES + 1}: a blank line"),
    ({FAST: None} | sizes(vocab_size=ODD), f"{PIECES} pieces, the model has {ODD}; lines are"),
    (bytes_of(b"{", b""), "vocab.json, merges.txt: not a usable tokenizer"),
    (bytes_of(b'{"<s>": 0}', b"a b\n"), "merges.txt: not a usable tokenizer"),
    (bytes_of(b'{"<s>": 0, "<pad>": 1}', b""), "vocab.json: has no </s>; not a RoBERTa"),
    ({FAST: None, VOCAB: None, "vocab.json": b"{}"}, "no tokenizer; expected tokenizer.json"),
    ({FAST: b"{}"}, "tokenizer.json: not a usable tokenizer"),
    ({FAST: parts(other_template)}, "tokenizer.json: its post-processor does not put"),
    ({FAST: parts(types_of_seven)}, "tokenizer.json: token types"),
    ({FAST: parts(without_a_mask)}, "tokenizer.json: the vocabulary has no [MASK]"),
    # This makes the library's Rust side panic, which is no Exception.
    ({FAST: parts(without_the_special_tokens)}, "its post_processor does not say what '[CLS]' is"),
    ({FAST: parts(no_special_token)}, "tokenizer.json: not a usable tokenizer (its post_processor"),
    (
        {FAST: parts(lambda backend: backend["model"].update(unk_token="[unk]"))},
        "tokenizer.json: not a usable tokenizer (unk_token '[unk]' is not in its vocabulary)",
    ),
    # What transformers would obey, and this tokenizer does not do.
    (settings(cls_token="[SEP]"), "cls_token is '[SEP]' in tokenizer_config.json or special_tok"),
    (old_settings(unk_token="the"), "unk_token is 'the'"),
    (old_settings(mask_token={"content": "<mask>"}), "mask_token is '<mask>'"),
    ({"special_tokens_map.json": {"sep_token": "."}}, "sep_token is '.'"),
    (settings(additional_special_tokens=["[NEW]"]), "'[NEW]' is not in the vocabulary"),
    (old_settings(extra_special_tokens={"new": "[NEW]"}), "'[NEW]' is not in the vocabulary"),
    (old_settings(tokenizer_class="XLMRobertaTokenizer"), "which is more than vocab.txt says"),
    (
        {FAST: None, SETTINGS: parts(lambda s: s.pop("tokenizer_class"))}
        | sizes(tokenizer_class="BertJapaneseTokenizer"),
        "tokenizer_class is 'BertJapaneseTokenizer', which is more than vocab.txt says",
    ),
    (
        settings(tokenizer_class=None, auto_map={"AutoTokenizer": ["their.Tokenizer", None]}),
        "tokenizer_class is ['their.Tokenizer', None], which is more than",
    ),
    ({FAST: None, VOCAB: lines(of_sentencepiece)}, "pieces begin with \u2581, as sentencepiece's"),
    (settings(model_input_names=3), "model_input_names is 3; expected a list"),
    (settings(auto_map=["AutoTokenizer"]), "auto_map is ['AutoTokenizer']; expected an object"),
    (settings(additional_special_tokens=3), "additional_special_tokens is 3; expected a list"),
    ({SENTENCE: {"do_lower_case": "yes"}}, "sentence_bert_config.json: do_lower_case is 'yes'"),
    ({SENTENCE: {"tokenizer_args": [1]}}, "sentence_bert_config.json: tokenizer_args is [1]"),
    (
        {FAST: parts(lambda backend: backend["normalizer"].update(handle_chinese_chars=None))},
        "tokenizer.json: not a usable tokenizer",
    ),
    ({SETTINGS: b"{"}, "tokenizer_config.json: not a readable JSON file"),
    ({SETTINGS: b"[1]"}, "tokenizer_config.json: expected a JSON object, found list"),
    (settings(truncation_side="up"), "truncation_side is 'up'; expected right or left"),
    (settings(model_max_length="128"), "model_max_length is '128'; expected 3 or more"),
    (settings(model_max_length=2), "model_max_length is 2; expected 3 or more"),
    (settings(model_max_length=True), "model_max_length is True; expected 3 or more"),
    (settings(strip_accents=[None] * 10**5), "strip_accents is [None"),
    (settings(do_lower_case="false"), "do_lower_case is 'false'; expected true or false"),
    (settings(tokenize_chinese_chars=None), "tokenize_chinese_chars is None; expected true or"),
    ({FAST: None, "added_tokens.json": {"qux": 9999}}, "'qux' should have the id 9999, but is"),
    ({FAST: None, "added_tokens.json": {"qux": "late"}}, "added tokens: not a usable tokenizer"),
    ({FAST: None, "added_tokens.json": b"3"}, "added_tokens.json: expected a JSON object"),
    (old_settings(added_tokens_decoder=[1]), "added tokens: not a usable tokenizer"),
    (
        old_settings(added_tokens_decoder={"9": {"content": None}}),
        "the added token '' should have the id 9",
    ),
]
OF_STEPS = [
    (dense(activation_function="torch.nn.SELU"), "'torch.nn.SELU'; supported are torch.nn's Ident"),
    (dense(activation_function="theirs.Tanh"), "activation_function is 'theirs.Tanh'; supported"),
    (dense(in_features=16), "in_features is 16, but the step before it gives 32 dimensions"),
    (dense(out_features=0), "out_features is 0; expected a number of dimensions"),
    (dense(out_features="48"), "out_features is '48'; expected a number of dimensions"),
    (dense(out_features=10**9), "linear.weight has shape (32, 32), config.json asks for (1000000"),
    (dense(bias=1), "2_Dense/config.json: bias and use_residual are true or false"),
    (dense(bias=False), "2_Dense: tensor linear.bias does not match config.json"),
    (dense(module_input_name="token_embeddings"), "only sentence_embedding is supported"),
    (dense_tensors(lambda t: t.pop("linear.bias")), "2_Dense: tensor linear.bias is missing"),
    (dense_tensors(lambda t: t.pop("linear.weight")), "2_Dense: tensor linear.weight is missing"),
    (
        dense_tensors(lambda t: t.update(b=torch.ones(1))),
        "2_Dense: tensor b does not match config.json",
    ),
    (dense_tensors(lambda t: t["linear.bias"].fill_(torch.nan)), "linear.bias holds NaN"),
    ({"2_Dense/config.json": b'{"in_features": 32'}, "2_Dense/config.json: not a readable JSON"),
    ({"2_Dense/config.json": None}, "2_Dense/config.json: no such file"),
    ({"2_Dense/model.safetensors": None}, "2_Dense: no weights; expected"),
    ({"2_Dense/model.safetensors": cut_short}, "2_Dense/model.safetensors: not a readable weights"),
    (
        {POOLING: b'{"pooling_mode": "max"}'},
        "1_Pooling: Pooling by max is not supported; one mode is, cls or mean",
    ),
    ({POOLING: b'{"pooling_mode": ["cls", "mean"]}'}, "Pooling by cls and mean is not supported"),
    ({POOLING: b'{"pooling_mode": null}'}, "modules.json or a file that it names is not in"),
    ({POOLING: json.dumps(FLAGS).encode()}, "Pooling by cls_token and max_tokens is not supported"),
    ({POOLING: None}, "1_Pooling/config.json: no such file"),
    (
        {SENTENCE: {"max_seq_length": 2}},
        "sentence_bert_config.json: max_seq_length is 2; expected 3",
    ),
    (
        {SENTENCE: {"transformer_task": "fill-mask"}},
        "transformer_task is 'fill-mask'; only",
    ),
    ({SENTENCE: {"query_length": 32}}, "query_length is 32; it is not supported"),
    ({SENTENCE: {"config_args": 3}}, "sentence_bert_config.json: config_args is 3; expected an"),
    ({SENTENCE: b"3"}, "sentence_bert_config.json: expected a JSON object"),
    *(
        ({MODULES: one_step_more(name)}, f"the step '{name}' is not supported; Dense and Normalize")
        for name in ("LayerNorm", "Pooling", "Transformer")
    ),
    ({MODULES: one_step(type="theirs.Dense")}, "the step 'theirs.Dense' is not supported"),
    ({MODULES: parts(lambda steps: steps.pop(1))}, "the step 'Dense' is not supported without"),
    ({MODULES: parts(lambda steps: steps.pop(0))}, "the step 'Pooling' is not supported"),
    (
        {"config.json": None, MODULES: b'[{"type": "sentence_transformers.R", "path": ""}]'},
        "the step 'R' is not supported",
    ),
    ({MODULES: one_step(path="../2_Dense")}, "'../2_Dense' leads out of the checkpoint's folder"),
    ({MODULES: one_step(path="/tmp")}, "modules.json: path '/tmp' leads out of the checkpoint's"),
    ({MODULES: one_step(path="C:\\2_Dense")}, "leads out of the checkpoint's folder"),
    ({"adapter_config.json": b"{}"}, "an adapter (adapter_config.json), which changes the weights"),
    (
        {"adapter_config.json": b'{"peft_type": "LORA"}', "config.json": None},
        "merge it with peft's merge_and_unload(), save the result",
    ),
    (
        {
            MODULES: b'[{"type": "sentence_transformers.models.Router", "path": ""}]',
            "query_0_Transformer/config.json": b'{"hidden_size": 32}',
            "config.json": None,
        },
        "the step 'Router' is not supported; give one of its encoders: query_0_Transformer",
    ),
    (
        {PROMPTS: b'{"model_type": "CrossEncoder"}'},
        "a CrossEncoder with Pooling and Dense after the encoder is not supported; its head has",
    ),
    ({MODULES: b"3"}, "modules.json: not a list of sentence-transformers' steps"),
    ({MODULES: b'[{"type": 7}]'}, "modules.json: not a list of sentence-transformers' steps"),
    ({MODULES: b"[{"}, "modules.json: not a readable JSON file"),
    ({PROMPTS: {"prompts": ["query: "]}}, "prompts is ['query: ']; expected texts by their names"),
    ({PROMPTS: {"prompts": {"query": 7}}}, "prompts is {'query': 7}; expected texts by their"),
    (
        {PROMPTS: {"prompts": {}, "default_prompt_name": "corpus"}},
        "default_prompt_name is 'corpus', which is not among its prompts",
    ),
    ({PROMPTS: {"truncate_dim": 8}}, "sentence_transformers.json: truncate_dim is 8, which is not"),
    ({FAST: None, VOCAB: lines(lambda p: [*p, "longer"])}, "they are not of one checkpoint"),
]
# What may be right is told, and read as in transformers.
TOLD = [
    (
        {FAST: None, VOCAB: lines(lambda p: p[:50] + p[51:])} | sizes(vocab_size=EVEN),
        f"{PIECES - 1} pieces, the model has {EVEN}",
    ),
    (
        {FAST: None, VOCAB: lines(lambda p: [p[1], p[0], *p[2:]])},
        "[PAD] is piece 1, config.json says 0",
    ),
    (
        {FAST: parts(lambda b: b["normalizer"].update(handle_chinese_chars=False))},
        "its handle_chinese_chars is False",
    ),
    ({FAST: parts(lambda b: b["normalizer"].update(clean_text=False))}, "its clean_text is False"),
    (
        {FAST: parts(lambda b: b["normalizer"].update(strip_accents=False))},
        "its strip_accents is False",
    ),
    (settings(do_lower_case=False), "its lowercase is True; tokenizer_config.json decides"),
    (
        {FAST: parts(lambda b: b["model"]["vocab"].update(the=9000))},
        "1 pieces differ from tokenizer.json",
    ),
]
ROWS = [
    *((BertModel, *row) for row in OF_WEIGHTS),
    *((BertTokenizer, *row) for row in OF_TOKENIZERS),
    *((SentenceEncoder, *row) for row in OF_STEPS),
]


@pytest.mark.parametrize(("reader", "faults", "message"), ROWS, ids=range(len(ROWS)))
def test_it_is_refused_in_one_line(reader, faults, message, sound, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(sound, tmp_path / "folder")
    change(folder, faults)
    with pytest.raises(CheckpointError) as refused:
        reader.from_pretrained(str(folder))
    line = str(refused.value)
    assert str(folder) in line and message in line
    assert "\n" not in line and len(line) < 300 + len(str(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]  # nothing was executed


@pytest.mark.parametrize(("faults", "told"), TOLD, ids=range(len(TOLD)))
def test_what_may_be_right_is_told_and_read_as_in_transformers(
    faults, told, sound, tmp_path, caplog
):
    folder = shutil.copytree(sound, tmp_path / "folder")
    change(folder, {"config.json": {"model_type": "bert"}} | faults)
    tokenizer = BertTokenizer.from_pretrained(folder)
    assert any(told in record.getMessage() for record in caplog.records)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert list(tokenizer(TEXTS)) == theirs(TEXTS)["input_ids"]


def test_the_sound_folder_loads_without_a_word(sound, tmp_path, caplog):
    encoder = SentenceEncoder.from_pretrained(str(sound), device="cpu", precision="float32")
    assert encoder.pooling == encoder.stated_pooling == "cls"
    folder = shutil.copytree(sound, tmp_path / "folder")
    change(folder, {FAST: None})
    assert list(BertTokenizer.from_pretrained(folder)(TEXTS)) == list(encoder.tokenizer(TEXTS))
    BertTokenizer.from_pretrained(real_checkpoint())
    assert not caplog.records


def test_a_pooling_that_is_chosen_is_used_whatever_the_steps_amount_to(sound, tmp_path, caplog):
    folder = shutil.copytree(sound, tmp_path / "folder")
    change(folder, {POOLING: b'{"pooling_mode": "max"}'})
    assert SentenceEncoder.from_pretrained(str(folder), "avg_top2").pooling == "avg_top2"
    assert "Pooling by max is not supported" in caplog.text


@pytest.mark.parametrize(
    ("piece", "stated", "told"),
    [("Cat", {}, 1), ("Cat", {"do_lower_case": True}, 0), ("[Cat]", {}, 0)],
)
def test_a_cased_vocabulary_without_a_word_about_case_is_told(
    piece, stated, told, sound, tmp_path, caplog
):
    folder = shutil.copytree(sound, tmp_path / "folder")
    cased = lines(lambda pieces: [piece if p == "cat" else p for p in pieces])
    change(folder, {FAST: None, VOCAB: cased, SETTINGS: json.dumps(stated).encode()})
    BertTokenizer.from_pretrained(folder)
    assert [record.getMessage() for record in caplog.records if "capital" in record.message] == [
        record.getMessage() for record in caplog.records
    ]
    assert len(caplog.records) == told

"""Tiny checkpoints of every family of models that load, made by transformers and tokenizers."""

import json
from pathlib import Path

import pytest
import torch
from conftest import toy_sentences
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer, UnigramTrainer

transformers = pytest.importorskip("transformers", reason="transformers is the reference")

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
ROBERTA_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
MULTILINGUAL = [
    *toy_sentences(60),
    "Der alte Bäcker läuft über die Brücke.",
    "La lumière brûle encore près du café.",
    "这只猫在河边睡觉。",
    "老师今天早上画了一条小船。",
    "庭のランプはまだ明るい。",
    "Маленькая собака слышит скрипку.",
]


def byte_level_bpe(folder: Path, add_prefix_space: bool = False) -> Path:
    """Write vocab.json and merges.txt, as RoBERTa's checkpoints have them."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = BpeTrainer(
        vocab_size=500,
        special_tokens=ROBERTA_SPECIALS,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(MULTILINGUAL, trainer)
    folder.mkdir(exist_ok=True, parents=True)
    backend.model.save(str(folder))
    settings = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": add_prefix_space}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    mask = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False}
    specials = {"mask_token": {**mask, "single_word": False}}
    (folder / "special_tokens_map.json").write_text(json.dumps(specials))
    (folder / "config.json").write_text(json.dumps({"model_type": "roberta"}))
    return folder


def unigram(folder: Path) -> Path:
    """Write tokenizer.json as XLM-R's checkpoints have it: Unigram, spaces as in sentencepiece."""
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    )
    trainer = UnigramTrainer(
        vocab_size=300,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    backend.train_from_iterator(MULTILINGUAL, trainer)
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    folder.mkdir(exist_ok=True, parents=True)
    backend.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "XLMRobertaTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}))
    return folder


def chinese(folder: Path) -> Path:
    """Write vocab.txt as bert-base-chinese has it: single characters, their ## forms, Latin."""
    characters = sorted({c for text in MULTILINGUAL for c in text if "\u4e00" <= c <= "\u9fff"})
    latin = ["the", "cat", "##s", "b", "##e", "##r", "##t", "。", ",", "2", "##0"]
    pieces = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *latin, *characters]
    pieces += [f"##{character}" for character in characters]
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    return folder


TOKENIZERS = {"roberta": byte_level_bpe, "xlm-roberta": unigram, "bert": chinese}


def reference_config(family: str, vocab_size: int, **more):
    """Return transformers' configuration of a tiny model with a family's special numbers."""
    sizes = {**SIZES, **NO_DROPOUT, "vocab_size": vocab_size, "max_position_embeddings": 66}
    if family != "bert":
        sizes |= {"type_vocab_size": 1, "pad_token_id": 1, "max_position_embeddings": 66 + 2}
    return transformers.AutoConfig.for_model(family, **{**sizes, **more})


def reference_model(config, kind: str = "AutoModel"):
    """Return transformers' model with random weights far from 0 and 1."""
    torch.manual_seed(0)
    model = getattr(transformers, kind).from_config(config)
    for name, parameter in model.named_parameters():
        if "norm" in name.lower() or name.endswith("bias"):
            torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.2)
        else:
            torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


def checkpoint(folder: Path, family: str, kind: str = "AutoModel", **more) -> Path:
    """Write a whole tiny checkpoint: tokenizer, config.json and weights."""
    TOKENIZERS[family](folder)
    # A multiple of 8, as matrices are that have rows to spare.
    size = max(104, len(transformers.AutoTokenizer.from_pretrained(folder)))
    reference_model(reference_config(family, size, **more), kind).save_pretrained(folder)
    return folder

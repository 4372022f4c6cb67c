"""A pre-training run: corpus, vocabulary, model, training, checkpoint."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from minbert.checkpoint import HEAD, check_target, published_names, whole_checkpoint, write_tensors
from minbert.config import BertConfig, CheckpointError
from minbert.folder import CheckpointFolder, write_json
from minbert.mlm import BertForMaskedLM
from minbert.model import BertModel
from minbert.pretraining.corpus import (
    as_sequences,
    corpus_digest,
    read_paragraphs,
    tokenize_corpus,
    train_vocabulary,
)
from minbert.pretraining.loop import Pretrainer
from minbert.pretraining.options import FRESH, NO_DROPOUT, PretrainConfig, PretrainOptions, Sizes
from minbert.sentence_format import write_modules
from minbert.tokenizer import BertTokenizer
from runtime.errors import MachineError
from runtime.files import check_outputs, sweep
from runtime.processes import num_started
from runtime.training import set_seed


def run(options: PretrainOptions) -> None:
    """Run the steps: corpus, vocabulary, model, training, checkpoint.

    Raises:
        UserError: an option's file or model cannot be used, or a saved state is in the way.
    """
    if num_started() > 1:
        raise MachineError("pre-training runs in one process; start it without torchrun")
    check_outputs([options.out], [Path(options.init)])
    out = options.out.resolve()
    sweep(out.parent, out.name)
    check_target(out)
    config = PretrainConfig(**options.config, init=_by_name(options.init))
    for path in (*options.corpus, options.valid):  # before hours of work, and before any file
        next(read_paragraphs([path]))
    source = None if options.init == FRESH else CheckpointFolder.find(options.init)
    model = _load(source, config.length) if source else None
    before = source.training if source else {}
    work = out.with_name(out.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    sweep(work)
    tokenizer = BertTokenizer.from_pretrained(source) if source else _vocabulary(options, work)
    train = tokenize_corpus(options.corpus, tokenizer, config.length, work)
    valid = tokenize_corpus([options.valid], tokenizer, config.length, work)
    set_seed(config.seed)
    model = model or _fresh(options, config.length, tokenizer.vocab_size)
    types = model.bert.embeddings.token_type_embeddings.weight  # (types, H)
    one_segment = source is None or torch.equal(types[0], types[-1])
    trainer = Pretrainer(
        model,
        tokenizer,
        as_sequences(train),
        as_sequences(valid[: config.valid_rows]),
        config,
        folder=work,
        device=options.device,
        precision=options.precision,
    )
    steps = f"{trainer.num_steps} steps of {config.tokens_per_step:,}"
    print(f"a corpus of {train.size / 1e6:.1f} million tokens, {steps}", flush=True)
    if config.warmup_steps >= trainer.num_steps:
        print(f"the rate still rises at the end: --warmup-steps {config.warmup_steps}", flush=True)
    history = trainer.run(options.resume)
    if one_segment:  # the second type never occurs then; a copy of the first beats noise
        with torch.no_grad():
            types[1:] = types[0]
    named = {name: _by_name(value) for name, value in asdict(options).items()}
    notes = {"options": named, "config": asdict(config), "history": history}
    if before:
        notes["before"] = before
    published = source.bert_config if source else BertConfig()
    dropout = {name: getattr(published, name) for name in NO_DROPOUT}
    _save(model, tokenizer, options.out, notes, dropout)
    print(f"checkpoint, vocabulary and curve: {options.out} (to continue: {work})")


def _by_name(value: Any) -> Any:
    """Return an option as it can be published: files by name, without the user's folders."""
    if isinstance(value, (list, tuple)):
        return [_by_name(item) for item in value]
    if isinstance(value, str) and Path(value).is_dir():
        return Path(value).name
    return value.name if isinstance(value, Path) else value


def _load(source: CheckpointFolder, length: int) -> BertForMaskedLM:
    """Return a checkpoint's model, without dropout; CheckpointError if it is too small."""
    model = BertForMaskedLM.from_pretrained(source, **NO_DROPOUT)
    config, pieces = model.bert.config, BertTokenizer.from_pretrained(source).vocab_size
    if length > config.num_positions or pieces > config.vocab_size:
        raise CheckpointError(
            f"{source}: has {config.num_positions} positions and {config.vocab_size} "
            f"word embeddings; --length is {length}, its vocabulary {pieces} pieces"
        )
    return model


def _vocabulary(options: PretrainOptions, work: Path) -> BertTokenizer:
    """Return the given vocabulary, or one trained on the corpus, now or by an earlier run."""
    if options.vocab:
        tokenizer = BertTokenizer.from_vocab(options.vocab)
        pieces = tokenizer.backend.get_vocab()
        if max(pieces.values()) >= len(pieces):
            raise CheckpointError(f"{options.vocab}: a piece is on two lines; delete one")
        return tokenizer
    size = Sizes(**options.sizes).vocab_size
    vocab = work / f"vocab-{size}-{corpus_digest(options.corpus)}.txt"
    if not vocab.is_file():
        print(f"training a vocabulary of {size} pieces", flush=True)
        train_vocabulary(read_paragraphs(options.corpus), size, vocab)
    return BertTokenizer.from_vocab(vocab)


def _fresh(options: PretrainOptions, length: int, vocab_size: int) -> BertForMaskedLM:
    """Return a new model of the requested sizes."""
    shape = Sizes(**options.sizes)
    sizes = BertConfig(
        vocab_size=vocab_size,
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.hidden_size // 64,
        intermediate_size=4 * shape.hidden_size,
        max_position_embeddings=length,
        **NO_DROPOUT,
    )
    return BertForMaskedLM(BertModel(sizes, add_pooling_layer=False))


def _save(
    model: BertForMaskedLM,
    tokenizer: BertTokenizer,
    folder: Path,
    notes: dict[str, Any],
    dropout: dict[str, float],
) -> None:
    """Write the model and its prediction head as float16, the tokenizer, config and curve.

    [CLS] was not trained to predict anything, so the checkpoint states an average as its pooling.
    It was trained without dropout but states the rates for tuning: SimCSE's views need them.
    """
    head = {HEAD + key: tensor for key, tensor in model.head.state_dict().items()}
    shape = model.bert.config
    tensors = published_names(model.bert.state_dict() | head, shape.architecture)
    architectures = [f"{shape.architecture.class_name}ForMaskedLM"]
    with whole_checkpoint(folder) as temporary:
        halves = {key: tensor.half() for key, tensor in tensors.items()}
        write_tensors(halves, temporary / "model.safetensors")
        config = {**shape.to_dict(), "architectures": architectures, **dropout}
        write_json(temporary / "config.json", config)
        write_json(temporary / "training.json", notes)
        tokenizer.save(temporary, shape.num_positions)
        write_modules(temporary, model.bert, "avg", False, max_length=shape.num_positions)

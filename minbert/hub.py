"""Where a checkpoint is: a folder, the local Hugging Face cache, or the hub."""

import logging
from contextlib import suppress
from pathlib import Path

from minbert.config import CheckpointError
from runtime.files import sweep
from runtime.options import did_you_mean

logger = logging.getLogger(__name__)

SAFETENSORS, INDEX, PICKLE = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
)
MINI = Path(__file__).parent / "mini"
# The encoders that ship with this project.
SHIPPED = {"mini": MINI, "mini-sts": MINI.with_name("mini_sts")}
# A misspelt name may mean one of these.
WELL_KNOWN = (
    "bert-base-uncased",
    "bert-large-uncased",
    "roberta-base",
    "sentence-transformers/all-MiniLM-L6-v2",
    "princeton-nlp/sup-simcse-bert-base-uncased",
    "princeton-nlp/unsup-simcse-bert-base-uncased",
)
# The small files of a checkpoint: sizes, vocabulary (merges.txt is RoBERTa's), and how
# sentence-transformers pools it.
SMALL_FILES = [
    "*.json",
    "vocab.txt",
    "merges.txt",
    "[0-9]_*/*",  # its steps, of which the first may be the encoder
]


def find_checkpoint(path_or_name: str | Path) -> Path:
    """Return the folder of a checkpoint: a folder, the local Hugging Face cache, or the hub.

    The names `mini` and `mini-sts` are the small encoders that ship with this project.

    Raises:
        CheckpointError: it is in none of the three; the message lists the places.
    """
    folder, name = Path(path_or_name), str(path_or_name)
    with suppress(RuntimeError):  # ~name of an unknown user: no such folder, below
        folder = folder.expanduser()
    if not folder.exists() and folder.name:
        sweep(folder.parent, folder.name)  # a process may have been killed while replacing it
    if folder.is_dir():
        return folder
    if name in SHIPPED:
        return SHIPPED[name]
    if folder.exists():
        raise CheckpointError(f"{folder}: is a file; expected a checkpoint folder or a hub ID")
    if name.count("/") > 1 or name.startswith((".", "/", "~")) or name.endswith("/"):
        raise CheckpointError(f"{folder}: no such folder; expected a checkpoint folder or a hub ID")
    cached = _from_cache(name)
    if cached and _knows_pooling(name):
        return cached
    try:
        return _from_hub(name)
    except CheckpointError:
        if cached is None:
            raise
        logger.warning("%s: loaded from the cache, which does not state its pooling", name)
        return cached


def _knows_pooling(name: str) -> bool:
    """Return whether the cache holds modules.json, or knows that the hub has none.

    Other programs download a checkpoint without that file.
    """
    from huggingface_hub import try_to_load_from_cache

    return try_to_load_from_cache(name, "modules.json") is not None


def _from_cache(name: str) -> Path | None:
    """Return the hub snapshot of `name` if its configuration and weights are already there."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):
        return None
    # Old checkpoints of sentence-transformers have the encoder in a subfolder.
    for place in (folder, *folder.glob("0_*")):
        whole = any((place / weights).is_file() for weights in (SAFETENSORS, INDEX, PICKLE))
        if whole and (place / "config.json").is_file():
            return folder
    return None


def _folders() -> list[str]:
    """Return the checkpoints among the folders here."""
    return [path.parent.name for path in Path().glob("*/config.json")]


def _cached() -> list[str]:
    """Return the names of the models in the Hugging Face cache."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    with suppress(CacheNotFound, OSError):
        return [repo.repo_id for repo in scan_cache_dir().repos if repo.repo_type == "model"]
    return []


def _from_hub(name: str) -> Path:
    """Download `name`: safetensors if the hub has them, else the pickled weights."""
    from huggingface_hub import constants, hf_hub_download, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    try:
        folder = Path(snapshot_download(name, allow_patterns=[*SMALL_FILES, "model*.safetensors"]))
        places = (folder, *folder.glob("0_*"))
        if not any((p / weights).is_file() for p in places for weights in (SAFETENSORS, INDEX)):
            folder = Path(snapshot_download(name, allow_patterns=[*SMALL_FILES, PICKLE]))
        if not (folder / "modules.json").is_file():
            with suppress(EntryNotFoundError):
                hf_hub_download(name, "modules.json")  # the cache remembers that there is none
    # The hub's client raises its own errors, the HTTP library's, OSError and ValueError.
    except (HfHubHTTPError, OSError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        known = [*SHIPPED, *_folders(), *_cached(), *WELL_KNOWN]
        if name not in known and (meant := did_you_mean(name, known)):
            raise CheckpointError(f"{name}: no such encoder{meant}") from None
        raise CheckpointError(
            f"{name}: no such folder, not in the cache ({constants.HF_HUB_CACHE}), and "
            f"not downloaded ({type(error).__name__}: {reason}); give a folder with "
            f"config.json, {SAFETENSORS} and tokenizer, or run once with network access"
        ) from None
    return folder

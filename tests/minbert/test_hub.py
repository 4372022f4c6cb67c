"""Checkpoints by name: from the local Hugging Face cache, and from a hub (one on 127.0.0.1)."""

import json
import shutil
import threading
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pytest
import torch
from families import checkpoint
from safetensors.torch import load_file

from minbert.config import CheckpointError
from minbert.encoder import SentenceEncoder
from minbert.hub import MINI, find_checkpoint
from runtime import files

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def loaded(name) -> str:
    try:
        encoder = SentenceEncoder.from_pretrained(name, device="cpu", precision="float32")
    except CheckpointError as error:
        return f"refused: {error}"
    return str(encoder.encode(["the cat"])[0].tolist())


@pytest.fixture
def load_by_name(monkeypatch):
    """Return a function that loads `team/tiny` as if the environment named this cache and hub."""

    def load(cache: Path, endpoint: str | None = None) -> str:
        template = f"{endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        for constant, value in {
            "HF_HUB_CACHE": str(cache),
            "HF_HUB_OFFLINE": endpoint is None,
            "ENDPOINT": str(endpoint),
            "HUGGINGFACE_CO_URL_TEMPLATE": template,
            "HF_HUB_DISABLE_XET": True,
        }.items():
            monkeypatch.setattr(huggingface_hub.constants, constant, value)
        return loaded("team/tiny")

    return load


Answer = tuple[bytes, dict[str, str], int]  # body, headers, status


def hubs_answer(path: str, names: dict[str, Path]) -> Answer:
    """Return what the hub answers for the repository team/tiny that holds `names`."""
    if names and path.startswith("/api/models/team/tiny"):
        siblings = [{"rfilename": name} for name in names]
        info = {"id": "team/tiny", "modelId": "team/tiny", "sha": COMMIT}
        info |= {"siblings": siblings, "private": False, "tags": [], "downloads": 0}
        tree = [
            {"type": "file", "path": n, "size": p.stat().st_size, "oid": "0" * 40}
            for n, p in names.items()
        ]
        content = tree if "/tree/" in path else info
        return json.dumps(content).encode(), {"Content-Type": "application/json"}, 200
    name = path.removeprefix(f"/team/tiny/resolve/{COMMIT}/")
    name = name.removeprefix("/team/tiny/resolve/main/")
    if name not in names:
        missing = {"X-Error-Code": "EntryNotFound" if names else "RepoNotFound"}
        return b"", missing | {"X-Repo-Commit": COMMIT}, 404
    body = names[name].read_bytes()
    return body, {"ETag": f'"{sha256(body).hexdigest()}"', "X-Repo-Commit": COMMIT}, 200


@contextmanager
def hub(folder: Path):
    """Serve a folder as the hub serves the repository team/tiny; yield address and requests.

    An empty folder stands for a repository that does not exist.
    """
    asked: list[str] = []
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {str(path.relative_to(folder)): path for path in files}

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            asked.append(f"{self.command} {path}")
            body, headers, status = hubs_answer(path, names)
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def test_a_folder_whose_replacement_was_cut_off_is_found(tmp_path):
    """A process was killed between the two renames; nothing of the folder's name is left."""
    nobody = 2**22 + 1  # beyond every process id
    piece = tmp_path / f".mine.{files.HOST}-{nobody}-abcdef-x.tmp"
    for folder in (piece, piece.with_name(f"{piece.name}.old")):
        folder.mkdir()
        (folder / "config.json").touch()
    assert find_checkpoint(tmp_path / "mine") == tmp_path / "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_name_is_fetched_from_the_hub_and_then_cached(load_by_name, tiny_checkpoint, tmp_path):
    with hub(tiny_checkpoint) as (endpoint, asked):
        assert load_by_name(tmp_path, endpoint) == loaded(tiny_checkpoint)
        assert any("model.safetensors" in line for line in asked)
        before = len(asked)
        assert load_by_name(tmp_path, endpoint) == loaded(tiny_checkpoint)
        assert len(asked) == before, "the cached copy was not used"
    assert load_by_name(tmp_path) == loaded(tiny_checkpoint)


def test_what_another_program_left_out_of_the_cache_is_fetched(
    load_by_name, tiny_checkpoint, tmp_path
):
    """transformers caches weights and tokenizer, but not how sentence-transformers pools them."""
    folder, cache = tmp_path / "st", tmp_path / "cache"
    SentenceEncoder.from_pretrained(str(tiny_checkpoint), "avg", device="cpu").save(folder)
    with hub(folder) as (endpoint, _):
        assert load_by_name(cache, endpoint) == loaded(folder) != loaded(tiny_checkpoint)
        snapshot = cache / "models--team--tiny" / "snapshots" / COMMIT
        (snapshot / "modules.json").unlink()
        shutil.rmtree(snapshot / "1_Pooling")
        assert load_by_name(cache, endpoint) == loaded(folder)


def test_a_roberta_of_old_files_is_fetched_with_its_merges(load_by_name, tmp_path):
    """Pickled weights, vocab.json and merges.txt, as the published SimCSE checkpoints have them."""
    folder = checkpoint(tmp_path / "repository", "roberta")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with hub(folder) as (endpoint, asked):
        assert load_by_name(tmp_path / "cache", endpoint) == loaded(folder)
    assert any("merges.txt" in line for line in asked)


@pytest.mark.parametrize("how", ["offline", "nobody_listens", "no_such_repository"])
def test_a_name_that_cannot_be_had_is_one_line(load_by_name, how, tmp_path):
    (tmp_path / "empty").mkdir()
    if how == "no_such_repository":
        with hub(tmp_path / "empty") as (endpoint, _):
            answer = load_by_name(tmp_path, endpoint)
    else:
        answer = load_by_name(tmp_path, "http://127.0.0.1:9" if how == "nobody_listens" else None)
    assert answer.startswith("refused: team/tiny: ") and "\n" not in answer
    assert str(tmp_path) in answer  # where it was looked for


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "a/b/c", "~nobody-here/bert"])
def test_a_path_that_is_not_there_is_not_looked_for_on_the_hub(name):
    with pytest.raises(CheckpointError, match="no such folder"):
        find_checkpoint(name)


def test_files_and_folders_come_before_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "weights").write_text("")
    for name in ("weights", str(tmp_path / "weights")):
        with pytest.raises(CheckpointError, match="is a file"):
            find_checkpoint(name)
    assert find_checkpoint("mini") == MINI and (MINI / "config.json").is_file()
    (tmp_path / "mini").mkdir()
    assert find_checkpoint("mini").resolve() == find_checkpoint("~/mini") == tmp_path / "mini"

"""Prompts: texts that sentence-transformers puts before a text, such as "query: ".

config_sentence_transformers.json names them, and may make one of them the default.
"""

import logging
from dataclasses import dataclass, field
from typing import Any

from minbert.config import CheckpointError
from minbert.folder import CheckpointFolder
from runtime.errors import UserError

logger = logging.getLogger(__name__)

FILE = "config_sentence_transformers.json"
# sentence-transformers has these two in any case, empty unless a checkpoint says otherwise.
USUAL = {"query": "", "document": ""}


@dataclass(frozen=True)
class Prompts:
    """The prompts of a checkpoint by their names, and the name of the one that is the default.

    `pooled` says whether the tokens of a prompt are pooled with those of the text.
    """

    by_name: dict[str, str] = field(default_factory=lambda: dict(USUAL))
    default_name: str | None = None
    pooled: bool = True

    @property
    def default(self) -> str:
        """The prompt before every text that comes without one, "" for none."""
        return self.by_name[self.default_name] if self.default_name is not None else ""

    @property
    def stated(self) -> dict[str, Any]:
        """The entries of the checkpoint's file, {} if all prompts are empty."""
        if not any(self.by_name.values()):
            return {}
        return {"prompts": self.by_name, "default_prompt_name": self.default_name}

    def choose(self, prompt: str | None, name: str | None) -> str:
        """Return the prompt of the texts: `prompt`, else the one called `name`, else the default.

        Raises:
            UserError: an unknown name, or a prompt whose tokens would have to be left out.
        """
        if prompt is None and name is not None:
            if name not in self.by_name:
                known = ", ".join(map(repr, self.by_name))
                raise UserError(f"encode: no prompt is named {name!r:.60}; there are {known}")
            prompt = self.by_name[name]
        elif prompt is None:
            prompt = self.default
        if not isinstance(prompt, str):
            raise UserError(f"encode: prompt is {prompt!r:.60}; expected a text")
        if prompt and not self.pooled:
            raise UserError(
                "encode: this checkpoint leaves prompts out of its pooling (include_prompt is "
                "false), which is not supported; give no prompt"
            )
        return prompt


def read_prompts(folder: CheckpointFolder, pooled: bool = True) -> Prompts:
    """Return the prompts of a checkpoint.

    Raises:
        CheckpointError: prompts that are not texts, or a default that is not among them.
    """
    settings, path = folder.config_sentence_transformers, folder.path / FILE
    if (similarity := settings.get("similarity_fn_name")) not in (None, "cosine"):
        logger.warning("%s: states the similarity %.60r; cosines are used here", path, similarity)
    stated, name = settings.get("prompts") or {}, settings.get("default_prompt_name")
    if not isinstance(stated, dict) or not all(isinstance(p, str | None) for p in stated.values()):
        raise CheckpointError(f"{path}: prompts is {stated!r:.60}; expected texts by their names")
    by_name = USUAL | {key: prompt or "" for key, prompt in stated.items()}
    if name is not None and name not in by_name:
        raise CheckpointError(
            f"{path}: default_prompt_name is {name!r:.60}, which is not among its prompts"
        )
    prompts = Prompts(by_name, name, pooled)
    if prompts.default and not pooled:
        raise CheckpointError(
            f"{path}: a default prompt, {prompts.default!r:.60}, that Pooling leaves out "
            "(include_prompt is false) is not supported; set default_prompt_name to null"
        )
    return prompts

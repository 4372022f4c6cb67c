"""How the run was made: command, settings, versions, hashes. Feeds: making."""

import shlex
from collections.abc import Iterator
from typing import Any

from report.page.material import Material
from report.page.tables import UNKNOWN, Table, word


def command(material: Material) -> str:
    """Return the exact command line, a dash if the run does not say."""
    words = material.run.config.get("command")
    return shlex.join(["python", *map(str, words)]) if isinstance(words, list) else UNKNOWN


def about_tables(material: Material) -> list[Table]:
    """Return settings, recipes, machine and hashes as tables of names and values."""
    config = material.run.config
    machine = {name: config.get(name) for name in ("machine", "device", "precision", "threads")}
    code = {"commit": config.get("commit"), "python": config.get("python")}
    parts = {
        "Settings": config.get("options"),
        "Machine and code": machine | code | _dictionary(config.get("packages")),
        "Contrastive tuning": config.get("simcse"),
        "Heads": config.get("heads"),
        "SHA-256 of what was trained on, selected by or scored": config.get("sha256"),
    }
    return [
        Table(
            caption, ("name", "value"), [[word(name), word(value)] for name, value in rows], "long"
        )
        for caption, part in parts.items()
        if (rows := list(_flat(_dictionary(part))))
    ]


def _flat(values: dict[str, Any], outer: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested settings as (`sup.batch_size`, `64`)."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{outer}{name}.")
        elif isinstance(value, list):
            yield f"{outer}{name}", " ".join(map(str, value))
        else:
            yield f"{outer}{name}", UNKNOWN if value is None else str(value)


def _dictionary(raw: Any) -> dict[str, Any]:
    return raw if isinstance(raw, dict) else {}

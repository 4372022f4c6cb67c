"""docs/scale.md: commands parse, and what is reckoned follows from what was measured."""

import json
import shlex

from test_readme import ROOT, commands, table

from experiment.settings import parse_options as parse_run
from minbert.encode.options import Options
from runtime.options import parse

PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
TEXTS, MACHINES = 10**9, 64
SIZES = {"mini": 256, "MiniLM": 384, "bert-base shape": 768}
WORKS = {"mini": "encode 100,000 sentences, mini"}


def test_every_command_parses():
    lines = [shlex.split(line, comments=True) for line in commands(PAGE)]
    encoded = [
        words[words.index("minbert.encode") + 1 :] for words in lines if "minbert.encode" in words
    ]
    trained = [
        words[words.index("run_multitask.py") + 1 :] for words in lines if "torchrun" in words
    ]
    assert len(encoded) == 5 and len(trained) == 2
    assert all(parse(Options, words) for words in encoded)
    assert all(parse_run(words) for words in trained)


def test_what_is_reckoned_for_machines_follows_from_the_recorded_rates():
    figures = json.loads((ROOT / "docs" / "results" / "benchmarks.json").read_text())["figures"]
    _, rows = table(PAGE, "reckoned: machines")
    for encoder, *shown in rows:
        work = WORKS.get(encoder, f"encode, {encoder}")
        (rate,) = [f["rate"] for f in figures if (f["work"], f["side"]) == (work, "minbert")]
        hours = TEXTS / rate / 3600
        assert shown == [
            f"{rate:,.1f}",
            f"{hours:,.0f} hours",
            f"{hours / MACHINES:.1f} hours",
            f"{TEXTS * SIZES[encoder] * 4 / 1e12:.2f} TB",
        ]

"""Runs a campaign: `python -m tests.campaigns kill --count 200 --seed 1`."""

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from campaigns.artefacts import artefacts
from campaigns.commands import commands
from campaigns.inputs import inputs
from campaigns.kills import kill
from campaigns.outcomes import Trial, faults, table

CAMPAIGNS = {  # and how many trials are a whole one
    "kill": (kill, 240),
    "inputs": (inputs, 12_000),
    "artefacts": (artefacts, 1200),
    "commands": (commands, 2000),
}
# What the tests run: a case or two of the cheapest scenes.
QUICK = {
    "kill": (3, ("download",)),
    "inputs": (23, ()),
    "artefacts": (4, ("cache", "state", "index", "checkpoint")),
    "commands": (52, ()),
}


def main() -> int:
    """Run the command line; return 1 if anything came out as it should not."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("campaign", choices=[*CAMPAIGNS, "quick"], help="quick: a bit of each")
    parser.add_argument("--count", type=int, help="trials")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=(), help="these scenes")
    options = parser.parse_args()
    planned = {options.campaign: (options.count, options.only)}
    # What commands import late, once for all children.
    for name in ("report.page.curves", "evaluation.command"):
        import_module(name)
    if options.campaign == "quick":
        planned = QUICK
    trials: list[Trial] = []
    for name, (count, only) in planned.items():
        work, whole = CAMPAIGNS[name]
        with tempfile.TemporaryDirectory() as folder:
            trials += work(count or whole, options.seed, Path(folder).resolve(), only)
    for name in planned:
        print(table([trial for trial in trials if trial.campaign == name]))
    for trial in faults(trials):
        print(f"{trial.scene}, {trial.accident}: {trial.outcome}: {trial.said}")
    return 1 if faults(trials) else 0


if __name__ == "__main__":
    sys.exit(main())

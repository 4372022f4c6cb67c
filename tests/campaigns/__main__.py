"""Runs a campaign: `python -m tests.campaigns kill --count 200 --seed 1 --out kills.csv`."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from campaigns.artefacts import artefacts
from campaigns.disks import disk
from campaigns.environments import environments
from campaigns.inputs import inputs
from campaigns.kills import kill
from campaigns.outcomes import faults, table, write

CAMPAIGNS = {  # and how many trials are a whole one
    "kill": (kill, 240),
    "inputs": (inputs, 12_000),
    "artefacts": (artefacts, 1200),
    "disk": (disk, 140),
    "environments": (environments, 100),
}


def main() -> int:
    """Run the command line; return 1 if anything came out as it should not."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--count", type=int, help="trials")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many")
    parser.add_argument("--only", help="one scene")
    parser.add_argument("--out", type=Path, help="a CSV of the counts")
    options = parser.parse_args()
    work, count = CAMPAIGNS[options.campaign]
    trials, started = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        for trial in work(options.count or count, options.seed, place, options.only):
            trials.append(trial)
            if time.monotonic() - started > 60 * options.minutes:
                break
    if options.out:
        write(options.out, trials)
    print(table(trials))
    for trial in faults(trials):
        print(f"{trial.scene}, {trial.accident}: {trial.outcome}: {trial.said}")
    return 1 if faults(trials) else 0


if __name__ == "__main__":
    sys.exit(main())

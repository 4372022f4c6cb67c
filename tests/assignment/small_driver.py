"""A driver without torch, which starts in a moment; the project's own has the same command line."""

import argparse
import importlib
import json
import sys
from pathlib import Path

import numpy as np


def main() -> None:
    """Ask the module `work` of a tree for the answers of a suite's cases."""
    parser = argparse.ArgumentParser()
    for name in ("suite", "tree", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--cpu-seconds")
    options = parser.parse_args()
    sys.path.insert(0, str(options.tree))
    cases = json.loads((options.suite / "suite.json").read_text())["cases"]
    functions = {case["name"]: case["function"] for case in cases}
    with np.load(options.suite / "inputs.npz", allow_pickle=False) as inputs:
        for name in options.case:
            try:
                work = importlib.import_module("work")
                answer = np.asarray(getattr(work, functions[name])(inputs[f"{name}/values"]))
                np.savez(options.out / f"{name}.npz", answer=answer)
            except Exception as error:
                (options.out / f"{name}.error.txt").write_text(f"{error!r}\n")


if __name__ == "__main__":
    main()

"""A driver without torch, which starts in a moment; the project's own has the same command line."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np


def main() -> None:
    """Ask the module `work` of a tree for the answers of a suite's cases."""
    spec = json.loads(sys.argv[1])
    suite, out = Path(spec["suite"]), Path(spec["out"])
    sys.path.insert(0, spec["tree"])
    cases = json.loads((suite / "suite.json").read_text())["cases"]
    functions = {case["name"]: case["function"] for case in cases}
    with np.load(suite / "inputs.npz", allow_pickle=False) as inputs:
        for name in spec["names"]:
            try:
                work = importlib.import_module("work")
                answer = np.asarray(getattr(work, functions[name])(inputs[f"{name}/values"]))
                np.savez(out / f"{name}.npz", answer=answer)
            except Exception as error:
                (out / f"{name}.error.txt").write_text(f"{error!r}\n")


if __name__ == "__main__":
    main()

"""`python -m minbert.pretraining.average` of version 1.0, which was removed."""

import sys

if __name__ == "__main__":
    print(
        "error: python -m minbert.pretraining.average was removed in 1.1: use version 1.0.0",
        file=sys.stderr,
    )
    sys.exit(2)

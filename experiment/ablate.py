"""`python -m experiment.ablate` of version 1.0: `experiment.reproduce` makes its tables now."""

import sys
from collections.abc import Sequence

NOW = "python -m experiment.reproduce --only ablate-NAME --data DATA (--list shows the commands)"


def main(argv: Sequence[str] | None = None) -> int:
    """Print what to do instead; return the exit code."""
    print(f"error: python -m experiment.ablate was removed in 1.1: {NOW}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())

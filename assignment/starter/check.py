"""Checks this assignment: python check.py [PART ...]; --help explains.

In a student's tree it is `check.py`.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "kit"))

from assignment.check import main

if __name__ == "__main__":
    sys.exit(main(prog="python check.py", here=Path(__file__).parent))

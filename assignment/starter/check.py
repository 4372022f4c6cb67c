"""Checks this assignment: python check.py [PART ...]; --help explains.

In a student's tree it is `check.py`.
"""

import sys
from pathlib import Path

from assignment.check import main
from runtime.commands import exit_code

if __name__ == "__main__":
    here = Path(__file__).parent
    sys.exit(exit_code(lambda: main(sys.argv[1:], here=here)))

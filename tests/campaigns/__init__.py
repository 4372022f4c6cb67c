"""Campaigns of accidents: kills, broken inputs and artefacts, odd command lines.

`python -m tests.campaigns NAME` runs one as a whole (docs/reliability.md), the tests a small part.
"""

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
# As conftest.py; and what other tests have made is found as pytest finds it.
os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
sys.path[:0] = [str(TESTS), str(TESTS / "data")]

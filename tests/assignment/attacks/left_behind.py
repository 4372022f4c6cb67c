"""Leaves a process behind, in a session of its own, that would write an answer later."""

import os
import time
from pathlib import Path


def double(values):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3)
            Path("@MARKER@").write_text("still here")
            os._exit(0)
        os._exit(0)
    os._exit(0)

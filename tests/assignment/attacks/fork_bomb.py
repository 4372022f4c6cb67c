"""Doubles its processes; stops at 256, so that it harms nobody where no limit holds."""

import os
import time


def double(values):
    for _ in range(8):
        os.fork()
    time.sleep(3600)

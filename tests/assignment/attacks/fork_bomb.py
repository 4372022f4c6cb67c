"""Doubles its processes; stops at 256, so that it harms nobody where no limit holds."""

import os
import time


def double(values):
    for _ in range(8):
        os.fork()
    time.sleep(3600)


def total(values):
    return values.sum(axis=0)


def mean(values):
    return values.mean(axis=0)

"""Never returns, and uses no CPU time while it does not."""

import time


def double(values):
    time.sleep(3600)


def total(values):
    return values.sum(axis=0)


def mean(values):
    return values.mean(axis=0)

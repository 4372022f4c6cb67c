"""Never returns, and uses no CPU time while it does not."""

import time


def double(values):
    time.sleep(3600)

"""Waiting for what another process brings about."""

import time

DEADLINE_S = 90


def await_true(condition, what):
    """Until condition() holds; AssertionError, saying what was waited for, where it never does."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain for {DEADLINE_S} s: {what}")
        time.sleep(0.2)

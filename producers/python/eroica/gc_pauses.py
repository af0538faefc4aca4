"""Collections of Python's garbage on the thread that trains, as intervals. Short ones are left out."""

import gc
from time import monotonic_ns

from eroica import life

_SHORTEST_NS = 100_000
_start = 0


def watch():
    if _on_collection not in gc.callbacks:
        gc.callbacks.append(_on_collection)
        life.at_end(_leave)


def _leave():
    if _on_collection in gc.callbacks:  # a script may clear the list
        gc.callbacks.remove(_on_collection)


def _on_collection(phase, _info):
    global _start
    if not life.on or not life.native.trains():
        return
    if phase == "start":
        _start = monotonic_ns()
    elif _start and monotonic_ns() - _start >= _SHORTEST_NS:
        start, _start = _start, 0
        life.native.collection(start)

"""JAX: the rank of a process, and where its thread waits for what the devices do.

Collectives run inside compiled programs, so nobody sees one from Python. A thread that waits for an
array waits for them, too.
"""

import sys
from time import monotonic_ns

from eroica import annotations, life, patches
from eroica import native as constants
from eroica.watched_call import watch

_WAIT = "jax.block_until_ready"


def patch_distributed(module):
    """module: jax._src.distributed. A process of a job of several attaches when it has joined."""

    def joined(_token, _result, error):
        if error is None and rank_of_process() is not None:
            life.begin()
            life.refresh_identity()

    initialize = watch(module.State.initialize, lambda *_: True, joined)
    patches.replace(module.State, "initialize", initialize)


def _wait():
    return annotations.function_of(_WAIT, constants.WAIT_PEER)


def patch_array(module):
    """module: jax._src.array."""
    kind = module.ArrayImpl

    def begins(*_):
        if not life.on:
            return None
        start = monotonic_ns()
        life.native.enter(_wait(), True)
        return start

    def ended(start, _result, _error):
        if life.on:
            life.native.interval(start, _wait())

    patches.replace(kind, "block_until_ready", watch(kind.block_until_ready, begins, ended))


def rank_of_process():
    """(rank, world size) of jax.distributed, where it was initialized with several processes."""
    module = sys.modules.get("jax._src.distributed")
    state = getattr(module, "global_state", None)
    if state is None or getattr(state, "client", None) is None or state.num_processes < 2:
        return None
    return state.process_id, state.num_processes

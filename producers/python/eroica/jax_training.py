"""JAX: the rank of a process, and where its thread waits for what the devices do.

Collectives run inside compiled programs, so nobody sees one from Python. A thread that waits for an
array waits for them, too: by block_until_ready, or where it needs the array's value. What waits in C
alone is not seen: NumPy's view of an array on the processor, and a program whose launch waits.
"""

import sys
from time import monotonic_ns

from eroica import annotations, life, patches
from eroica import native as constants
from eroica.watched_call import watch

_BLOCK = "jax.block_until_ready"
_VALUE = "jax: the value of an array"
_EFFECTS = "jax.effects_barrier"


def patch_distributed(module):
    """module: jax._src.distributed. A process of a job of several attaches when it has joined."""

    def joined(_token, _result, error):
        if error is None and rank_of_process() is not None:
            life.begin()
            life.refresh_identity()

    initialize = watch(module.State.initialize, lambda *_: True, joined)
    patches.replace(module.State, "initialize", initialize)


def patch_array(module):
    """module: jax._src.array."""
    kind = module.ArrayImpl
    _wait_in(kind, "block_until_ready", _BLOCK)
    value = vars(kind).get("_value")
    if isinstance(value, property) and value.fget is not None:
        watched = _waiting(value.fget, _VALUE, _is_under_way)
        patches.replace(kind, "_value", property(watched, doc=value.__doc__))


def patch_numpy(module):
    """module: jax.numpy, which gives arrays their methods."""
    kind = getattr(sys.modules.get("jax._src.array"), "ArrayImpl", None)
    if kind is not None and hasattr(kind, "item"):
        patches.replace(kind, "item", _waiting(kind.item, _VALUE, _is_under_way))


def patch_client(module):
    """module: jaxlib.xla_client."""
    _wait_in(module, "batched_block_until_ready", _BLOCK)


def patch_dispatch(module):
    """module: jax._src.dispatch."""
    kind = getattr(module, "RuntimeTokenSet", None)
    if kind is not None:
        _wait_in(kind, "block_until_ready", _EFFECTS)


def _wait_in(owner, name, function):
    original = getattr(owner, name, None)
    if original is not None:
        patches.replace(owner, name, _waiting(original, function))


def _is_under_way(args):
    """Whether the array's value is still being computed."""
    array = args[0]
    return getattr(array, "_npy_value", None) is None and not (
        array.is_deleted() or array.is_ready()
    )


def _waiting(original, name, waits=None):
    """The function with each call as a wait for peers. waits(args): whether it waits; each call
    does, where it is not given."""

    def function():
        return annotations.function_of(name, constants.WAIT_PEER)

    def begins(args, _):
        if not life.on or (waits is not None and not waits(args)):
            return None
        start = monotonic_ns()
        life.native.enter(function(), True)
        return start

    def ended(start, _result, _error):
        if life.on:
            life.native.interval(start, function())

    return watch(original, begins, ended)


def rank_of_process():
    """(rank, world size) of jax.distributed, where it was initialized with several processes."""
    module = sys.modules.get("jax._src.distributed")
    state = getattr(module, "global_state", None)
    if state is None or getattr(state, "client", None) is None or state.num_processes < 2:
        return None
    return state.process_id, state.num_processes

"""Waits for other workers in torch.distributed.rpc: rpc_sync, Future.wait, RRef.to_here.

rpc_sync waits for a future, and so do calls by an RRef's proxy, DistributedOptimizer and
torch.futures.wait_all. PyTorch imports the module by itself: a wait counts where the process has an
RPC agent. There, whatever future the thread that trains waits for is another worker's work; what
torch.jit.fork starts is waited for elsewhere. Who the worker is, is not said: one wait may be for
several.
"""

import sys
from time import monotonic_ns

from eroica import annotations, life, patches
from eroica import native as constants
from eroica.watched_call import watch

_WAIT = "torch.distributed.rpc:wait"


def patch_api(module):
    """module: torch.distributed.rpc.api, loaded."""
    has_agent = module._is_current_rpc_agent_set
    future, reference = sys.modules["torch"]._C.Future, module.PyRRef
    patches.replace(future, "wait", _waiting(future.wait, has_agent, future.done))
    patches.replace(reference, "to_here", _waiting(reference.to_here, has_agent, None))


def _waiting(original, has_agent, is_done):
    def begins(args, _):
        if not life.on or not has_agent() or not life.native.trains():
            return None
        if is_done is not None and is_done(args[0]):
            return None
        life.native.enter(_wait(), True)
        return monotonic_ns()

    def ended(start, *_):
        if life.on:
            life.native.interval(start, _wait())

    return watch(original, begins, ended)


def _wait():
    return annotations.function_of(_WAIT, constants.WAIT_PEER)

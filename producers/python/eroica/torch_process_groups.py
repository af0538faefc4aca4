"""Collectives that PyTorch's own C++ issues on host memory: the reductions of
DistributedDataParallel, functional collectives, and what compiled code calls.

ProcessGroup.register_pre_hook and register_post_hook call back around every operation, on the
thread that issues it (PyTorch 2.15 has them). Where a group has none, only what comes through
Python's functions is seen (torch_distributed.py). Groups with a backend of devices get none: a hook
would take the GIL for each operation in the backward pass, and say nothing.
"""

import functools
import weakref

from eroica import life, torch_operation

# HookOpName: operation
_OPERATIONS = {
    "ALLREDUCE": "all_reduce",
    "ALLREDUCE_COALESCED": "all_reduce",
    "ALLGATHER": "all_gather",
    "ALLGATHER_BASE": "all_gather",
    "ALLGATHER_COALESCED": "all_gather",
    "ALLGATHER_INTO_TENSOR_COALESCED": "all_gather",
    "REDUCE_SCATTER": "reduce_scatter",
    "REDUCE_SCATTER_BASE": "reduce_scatter",
    "REDUCE_SCATTER_TENSOR_COALESCED": "reduce_scatter",
    "BROADCAST": "broadcast",
    "REDUCE": "reduce",
    "ALLTOALL": "all_to_all",
    "ALLTOALL_BASE": "all_to_all",
    "GATHER": "gather",
    "SCATTER": "scatter",
    "BARRIER": "barrier",
    "SEND": "send",
    "RECV": "recv",
}
_HOOK = 0x65726F69  # the hooks' number among those of a group; the user's own are others
_MOST_OPEN = 64


class _GroupHooks:
    """Of one process group, which keeps it alive and not the other way round."""

    def __init__(self, group):
        self._group = weakref.ref(group)
        self._launched = {}  # by the operation's number, between the two hooks

    def before(self, arguments):
        if getattr(torch_operation.call, "open", False) or not (life.on or life.begin()):
            return
        operation = _OPERATIONS.get(arguments.name.name)
        handle = self._group()
        if operation is None or handle is None:
            return
        group = torch_operation.group_of(handle)
        peer = group.ranks[arguments.root] if operation in ("send", "recv") else -1
        tensors = list(arguments.input_tensors) or list(arguments.output_tensors)
        launched = torch_operation.launch(group, operation, peer, tensors)
        if launched is None:
            return
        if len(self._launched) >= _MOST_OPEN:  # of calls that failed, which nobody says the end of
            self._drop_all()
        self._launched[arguments.op_id] = launched

    def after(self, arguments):
        launched = self._launched.pop(arguments.op_id, None) if self._launched else None
        if launched is not None:
            torch_operation.follow(arguments.work, launched)

    def _drop_all(self):
        launched, self._launched = self._launched, {}
        for operation in launched.values():
            operation.drop()


def watch_groups(module):
    """Hooks every group that is there and every one that is made from now on."""
    original = getattr(module, "_new_process_group_helper", None)
    if original is None:
        return

    @functools.wraps(original)
    def made(*args, **kwargs):
        result = original(*args, **kwargs)
        life.quietly(lambda: _watch(result[0]))
        return result

    module._new_process_group_helper = made
    for group in list(getattr(getattr(module, "_world", None), "pg_map", ())):
        life.quietly(lambda group=group: _watch(group))


def _watch(group):
    if not hasattr(group, "register_post_hook") or not torch_operation.is_on_host(group):
        return
    hooks = _GroupHooks(group)
    group.register_pre_hook(_HOOK, _harmless(hooks.before))
    group.register_post_hook(_HOOK, _harmless(hooks.after))


def _harmless(hook):
    """What a hook raises would be raised by the collective."""

    def called(arguments):
        try:
            hook(arguments)
        except Exception:
            life.say_exception("a collective is not taken")

    return called

"""Collectives that PyTorch's own C++ issues on host memory: the reductions of
DistributedDataParallel, functional collectives, and what compiled code calls.

ProcessGroup.register_pre_hook and register_post_hook call back around every operation, on the
thread that issues it (PyTorch 2.15 has them). Where a group has none, only what comes through
Python's functions is seen (torch_distributed.py). Groups with a backend of devices get none: a hook
would take the GIL for each operation in the backward pass, and say nothing.

A group may outlive the interpreter, and whoever destroys a hook then ends by a signal: at exit the
hooks are taken off. PyTorch has no lock around them, so that a thread must not be among them then.
A daemon thread that comes to one at exit stays there (parking.h).
"""

import ctypes
import os
import threading
import time
import weakref

from eroica import life, patches, torch_operation
from eroica.watched_call import watch

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
_MOST_THREADS = 1024
_QUIET_S = 0.05  # in which threads that come to a hook at exit are seen to do so
_LONGEST_PARK_MS = 5000  # where a function that runs after ours at exit waits for the thread

_hooks = []  # of every group that has some
_ending_thread = None  # the one that runs the exit functions


class _Side:
    """One of a group's two hooks: what PyTorch calls. Returns where it fails: what a hook raises
    would be raised by the collective."""

    def __init__(self, hook, register, unregister):
        self._hook = hook
        self._register = register
        self._unregister = unregister
        self._inside = set()  # system ids of threads, without the main one
        self.threads = set()  # all that came here so far

    def __call__(self, arguments):
        if threading.get_ident() == threading.main_thread().ident:
            self._call(arguments)
            return
        thread = threading.get_native_id()
        if len(self.threads) < _MOST_THREADS:
            self.threads.add(thread)
        self._inside.add(thread)
        try:
            self._call(arguments)
        finally:
            self._inside.discard(thread)

    def _call(self, arguments):
        if life.ended:
            if threading.get_ident() != _ending_thread and life.native is not None:
                life.native.park(_LONGEST_PARK_MS)
            return
        try:
            self._hook(arguments)
        except Exception:
            life.say_exception("a collective is not taken")

    def inside(self):
        return {thread for thread in list(self._inside) if _is_alive(thread)}

    def put_on(self, group):
        getattr(group, self._register)(_HOOK, self)

    def take_off(self, group):
        """Whether it is off: it stays where a thread is inside."""
        if self.inside():
            return False
        getattr(group, self._unregister)(_HOOK)
        return True


class _GroupHooks:
    """Of one process group, which keeps it alive and not the other way round."""

    def __init__(self, group):
        self._group = weakref.ref(group)
        self._launched = {}  # by the operation's number, between the two hooks
        self._sides = (
            _Side(self.before, "register_pre_hook", "unregister_pre_hook"),
            _Side(self.after, "register_post_hook", "unregister_post_hook"),
        )

    def put_on(self):
        for side in self._sides:
            side.put_on(self._group())

    def take_off(self):
        """False where a thread is inside one of them."""
        group = self._group()
        return group is None or all([side.take_off(group) for side in self._sides])

    def is_of(self, group):
        return self._group() is group

    def keep_group(self):
        """For ever: what is destroyed with it is never destroyed."""
        group = self._group()
        if group is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))

    def threads_outside(self):
        """Threads beside the main one that may come to a hook at any time."""
        threads = set().union(*(side.threads for side in self._sides))
        inside = set().union(*(side.inside() for side in self._sides))
        return {thread for thread in threads - inside if _is_alive(thread)}

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

    def made(_token, result, error):
        if error is None:
            _watch(result[0])

    helper = watch(original, lambda *_: True, made)
    patches.replace(module, "_new_process_group_helper", helper)
    life.at_end(_leave_all)
    for group in list(getattr(getattr(module, "_world", None), "pg_map", ())):
        life.quietly(lambda group=group: _watch(group))


def _watch(group):
    if life.ended or not hasattr(group, "unregister_post_hook"):
        return
    if not torch_operation.is_on_host(group):
        return
    _hooks[:] = [hooks for hooks in _hooks if not hooks.is_of(None)]  # without those that are gone
    hooks = _GroupHooks(group)
    hooks.put_on()
    _hooks.append(hooks)


def leave(group):
    """Before a group is destroyed; with the default one all are."""
    everything = torch_operation.is_default(group)
    _hooks[:] = [
        hooks
        for hooks in _hooks
        if not (everything or hooks.is_of(group)) or not hooks.take_off()
    ]


def _is_alive(thread):
    return os.path.exists(f"/proc/self/task/{thread}")


def _leave_all():
    global _ending_thread
    _ending_thread = threading.get_ident()
    deadline = time.monotonic() + _QUIET_S
    while time.monotonic() < deadline and any(hooks.threads_outside() for hooks in _hooks):
        time.sleep(0.005)  # gives the GIL to those that wait for it to call a hook
    for hooks in _hooks:
        if not hooks.take_off():
            hooks.keep_group()
    _hooks.clear()

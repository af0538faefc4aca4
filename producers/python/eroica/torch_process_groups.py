"""Collectives that PyTorch's own C++ issues on host memory: the reductions of
DistributedDataParallel, functional collectives, and what compiled code calls.

ProcessGroup.register_pre_hook and register_post_hook call back around every operation, on the
thread that issues it (PyTorch 2.15 has them). Where a group has none, only what comes through
Python's functions is seen (torch_distributed.py). Groups with a backend of devices get none: a hook
would take the GIL for each operation in the backward pass, and say nothing.

A group may outlive the interpreter, and a hook that is destroyed then ends the process by a signal:
at exit the hooks are taken off. PyTorch has no lock around them: where a thread beside the main one
has used the group and may be among them, they stay on, and the group is never destroyed.
"""

import ctypes
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
_LONGEST_WAIT_S = 0.05  # at exit, for threads that are among the hooks
_FUTEX = ("202", "98")  # of x86-64 and of AArch64; what else has the numbers there does not matter

_hooks = []  # of every group that has some


class _Side:
    """One of a group's two hooks: what PyTorch calls. Returns where it fails: what a hook raises
    would be raised by the collective."""

    def __init__(self, hook, register, unregister):
        self._hook = hook
        self._register = register
        self._unregister = unregister
        self._threads = set()  # system ids of those that came here, without the main one
        self._inside = set()  # of those that are here

    def __call__(self, arguments):
        thread = threading.get_ident()
        self._inside.add(thread)
        try:
            if thread != threading.main_thread().ident and len(self._threads) < _MOST_THREADS:
                self._threads.add(threading.get_native_id())
            if not life.ended:
                self._hook(arguments)
        except Exception:
            life.say_exception("a collective is not taken")
        finally:
            self._inside.discard(thread)

    def put_on(self, group):
        getattr(group, self._register)(_HOOK, self)

    def take_off(self, group):
        """Whether it is off: it stays where a thread may be on its way to it or back."""
        if self._inside or any(_may_come_here(thread) for thread in list(self._threads)):
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
        """False where one of them stays."""
        group = self._group()
        return group is None or all([side.take_off(group) for side in self._sides])

    def is_of(self, group):
        return self._group() is group

    def keep_group(self):
        """For ever: what is destroyed with it is never destroyed."""
        group = self._group()
        if group is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))

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
    _forget(lambda hooks: hooks.is_of(None))  # those that are gone
    hooks = _GroupHooks(group)
    hooks.put_on()
    _hooks.append(hooks)


def leave(group):
    """Before a group is destroyed; with the default one all are."""
    everything = torch_operation.is_default(group)
    _forget(lambda hooks: (everything or hooks.is_of(group)) and hooks.take_off())


def _forget(is_over):
    """One by one: another thread may watch a group meanwhile."""
    for hooks in list(_hooks):
        if is_over(hooks):
            try:
                _hooks.remove(hooks)
            except ValueError:
                pass  # another thread has forgotten it


def _may_come_here(thread):
    """False where the thread has ended, or the system call that it waits in waits for no lock: one
    that comes to a hook waits for the GIL, which the caller holds. Without a GIL it runs, or is
    inside."""
    try:
        with open(f"/proc/self/task/{thread}/syscall", encoding="ascii") as file:
            number = file.read().split()[0]
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not number.isdigit() or number in _FUTEX


def _leave_all():
    deadline = time.monotonic() + _LONGEST_WAIT_S
    left = [hooks for hooks in _hooks if not hooks.take_off()]
    while left and time.monotonic() < deadline:
        time.sleep(0.001)
        left = [hooks for hooks in left if not hooks.take_off()]
    for hooks in left:
        hooks.keep_group()
    _hooks.clear()

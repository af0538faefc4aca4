"""Calls a function when a future of PyTorch is done, and never after the interpreter's end.

A callback of a future is called by a thread of the backend, which takes the GIL for it: a process
whose interpreter ends meanwhile is ended by a signal. PyTorch has no way to take one off. So the
callback is not the operation's but that of a future of ours that collect_all makes of it. At exit
that one is done by us; the operation's own then finds it done and calls nobody.
"""

import ctypes
import time
import weakref

from eroica import life

_LONGEST_WAIT_S = 1.0

_collect_all = None
_open = {}  # by the id of a _Callback: (weak reference to it, the future that calls it)


class _Callback:
    """Alive from the call of call_at_end until PyTorch has called it and let it go."""

    __slots__ = ("_action", "__weakref__")

    def __init__(self, action):
        self._action = action

    def __call__(self, _future):
        self._action()


def use(torch):
    """torch: the package, loaded."""
    global _collect_all
    _collect_all = getattr(getattr(torch, "_C", None), "_collect_all", None)
    life.at_end(_let_go)


def call_at_end(future, action):
    """Calls action once, on the thread that sees the future done or failed; at exit, where it is
    not done. Raises where this PyTorch cannot."""
    ours = _collect_all([future])
    if life.ended:  # since this thread gave the GIL away
        return
    callback = _Callback(action)
    number = id(callback)
    _open[number] = (weakref.ref(callback, lambda _: _open.pop(number, None)), ours)
    ours.add_done_callback(callback)


def _let_go():
    """Until no thread of PyTorch is about to call us."""
    for callback, ours in list(_open.values()):
        if callback() is None:
            continue
        # The operation keeps it, perhaps for longer than the interpreter lives, and its result is a
        # Python object: it must not be destroyed.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(ours))
        try:
            ours.set_result(None)
        except RuntimeError:
            pass  # done in this moment: a thread of the backend waits for the GIL to call us
    deadline = time.monotonic() + _LONGEST_WAIT_S
    while _open and time.monotonic() < deadline:
        time.sleep(0.0005)

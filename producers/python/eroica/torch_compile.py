"""When torch.compile compiles: the thread that trains runs the compiler meanwhile, and its peers may
wait for it."""

import threading
from time import monotonic_ns

from eroica import annotations, life
from eroica import native as constants

# diagnosis/recompilation knows it by this name.
COMPILING = "(compiling, torch.compile)"
_open = threading.local()  # .start: of the compilation that this thread is in


def _function():
    return annotations.function_of(COMPILING, constants.WAIT_NONE)


def patch_callback(module):
    """module: torch._dynamo.callback. Its handler calls back on the thread that compiles, and holds
    a lock meanwhile: nothing here waits or raises."""
    handler = module.callback_handler
    starts, ends = handler.start_callbacks, handler.end_callbacks

    def begins(*_):
        try:
            if life.on:
                _open.start = monotonic_ns()
                life.native.enter(_function(), True)
        except Exception:
            life.say_exception("a compilation is not taken")

    def ended(*_):
        try:
            start, _open.start = getattr(_open, "start", None), None
            if start is not None and life.on:
                life.native.interval(start, _function())
        except Exception:
            life.say_exception("a compilation is not taken")

    def leave():  # torch._dynamo.reset() may have done so
        for callbacks, ours in ((starts, begins), (ends, ended)):
            if ours in callbacks:
                callbacks.remove(ours)

    starts.append(begins)
    ends.append(ended)
    life.at_end(leave)

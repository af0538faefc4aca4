"""PyTorch's training loop: data loading, forward, backward and optimizer steps, checkpoints.

What is patched is patched after the script has imported it, costs a Python call once a step (not
once a layer), changes no argument and no result, and raises nothing of its own.
"""

import ctypes
import functools
import threading
from time import monotonic_ns

from eroica import annotations, life, patches, stages
from eroica import native as constants

CUPTI_YIELD_MS = 2000  # until the records that are under way are in
_loading = threading.local()  # .data: inside a DataLoader's __next__


def patch_dataloader(module):
    """Every batch: a mark, and the time until it is there."""
    base = module._BaseDataLoaderIter
    original = base.__next__
    workers = getattr(module, "_MultiProcessingDataLoaderIter", ())

    @functools.wraps(original)
    def next_batch(self):
        if not life.on:
            return original(self)
        _loading.data = True
        start = monotonic_ns()
        stages.data_begins()
        try:
            return original(self)
        finally:
            _loading.data = False
            name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
            waits = constants.WAIT_OTHER if isinstance(self, workers) else constants.WAIT_NONE
            if life.on:
                life.native.interval(start, annotations.function_of(name, waits))

    patches.replace(base, "__next__", next_batch)


def patch_optimizer(module):
    """Before every step of every optimizer: by PyTorch's own global hook, where there is one."""

    def on_step(*_):
        if life.on or life.begin():
            stages.optimizer_begins()

    register = getattr(module, "register_optimizer_step_pre_hook", None)
    if register is not None:
        life.at_end(register(on_step).remove)
        return
    original = module.Optimizer._hook_for_profile  # PyTorch 1: wraps each class' step once

    @functools.wraps(original)
    def hook_for_profile(self):
        original(self)
        wrap_step(type(self))

    def wrap_step(kind):
        step = kind.step
        if getattr(step, "eroica", False):
            return

        @functools.wraps(step)
        def stepped(self, *args, **kwargs):
            on_step()
            return step(self, *args, **kwargs)

        stepped.eroica = True
        patches.replace(kind, "step", stepped)

    patches.replace(module.Optimizer, "_hook_for_profile", hook_for_profile)


def patch_module(module):
    """The step's first call of a module. The class' own __call__ is back in place during that call
    and until the next step: no layer pays for it, and compilers see the original."""
    kind = module.Module
    original = kind.__call__

    @functools.wraps(original)
    def first_call(self, *args, **kwargs):
        kind.__call__ = original
        if threading.current_thread() is threading.main_thread():
            stages.forward_begins()
        return original(self, *args, **kwargs)

    def await_forward():
        if kind.__call__ is original:
            kind.__call__ = first_call

    def leave():
        stages.when_data_may_end = None
        if kind.__call__ is first_call:
            kind.__call__ = original

    stages.when_data_may_end = await_forward
    life.at_end(leave)


def patch_autograd(module):
    """Tensor.backward comes through here, too."""
    original = module.backward

    @functools.wraps(original)
    def backward(*args, **kwargs):
        stages.backward_begins()
        return original(*args, **kwargs)

    patches.replace(module, "backward", backward)


def patch_serialization(module):
    """torch.save and torch.load pause the training, unless it is a sample that a dataset loads."""
    for name in ("save", "load"):
        patches.replace(module, name, _as_checkpoint(getattr(module, name)))


def _as_checkpoint(original):
    @functools.wraps(original)
    def checkpointed(*args, **kwargs):
        on_main = threading.current_thread() is threading.main_thread()
        if not life.on or not on_main or getattr(_loading, "data", False):
            return original(*args, **kwargs)
        with annotations.checkpoint():
            return original(*args, **kwargs)

    return checkpointed


def patch_profiler(module):
    """While torch.profiler runs it has CUPTI and the profile function for itself."""
    kind = module.profile
    prepare = kind._prepare_trace
    leave = kind.__exit__

    @functools.wraps(prepare)
    def prepare_trace(self, *args, **kwargs):
        _yield_to_profiler(True)
        return prepare(self, *args, **kwargs)

    @functools.wraps(leave)
    def left(self, *args, **kwargs):
        try:
            return leave(self, *args, **kwargs)
        finally:
            _yield_to_profiler(False)

    patches.replace(kind, "_prepare_trace", prepare_trace)
    patches.replace(kind, "__exit__", left)


def _yield_to_profiler(yields):
    if not life.on:
        return
    try:
        life.native.pause_full_trace(yields)
        cupti = life.loaded_library("liberoica_cupti.so")
        if cupti is not None:
            if yields:
                cupti.eroica_cupti_yield(ctypes.c_uint32(CUPTI_YIELD_MS))
            else:
                cupti.eroica_cupti_resume()
    except Exception:
        life.say_exception("not yielded to torch.profiler")

"""PyTorch's training loop: data loading, forward, backward and optimizer steps, checkpoints.

What is patched is patched after the script has imported it, costs a Python call once a step (not
once a layer), changes no argument and no result, and raises nothing of its own.
"""

import ctypes
import threading
from time import monotonic_ns

from eroica import annotations, data_wait, failure_place, life, loader_worker, patches, stages
from eroica import native as constants
from eroica.watched_call import watch

CUPTI_YIELD_MS = 2000  # until the records that are under way are in
_loading = threading.local()  # .data: inside a DataLoader's __next__


def patch_dataloader(module):
    """Every batch: a mark, and the time until it is there."""
    base = module._BaseDataLoaderIter
    workers = getattr(module, "_MultiProcessingDataLoaderIter", ())

    def begins(args, _):
        if not life.on:
            return None
        _loading.data = True
        stages.data_begins()
        loader = args[0]
        worker = own_ns = None
        if isinstance(loader, workers):
            name, waits = data_wait.name_of(loader), constants.WAIT_OTHER
            worker, own_ns = loader_worker.of(loader), loader_worker.own_waited_ns()
        else:  # what the dataset runs has a name of its own
            name, waits = f"enumerate(DataLoader)#{type(loader).__name__}.__next__", constants.WAIT_NONE
        function = annotations.function_of(name, waits)
        start = monotonic_ns()  # its interval holds what runs in it
        life.native.enter(function, waits != constants.WAIT_NONE)
        if worker is not None:
            life.native.await_worker(worker, function)
        return start, function, worker, own_ns

    def ended(token, _result, _error):
        start, function, worker, own_ns = token
        _loading.data = False
        if worker is not None:
            life.native.await_worker(0, function)
        if not life.on:
            return
        if own_ns is not None:
            starved(monotonic_ns() - start, worker, own_ns)
        life.native.interval(start, function)

    def starved(waited_ns, worker, own_ns):
        """Sends the parts of the wait without a processor: the thread's lies within the workers'."""
        if waited_ns < loader_worker.LEAST_WAIT_NS:
            loader_worker.passed(worker)
            return
        own_ns = min(loader_worker.own_waited_ns() - own_ns, waited_ns)
        workers_ns = min(loader_worker.starved_ns(worker), waited_ns - own_ns)
        until_now(own_ns, loader_worker.OWN)
        if workers_ns >= loader_worker.LEAST_NS:
            until_now(workers_ns + own_ns, loader_worker.WORKERS)

    def until_now(length_ns, name):
        if length_ns < loader_worker.LEAST_NS:
            return
        function = annotations.function_of(name, constants.WAIT_OTHER)
        life.native.enter(function, True)
        life.native.interval(monotonic_ns() - length_ns, function)

    patches.replace(base, "__next__", watch(base.__next__, begins, ended))


def patch_optimizer(module):
    """Around every step of every optimizer: by PyTorch's own global hooks, where there are any."""

    def on_step(optimizer, *_):
        try:
            if life.on or life.begin():
                stages.optimizer_begins(optimizer)
        except Exception:
            life.say_exception("a step of the optimizer is not taken")

    def on_end(*_):
        try:
            stages.optimizer_ended()
        except Exception:
            life.say_exception("the end of an optimizer's step is not taken")

    register = getattr(module, "register_optimizer_step_pre_hook", None)
    if register is not None:
        life.at_end(register(on_step).remove)
        register = getattr(module, "register_optimizer_step_post_hook", None)
        if register is not None:
            life.at_end(register(on_end).remove)
        return

    def wrap_step(token, _result, error):
        (optimizer,) = token
        kind = type(optimizer)
        if error is None and not getattr(kind.step, "eroica", False):
            stepped = watch(kind.step, lambda args, _: (on_step(*args), True), on_end)
            stepped.eroica = True
            patches.replace(kind, "step", stepped)

    # PyTorch 1: wraps each class' step once
    hook = watch(module.Optimizer._hook_for_profile, lambda args, _: args, wrap_step)
    patches.replace(module.Optimizer, "_hook_for_profile", hook)


def patch_module(module):
    """The step's first call of a module. The class' own __call__ is back in place during that call
    and until the next step: no layer pays for it, and compilers see the original."""
    kind = module.Module
    original = kind.__call__

    def begins(*_):
        kind.__call__ = original
        if life.on and life.native.trains():
            stages.forward_begins()

    first_call = watch(original, begins)

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

    def begins(*_):
        failure_place.began()
        stages.backward_begins()
        return True

    backward = watch(module.backward, begins, _failed)
    patches.replace(module, "backward", backward)


def _failed(_token, _result, error):
    if error is not None:
        failure_place.raised(error)


def patch_serialization(module):
    """torch.save and torch.load pause the training where the thread that trains calls them, unless it
    is a sample that a dataset loads."""

    def begins(*_):
        if not life.on or not life.native.trains() or getattr(_loading, "data", False):
            return None
        return annotations.checkpoint().__enter__()

    def ended(pause, _result, _error):
        pause.__exit__()

    for name in ("save", "load"):
        patches.replace(module, name, watch(getattr(module, name), begins, ended))


def patch_profiler(module):
    """While torch.profiler runs it has CUPTI and the profile function for itself."""
    kind = module.profile
    prepare = watch(kind._prepare_trace, lambda *_: _yield_to_profiler(True))
    leave = watch(kind.__exit__, lambda *_: True, lambda *_: _yield_to_profiler(False))
    patches.replace(kind, "_prepare_trace", prepare)
    patches.replace(kind, "__exit__", leave)


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

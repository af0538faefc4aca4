"""Whether Eroica is on in this process, and how it gets on and off.

`on` is read before every call; it is True from a successful attach until exit, a fork's child or a
failure. What Eroica registers with the interpreter or a framework is taken back at exit (`at_end`),
while both are still there. The core decides whether it attaches (it knows launchers and children of ranks); what is
decided here without loading it is only what needs no library: whether anybody asked for Eroica at
all.
"""

import atexit
import importlib
import os
import sys
import threading
import time

from eroica.arguments import decimal_of

on = False  # events are taken
ended = False  # at exit: everything is taken back, and nothing is registered from here on
native = None  # eroica.native.Native where the libraries are loaded
reason = "not attached"  # why it is off
_decided = False  # an attach was tried; it is not tried again, but for:
# When it is tried again, as time.monotonic() counts: a process that this one descends from is the
# rank, and hands it over where it has only started this one. None: it is not.
_next_try = None
_tries = 0
_process = 0  # that tries: a fork of it, a data loader's worker, does not
_TRY_S = 0.05
_MOST_TRIES = 1000
_TRIES_BEFORE_SAID = 200  # the holder looks twice a second, and sends what it has
_handed_over = False  # it was on, and has handed its rank over to a process that it has started
_keeps = False  # this process has loaded what trains
_lock = threading.RLock()  # a handler of a signal may come in between on the same thread
_after_attach = []  # called once, when Eroica gets on
_take_back = []  # called once, at exit, the last one first
_watches_exit = False
_MOST_SAID = 64
_said = {}  # what went to standard error already: by its kind, an object of who said it

# By the framework's module: the function that returns the rank.
_RANKS = {
    "jax._src.distributed": ("eroica.jax_training", "rank_of_process"),
    "mpi4py.MPI": ("eroica.mpi_communicators", "rank_of_world"),
}

# Of EROICA_DISABLE; as the core reads it (producers/core/producer_config.cc). Anything else is off.
NOT_SET = ("", "0", "false", "no", "off")


def asked_for():
    """Whether the environment asks for Eroica: a destination is set, and it is not switched off."""
    if _is_disabled():
        return False
    return bool(os.environ.get("EROICA_RECORDING") or os.environ.get("EROICA_BOOTSTRAP"))


def _is_disabled():
    return os.environ.get("EROICA_DISABLE", "0") not in NOT_SET


def is_child_of_rank():
    """The core marks the process that it attached to: "<pid>:<rank>". Whoever inherits the mark is
    no rank."""
    owner = decimal_of(os.environ.get("EROICA_ATTACHED", "").partition(":")[0])
    return owner is not None and owner != os.getpid()


def begin():
    """A sign of training: attaches where that was not tried. True where events are taken from here
    on."""
    if not _decided:
        with _lock:
            quietly(_attach)
    elif _next_try is not None and time.monotonic() >= _next_try:
        with _lock:
            quietly(_attach_again)
    return on


def at_end(action):
    """Calls action once at exit, on the thread that ends the interpreter, while modules and threads
    are still there; now, where that has passed. A fork's child that ends by itself calls it, too.

    Eroica's exit function is registered when it is imported, so that functions which the script
    registers later run before it.
    """
    if not ended:
        _take_back.append(action)
        watch_exit()
        if not (ended and _take_out(_take_back, action)):
            return
    quietly(action)


def watch_exit():
    global _watches_exit
    if not _watches_exit:
        _watches_exit = True
        atexit.register(_end)


def when_on(action):
    """Calls action once Eroica is on; now, where it is."""
    if not on:
        _after_attach.append(action)
        if not (on and _take_out(_after_attach, action)):
            return
    quietly(action)


def _take_out(actions, action):
    """Whether the action was still there. The thread that removes it calls it; of two, one does."""
    try:
        actions.remove(action)
        return True
    except ValueError:
        return False


def _call_all(actions, position):
    """Takes each out before it is called; others may be added meanwhile."""
    while actions:
        try:
            action = actions.pop(position)
        except IndexError:  # another thread has taken it out
            return
        quietly(action)


def say(message, kind=None):
    """One line on standard error, only where somebody asked for Eroica; once for its kind, which is
    the message itself where none is given."""
    try:
        key, mine = kind or message, object()
        if key in _said or len(_said) >= _MOST_SAID or not asked_for():
            return
        if _said.setdefault(key, mine) is not mine:  # another thread says it
            return
        sys.stderr.write(f"eroica: {message}\n")
    except Exception:
        pass  # a closed, absent or broken stderr is no reason to fail


def say_exception(what):
    """As say, with the exception that is handled; once for its type."""
    error = sys.exc_info()[1]
    kind = type(error).__name__
    try:
        text = (str(error).splitlines() or [""])[0]
    except Exception:
        text = ""  # its __str__ raises
    say(f"{what}: {kind}: {text}", (what, kind))


def say_surplus(call, surplus, unknown):
    """Arguments that a call does not take."""
    count = len(surplus) + len(unknown)
    say(f"{call}() leaves {count} argument(s) aside that it does not take", call)


def quietly(action):
    try:
        action()
    except Exception:
        say_exception("off in part")


def framework_rank():
    """(rank, world size) from torch.distributed, jax.distributed or MPI, where the script has
    initialized one of them, else (-1, -1)."""
    try:
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
        for name, ours in _RANKS.items():
            known = sys.modules.get(name) and getattr(importlib.import_module(ours[0]), ours[1])()
            if known:
                return known
    except Exception:
        say_exception("rank not known")
    return -1, -1


def framework_device():
    cuda = sys.modules.get("torch.cuda")
    try:
        if cuda is not None and cuda.is_initialized():
            return int(cuda.current_device())
    except Exception:
        say_exception("device not known")
    return -1


def loaded_library(name):
    """A shared library that this process has loaded already, or None."""
    import ctypes

    try:
        return ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
    except OSError:
        return None


def refresh_identity():
    """Tells the core what is known by now of the rank, once the framework is initialized."""
    if on:
        native.attach(*framework_rank(), framework_device())


def _attach():
    global native, reason, _decided, _next_try, _process
    if _decided:
        return
    _decided = True
    if not asked_for():
        reason = (
            "EROICA_DISABLE is set"
            if _is_disabled()
            else "not asked for: neither EROICA_RECORDING nor EROICA_BOOTSTRAP is set"
        )
        return
    if is_child_of_rank():
        reason = "a child of a process that is attached"
        return
    try:
        from eroica import native as libraries

        native = libraries.load()
        if not native.attach(*framework_rank(), framework_device()):
            reason = (native.off_reason() or b"").decode("utf-8", "replace")
            if " is attached in process " in reason:
                _next_try, _process = time.monotonic() + _TRY_S, os.getpid()
            return
    except Exception:
        reason = "the libraries could not be loaded"
        say_exception("off")
        return
    _get_on()


def _attach_again():
    """The rank may have been handed over. Which process holds it is said where this one trains as
    that rank all the same: it has joined the process group as it."""
    global _next_try, _tries
    if on or _next_try is None:
        return
    if os.getpid() != _process:
        _next_try = None
        return
    _tries += 1
    again = _handed_over or _tries < _MOST_TRIES  # the rank is its own, once it is free
    _next_try = time.monotonic() + _TRY_S if again else None
    if native.attach(*framework_rank(), framework_device()):
        _next_try = None
        _get_on()
    elif _tries == _TRIES_BEFORE_SAID and not _handed_over and _is_rank_of_environment():
        say(
            f"this process trains and is not captured: {reason}, and has started this one. "
            "Run the trainer by exec, or set EROICA_DISABLE=1 for what starts it alone."
        )


def _is_rank_of_environment():
    rank, size = framework_rank()
    stated = (decimal_of(os.environ.get(name, "")) for name in ("RANK", "WORLD_SIZE"))
    return size > 1 and (rank, size) == tuple(stated)


def keep_rank():
    """This process has loaded what trains: it does not hand its rank over to a process that it has
    started."""
    global _keeps
    _keeps = True
    if on:
        native.keep_rank()
        quietly(look_whether_handed_over)


def look_whether_handed_over():
    """This process may have handed its rank over and train later: its signs of training ask for it
    again."""
    global on, reason, _handed_over, _next_try, _process, _tries
    if not on or native.enabled():
        return
    why = (native.off_reason() or b"").decode("utf-8", "replace")
    if not why.startswith("a process that this one has started"):
        return
    with _lock:
        on, reason, _handed_over = False, why, True
        _next_try, _process, _tries = time.monotonic(), os.getpid(), 0


def _get_on():
    global on, reason
    on = True
    reason = ""
    if _keeps:
        native.keep_rank()
    if not _handed_over:  # else all this is there
        watch_exit()
        _register_at_fork()
        at_end(_note_failure)  # behind the sampler's end
        _start_sampler()
    _call_all(_after_attach, 0)


def _start_sampler():
    try:
        hz = float(os.environ.get("EROICA_PYTHON_HZ", "50"))
    except ValueError:
        hz = 50.0
    try:
        import opcode

        from eroica import threads

        # Where a function's code really starts: before it, the interpreter has only set the frame
        # up.
        resume = opcode.opmap.get("RESUME", -1)
        folder = os.path.dirname(os.path.abspath(__file__)) + os.sep
        at_end(_stop_sampler)
        why = native.start_sampler(hz, os.fsencode(folder), resume, threads.describe)
        if why:
            say(f"no Python stacks: {why.decode('utf-8', 'replace')}")
    except Exception:
        say_exception("no Python stacks")


def _note_failure():
    from eroica import failure_place

    failure_place.note_at_end()


def _stop_sampler():
    native.pause_full_trace(True)  # takes the profile function off this thread
    native.stop_sampler()


def _end():
    """The core sends what is left by itself, later."""
    global on, ended, _decided, _next_try
    on = False
    ended = _decided = True
    _next_try = None
    try:
        _call_all(_take_back, -1)
    finally:  # an interrupt ends one action, not those behind it
        if _take_back:
            _end()


def _register_at_fork():
    """Cannot be taken back: what it needs is bound here, for forks while modules are cleared."""
    module, new_lock = sys.modules[__name__], threading.RLock

    def off_in_child():
        module._lock = new_lock()
        if module.on:
            module.on = False
            module.reason = "a fork of an attached process"
            module.native.abandon_sampler()

    os.register_at_fork(after_in_child=off_in_child)

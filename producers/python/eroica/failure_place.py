"""Where the training thread failed: the place that the rank's last note names.

An interpreter that an exception ends runs on for seconds: finalizers, the exit of libraries. What
the sampler sees there is not where the rank trained. So at exit the place becomes that of the
exception which nobody caught, or of a collective or backward pass that raised and behind which the
thread began no other. Of an exception only its number is kept, for its frames hold the script's
objects.
"""

import sys

from eroica import life, own_frames
from eroica import native as constants

_MOST_FRAMES = 64  # the innermost ones
_MOST_CAUSES = 16
_failed = None  # (id of the exception, the core's number of the function)


def began():
    """The thread that trains begins a collective or a backward pass."""
    global _failed
    if _failed is not None:
        _failed = None


def raised(error, within=None):
    """A collective or backward pass has raised; within: its function, where no Python frame is."""
    global _failed
    if life.on and life.native.trains():
        _failed = (id(error), _function_of(error.__traceback__, within))


def note_at_end():
    """The sampler has stopped."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    function = None
    if _failed is not None and (error is None or _failed[0] in _numbers_of(error)):
        function = _failed[1]
    elif error is not None and life.native.trains():
        function = _function_of(_cause_of(error).__traceback__, None)
    if function is not None:
        life.native.training_function(function)


def _numbers_of(error):
    """Of the exception and of what it came from."""
    numbers = []
    while error is not None and len(numbers) < _MOST_CAUSES:
        numbers.append(id(error))
        error = error.__cause__ or error.__context__
    return numbers


def _cause_of(error):
    """What it says in other words (`raise ... from ...`)."""
    for _ in range(_MOST_CAUSES):
        if error.__cause__ is None:
            break
        error = error.__cause__
    return error


def _function_of(trace, within):
    """The core's number of the innermost frame, with its callers; None where there is none."""
    function = constants.NO_PARENT
    folders = "\n".join(name for name in sys.path if type(name) is str)
    folders = folders.encode("utf-8", "replace")
    for code in _codes_of(trace):
        function = life.native.frame(
            function,
            code.co_filename.encode("utf-8", "replace"),
            code.co_firstlineno,
            code.co_name.encode("utf-8", "replace"),
            folders,
        )
    if within is not None:
        function = life.native.function_within(
            within.encode(), constants.PYTHON, constants.WAIT_PEER, function
        )
    return None if function == constants.NO_PARENT else function


def _codes_of(trace):
    """Outermost first: those that called the frame which the trace begins in, and the trace's."""
    codes = []
    frame = trace.tb_frame.f_back if trace is not None else None
    while frame is not None and len(codes) < _MOST_FRAMES:
        codes.append(frame.f_code)
        frame = frame.f_back
    codes.reverse()
    while trace is not None:
        codes.append(trace.tb_frame.f_code)
        trace = trace.tb_next
    own = own_frames.FOLDER
    return [code for code in codes if not code.co_filename.startswith(own)][-_MOST_FRAMES:]

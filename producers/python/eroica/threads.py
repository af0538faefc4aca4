"""What Python knows of a thread that keeps the GIL from the training thread."""

import os
import sys
import threading

_LIBRARY = os.path.dirname(threading.__file__) + os.sep


def describe(thread_id):
    """Name, file, line and function as bytes, or None where Python does not know the thread. The
    frame is the innermost one that is not Python's own library, where there is one.

    Called by the sampler's thread, at most once a second, and only while the training thread waits
    for the GIL.
    """
    for thread in list(threading._active.values()):
        if getattr(thread, "native_id", None) == thread_id:
            frame = sys._current_frames().get(thread.ident)
            if frame is None:
                return None
            code = _own_frame(frame).f_code
            fields = (thread.name, code.co_filename, str(code.co_firstlineno), code.co_name)
            return "\0".join(fields).encode("utf-8", "replace")
    return None


def _own_frame(frame):
    inner = frame
    while inner is not None and _is_of_library(inner.f_code.co_filename):
        inner = inner.f_back
    return inner or frame


def _is_of_library(path):
    return path.startswith((_LIBRARY, "<frozen")) and "site-packages" not in path

"""What Python knows of a thread that keeps the GIL from the training thread."""

import sys
import threading


def describe(thread_id):
    """Name, file, line and function of the thread's innermost frame as bytes, or None where Python
    does not know it.

    Called by the sampler's thread, at most once a second, and only while the training thread waits
    for the GIL.
    """
    for thread in list(threading._active.values()):
        if getattr(thread, "native_id", None) == thread_id:
            frame = sys._current_frames().get(thread.ident)
            if frame is None:
                return None
            code = frame.f_code
            fields = (thread.name, code.co_filename, str(code.co_firstlineno), code.co_name)
            return "\0".join(fields).encode("utf-8", "replace")
    return None

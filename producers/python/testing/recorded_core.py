"""Inside a test's process: what the recorded core took so far. Nothing is loaded that Eroica did
not load."""

import ctypes
import json
import os


def _library():
    path = os.path.join(os.environ["EROICA_LIB_DIR"], "libproducer_core.so")
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_GLOBAL)
    except OSError:
        return None


def text():
    library = _library()
    if library is None:
        return None
    library.eroica_recorded_json.restype = ctypes.c_char_p
    return library.eroica_recorded_json().decode()


def read():
    recorded = text()
    return None if recorded is None else json.loads(recorded)


def reset(enabled=True, capture_level=2):
    _library().eroica_recorded_reset(ctypes.c_bool(enabled), capture_level)


def full_trace(wanted):
    _library().eroica_recorded_full_trace(ctypes.c_bool(wanted))


def write():
    """To the file that the test named, where anything was loaded."""
    recorded = text()
    if recorded is not None:
        with open(os.environ["RECORDED_TO"], "w", encoding="utf-8") as file:
            file.write(recorded)

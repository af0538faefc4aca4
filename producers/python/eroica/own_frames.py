"""Exceptions of the host's code that pass through a wrapper of this package keep no frame of it.

A wrapper calls hide() in its `except BaseException as error:` and ends that with a bare `raise`,
which adds no entry to a traceback (CPython 3.9 to 3.15).
"""

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep

if sys.version_info >= (3, 11):

    def _set_handled(error, trace):
        """A bare raise takes the traceback of the exception."""

else:
    import ctypes

    _set_exc_info = ctypes.pythonapi.PyErr_SetExcInfo
    _set_exc_info.argtypes = (ctypes.py_object,) * 3
    _set_exc_info.restype = None
    _keep = ctypes.pythonapi.Py_IncRef
    _keep.argtypes = (ctypes.py_object,)
    _keep.restype = None

    def _set_handled(error, trace):
        """A bare raise takes the traceback that was kept when the handler was entered."""
        for part in (type(error), error, trace):
            _keep(part)  # PyErr_SetExcInfo takes over the references
        _set_exc_info(type(error), error, trace)


def hide(error):
    """Takes the frames of this package off the head of the traceback of the exception that is
    handled."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(FOLDER):
        trace = trace.tb_next
    # The descriptor itself: a class of the host may have an attribute of that name.
    BaseException.__traceback__.__set__(error, trace)
    _set_handled(error, trace)

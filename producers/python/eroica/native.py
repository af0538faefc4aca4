"""The two shared libraries as prepared functions: libproducer_core.so and liberoica_python.so.

What a script says at every step is built into the interpreter; all else goes through PyDLL. Both
hold the GIL, because each takes well under a microsecond and giving the GIL away would let another
thread in between two lines of the training loop. Only stop() and detach() may take long; they
release it.
"""

import ctypes
import os

NO_PARENT = 0xFFFFFFFF
NO_SEQUENCE = 0xFFFFFFFFFFFFFFFF

WAITS = 0x80  # added to an operation: the caller is inside until it ends

# eroica::CollectiveLibrary; all others are 0, unknown
LIBRARIES = {"nccl": 1, "gloo": 2, "mpi": 3, "ucc": 4}

# eroica::MarkKind
STEP_END = 1
CHECKPOINT_BEGIN, CHECKPOINT_END, EVALUATION_BEGIN, EVALUATION_END = 4, 5, 6, 7
FORWARD_BEGIN, BACKWARD_BEGIN, OPTIMIZER_BEGIN = 10, 11, 12
PYTHON = 3  # eroica::FunctionClass
# eroica::WaitKind; -1: by the name
WAIT_BY_NAME, WAIT_NONE, WAIT_PEER, WAIT_OTHER = -1, 0, 1, 2

# eroica::CollectiveOperation, by the names that people write.
OPERATIONS = {
    "unknown": 0,
    "all_reduce": 1,
    "all_gather": 2,
    "reduce_scatter": 3,
    "broadcast": 4,
    "reduce": 5,
    "all_to_all": 6,
    "gather": 7,
    "scatter": 8,
    "barrier": 9,
    "send": 10,
    "recv": 11,
}

_TEXT = ctypes.c_char_p
_INT = ctypes.c_int
_I32 = ctypes.c_int32
_I64 = ctypes.c_int64
_U8 = ctypes.c_uint8
_U16 = ctypes.c_uint16
_U32 = ctypes.c_uint32
_U64 = ctypes.c_uint64
_RANKS = ctypes.POINTER(_U32)

# attribute: (library, symbol, result, arguments)
_PROTOTYPES = {
    "enabled": ("core", "eroica_enabled", ctypes.c_bool, ()),
    "off_reason": ("core", "eroica_off_reason", _TEXT, ()),
    "keep_rank": ("core", "eroica_keep_rank", None, ()),
    "wants_full_trace": ("core", "eroica_wants_full_trace", ctypes.c_bool, ()),
    "trains": ("core", "eroica_trains", ctypes.c_bool, ()),
    "training_function": ("core", "eroica_training_function", None, (_U32,)),
    "function_within": ("core", "eroica_function", _U32, (_TEXT, _INT, _INT, _U32)),
    "communicator": (
        "core",
        "eroica_communicator_over",
        _U16,
        (_INT, _U64, _TEXT, _TEXT, _U32, _RANKS),
    ),
    "collective_dropped": ("python", "eroica_python_collective_dropped", None, (_U64,)),
    "attach": ("python", "eroica_python_attach", ctypes.c_bool, (_I64, _I64, _I32)),
    "step": ("python", "eroica_python_step", _I64, ()),
    "dataloader_next": ("python", "eroica_python_dataloader_next", None, ()),
    "optimizer_step": ("python", "eroica_python_optimizer_step", None, (ctypes.c_bool,)),
    "mark": ("python", "eroica_python_mark", None, (ctypes.c_int,)),
    "function": ("python", "eroica_python_function", _U32, (_TEXT, ctypes.c_int)),
    "frame": ("python", "eroica_python_frame", _U32, (_U32, _TEXT, _INT, _TEXT, _TEXT)),
    "collective_function": ("python", "eroica_python_collective_function", _U32, (_TEXT,)),
    "enter": ("python", "eroica_python_enter", None, (_U32, ctypes.c_bool)),
    "interval": ("python", "eroica_python_interval", None, (_I64, _U32)),
    "await_worker": ("python", "eroica_python_await_worker", None, (_I32, _U32)),
    "collective_launched": (
        "python",
        "eroica_python_collective_launched",
        _U64,
        (_U16, _U8, _I32, _U64, _U64),
    ),
    "collective_ended": (
        "python",
        "eroica_python_collective_ended",
        None,
        (_U64, _I64, _U32, ctypes.c_bool),
    ),
    "start_sampler": (
        "python",
        "eroica_python_start_sampler",
        _TEXT,
        (ctypes.c_double, _TEXT, ctypes.c_int, ctypes.py_object),
    ),
    "collection": ("python", "eroica_python_collection", None, (_I64,)),
    "abandon_sampler": ("python", "eroica_python_abandon_sampler", None, ()),
    "pause_full_trace": ("python", "eroica_python_pause_full_trace", None, (ctypes.c_bool,)),
}

# What a script says at every step: functions that the library builds into the interpreter, for a
# tenth of what ctypes costs. ctypes stays where it cannot (an interpreter that it does not know).
_BUILT_IN = (
    "step",
    "dataloader_next",
    "trains",
    "optimizer_step",
    "mark",
    "enter",
    "interval",
    "await_worker",
    "collection",
    "collective_launched",
    "collective_ended",
    "collective_dropped",
)


class Native:
    """One attribute for each row of _PROTOTYPES, and the calls that release the GIL."""

    __slots__ = tuple(_PROTOTYPES) + ("stop_sampler", "detach", "library_folder")


def library_folder():
    """Where the libraries lie; None where there are none.

    Those that were installed with this package come first, so that both are of one version: lib/
    beside this file (a wheel), or the folder above the package's (an installation, a build). Only a
    package without libraries of its own (a source tree, an image) reads $EROICA_LIB_DIR.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(os.path.dirname(package))
    names = ("libproducer_core.so", "liberoica_python.so")
    for folder in (os.path.join(package, "lib"), above, os.environ.get("EROICA_LIB_DIR")):
        if folder and all(os.path.isfile(os.path.join(folder, name)) for name in names):
            return folder
    return None


def load():
    """Loads both libraries. Raises OSError or AttributeError where they do not fit."""
    folder = library_folder()
    if folder is None:
        raise OSError(
            "libproducer_core.so and liberoica_python.so are not there: set EROICA_LIB_DIR"
        )
    # The core first and for everybody: the other libraries of the process find it by its name.
    core_path = os.path.join(folder, "libproducer_core.so")
    python_path = os.path.join(folder, "liberoica_python.so")
    libraries = {
        "core": ctypes.PyDLL(core_path, mode=ctypes.RTLD_GLOBAL),
        "python": ctypes.PyDLL(python_path),
    }
    native = Native()
    for attribute, (library, symbol, result, arguments) in _PROTOTYPES.items():
        function = libraries[library][symbol]
        function.restype = result
        function.argtypes = arguments
        setattr(native, attribute, function)
    _build_in(native, libraries["python"])
    native.stop_sampler = ctypes.CDLL(python_path).eroica_python_stop_sampler
    native.stop_sampler.restype = None
    native.detach = ctypes.CDLL(core_path, mode=ctypes.RTLD_GLOBAL).eroica_detach
    native.detach.argtypes = (_U32,)
    native.detach.restype = None
    native.library_folder = folder
    return native


def _build_in(native, library):
    make = library.eroica_python_builtin
    make.restype = ctypes.py_object
    make.argtypes = (_TEXT,)
    for attribute in _BUILT_IN:
        function = make(attribute.encode())
        if function is not None:
            setattr(native, attribute, function)

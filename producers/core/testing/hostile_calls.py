"""The calls of the C ABI (producer_core.h) with null pointers, numbers beyond every bound, and in any
order. What C itself cannot refuse is left out: a pointer that points to nothing."""

import ctypes
import itertools
import random

I32, I64 = ctypes.c_int32, ctypes.c_int64
U8, U16, U32, U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
TEXT, FLOAT, INT = ctypes.c_char_p, ctypes.c_float, ctypes.c_int
MOST_OF_ONE_CALL = 300


class AttachOptions(ctypes.Structure):
    _fields_ = [("component", TEXT), ("rank", I64), ("world_size", I64), ("role", TEXT), ("device", I32)]


class Collective(ctypes.Structure):
    _fields_ = [("communicator", U16), ("operation", U8), ("peer", I32), ("sequence", U64), ("bytes", U64)]


class Connection(ctypes.Structure):
    _fields_ = [("peer", U32), ("resource", INT), ("bytes", U64), ("busy_ns", I64), ("retransmits", U64),
                ("channels", U8), ("communicator", U16)]


# A function of the caller that the core calls; the first one is a null pointer.
LOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
LOOKS = [LOOK(), LOOK(lambda _: None)]


class Statistics(ctypes.Structure):
    _fields_ = [(name, U64) for name in ("taken", "sent", "lost", "batches", "bytes", "cpu_ns", "memory")]


def numbers(kind):
    bits = 8 * ctypes.sizeof(kind)
    if kind(-1).value < 0:
        return [0, 1, -1, 7, 255, (1 << (bits - 1)) - 1, -(1 << (bits - 1))]
    return [0, 1, 7, 200, (1 << bits) - 1, 1 << (bits - 1)]


VALUES = {
    **{kind: numbers(kind) for kind in (I32, I64, U8, U16, U32, U64)},
    FLOAT: [0.0, -1.0, 2.0, float("nan"), float("inf"), -float("inf"), 1e38],
    TEXT: [None, b"", b"name", b"\xff\xfe", b"\x1b[31m\n", b"\xc3\xa4" * 5000],
}


def random_struct(kind):
    """A pointer to one that is filled at random, or none."""
    if random.random() < 0.1:
        return None
    return ctypes.pointer(kind(**{name: random.choice(VALUES[each]) for name, each in kind._fields_}))


def members(count):
    return (U32 * count)(*(random.choice(VALUES[U32]) for _ in range(count)))


# call: kinds of its arguments; a structure stands for a pointer to one.
CALLS = {
    "attach": (AttachOptions,),
    "enabled": (),
    "keep_rank": (),
    "rank": (),
    "world_size": (),
    "off_reason": (),
    "capture_level": (),
    "wants": (INT,),
    "wants_full_trace": (),
    "now_ns": (),
    "from_realtime_ns": (I64,),
    "from_monotonic_ns": (I64,),
    "function": (TEXT, INT, INT, U32),
    "lane": (TEXT, INT),
    "communicator": None,
    "room": (),
    "interval": (I64, I64, U32, U8),
    "mark": (I64, INT, I64),
    "sample": (I64, INT, FLOAT),
    "collective_launched": (Collective, I64),
    "collective_started": (U64,),
    "collective_ended": (U64, I64, I64, U32, U8),
    "collective_dropped": (U64,),
    "connection": (I64, Connection),
    "training_function": (U32,),
    "processor_waits_are_reported": (),
    "reports_processor_waits": (U8,),
    "trainer": (),
    "trainer_ended": (U32,),
    "trains": (),
    "lost": (INT, U8, U64),
    "step": (I64,),
    "dataloader_next": (I64,),
    "optimizer_step": (I64,),
    "core_statistics": (Statistics,),
    "detach": None,
    "communicator_over": None,
    "watch": None,
}


def arguments_of(kinds):
    """Some of all combinations, each value of each argument at least once."""
    choices = [None if issubclass(kind, ctypes.Structure) else VALUES[kind] for kind in kinds]
    count = 1
    for each in choices:
        count *= len(each or range(20))
    for index in range(min(count, MOST_OF_ONE_CALL)):
        yield [
            random_struct(kind) if values is None
            else values[index % len(values)] if position == 0 else random.choice(values)
            for position, (kind, values) in enumerate(zip(kinds, choices))
        ]


def communicators(call):
    call.argtypes = [U64, TEXT, TEXT, U32, ctypes.POINTER(U32)]
    for number, name, size in itertools.product(VALUES[U64], VALUES[TEXT], VALUES[U32]):
        call(number, name, name, size, None)
    for size in (0, 1, 1000):
        call(size + 99, b"with members", None, size, members(size))


def libraries(call):
    call.argtypes = [INT, U64, TEXT, TEXT, U32, ctypes.POINTER(U32)]
    for library, number, name, size in itertools.product(VALUES[INT], VALUES[U64], VALUES[TEXT], VALUES[U32]):
        call(library, number + 1000, name, name, size, None)


def watches(call):
    call.argtypes = [LOOK, ctypes.c_void_p]
    for look, context in itertools.product(LOOKS, (None, 1)):
        for _ in range(10):  # more than the core has room for
            call(look, context)


def call_all(library):
    """Each call often, in an order of chance."""
    jobs = []
    for name, kinds in CALLS.items():
        call = library["eroica_" + name]  # with argument types of its own
        if kinds is not None:
            call.argtypes = [
                ctypes.POINTER(kind) if issubclass(kind, ctypes.Structure) else kind for kind in kinds
            ]
            jobs += [(call, arguments) for arguments in arguments_of(kinds)]
    random.shuffle(jobs)
    for call, arguments in jobs:
        call(*arguments)
    communicators(library["eroica_communicator"])
    libraries(library["eroica_communicator_over"])
    watches(library["eroica_watch"])

"""Collectives and point-to-point operations of frameworks that Eroica does not hook by itself."""

import ctypes
import hashlib
import itertools
import os
from time import monotonic_ns

from eroica import arguments, life
from eroica import native as constants
from eroica.open_entries import closed, opened

_MAX_GROUPS = 4096
_communicators = {}
_functions = {}
_counts = {}  # by the core's number of a group, operation and peer: a count


def next_sequence(communicator, operation, peer):
    """The place of an operation in its group's order. All that is launched here and of MPI is
    counted here, so that what is issued now and waited for later has the place of now."""
    key = communicator, operation, peer
    count = _counts.get(key)
    if count is None:
        count = _counts.setdefault(key, itertools.count())
    return next(count)


def communicator_id(group, ranks):
    """Equal on all members and in all runs: from the group's name and its members alone."""
    text = str(group) + "\0" + ",".join(map(str, ranks or ()))
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little"
    )


def communicator_of(group, ranks, description="", library="unknown"):
    """The core's number of a group; ranks: its global ranks in group order, or None: a tuple, or
    what can be compared as quickly (a range). library: what moves its data, as frameworks call
    their backends."""
    key = (group, ranks)
    number = _communicators.get(key)
    if number is None:
        if len(_communicators) >= _MAX_GROUPS:
            _communicators.clear()  # the core gives those that it knows the same numbers again
        members = (ctypes.c_uint32 * len(ranks))(*ranks) if ranks else None
        size = len(ranks) if ranks else _world_size() if group == "world" else 0
        number = life.native.communicator(
            constants.LIBRARIES.get(library, 0),
            communicator_id(group, ranks),
            group.encode("utf-8", "replace"),
            description.encode("utf-8", "replace"),
            size,
            members,
        )
        _communicators[key] = number
    return number


def _world_size():
    size = arguments.decimal_of(os.environ.get("WORLD_SIZE", "0")) or 0
    return size if size <= arguments.MAX_RANKS else 0


def function_of(name):
    """The number of a function of class collective. Names are those of OPERATIONS, with or without
    a backend."""
    number = _functions.get(name)
    if number is None:
        number = life.native.collective_function(name.encode("utf-8", "replace"))
        _functions[name] = number
    return number


class collective:
    """`with eroica.collective("all_reduce", group="dp0", nbytes=n, ranks=[0, 1]):` around what
    waits for the peers. One object can be entered again, and by several threads.

    group and ranks must be the same on all members. peer: the other's global rank, for "send" and
    "recv" only. What is of a wrong type counts as not known.
    """

    __slots__ = ("_operation", "_group", "_bytes", "_peer", "_ranks", "_launched")

    def __init__(
        self,
        operation="unknown",
        group="world",
        nbytes=0,
        peer=None,
        ranks=None,
        *surplus,
        **unknown,
    ):
        if surplus or unknown:
            life.say_surplus("collective", surplus, unknown)
        self._operation = operation
        self._group = group
        self._bytes = nbytes
        self._peer = peer
        self._ranks = ranks
        self._launched = []  # open_entries: (start, ticket, name of the operation)

    def __enter__(self):
        try:
            if life.on or life.begin():
                opened(self._launched, self._launch())
        except Exception:
            life.say_exception("a collective is not taken")
        return self

    def _launch(self):
        name = self._operation
        code = constants.OPERATIONS.get(name) if type(name) is str else None
        if code is None:
            text = arguments.text_of(name)[:64]
            life.say(f"no operation of a collective: {text!a}; it is unknown", "operation")
            name, code = "unknown", constants.OPERATIONS["unknown"]
        nbytes = self._bytes
        if type(nbytes) is not int or not 0 <= nbytes <= arguments.MAX_BYTES:
            nbytes = _known(nbytes, "nbytes", arguments.MAX_BYTES, 0)
        peer = self._peer
        if peer is None:
            peer = -1
        elif type(peer) is not int or not 0 <= peer < arguments.MAX_RANKS:
            peer = _known(peer, "peer", arguments.MAX_RANKS - 1, -1)
        communicator = _communicator(self._group, self._ranks)
        sequence = next_sequence(communicator, code, peer)
        ticket = life.native.collective_launched(
            communicator, code | constants.WAITS, peer, sequence, nbytes
        )
        return monotonic_ns(), ticket, name

    def __exit__(self, kind=None, *_):
        if self._launched:
            try:
                entry = closed(self._launched)
                if entry is not None and life.on:
                    start, ticket, name = entry
                    if kind is None:
                        life.native.collective_ended(ticket, start, function_of(name), False)
                    else:
                        life.native.collective_dropped(ticket)
            except Exception:
                life.say_exception("a collective is not taken")
        return False


def _communicator(group, ranks):
    """As communicator_of, of whatever a script names."""
    try:
        if type(group) is str:
            number = _communicators.get((group, tuple(ranks) if type(ranks) is list else ranks))
            if number is not None:
                return number
    except Exception:
        pass  # what cannot be looked up is no list of ranks
    group = arguments.text_of(group)
    known = arguments.ranks_of(ranks)
    if known is None and ranks is not None:
        kind = arguments.type_name_of(ranks)
        life.say(f"no list of a collective's ranks: {kind}; they are left out", "ranks")
    return communicator_of(group, known)


def _known(value, what, most, otherwise):
    number = arguments.number_of(value, 0, most, None)
    if number is None:
        kind = arguments.type_name_of(value)
        life.say(
            f"no number from 0 to {most} for a collective's {what}: {kind}; it is left out", what
        )
        return otherwise
    return number

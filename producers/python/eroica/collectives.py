"""Collectives and point-to-point operations of frameworks that Eroica does not hook by itself."""

import ctypes
import hashlib
import os
from time import monotonic_ns

from eroica import life
from eroica import native as constants

_MAX_GROUPS = 4096
_communicators = {}
_functions = {}


def communicator_id(group, ranks):
    """Equal on all members and in all runs: from the group's name and its members alone."""
    text = str(group) + "\0" + ",".join(map(str, ranks or ()))
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little"
    )


def communicator_of(group, ranks, description=""):
    """The core's number of a group; ranks: its global ranks in group order, or None: a tuple, or
    what can be compared as quickly (a range)."""
    key = (group, ranks)
    number = _communicators.get(key)
    if number is None:
        if len(_communicators) >= _MAX_GROUPS:
            _communicators.clear()  # the core gives those that it knows the same numbers again
        members = (ctypes.c_uint32 * len(ranks))(*ranks) if ranks else None
        size = len(ranks) if ranks else _world_size() if group == "world" else 0
        name = str(group).encode("utf-8", "replace")
        number = life.native.communicator(
            communicator_id(group, ranks),
            name,
            description.encode("utf-8", "replace"),
            size,
            members,
        )
        _communicators[key] = number
    return number


def _world_size():
    text = os.environ.get("WORLD_SIZE", "0")
    return int(text) if text.isdigit() else 0


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
    waits for the peers.

    group and ranks must be the same on all members. peer: the other's global rank, for "send" and
    "recv" only.
    """

    __slots__ = ("_operation", "_group", "_bytes", "_peer", "_ranks", "_start", "_ticket")

    def __init__(self, operation, group="world", nbytes=0, peer=None, ranks=None):
        self._operation = operation
        self._group = group
        self._bytes = nbytes
        self._peer = peer
        self._ranks = ranks
        self._start = 0

    def __enter__(self):
        if life.on or life.begin():
            try:
                self._launch()
            except Exception:  # wrong arguments must not fail the script
                self._start = 0
                life.say_exception("a collective is not taken")
        return self

    def _launch(self):
        ranks = self._ranks
        if ranks is not None and not isinstance(ranks, (tuple, range)):
            ranks = tuple(ranks)
        communicator = communicator_of(self._group, ranks)
        code = constants.OPERATIONS.get(self._operation, 0)
        peer = -1 if self._peer is None else self._peer
        self._ticket = life.native.collective_launched(
            communicator, code | constants.WAITS, peer, constants.NO_SEQUENCE, self._bytes
        )
        self._start = monotonic_ns()

    def __exit__(self, kind, error, trace):
        if self._start and life.on:
            if kind is None:
                name = self._operation if self._operation in constants.OPERATIONS else "unknown"
                life.native.collective_ended(self._ticket, self._start, function_of(name))
            else:
                life.native.collective_dropped(self._ticket)
        self._start = 0
        return False

"""What a call of MPI is for Eroica: operations of a group of ranks, and the wait of its caller.

An operation has its place in the group's order when it is issued. A rank is in it from the moment
at which it waits for it: MPI moves data on while somebody is inside of it, so that peers wait for
a rank that has issued an operation and computes. What ends without a wait is counted all the same.
MPI is never called before it runs nor after it has ended, for it would end the process.
"""

from time import monotonic_ns

from eroica import annotations, collectives, life
from eroica import native as constants

_MAX_GROUPS = 4096
_MOST_OPERATIONS = 256  # that one wait names; the core has room for 1,024 in flight
_POINT_TO_POINT = (constants.OPERATIONS["send"], constants.OPERATIONS["recv"])
_groups = {}  # by the communicator's handle: (number of the core, global ranks)


class Operation:
    __slots__ = ("communicator", "code", "peer", "nbytes", "name", "sequence")

    def __init__(self, communicator, code, peer, nbytes, name):
        self.communicator = communicator
        self.code = code
        self.peer = peer
        self.nbytes = nbytes
        self.name = name
        self.sequence = collectives.next_sequence(communicator, code, peer)

    def launch(self, waits):
        code = self.code | constants.WAITS if waits else self.code
        return life.native.collective_launched(
            self.communicator, code, self.peer, self.sequence, self.nbytes
        )

    def end(self, ticket, start):
        life.native.collective_ended(ticket, start, collectives.function_of(self.name), False)

    def pass_by(self):
        """It has ended, and nobody waited for it. Of a collective its members' time would say that
        this rank came last."""
        ticket = self.launch(waits=False)
        if self.code in _POINT_TO_POINT:
            self.end(ticket, monotonic_ns())
        else:
            life.native.collective_dropped(ticket)


class Plan:
    """What a call does each time that it is issued. parts: what Operation is made of; none where
    it waits for anybody (a receive from any source)."""

    __slots__ = ("name", "_parts")

    def __init__(self, name, parts):
        self.name = name
        self._parts = parts

    def issue(self):
        return [Operation(*part) for part in self._parts]


class Wait:
    """The caller is inside of MPI until all operations have ended; of none: until anything has."""

    __slots__ = ("_name", "_launched", "_start")

    def __init__(self, name, operations):
        self._name = name
        self._launched = [
            (operation, operation.launch(waits=number == 0))
            for number, operation in enumerate(operations[:_MOST_OPERATIONS])
        ]
        if not operations:
            life.native.enter(self._function(), True)
        self._start = monotonic_ns()

    def _function(self):
        return annotations.function_of(self._name, constants.WAIT_PEER)

    def end(self, error):
        if not life.on:
            return
        if not self._launched:
            life.native.interval(self._start, self._function())
        for operation, ticket in reversed(self._launched):
            if error is None:
                operation.end(ticket, self._start)
            else:
                life.native.collective_dropped(ticket)


def size_of_world(module):
    """0 before MPI runs and afterwards."""
    if not module.Is_initialized() or module.Is_finalized():
        return 0
    return module.COMM_WORLD.Get_size()


def plan_of(module, row, args, kwargs):
    """row: (name, operations); args, kwargs: of a communicator's method. None where this process
    has no peers, or where Eroica is off."""
    name, parts = row
    if size_of_world(module) < 2 or not (life.on or life.begin()):
        return None
    communicator, ranks = _group_of(module, args[0])
    if len(ranks) < 2:
        return None
    nbytes, found = _bytes_of(args, kwargs), []
    for operation, parameter, place in parts:
        peer = -1
        if parameter is not None:
            peer = _peer_of(ranks, args, kwargs, parameter, place)
            if peer < 0:  # from any source: whose message comes is not known before
                continue
        code = constants.OPERATIONS[operation]
        found.append((communicator, code, peer, nbytes, f"mpi:{operation}"))
    return Plan(name, found)


def forget(communicator):
    """MPI gives the handle to another communicator."""
    _groups.pop(communicator.handle, None)


def forget_all():
    _groups.clear()


def _group_of(module, communicator):
    handle = communicator.handle
    known = _groups.get(handle)
    if known is None:
        if len(_groups) >= _MAX_GROUPS:
            _groups.clear()
        known = _groups[handle] = _describe(module, communicator)
    return known


def _describe(module, communicator):
    group, world = communicator.Get_group(), module.COMM_WORLD.Get_group()
    try:
        places = list(range(group.Get_size()))
        ranks = tuple(module.Group.Translate_ranks(group, places, world))
    finally:
        group.Free()
        world.Free()
    if any(rank < 0 for rank in ranks):  # of processes that were spawned: no rank of this job
        ranks = ()
    if len(ranks) < 2:
        return 0, ranks
    name = "world" if len(ranks) == module.COMM_WORLD.Get_size() else "mpi"
    return collectives.communicator_of(name, ranks, library="mpi"), ranks


def _peer_of(ranks, args, kwargs, name, place):
    value = args[place] if len(args) > place else kwargs.get(name, -1)
    return ranks[value] if type(value) is int and 0 <= value < len(ranks) else -1


def _bytes_of(args, kwargs):
    """Of the first buffer that says its size: an array, or a list that begins with one."""
    for buffer in (*args[1:3], *kwargs.values()):
        if type(buffer) in (list, tuple) and buffer:
            buffer = buffer[0]
        size = getattr(buffer, "nbytes", None)
        if type(size) is int and size >= 0:
            return size
    return 0

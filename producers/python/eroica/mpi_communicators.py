"""mpi4py's blocking collectives, sends and receives, without a line in the script.

Classes of an extension cannot be patched, and MPI's profiling interface would need a library in
front of the job's own. So COMM_WORLD, and what is made of it, become objects of a subclass whose
methods are looked at; they hold the same communicator, compare equal to it and pickle as it does.
Not seen: requests (Iallreduce, Isend), and what other libraries call in C.
"""

import sys
from time import monotonic_ns

from eroica import annotations, collectives, life, patches
from eroica import native as constants
from eroica.watched_call import watch

# method: (operation, the peer's parameter or None)
_OPERATIONS = {
    "Barrier": ("barrier", None),
    "Bcast": ("broadcast", None),
    "Reduce": ("reduce", None),
    "Allreduce": ("all_reduce", None),
    "Gather": ("gather", None),
    "Gatherv": ("gather", None),
    "Scatter": ("scatter", None),
    "Scatterv": ("scatter", None),
    "Allgather": ("all_gather", None),
    "Allgatherv": ("all_gather", None),
    "Alltoall": ("all_to_all", None),
    "Alltoallv": ("all_to_all", None),
    "Alltoallw": ("all_to_all", None),
    "Reduce_scatter": ("reduce_scatter", None),
    "Reduce_scatter_block": ("reduce_scatter", None),
    "Send": ("send", "dest"),
    "Ssend": ("send", "dest"),
    "Recv": ("recv", "source"),
}
# Those of objects, which mpi4py pickles, have the same names in small letters.
_OPERATIONS.update({name.lower(): row for name, row in _OPERATIONS.items()})
_MAKE = ("Clone", "Create", "Create_group", "Dup", "Dup_with_info", "Split", "Split_type")
_groups = {}  # by the communicator's handle: (number of the core, global ranks)
_MAX_GROUPS = 4096


def patch_mpi(module):
    """module: mpi4py.MPI, loaded."""
    kind = _watched_kind(module)
    _keep_original_pickle(module, kind)
    patches.replace(module, "COMM_WORLD", kind(module.COMM_WORLD))
    life.at_end(_groups.clear)
    if _size_of_world(module) > 1:
        life.refresh_identity()


def rank_of_world():
    """(rank, world size) where MPI runs with more than one process, else None."""
    module = sys.modules.get("mpi4py.MPI")
    if module is None or _size_of_world(module) < 2:
        return None
    return module.COMM_WORLD.Get_rank(), module.COMM_WORLD.Get_size()


def _size_of_world(module):
    """0 before MPI runs and afterwards: a call of MPI would end the process then."""
    if not module.Is_initialized() or module.Is_finalized():
        return 0
    return module.COMM_WORLD.Get_size()


def _watched_kind(module):
    original = module.Intracomm
    members = {"__slots__": (), "__module__": original.__module__, "__doc__": original.__doc__}
    for name, (operation, peer) in _OPERATIONS.items():
        if hasattr(original, name):
            members[name] = _watched(module, getattr(original, name), operation, peer)
    kind = type(original.__name__, (original,), members)
    for name in _MAKE:
        if hasattr(original, name):
            setattr(kind, name, _making(original, kind, getattr(original, name)))
    for name in ("Free", "Disconnect"):
        if hasattr(original, name):
            setattr(kind, name, watch(getattr(original, name), _forget))
    return kind


def _forget(args, _):
    """MPI gives the handle to another communicator."""
    _groups.pop(args[0].handle, None)


def _keep_original_pickle(module, kind):
    """As the communicator itself: a process without Eroica reads it."""
    kind.__reduce__ = lambda self: module.Intracomm(self).__reduce__()
    kind.__reduce_ex__ = lambda self, _: module.Intracomm(self).__reduce__()


def _making(original, kind, make):
    def made(self, *args, **kwargs):
        communicator = make(self, *args, **kwargs)
        return kind(communicator) if type(communicator) is original else communicator

    made.__name__, made.__doc__ = make.__name__, make.__doc__
    return made


def _watched(module, original, operation, peer):
    code = constants.OPERATIONS[operation] | constants.WAITS
    name = f"mpi:{operation}"

    def begins(args, kwargs):
        if _size_of_world(module) < 2 or not (life.on or life.begin()):
            return None
        communicator, ranks = _group_of(module, args[0])
        if len(ranks) < 2:
            return None
        other = -1
        if peer is not None:
            other = _peer_of(ranks, args, kwargs, peer)
            if other < 0:  # from any source: whose message comes is not known before
                return monotonic_ns(), None
        ticket = life.native.collective_launched(
            communicator, code, other, constants.NO_SEQUENCE, _bytes_of(args, kwargs)
        )
        return monotonic_ns(), ticket

    def ended(token, _result, error):
        start, ticket = token
        if not life.on:
            return
        if ticket is None:
            if error is None:
                waits = annotations.function_of(name, constants.WAIT_PEER)
                life.native.interval(start, waits)
        elif error is None:
            life.native.collective_ended(ticket, start, collectives.function_of(name))
        else:
            life.native.collective_dropped(ticket)

    return watch(original, begins, ended)


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
    return collectives.communicator_of(name, ranks), ranks


def _peer_of(ranks, args, kwargs, name):
    """send(obj, dest, ...), recv(buf=None, source=ANY_SOURCE, ...)."""
    value = args[2] if len(args) > 2 else kwargs.get(name, -1)
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

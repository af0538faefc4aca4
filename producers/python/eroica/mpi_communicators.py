"""mpi4py's collectives, sends and receives, without a line in the script.

Classes of an extension cannot be patched, and MPI's profiling interface would need a library in
front of the job's own. So COMM_WORLD, and what is made of it, become objects of a subclass whose
methods are looked at; they hold the same communicator, compare equal to it and pickle as it does.
Requests likewise (mpi_requests.py). Not seen: what other libraries call in C.
"""

import functools
import sys

from eroica import life, mpi_calls, mpi_requests, patches
from eroica.watched_call import watch

_COLLECTIVES = {
    "Barrier": "barrier",
    "Bcast": "broadcast",
    "Reduce": "reduce",
    "Allreduce": "all_reduce",
    "Gather": "gather",
    "Gatherv": "gather",
    "Scatter": "scatter",
    "Scatterv": "scatter",
    "Allgather": "all_gather",
    "Allgatherv": "all_gather",
    "Alltoall": "all_to_all",
    "Alltoallv": "all_to_all",
    "Alltoallw": "all_to_all",
    "Reduce_scatter": "reduce_scatter",
    "Reduce_scatter_block": "reduce_scatter",
}
# By method: (operation, parameter of the peer, its place among the arguments behind self).
_MESSAGES = {
    "Send": (("send", "dest", 2),),
    "Bsend": (("send", "dest", 2),),
    "Ssend": (("send", "dest", 2),),
    "Rsend": (("send", "dest", 2),),
    "Recv": (("recv", "source", 2),),
    "Sendrecv": (("send", "dest", 2), ("recv", "source", 5)),
    "Sendrecv_replace": (("send", "dest", 2), ("recv", "source", 4)),
}
# They wait for those before them.
_SCANS = ("Scan", "Exscan")
_MAKE = ("Clone", "Create", "Create_group", "Dup", "Dup_with_info", "Split", "Split_type")


def _rows():
    """By method: (name of a wait in it, operations), each as (operation, parameter, place)."""
    for name, operation in _COLLECTIVES.items():
        yield name, (f"mpi:{operation}", ((operation, None, 0),))
    for name, parts in _MESSAGES.items():
        yield name, (f"mpi:{parts[-1][0]}", parts)
    for name in _SCANS:
        yield name, (f"mpi:{name.lower()}", ())


# Methods of objects, which mpi4py pickles, have the same names in small letters.
_BLOCKING = {spelt: row for name, row in _rows() for spelt in (name, name.lower())}
for _name in ("Probe", "probe", "Mprobe", "mprobe"):  # wait for a message, and take none
    _BLOCKING[_name] = ("mpi:probe", ())
_ISSUING = {"I" + name[0].lower() + name[1:]: row for name, row in _rows()}
_ISSUING.update({"i" + name.lower(): row for name, row in _rows()})
_PERSISTENT = {name + "_init": row for name, row in _rows()}


def patch_mpi(module):
    """module: mpi4py.MPI, loaded."""
    requests = mpi_requests.watched_kinds(module)
    kind = _watched_kind(module, requests)
    _keep_original_pickle(module, kind)
    patches.replace(module, "COMM_WORLD", kind(module.COMM_WORLD))
    for original, ours in requests.items():
        patches.replace(module, original.__name__, ours)
    life.at_end(mpi_calls.forget_all)
    if mpi_calls.size_of_world(module) > 1:
        life.refresh_identity()


def rank_of_world():
    """(rank, world size) where MPI runs with more than one process, else None."""
    module = sys.modules.get("mpi4py.MPI")
    if module is None or mpi_calls.size_of_world(module) < 2:
        return None
    return module.COMM_WORLD.Get_rank(), module.COMM_WORLD.Get_size()


def _watched_kind(module, requests):
    original = module.Intracomm
    members = {"__slots__": (), "__module__": original.__module__, "__doc__": original.__doc__}
    for rows, watched in (
        (_BLOCKING, _blocking),
        (_ISSUING, _issuing),
        (_PERSISTENT, functools.partial(_issuing, starts=False)),
    ):
        for name, row in rows.items():
            if hasattr(original, name):
                members[name] = watched(module, getattr(original, name), row, requests)
    kind = type(original.__name__, (original,), members)
    for name in _MAKE:
        if hasattr(original, name):
            setattr(kind, name, _making(original, kind, getattr(original, name)))
    for name in ("Free", "Disconnect"):
        if hasattr(original, name):
            setattr(kind, name, watch(getattr(original, name), _forget))
    return kind


def _forget(args, _):
    mpi_calls.forget(args[0])


def _keep_original_pickle(module, kind):
    """As the communicator itself: a process without Eroica reads it."""
    kind.__reduce__ = lambda self: module.Intracomm(self).__reduce__()
    kind.__reduce_ex__ = lambda self, _: module.Intracomm(self).__reduce__()


def _making(original, kind, make):
    def made(_, communicator):
        return kind(communicator) if type(communicator) is original else communicator

    return watch(make, lambda *_: None, made=made)


def _blocking(module, original, row, _):
    def begins(args, kwargs):
        plan = mpi_calls.plan_of(module, row, args, kwargs)
        return plan and mpi_calls.Wait(plan.name, plan.issue())

    return watch(original, begins, lambda wait, _, error: wait.end(error))


def _issuing(module, original, row, requests, starts=True):
    """Without starts the request is persistent: each time it is started it is a new operation."""

    def begins(args, kwargs):
        return mpi_calls.plan_of(module, row, args, kwargs)

    def made(plan, request):
        return mpi_requests.follow(requests, request, plan, starts=starts)

    return watch(original, begins, made=made)

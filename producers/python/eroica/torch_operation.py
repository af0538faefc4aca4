"""One operation of torch.distributed on host memory, from its launch until somebody sees it end.

An operation ends when its future is done, or where it has none when somebody waited for it or asked
whether it is complete. `call.open` says that this thread is inside a function that is watched: what
it calls in turn is no second operation.

An asynchronous operation (isend, all_reduce with async_op) that somebody waits for by Work.wait is
under way beside what the training thread runs, and Work.wait waits for peers. Which ones are is
learnt by the line that issues them. Other waits (of a future, of a hook's future in C++, for a
thread, a loop that asks) are not seen: where no Work.wait was, the thread counts as inside of the
operation for as long as it is under way.
"""

import sys
import threading
import weakref
from time import monotonic_ns

from eroica import annotations, collectives, failure_place, life, patches, work_ends
from eroica import native as constants
from eroica.watched_call import watch

_MAX_GROUPS = 4096
_WAIT = "torch.distributed:wait"
_HOST_BACKENDS = ("gloo", "mpi")

call = threading.local()
_c10d = None  # a weak reference to the module: see patches.py
_groups = {}  # by the group's name: Group
_open = {}  # by the id of a Work that has no future: (weak reference, what ends it)
_MAX_SITES = 4096
_works = {}  # by the id of a Work: (weak reference, the line that issued it, the operation)
_waited = set()  # lines whose operations are waited for by Work.wait
_beside = {}  # by its id: an operation beside the training thread that is under way


class Launched:
    """An operation that is under way. It ends once, by whoever sees it first."""

    __slots__ = ("_tickets", "start", "name", "beside")

    def __init__(self, ticket, start, name):
        self._tickets = [ticket]
        self.start = start
        self.name = name
        self.beside = False

    def run_beside(self):
        """The training thread runs on while it is under way. Nothing where it has ended."""
        self.beside = True
        _beside[id(self)] = self
        if not self._tickets:
            _beside.pop(id(self), None)

    def _take_ticket(self):
        _beside.pop(id(self), None)
        try:
            return self._tickets.pop()
        except IndexError:  # somebody else has seen it end
            return None

    def end(self, *_):
        ticket = self._take_ticket()
        if ticket is not None and life.on:
            function = collectives.function_of(self.name)
            life.native.collective_ended(ticket, self.start, function, self.beside)

    def drop(self, *_):
        ticket = self._take_ticket()
        if ticket is not None and life.on:
            life.native.collective_dropped(ticket)


class Group:
    """What a process group's operations are reported with. ranks: global ones, in group order."""

    __slots__ = ("communicator", "ranks", "backend", "on_host")

    def __init__(self, communicator, ranks, backend, on_host):
        self.communicator = communicator
        self.ranks = ranks
        self.backend = backend
        self.on_host = on_host


def use(module):
    """module: torch.distributed.distributed_c10d, loaded."""
    global _c10d
    _c10d = weakref.ref(module)
    work_ends.use(sys.modules.get("torch"))
    life.at_end(forget_groups)
    kind = getattr(module, "Work", None)
    if kind is None:
        return
    patches.replace(kind, "wait", _waiting(kind.wait))
    patches.replace(kind, "is_completed", _asking(kind.is_completed))
    life.at_end(_open.clear)
    life.at_end(_beside.clear)
    life.at_end(_works.clear)


def forget_groups():
    _groups.clear()


def launch(group, operation, peer, tensors):
    """tensors: what is sent, or received where nothing is. None where they are not on the host, or
    where this rank is no member. peer: a global rank, -1 for none."""
    if not all(tensor.device.type == "cpu" for tensor in tensors):
        return None
    if group is None or (not tensors and not group.on_host):
        return None
    failure_place.began()
    nbytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    code = constants.OPERATIONS[operation]
    start = monotonic_ns()
    ticket = life.native.collective_launched(
        group.communicator, code, peer, constants.NO_SEQUENCE, nbytes
    )
    return Launched(ticket, start, f"{group.backend}:{operation}")


def has_waited(work):
    """work: what the call returned. None and a rank: the call itself has waited."""
    return work is None or isinstance(work, int)


def follow_issued(work, launched, site):
    """As follow, of what Python has issued at that line: (code, number)."""
    if not has_waited(work):
        if site in _waited:
            launched.run_beside()
        _remember(work, site, launched)
    follow(work, launched)


def _remember(work, site, launched):
    number = id(work)
    try:
        reference = weakref.ref(work, lambda _: _works.pop(number, None))
    except TypeError:
        return
    _works[number] = reference, site, launched


def _learn(work):
    """Somebody waits for it."""
    row = _works.get(id(work))
    if row is None or row[0]() is not work:
        return
    if len(_waited) >= _MAX_SITES:
        _waited.clear()
    _waited.add(row[1])
    row[2].run_beside()


def follow(work, launched):
    """Ends what was launched when the work does."""
    if has_waited(work):
        launched.end()
        return
    try:
        work_ends.call_at_end(work.get_future(), launched.end)
    except Exception:  # this backend's work has no future
        try:
            number = id(work)
            _open[number] = (weakref.ref(work, lambda _: _forget(number, launched)), launched)
        except TypeError:
            launched.drop()


def is_default(group):
    member = getattr(_c10d(), "GroupMember", None)
    return group is None or group is getattr(member, "WORLD", None)


def group_of(group):
    """None where this rank is no member."""
    if group is None:
        group = _c10d()._get_default_group()
    name = getattr(group, "group_name", None)
    if name is None:
        return None
    known = _groups.get(name)
    if known is None:
        ranks = tuple(_c10d().get_process_group_ranks(group))
        description = getattr(group, "group_desc", "") or ""
        backend = _backends_of(group).get("cpu", "unknown")
        number = collectives.communicator_of(name, ranks, description, backend)
        if len(_groups) >= _MAX_GROUPS:
            _groups.clear()
        known = Group(number, ranks, backend, is_on_host(group))
        _groups[name] = known
    return known


def is_on_host(group):
    """Whether all that the group exchanges lies in host memory."""
    return all(backend in _HOST_BACKENDS for backend in _backends_of(group).values())


def _backends_of(group):
    """By device, from "cpu:gloo,cuda:nccl"; old releases know of one for all devices."""
    module = _c10d()
    if not hasattr(module, "get_backend_config"):
        return {"cpu": str(module.get_backend(group))}
    pairs = (pair.partition(":") for pair in module.get_backend_config(group).split(","))
    return {device: backend for device, _, backend in pairs}


def _waiting(original):
    def begins(args, _):
        if _works:
            _learn(args[0])
        if not (_beside and life.on) or getattr(call, "open", False):
            return args[0], None
        life.native.enter(_wait(), True)
        return args[0], monotonic_ns()

    def ended(token, _, error):
        work, start = token
        if start is not None and life.on:
            life.native.interval(start, _wait())
        if error is None:
            _has_ended(work)
        else:
            failure_place.raised(error, _WAIT)

    return watch(original, begins, ended)


def _wait():
    return annotations.function_of(_WAIT, constants.WAIT_PEER)


def _asking(original):
    def ended(work, result, error):
        if error is None and result:
            _has_ended(work)

    return watch(original, lambda args, _: args[0] if _open else None, ended)


def _has_ended(work):
    row = _open.pop(id(work), None)
    if row is not None:
        row[1].end()


def _forget(number, launched):
    _open.pop(number, None)
    launched.drop()

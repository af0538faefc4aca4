"""torch.distributed's collectives and point-to-point operations on host memory (gloo, MPI).

Operations on device memory are left to the NCCL plugin and CUPTI: when they end, Python does not
see. DistributedDataParallel's reductions do not come through Python either; see README.md.
An operation ends when the call returns, or where it is asynchronous when its future is done or
somebody waited for it, whichever is seen.
"""

import functools
import inspect
import sys
import threading
import weakref
from time import monotonic_ns

from eroica import collectives, life
from eroica import native as constants

# function: (operation, parameter of what is sent, parameter of the peer's rank)
_OPERATIONS = {
    "all_reduce": ("all_reduce", "tensor", None),
    "all_gather": ("all_gather", "tensor", None),
    "all_gather_into_tensor": ("all_gather", "input_tensor", None),
    "reduce_scatter": ("reduce_scatter", "input_list", None),
    "reduce_scatter_tensor": ("reduce_scatter", "input", None),
    "broadcast": ("broadcast", "tensor", None),
    "reduce": ("reduce", "tensor", None),
    "all_to_all": ("all_to_all", "input_tensor_list", None),
    "all_to_all_single": ("all_to_all", "input", None),
    "gather": ("gather", "tensor", None),
    "scatter": ("scatter", "tensor", None),
    "barrier": ("barrier", None, None),
    "send": ("send", "tensor", "dst"),
    "isend": ("send", "tensor", "dst"),
    "recv": ("recv", "tensor", "src"),
    "irecv": ("recv", "tensor", "src"),
}
_MAX_GROUPS = 4096

_c10d = None
_inside = threading.local()  # .call: send() calls isend(), which is no second operation
_groups = {}  # by the group's name: (communicator, ranks, backend)
_open = {}  # by the id of a Work that has no future: (weak reference, what ends it)


class _Launched:
    """An operation that is under way. It ends once, by whoever sees it first."""

    __slots__ = ("ticket", "start", "name")

    def __init__(self, ticket, start, name):
        self.ticket = ticket
        self.start = start
        self.name = name

    def end(self, *_):
        ticket, self.ticket = self.ticket, None
        if ticket is not None and life.on:
            life.native.collective_ended(ticket, self.start, collectives.function_of(self.name))

    def drop(self, *_):
        ticket, self.ticket = self.ticket, None
        if ticket is not None and life.on:
            life.native.collective_dropped(ticket)


def patch_c10d(module):
    global _c10d
    _c10d = module
    package = sys.modules.get("torch.distributed")
    for name, row in _OPERATIONS.items():
        original = getattr(module, name, None)
        if original is None:
            continue
        patched = _watched(original, *row)
        setattr(module, name, patched)
        if package is not None and getattr(package, name, None) is original:
            setattr(package, name, patched)  # Eroica was imported after it
    _patch_life(module, package)
    _patch_work(module)


def _patch_life(module, package):
    """Rank and groups become known and change with these."""

    def around(original, after):
        @functools.wraps(original)
        def called(*args, **kwargs):
            result = original(*args, **kwargs)
            life.quietly(after)
            return result

        return called

    for name, after in (
        ("init_process_group", life.refresh_identity),
        ("destroy_process_group", _groups.clear),
    ):
        original = getattr(module, name)
        patched = around(original, after)
        setattr(module, name, patched)
        if package is not None and getattr(package, name, None) is original:
            setattr(package, name, patched)


def _patch_work(module):
    kind = getattr(module, "Work", None)
    if kind is None:
        return
    for name, ended in (("wait", lambda result: True), ("is_completed", bool)):
        setattr(kind, name, _seen_by(getattr(kind, name), ended))


def _seen_by(original, ended):
    @functools.wraps(original)
    def called(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        if _open and ended(result):
            row = _open.pop(id(self), None)
            if row is not None:
                row[1].end()
        return result

    return called


def _reader(original, name):
    """How the value of a parameter is found among a call's arguments."""
    try:
        position = list(inspect.signature(original).parameters).index(name)
    except (TypeError, ValueError):
        position = 1 << 30

    def read(args, kwargs):
        return args[position] if position < len(args) else kwargs.get(name)

    return read


def _watched(original, operation, sent, peer):
    read_group = _reader(original, "group")
    read_sent = _reader(original, sent) if sent else None
    read_peer = _reader(original, peer) if peer else None
    read_group_peer = _reader(original, f"group_{peer}") if peer else None

    def launch(args, kwargs):
        group = read_group(args, kwargs)
        tensors = read_sent(args, kwargs) if read_sent is not None else ()
        tensors = tensors if isinstance(tensors, (list, tuple)) else (tensors,)
        if not all(tensor.device.type == "cpu" for tensor in tensors):
            return None
        row = _group_of(group)
        if row is None or (read_sent is None and not _on_host(row[2])):
            return None
        rank = -1
        if read_peer is not None:
            rank = read_peer(args, kwargs)
            if rank is None:
                within = read_group_peer(args, kwargs)
                rank = row[1][within] if within is not None else -1
        nbytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        code = constants.OPERATIONS[operation]
        start = monotonic_ns()
        ticket = life.native.collective_launched(row[0], code, rank, constants.NO_SEQUENCE, nbytes)
        return _Launched(ticket, start, f"{row[2]}:{operation}")

    @functools.wraps(original)
    def watched(*args, **kwargs):
        launched = None
        if (life.on or life.begin()) and not getattr(_inside, "call", False):
            try:
                launched = launch(args, kwargs)
            except Exception:
                launched = None  # wrong arguments: PyTorch says so
        if launched is None:
            return original(*args, **kwargs)
        _inside.call = True
        try:
            work = original(*args, **kwargs)
        except BaseException:
            launched.drop()
            raise
        finally:
            _inside.call = False
        _follow(work, launched)
        return work

    return watched


def _follow(work, launched):
    """Ends what was launched when the work does. None and a rank: the call itself has waited."""
    if work is None or isinstance(work, int):
        launched.end()
        return
    try:
        work.get_future().add_done_callback(launched.end)
    except Exception:  # this backend's work has no future
        try:
            number = id(work)
            _open[number] = (weakref.ref(work, lambda _: _forget(number, launched)), launched)
        except TypeError:
            launched.drop()


def _forget(number, launched):
    _open.pop(number, None)
    launched.drop()


def _group_of(group):
    """(communicator, ranks, backend), None where this rank is no member."""
    if group is None:
        group = _c10d._get_default_group()
    name = getattr(group, "group_name", None)
    if name is None:
        return None
    row = _groups.get(name)
    if row is None:
        ranks = tuple(_c10d.get_process_group_ranks(group))
        description = getattr(group, "group_desc", "") or ""
        backend = str(_c10d.get_backend(group))
        if len(_groups) >= _MAX_GROUPS:
            _groups.clear()
        row = (collectives.communicator_of(name, ranks, description), ranks, backend)
        _groups[name] = row
    return row


def _on_host(backend):
    return "gloo" in backend or "mpi" in backend

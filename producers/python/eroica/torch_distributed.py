"""torch.distributed's collectives and point-to-point operations on host memory (gloo, MPI).

Operations on device memory are left to the NCCL plugin and CUPTI: when they end, Python does not
see. What C++ issues is followed by hooks of the process groups (torch_process_groups.py).
An operation ends when the call returns, or where it is asynchronous as torch_operation.py says.
"""

import inspect
import sys

from eroica import failure_place, life, patches, torch_operation, torch_process_groups
from eroica.torch_operation import call
from eroica.watched_call import watch

# function: (operation, parameter of what is sent, parameter of the peer's rank)
_OPERATIONS = {
    "all_reduce": ("all_reduce", "tensor", None),
    "all_gather": ("all_gather", "tensor", None),
    "all_gather_single": ("all_gather", "input_tensor", None),
    "all_gather_into_tensor": ("all_gather", "input_tensor", None),
    "reduce_scatter": ("reduce_scatter", "input_list", None),
    "reduce_scatter_single": ("reduce_scatter", "input", None),
    "reduce_scatter_tensor": ("reduce_scatter", "input", None),
    "broadcast": ("broadcast", "tensor", None),
    "reduce": ("reduce", "tensor", None),
    "all_to_all": ("all_to_all", "input_tensor_list", None),
    "all_to_all_single": ("all_to_all", "input", None),
    "gather": ("gather", "tensor", None),
    "gather_single": ("gather", "tensor", None),
    "gather_into_tensor": ("gather", "tensor", None),
    "scatter": ("scatter", "tensor", None),
    "barrier": ("barrier", None, None),
    "monitored_barrier": ("barrier", None, None),
    "send": ("send", "tensor", "dst"),
    "isend": ("send", "tensor", "dst"),
    "recv": ("recv", "tensor", "src"),
    "irecv": ("recv", "tensor", "src"),
}


def patch_c10d(module):
    torch_operation.use(module)
    package = sys.modules.get("torch.distributed")
    for name, row in _OPERATIONS.items():
        original = getattr(module, name, None)
        if original is None:
            continue
        patched = _watched(original, *row)
        _replace_in(module, package, name, original, patched)
    _patch_life(module, package)
    torch_process_groups.watch_groups(module)


def _replace_in(module, package, name, original, patched):
    patches.replace(module, name, patched)
    if package is not None and getattr(package, name, None) is original:
        patches.replace(package, name, patched)  # Eroica was imported after it


def _patch_life(module, package):
    """Rank and groups become known and change with these."""
    init, destroy = module.init_process_group, module.destroy_process_group

    read_group = _reader(destroy, "group")

    def destroys(args, kwargs):
        life.quietly(lambda: torch_process_groups.leave(read_group(args, kwargs)))
        return True

    initialized = watch(init, lambda *_: True, _when_returned(_joined))
    destroyed = watch(destroy, destroys, _when_returned(torch_operation.forget_groups))
    _replace_in(module, package, "init_process_group", init, initialized)
    _replace_in(module, package, "destroy_process_group", destroy, destroyed)


def _joined():
    """The process is a rank of the default group: it is captured from here on, unless it is alone."""
    if life.framework_rank()[1] > 1:
        life.begin()
    life.refresh_identity()


def _when_returned(action):
    def ended(_token, _result, error):
        if error is None:
            action()

    return ended


def _reader(original, name):
    """How the value of a parameter is found among a call's arguments."""
    try:
        position = list(inspect.signature(original).parameters).index(name)
    except (TypeError, ValueError):
        position = 1 << 30

    def read(args, kwargs):
        return args[position] if position < len(args) else kwargs.get(name)

    return read


def _site():
    """The line that called a watched function: of what its end calls (watched_call.py)."""
    caller = sys._getframe(4)
    return caller.f_code, caller.f_lineno


def _watched(original, operation, sent, peer):
    read_group = _reader(original, "group")
    read_sent = _reader(original, sent) if sent else None
    read_peer = _reader(original, peer) if peer else None
    read_group_peer = _reader(original, f"group_{peer}") if peer else None

    def launch(args, kwargs):
        group = read_group(args, kwargs)
        tensors = read_sent(args, kwargs) if read_sent is not None else ()
        tensors = tensors if isinstance(tensors, (list, tuple)) else (tensors,)
        group = torch_operation.group_of(group)
        if group is None:
            return None
        rank = -1
        if read_peer is not None:
            rank = read_peer(args, kwargs)
            if rank is None:
                within = read_group_peer(args, kwargs)
                rank = group.ranks[within] if within is not None else -1
        return torch_operation.launch(group, operation, rank, tensors)

    def begins(args, kwargs):
        if not (life.on or life.begin()) or getattr(call, "open", False):
            return None
        try:
            launched = launch(args, kwargs)
        except Exception:
            return None  # wrong arguments: PyTorch says so
        call.open = launched is not None
        return launched

    def ended(launched, work, error):
        call.open = False
        if error is not None:
            launched.drop()
            failure_place.raised(error)
            return
        torch_operation.follow_issued(work, launched, _site())

    return watch(original, begins, ended)

"""The stand-in for PyTorch: the Python side of outliving.cc, below a package of PyTorch's shape.

It lies where torch would lie, so that Eroica hooks it as it hooks PyTorch. OUTLIVING_LIBRARY names
the library, OUTLIVING_TORCH the folder of the package.
"""

import ctypes
import os
import sys

sys.path.insert(0, os.environ["OUTLIVING_TORCH"])

_PATH = os.environ["OUTLIVING_LIBRARY"]
_POINTER, _OBJECT, _FLAG, _NUMBER = (ctypes.c_void_p, ctypes.py_object, ctypes.c_bool,
                                     ctypes.c_int64)


def _function(loader, name, result, *arguments):
    function = getattr(loader(_PATH), "outliving_" + name)
    function.restype, function.argtypes = result, arguments
    return function


_group = _function(ctypes.PyDLL, "group", _POINTER)
_release_group = _function(ctypes.PyDLL, "release_group", None, _POINTER)
_destroy_groups = _function(ctypes.PyDLL, "destroy_groups", None)
_register = _function(ctypes.PyDLL, "register", None, _POINTER, _FLAG, _NUMBER, _OBJECT)
_unregister = _function(ctypes.PyDLL, "unregister", None, _POINTER, _FLAG, _NUMBER)
_fire = _function(ctypes.PyDLL, "fire", None, _POINTER, _FLAG, _OBJECT)
_future = _function(ctypes.PyDLL, "future", _POINTER)
_release_future = _function(ctypes.PyDLL, "release_future", None, _POINTER)
_done = _function(ctypes.PyDLL, "done", _FLAG, _POINTER)
_call_at_end = _function(ctypes.PyDLL, "call_at_end", None, _POINTER, _OBJECT, _OBJECT)
_complete = _function(ctypes.CDLL, "complete", _FLAG, _POINTER)
_collect = _function(ctypes.PyDLL, "collect", _POINTER, _POINTER)
complete_while_ending = _function(ctypes.PyDLL, "complete_while_ending", None, _POINTER)
complete_at_exit = _function(ctypes.PyDLL, "complete_at_exit", None, _POINTER)


class Future:
    def __init__(self, pointer=None):
        self.pointer = pointer or _future()

    def __del__(self, _release=_release_future):
        _release(self.pointer)

    def done(self):
        return _done(self.pointer)

    def add_done_callback(self, callback):
        _call_at_end(self.pointer, callback, None)

    def set_result(self, _result):
        if not _complete(self.pointer):
            raise RuntimeError("it is done already")


def collect_all(futures):
    return Future(_collect(futures[0].pointer))


import torch._C  # noqa: E402

torch._C.Future, torch._C._collect_all = Future, collect_all

import torch.distributed  # noqa: E402
import torch.distributed.distributed_c10d as c10d  # noqa: E402
import torch.utils.data  # noqa: E402


_map = []  # as PyTorch keeps the groups that are not destroyed


class Group(c10d.Group):
    """Its hooks are the library's, which calls and destroys them."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.pointer = _group()
        _map.append(self)

    def __del__(self, _release=_release_group):
        _release(self.pointer)

    def register_pre_hook(self, hook_id, hook):
        _register(self.pointer, True, hook_id, hook)

    def register_post_hook(self, hook_id, hook):
        _register(self.pointer, False, hook_id, hook)

    def unregister_pre_hook(self, hook_id):
        _unregister(self.pointer, True, hook_id)

    def unregister_post_hook(self, hook_id):
        _unregister(self.pointer, False, hook_id)

    def issue(self, name, inputs=(), outputs=(), root=-1, work=None, fails=False):
        number = self.operations
        self.operations += 1
        _fire(self.pointer, True, c10d.HookArguments(name, number, inputs, outputs, root))
        _fire(self.pointer, False, c10d.HookArguments(name, number, work=work))
        return work


c10d.Group = Group


def start():
    torch.distributed.init_process_group("gloo", 0, 1)


def collective():
    """One that C++ issues, as DistributedDataParallel's reducer does; done at once."""
    work = c10d.Work(Future())
    c10d._get_default_group().issue("ALLREDUCE", [torch.Tensor(8)], work=work)
    work.future.set_result(None)


def pending():
    work = c10d.Work(Future())
    c10d._get_default_group().issue("ALLREDUCE", [torch.Tensor(8)], work=work)
    return work.future


def pending_until(when):
    """Ends "ending": on a thread of C++ while the interpreter ends; "exit": after it has."""
    future = pending()
    (complete_while_ending if when == "ending" else complete_at_exit)(future.pointer)
    return future


def group():
    return torch.distributed.new_group([0])


def destroy():
    torch.distributed.destroy_process_group()
    _map.clear()
    _destroy_groups()


def train(steps=3):
    model, optimizer = torch.nn.Module(), torch.optim.SGD()
    model.forward = lambda x: x
    for batch in torch.utils.data.DataLoader([1] * steps, num_workers=0):
        model(batch)
        torch.Tensor(1).backward()
        collective()
        optimizer.step()

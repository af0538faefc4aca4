"""Patches frameworks after the script has imported them; Eroica itself never imports one.

A finder at the head of sys.meta_path watches for the modules named in _HOOKS. When one is loaded,
its own loader runs first and untouched, then the hook; a hook that fails is said once and leaves
the module as it is.
"""

import importlib
import sys

from eroica import life, own_frames

# module: (module of ours, function that takes the loaded module)
_HOOKS = {
    "torch.utils.data.dataloader": ("eroica.torch_training", "patch_dataloader"),
    "torch.optim.optimizer": ("eroica.torch_training", "patch_optimizer"),
    "torch.nn.modules.module": ("eroica.torch_training", "patch_module"),
    "torch.autograd": ("eroica.torch_training", "patch_autograd"),
    "torch.serialization": ("eroica.torch_training", "patch_serialization"),
    "torch.autograd.profiler": ("eroica.torch_training", "patch_profiler"),
    "torch._dynamo.callback": ("eroica.torch_compile", "patch_callback"),
    "torch.distributed.distributed_c10d": ("eroica.torch_distributed", "patch_c10d"),
    "torch.distributed.rpc.api": ("eroica.torch_rpc", "patch_api"),
    "jax._src.distributed": ("eroica.jax_training", "patch_distributed"),
    "jax._src.array": ("eroica.jax_training", "patch_array"),
    "jax.numpy": ("eroica.jax_training", "patch_numpy"),
    "jaxlib.xla_client": ("eroica.jax_training", "patch_client"),
    "jax._src.dispatch": ("eroica.jax_training", "patch_dispatch"),
    "mpi4py.MPI": ("eroica.mpi_communicators", "patch_mpi"),
}
_done = set()


class _HookedLoader:
    """The module's own loader, with the hook behind it. The module keeps its own loader."""

    def __init__(self, loader, name):
        self._loader = loader
        self._name = name

    def __getattr__(self, attribute):
        if attribute == "_loader":  # not there yet: it is copied
            raise AttributeError(attribute)
        try:
            return getattr(self._loader, attribute)
        except BaseException as error:
            own_frames.hide(error)
            raise

    def create_module(self, spec):
        try:
            return self._loader.create_module(spec)
        except BaseException as error:
            own_frames.hide(error)
            raise

    def exec_module(self, module):
        spec = getattr(module, "__spec__", None)
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        try:
            self._loader.exec_module(module)
        except BaseException as error:
            own_frames.hide(error)
            raise
        run_hook(self._name, module)


class _Finder:
    """Answers only for modules that have a hook, with what the other finders answer."""

    def find_spec(self, name, path=None, target=None):
        if name not in _HOOKS or name in _done:
            return None
        try:
            spec = self._ask_the_others(name, path, target)
        except BaseException as error:
            own_frames.hide(error)
            raise
        loader = getattr(spec, "loader", None)
        if hasattr(loader, "exec_module") and hasattr(loader, "create_module"):
            spec.loader = _HookedLoader(loader, name)
        return spec

    def _ask_the_others(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec
        return None


def run_hook(name, module):
    if name in _done or life.ended:
        return
    _done.add(name)
    life.keep_rank()
    try:
        ours, function = _HOOKS[name]
        getattr(importlib.import_module(ours), function)(module)
    except Exception:
        life.say_exception(f"{name} is not watched")


def install():
    """Once; modules that are loaded already are patched now."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    life.at_end(lambda: _remove(finder))
    for name in _HOOKS:
        module = sys.modules.get(name)
        if module is not None:
            run_hook(name, module)


def _remove(finder):
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)

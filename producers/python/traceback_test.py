"""No traceback of a script's own error shows a frame of Eroica: what a script sees of its errors is
the same with and without it, in every CPython of this machine."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402
import torch_interpreter  # noqa: E402

# With PLAIN the script has stand-ins that do nothing in place of the package's calls.
PLAIN = """
import contextlib
class eroica:
    enabled = staticmethod(lambda: False)
    region = collective = staticmethod(lambda *_, **__: Plain())
    checkpoint = evaluation = region
    dataloader = staticmethod(lambda iterable: iterable)
class Plain:
    def __enter__(self): return self
    def __exit__(self, *_): return False
    def __call__(self, function): return function
"""

OWN_CALLS = """
import asyncio
from script_errors import show

class OwnError(Exception):
    __slots__ = ()
class Interrupt(BaseException): pass

def fails(what=None):
    raise what or OwnError("of the script")
timed = eroica.region("timed")
timed_twice = eroica.region("outer")(timed(fails))
@timed
async def later():
    await asyncio.sleep(0)
    fails()
@timed
def turns():
    try:
        yield 1
    except KeyError as error:
        raise ValueError("of the generator") from error
    fails()
class Loader:
    def __iter__(self):
        yield 1
        fails()
    def __len__(self):
        fails()
def function(): timed(fails)()
def nested(): timed_twice()
def interrupted(): timed(fails)(Interrupt())
def stopped(): timed(fails)(StopIteration(3))
def coroutine(): asyncio.run(later())
def generator(): list(turns())
def thrown():
    generator = turns()
    next(generator)
    generator.throw(KeyError("thrown"))
def wrong_arguments(): timed(lambda x: x)(1, 2, 3)
def batches():
    for _ in eroica.dataloader(Loader()): pass
def no_batches():
    for _ in eroica.dataloader(5): pass
def length(): len(eroica.dataloader(Loader()))
def attribute(): eroica.dataloader(Loader()).no_such_attribute
def body():
    with eroica.region("r"), eroica.collective("barrier"), eroica.checkpoint(), eroica.evaluation():
        fails()
def deep(depth=50):
    if depth == 0: fails()
    timed(deep)(depth - 1)
for each in (function, nested, interrupted, stopped, coroutine, generator, thrown, wrong_arguments,
             batches, no_batches, length, attribute, body, deep):
    show(each)
"""

HOOKS = """
from script_errors import show
import torch, torch.utils.data, torch.autograd.profiler as profiler
import torch.distributed as dist

class OwnError(Exception): pass
class Layer(torch.nn.Module):
    def forward(self, x): raise OwnError("in forward")
class Data:
    def __len__(self): return 2
    def __iter__(self):
        yield 1
        raise OwnError("in the data")
loader = iter(torch.utils.data.DataLoader(Data()))
def first_batch(): next(loader)
def batch(): next(loader)
def end_of_data(): next(iter(torch.utils.data.DataLoader([])))
def forward(): Layer()(1)
def forward_without_arguments(): Layer()()
def backward(): torch.autograd.backward(OwnError("in backward"))
def save(): torch.save(OwnError("in save"), "file")
def load(): torch.load(OwnError("in load"))
def load_without_arguments(): torch.load()
def profile():
    with profiler.profile(OwnError("in the profiler")): pass
def missing_group(): dist.all_reduce(1)
def collective(): dist.all_reduce(None)
def group(): dist.new_group(5, backend=None, more=1)
def waiting():
    work = dist.isend(torch.Tensor(1), 0)
    work.wait(1, 2, 3)
show(missing_group)
dist.init_process_group("gloo", 0, 2)
for each in (first_batch, batch, end_of_data, forward, forward_without_arguments, backward, save,
             load, load_without_arguments, profile, collective, group, waiting):
    show(each)
"""

IMPORTS = """
from script_errors import show
def failing_module(): import torch.serialization
def no_syntax(): import torch.autograd
def missing(): import torch.optim.optimizer
for each in (failing_module, no_syntax, missing):
    show(each)
"""

REAL = """
from script_errors import show
import os, torch, torch.utils.data
import torch.distributed as dist
class OwnError(Exception): pass
class Layer(torch.nn.Module):
    def forward(self, x): raise OwnError("in forward")
class Data(torch.utils.data.Dataset):
    def __len__(self): return 2
    def __getitem__(self, index): raise OwnError("in the data")
class Unsaved:
    def __reduce__(self): raise OwnError("in save")
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 1
    @staticmethod
    def backward(ctx, gradient): raise OwnError("in backward")
class Optimizer(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None): raise OwnError("in the optimizer")
def batch(): next(iter(torch.utils.data.DataLoader(Data())))
def forward(): Layer()(torch.ones(1))
def backward(): Function.apply(torch.ones(1, requires_grad=True)).sum().backward()
def step(): Optimizer([torch.nn.Parameter(torch.ones(1))]).step()
def save(): torch.save(Unsaved(), os.devnull)
def load(): torch.load("/nowhere/at all")
def collective(): dist.all_reduce(torch.ones(2), group="no group")
def no_tensor(): dist.all_reduce(None)
def no_group(): dist.new_group([5])
dist.init_process_group("gloo")
for each in (batch, forward, backward, step, save, load, collective, no_tensor, no_group):
    show(each)
dist.destroy_process_group()
"""


class TracebackTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def each(self):
        return interpreters.all_interpreters().values()

    def seen_by(self, python, script, path=(), **changes):
        folders = [interpreters.ZERO_CODE, interpreters.PRODUCER, interpreters.HERE, *path]
        run = interpreters.run(python, script, PYTHONPATH=os.pathsep.join(folders), **changes)
        self.assertEqual(run.status, 0, (python, run.out, run.err))
        self.assertEqual(run.err, "", python)
        return run

    def check_same(self, python, script, **changes):
        on = self.seen_by(python, script, **changes)
        off = self.seen_by(python, script, EROICA_DISABLE="1", epilogue=False, **changes)
        self.assertEqual(on.out, off.out, python)
        return on

    def test_errors_that_pass_through_the_package_s_own_calls(self):
        for python in self.each():
            plain = self.seen_by(python, PLAIN.strip() + OWN_CALLS, epilogue=False).out
            head = "import eroica" + "\n" * PLAIN.strip().count("\n")
            for changes in ({}, {"EROICA_DISABLE": "1"}):
                script = head + OWN_CALLS
                own = self.seen_by(python, script, epilogue=not changes, **changes).out
                self.assertEqual(own, plain.replace("'Loader'", "'Loader'"), python)

    def test_errors_that_pass_through_hooks(self):
        parts = os.path.join(interpreters.HERE, "fake_torch")
        shutil.copytree(os.path.join(parts, "torch"), os.path.join(self.folder, "torch"))
        shutil.copytree(os.path.join(parts, "loading"), os.path.join(self.folder, "torch", "utils"))
        for python in self.each():
            run = self.check_same(python, HOOKS, path=[self.folder])
            for place in ("forward", "the data", "save", "load", "backward", "the profiler"):
                self.assertIn(f"'OwnError', 'in {place}'", run.out)
            self.assertIn("'ValueError', 'no tensor'", run.out)

    def test_errors_of_modules_that_have_a_hook(self):
        package = os.path.join(self.folder, "torch")
        os.makedirs(os.path.join(package, "optim"))
        for name, text in (
            ("__init__", ""),
            ("serialization", "def fails():\n    raise KeyError(1)\nfails()\n"),
            ("autograd", "this is no Python\n"),
            ("optim/__init__", ""),
            ("optim/optimizer", "import torch.no_such_module\n"),
        ):
            with open(os.path.join(package, name + ".py"), "w", encoding="utf-8") as file:
                file.write(text)
        for python in self.each():
            self.check_same(python, IMPORTS, path=[self.folder])

    def test_the_errors_of_a_sitecustomize_behind_ours(self):
        for text in (
            "def fails():\n    raise KeyError(1)\nfails()\n",
            "import no_such_module\n",
            "raise ImportError('x', name='sitecustomize')\n",
        ):
            with open(os.path.join(self.folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write(text)
            for python in self.each():
                for verbose in (None, "1"):
                    seen = [
                        self.said_at_start(python, folders, verbose)
                        for folders in ([self.folder], [interpreters.ZERO_CODE, self.folder])
                    ]
                    self.assertEqual(seen[0], seen[1], (python, text, verbose))

    def said_at_start(self, python, folders, verbose):
        run = interpreters.run(
            python,
            "print('ran')",
            epilogue=False,
            PYTHONPATH=os.pathsep.join([*folders, interpreters.PRODUCER]),
            PYTHONVERBOSE=verbose,
            EROICA_RECORDING=None,
        )
        self.assertEqual((run.status, run.out), (0, "ran\n"))
        lines = run.err.splitlines()
        if verbose is None:
            return lines
        start = next((at for at, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
        shown = [line for line in lines[start:] if "sitecustomize" in line or "Error" in line]
        return [line for line in shown if "zero_code" in line or "Error" in line or self.folder in line]

    def test_errors_in_real_training(self):
        python = torch_interpreter.find()
        if python is None:
            self.skipTest("no interpreter with PyTorch; EROICA_TEST_TORCH_PYTHON names one")
        port = torch_interpreter.free_port()
        run = self.check_same(python, REAL, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        for place in ("forward", "the data", "save", "backward", "the optimizer"):
            self.assertIn(f"'OwnError', 'in {place}'", run.out)


if __name__ == "__main__":
    unittest.main()

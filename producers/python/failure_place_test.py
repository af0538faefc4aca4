"""Where the training thread failed, as the core knows it when the interpreter has ended: on a package
of PyTorch's shape."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402
from fake_torch_test_case import FakeTorchTestCase  # noqa: E402

# Written when everything of Eroica has been taken back.
HEAD = """
import atexit, recorded_core, sys
atexit.register(recorded_core.write)
import eroica, torch, torch.distributed as dist
dist.init_process_group("gloo", 1, 4)
eroica.step()
tensor = torch.Tensor(1)
def finalizer():
    pass
atexit.register(finalizer)
def issue(*_, **__):
    raise RuntimeError("Connection reset by peer")
works = dist.distributed_c10d.Group.issue
def lose_peers():
    dist.distributed_c10d.Group.issue = issue
def find_peers():
    dist.distributed_c10d.Group.issue = works
def reduce():
    lose_peers()
    dist.all_reduce(tensor)
"""
MODULE = "train.py: <module>"
COLLECTIVE = ["torch/distributed/distributed_c10d.py: all_reduce", "train.py: issue"]
# By script: where it failed, in names without lines.
PLACES = {
    "a function of the script": (
        "def load(): raise OSError('its own')\ndef main(): load()\nmain()",
        [MODULE, "train.py: main", "train.py: load"],
    ),
    "a collective": ("reduce()", [MODULE, "train.py: reduce", *COLLECTIVE]),
    "a collective with a wrong argument": (
        "dist.all_reduce(None)",
        [MODULE, "torch/distributed/distributed_c10d.py: all_reduce"],
    ),
    "a collective, in other words": (
        "try: reduce()\nexcept RuntimeError as error: raise OSError('in other words') from error",
        [MODULE, "train.py: reduce", *COLLECTIVE],
    ),
    "a collective, and an error of what cleans up behind it": (
        "try: reduce()\nexcept RuntimeError: raise OSError('cannot clean up')",
        [MODULE, "train.py: reduce", *COLLECTIVE],
    ),
    "a wrong argument, in other words": (
        "def load(): raise OSError('its own')\n"
        "try: load()\nexcept OSError as error: raise ValueError('in other words') from error",
        [MODULE, "train.py: load"],
    ),
    "a collective of a script that ends by itself": (
        "try: reduce()\nexcept RuntimeError: sys.exit(1)",
        [MODULE, "train.py: reduce", *COLLECTIVE],
    ),
    "a wait": (
        "dist.all_reduce(tensor, async_op=True).wait(1)   # takes none",
        [MODULE, "torch.distributed:wait"],
    ),
    "a backward pass": (
        "torch.autograd.backward(ValueError())",
        [MODULE, "torch/autograd/__init__.py: backward"],
    ),
    "behind a collective that was tried": (
        "try: reduce()\nexcept RuntimeError: pass\n"
        "find_peers()\ndist.all_reduce(tensor)\nsys.exit(1)",
        None,
    ),
    "the script's own, after a collective that was tried": (
        "try: reduce()\nexcept RuntimeError: pass\nraise OSError('its own')",
        [MODULE],
    ),
    "nowhere": ("", None),
    "nowhere, with a status": ("sys.exit(1)", None),
}


class FailurePlaceTest(FakeTorchTestCase):
    def place_after(self, python, script):
        path = (interpreters.PRODUCER, interpreters.HERE, self.fake)
        run = interpreters.run(
            python, HEAD + script, epilogue=False, PYTHONPATH=os.pathsep.join(path)
        )
        self.assertNotIn("eroica", run.err)
        function = run.events["training_function"]
        if function is None:
            return None
        return [re.sub(r"\(\d+\)", "", name) for name in run.stack(function)]

    def test_is_where_it_failed_and_not_where_the_interpreter_ended(self):
        for python in self.each():
            for name, (script, place) in PLACES.items():
                with self.subTest(name, python=python):
                    self.assertEqual(self.place_after(python, script), place)

    def test_the_exception_is_not_kept_alive(self):
        script = """
import gc, weakref
class Batch: pass
def main():
    batch = Batch()
    main.batch = weakref.ref(batch)
    reduce()
try: main()
except RuntimeError: pass
gc.collect()
assert main.batch() is None
sys.exit(0)
"""
        for python in self.each():
            self.assertIn("train.py: main", self.place_after(python, script), python)


if __name__ == "__main__":
    unittest.main()

"""The package's own calls, in every CPython of this machine, against the recorded core."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

STEP_BEGIN, STEP_END, DATALOADER_NEXT, OPTIMIZER_STEP = 0, 1, 2, 3
OPTIMIZER_BEGIN = 12

EVERYTHING = """
import eroica
assert eroica.enabled(), eroica.off_reason()
for step in range(3):
    assert eroica.step() == step
    with eroica.region("augment"):
        pass
with eroica.collective("all_reduce", group="dp0", nbytes=1024, ranks=[0, 2]):
    pass
with eroica.collective("send", group="pp", peer=3, nbytes=7):
    pass
try:
    with eroica.collective("barrier"):
        raise KeyError("a peer is gone")
except KeyError:
    pass
with eroica.checkpoint():
    with eroica.evaluation():
        pass

@eroica.region("decorated")
def twice(x):
    return 2 * x
assert twice(4) == 8 and twice.__name__ == "twice"
loader = eroica.dataloader([1, 2])
assert list(loader) == [1, 2] and len(loader) == 2 and loader.index(2) == 1
eroica.optimizer_step()
eroica.optimizer_step()
"""

BUILT_IN = """
import eroica
from eroica import life, native
WITHOUT = ("step", "dataloader_next", "trains")  # arguments
for name in native._BUILT_IN:
    function = getattr(life.native, name)
    assert type(function) is type(len) and function.__name__ == name, name
    for wrong in ((), ("x",) * 2, ("x",), ("x",) * 3, ("x",) * 5, (1,) * 9):
        try:
            function(*wrong)
        except TypeError:
            continue
        assert wrong == () and name in WITHOUT, (name, wrong)
"""

WITH_CTYPES = (
    """
import eroica
from eroica import life, native
native._BUILT_IN = ()
life.native = native.load()
assert type(life.native.step) is not type(len)
"""
    + EVERYTHING
)

OFF = """
import eroica
assert not eroica.enabled()
assert eroica.step() == -1
with eroica.region("x"), eroica.collective("all_reduce"), eroica.checkpoint(), eroica.evaluation():
    pass
assert list(eroica.dataloader(iter([1]))) == [1]
eroica.optimizer_step()
print(eroica.off_reason())
"""


class PackageTest(unittest.TestCase):
    def each(self):
        return interpreters.all_interpreters().values()

    def run_well(self, python, script, **changes):
        run = interpreters.run(python, script, **changes)
        self.assertEqual((run.status, run.err), (0, ""), python)
        return run

    def test_calls_of_every_step_are_built_in_and_refuse_what_they_cannot_read(self):
        for python in interpreters.all_interpreters().values():
            self.run_well(python, BUILT_IN)

    def test_everything_that_a_script_says_reaches_the_core(self):
        for python in self.each():
            self.check_everything(self.run_well(python, EVERYTHING))

    def test_ctypes_does_where_nothing_can_be_built_in(self):
        for python in self.each():
            self.check_everything(self.run_well(python, WITH_CTYPES))

    def check_everything(self, run):
        marks = run.marks()
        self.assertEqual(marks[:5], [STEP_BEGIN, STEP_END, STEP_BEGIN, STEP_END, STEP_BEGIN])
        self.assertEqual(marks[5:9], [4, 6, 7, 5])
        self.assertEqual(
            marks[9:], [DATALOADER_NEXT] * 3 + [OPTIMIZER_BEGIN, OPTIMIZER_STEP, OPTIMIZER_STEP]
        )
        names = [
            run.events["functions"][row["function"]]["name"] for row in run.events["intervals"]
        ]
        self.assertEqual(names, ["augment"] * 3 + ["decorated"])
        self.assertEqual(run.events["misuse"], 0)
        self.assertEqual(run.events["attached"], ["python"])

    def test_collectives_carry_who_and_how_much(self):
        for python in self.each():
            events = self.run_well(python, EVERYTHING).events
            reduce, send, barrier = events["operations"]
            self.assertEqual(
                (reduce["operation"], reduce["bytes"], reduce["peer"], reduce["ended"]),
                (1, 1024, -1, True),
            )
            self.assertEqual((send["operation"], send["peer"], send["ended"]), (10, 3, True))
            self.assertEqual(
                (barrier["operation"], barrier["ended"], barrier["dropped"]), (9, False, True)
            )
            groups = events["communicators"]
            self.assertEqual(groups[reduce["communicator"]]["ranks"], [0, 2])
            self.assertEqual(groups[barrier["communicator"]]["name"], "world")

    def test_a_communicator_has_one_id_in_every_process(self):
        ids = set()
        for python in self.each():
            events = self.run_well(python, EVERYTHING, PYTHONHASHSEED="7").events
            ids.add(tuple(row["id"] for row in events["communicators"]))
        self.assertEqual(len(ids), 1)

    def test_a_wrong_argument_is_left_out_and_the_rest_is_taken(self):
        script = """
import eroica
with eroica.collective("all_reduce", nbytes="many", ranks=[0, 2]):
    pass
with eroica.collective("send", peer="next", ranks=["a"], nbytes=8.0):
    pass
with eroica.collective("dance", group=7):
    pass
with eroica.region([]):
    pass
with eroica.region("\\udcff"):
    pass
"""
        for python in self.each():
            run = interpreters.run(python, script)
            self.assertEqual(run.status, 0, run.err)
            lines = run.err.splitlines()
            self.assertEqual(len(lines), 4, run.err)
            for line, word in zip(lines, ("nbytes: str", "peer: str", "ranks: list", "'dance'")):
                self.assertIn(word, line)
            rows = run.events["operations"]
            found = [(row["operation"], row["bytes"], row["peer"], row["ended"]) for row in rows]
            self.assertEqual(found, [(1, 0, -1, True), (10, 8, -1, True), (0, 0, -1, True)])
            groups = run.events["communicators"]
            self.assertEqual([row["name"] for row in groups], ["world", "world", "7"])
            self.assertEqual([row["ranks"] for row in groups], [[0, 2], [], []])
            functions = run.events["functions"]
            names = [functions[row["function"]]["name"] for row in run.events["intervals"]]
            self.assertEqual(names, ["(no name: list)", "?"])

    def test_a_decorated_function_is_what_it_was(self):
        script = """
import asyncio, contextlib, eroica, inspect
timed = eroica.region("timed")

@timed
def turns(start, *, stop=3):
    for each in range(start, stop):
        got = yield each
        assert got in (None, each)
    return "done"
assert inspect.isgeneratorfunction(turns)
assert str(inspect.signature(turns)) == "(start, *, stop=3)"
assert list(turns(1)) == [1, 2]
def outer():
    value = yield from turns(0, stop=1)
    assert value == "done"
assert list(outer()) == [0]
handed = turns(5, stop=7)
assert next(handed) == 5 and handed.send(5) == 6
handed.close()

@contextlib.contextmanager
@timed
def managed():
    try:
        yield "inside"
    except LookupError as error:
        kept.append(error)
kept = []
with managed() as inside:
    assert inside == "inside"
    raise LookupError("of the body")
assert len(kept) == 1

@timed
async def later(x): return x
assert inspect.iscoroutinefunction(later) and asyncio.run(later(5)) == 5

class Kind:
    @timed
    @staticmethod
    def fixed(x): return x
    @timed
    @classmethod
    def made(cls): return cls()
    @timed
    def own(self): return self
assert Kind.fixed(4) == 4 and isinstance(Kind.made(), Kind) and Kind().own()
assert timed(Kind) is Kind
"""
        for python in self.each():
            run = interpreters.run(python, script)
            self.assertEqual((run.status, len(run.err.splitlines())), (0, 1), run.err)
            self.assertIn("left as it is: type", run.err)
            # Three and two turns, two that were handed on, two of managed, one of each call.
            self.assertEqual(len(run.events["intervals"]), 3 + 2 + 2 + 2 + 1 + 3)

    def test_a_loader_is_reached_through_the_dataloader(self):
        script = """
import copy, eroica, pickle
class Loader:
    epoch = 0
    def __iter__(self): return iter([1, 2])
    def __getitem__(self, index): return 10 * index
loader = Loader()
wrapped = eroica.dataloader(loader)
wrapped.epoch = 7
assert loader.epoch == 7 and wrapped.epoch == 7 and wrapped[3] == 30 and bool(wrapped)
assert not hasattr(wrapped, "__len__") and not hasattr(wrapped, "__next__")
del wrapped.epoch
assert wrapped.epoch == 0
assert next(eroica.dataloader(iter("ab"))) == "a" and not eroica.dataloader([])
assert list(copy.deepcopy(eroica.dataloader([1]))) == [1]
assert list(pickle.loads(pickle.dumps(eroica.dataloader([1, 2])))) == [1, 2]
assert isinstance(wrapped, eroica.dataloader) and type(wrapped).__name__ == "dataloader"
"""
        for python in self.each():
            self.run_well(python, script)

    def test_off_where_nobody_asked(self):
        for python in self.each():
            run = self.run_well(python, OFF, EROICA_RECORDING=None)
            self.assertIsNone(run.events)
            self.assertIn("not asked for", run.out)
            self.assertIsNone(self.run_well(python, OFF, EROICA_DISABLE="1").events)

    def test_off_in_a_child_of_a_rank(self):
        for python in self.each():
            run = self.run_well(python, OFF, EROICA_ATTACHED="1:0")
            self.assertIsNone(run.events)
            self.assertIn("child", run.out)

    def test_a_package_beside_its_libraries_uses_them(self):
        """As in an installation and in a build: the package is in python/, the libraries above."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "python"))
            package = os.path.join(folder, "python", "eroica")
            shutil.copytree(os.path.join(interpreters.PRODUCER, "eroica"), package)
            path = os.pathsep.join((os.path.dirname(package), interpreters.HERE))
            script = "from eroica import native; print(native.library_folder())"
            run = interpreters.run(sys.executable, script, False, PYTHONPATH=path)
            self.assertEqual(run.out.strip(), interpreters.LIB_DIR, "it has none of its own")
            for name in os.listdir(interpreters.LIB_DIR):
                os.symlink(os.path.join(interpreters.LIB_DIR, name), os.path.join(folder, name))
            for named in (None, interpreters.LIB_DIR, "/nowhere"):
                run = interpreters.run(
                    sys.executable, script, False, PYTHONPATH=path, EROICA_LIB_DIR=named
                )
                self.assertEqual((run.out.strip(), run.err), (folder, ""))

    def test_off_and_one_line_where_the_libraries_are_missing_or_broken(self):
        for python in self.each():
            run = interpreters.run(python, OFF, epilogue=False, EROICA_LIB_DIR="/nowhere")
            self.assertEqual((run.status, len(run.err.splitlines())), (0, 1), run.err)
            self.assertIn("EROICA_LIB_DIR", run.err)

    def test_without_rank_variables_the_first_step_attaches(self):
        script = """
import eroica, recorded_core
assert not eroica.enabled() and recorded_core.read() is None
with eroica.region("before"):
    pass
assert eroica.step() == 0 and eroica.enabled()
"""
        for python in self.each():
            self.assertEqual(self.run_well(python, script, RANK=None).events["steps"], 1)

    def test_a_forked_child_is_off_and_the_parent_stays_on(self):
        script = """
import eroica, os
eroica.step()
child = os.fork()
if child == 0:
    os._exit(0 if eroica.step() == -1 and not eroica.enabled() else 1)
assert os.waitpid(child, 0)[1] == 0
assert eroica.step() == 1
"""
        for python in self.each():
            self.assertEqual(self.run_well(python, script).events["steps"], 2)

    def test_a_collection_of_garbage_is_called_by_the_stack_that_it_struck(self):
        script = """
import eroica, gc
rows = [[i] for i in range(300000)]
def tidy():
    gc.collect()
tidy()
"""
        for python in interpreters.all_interpreters().values():
            stacks = self.run_well(python, script, EROICA_PYTHON_HZ="20").collections
            frames = [[name.partition(": ")[2] or name for name in stack] for stack in stacks]
            self.assertIn(["<module>", "tidy", "<gc collection>"], frames)

    def test_a_collection_of_garbage_is_there_without_stacks(self):
        script = """
import eroica, gc
rows = [[i] for i in range(300000)]
gc.collect()
"""
        for python in self.each():
            stacks = self.run_well(python, script).collections
            self.assertIn(["<gc collection>"], stacks)

    def test_regions_of_other_threads_have_lanes_of_their_own(self):
        script = """
import eroica, threading
def work():
    with eroica.region("elsewhere"):
        pass
thread = threading.Thread(target=work)
thread.start()
thread.join()
with eroica.region("here"):
    pass
"""
        for python in self.each():
            events = self.run_well(python, script).events
            lanes = [events["lanes"][row["lane"]]["kind"] for row in events["intervals"]]
            self.assertEqual(lanes, [0, 1])


if __name__ == "__main__":
    unittest.main()

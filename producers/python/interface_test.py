"""No call of Eroica throws: the whole public interface, in every CPython of this machine, with
values that it is not meant for, in every state of the process."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

STILL_WORKS = """
with eroica.region("afterwards"):
    pass
with eroica.collective("barrier", group="afterwards", ranks=[0, 1]):
    pass
"""
EVERYTHING = (
    """
import eroica, every_call
assert eroica.enabled(), eroica.off_reason()
every_call.everything()
"""
    + STILL_WORKS
)
MOST_LINES = 16  # one for each call and kind of value, and not one for each value


class InterfaceTest(unittest.TestCase):
    def each(self):
        return interpreters.all_interpreters().values()

    def run_quietly(self, python, script, processes=1, **changes):
        run = interpreters.run(python, script, PYTHONWARNINGS="ignore", **changes)
        self.assertEqual(run.status, 0, (python, run.err))
        self.assertEqual(run.out, "")
        for line in run.err.splitlines():
            self.assertTrue(line.startswith("eroica: ") and len(line) < 200, (python, line))
        self.assertLessEqual(len(run.err.splitlines()), processes * MOST_LINES)
        return run

    def check_still_works(self, run):
        functions = run.events["functions"]
        names = {functions[row["function"]]["name"] for row in run.events["intervals"]}
        self.assertIn("afterwards", names)
        last = run.events["operations"][-1]
        self.assertTrue(last["ended"])
        self.assertEqual(run.events["communicators"][last["communicator"]]["ranks"], [0, 1])
        open_ones = [row for row in run.events["operations"] if not row["ended"] and not row["dropped"]]
        self.assertEqual(open_ones, [], "an operation that nobody ends is seen as a hang")
        self.assertEqual(run.events["misuse"], 0)

    def test_with_every_wrong_value_where_eroica_is_on(self):
        for python in self.each():
            self.check_still_works(self.run_quietly(python, EVERYTHING))

    def test_with_every_wrong_value_through_ctypes(self):
        script = "import eroica\nfrom eroica import life, native\n"
        script += "native._BUILT_IN = ()\nlife.native = native.load()\n" + EVERYTHING
        for python in self.each():
            self.check_still_works(self.run_quietly(python, script))

    def test_with_every_wrong_value_where_eroica_is_off(self):
        script = EVERYTHING.replace("assert eroica.enabled()", "assert not eroica.enabled()")
        for python in self.each():
            for changes in (
                {"EROICA_RECORDING": None},
                {"EROICA_DISABLE": "1"},
                {"EROICA_LIB_DIR": "/nowhere"},
                {"EROICA_ATTACHED": "1:0"},
            ):
                self.run_quietly(python, script, epilogue=False, **changes)

    def test_variables_that_are_no_numbers(self):
        script = "import eroica\neroica.step()\n" + STILL_WORKS
        for python in self.each():
            for text in ("\u00b2", "\u0663", "9" * 5000, "-1", "1e9", " "):
                self.run_quietly(
                    python,
                    script,
                    RANK=None,
                    WORLD_SIZE=text,
                    EROICA_ATTACHED=text,
                    EROICA_PYTHON_HZ=text,
                    PYTHONUTF8="1",
                )

    def test_with_every_wrong_value_in_a_fork_and_in_threads(self):
        script = """
import eroica, every_call, os, threading
child = os.fork()
if child == 0:
    try:
        every_call.everything()
    except BaseException as error:
        print(repr(error))
    else:
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
wrong = []
def work():
    try:
        every_call.everything()
    except BaseException as error:
        wrong.append(error)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong
"""
        for python in self.each():
            self.check_still_works(self.run_quietly(python, script + STILL_WORKS, processes=2))

    def test_with_every_wrong_value_after_exit(self):
        script = """
import atexit, sys
def late():
    import every_call
    every_call.everything()
    print("late", file=sys.stderr, flush=True) if eroica.enabled() else None
atexit.register(late)
import eroica, every_call
class Late:
    def __del__(self, step=eroica.step, region=eroica.region, loader=eroica.dataloader):
        step()
        with region("late"): pass
        loader([]).__iter__
sys.late = Late()
open_region = eroica.region("open")
open_region.__enter__()
"""
        for python in self.each():
            self.run_quietly(python, script, epilogue=False)

    def test_a_standard_error_that_raises(self):
        script = """
import sys
class Broken:
    def write(self, text): raise RuntimeError("of the script's own stream")
own, sys.stderr = sys.stderr, Broken()
import eroica, every_call
every_call.everything()
sys.stderr = own
"""
        for python in self.each():
            self.run_quietly(python, script + STILL_WORKS)

    def test_a_wrong_value_costs_a_line_and_not_one_each_step(self):
        script = """
import eroica
for step in range(1000):
    with eroica.collective("all_reduce", nbytes="many %d" % step): pass
    with eroica.collective("all_reduce", ranks=[step, object()]): pass
"""
        for python in self.each():
            run = self.run_quietly(python, script)
            self.assertEqual(len(run.err.splitlines()), 2, run.err)

    def test_an_interrupt_passes(self):
        script = """
import eroica
class Interrupting:
    def __init__(self, error): self.error = error
    def __index__(self): raise self.error
for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
    error = kind()
    try:
        with eroica.collective("send", peer=Interrupting(error)): pass
    except BaseException as passed:
        assert passed is error
    else:
        raise AssertionError("it is lost")
"""
        for python in self.each():
            self.run_quietly(python, script)

    def test_one_region_in_many_places_at_once(self):
        script = """
import eroica, threading, time
shared = eroica.region("shared")
inside = threading.Barrier(2)
def outer():
    with shared:
        inside.wait(); inside.wait()
def inner():
    inside.wait()
    with shared:
        with shared: pass
    inside.wait()
thread = threading.Thread(target=inner)
thread.start()
outer()
thread.join()
"""
        for python in self.each():
            rows = self.run_quietly(python, script).events["intervals"]
            self.assertEqual(len(rows), 3, python)
            longest = max(rows, key=lambda row: row["end"] - row["start"])
            others = [row for row in rows if row is not longest]
            self.assertEqual(others[0]["lane"], others[1]["lane"])
            for row in others:  # the thread that came first stays inside longest
                self.assertGreaterEqual(row["start"], longest["start"])
                self.assertLessEqual(row["end"], longest["end"])
                self.assertNotEqual(row["lane"], longest["lane"])


if __name__ == "__main__":
    unittest.main()

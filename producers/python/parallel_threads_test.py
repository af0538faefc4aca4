"""Threads of a script that call Eroica at once, in every CPython of this machine, against the
recorded core. Where Python has no GIL they really do; where it has one, they switch as often as it
lets them."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

THREADS, TURNS = 8, 400

AT_ONCE = f"""
import eroica, sys, threading
sys.setswitchinterval(1e-6)
eroica.step()
barrier = threading.Barrier({THREADS})
def at_once(work):
    def run():
        barrier.wait()
        for _ in range({TURNS}):
            work()
    threads = [threading.Thread(target=run) for _ in range({THREADS})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

STEPS = AT_ONCE + """
def work():
    eroica.step()
    with eroica.region("own"):
        pass
    eroica.optimizer_step()
at_once(work)
"""

ONE_REGION = AT_ONCE + """
shared = eroica.region("shared")
def work():
    with shared:
        with shared:
            pass
at_once(work)
assert not shared._starts, shared._starts
"""

ONE_COLLECTIVE = AT_ONCE + """
shared = eroica.collective("all_reduce")
def work():
    with shared:
        pass
at_once(work)
"""

ONE_CHECKPOINT = AT_ONCE + """
shared = eroica.checkpoint()
def work():
    with shared:
        pass
at_once(work)
"""

ONE_LINE = AT_ONCE + """
def work():
    eroica.step("surplus")
at_once(work)
"""

# The first signs of training of all threads: one of them attaches.
FIRST_SIGNS = AT_ONCE.replace("eroica.step()\n", "", 1) + """
def work():
    eroica.step()
    with eroica.collective("all_reduce"):
        pass
at_once(work)
assert eroica.enabled()
"""

# While others enter and leave, one thread leaves what another has entered.
LEFT_ELSEWHERE = AT_ONCE + """
import queue
entered = queue.SimpleQueue()
shared = eroica.region("shared")
for _ in range(3):
    entered.put(shared.__enter__())
def leave():
    entered.get().__exit__(None, None, None)
threads = [threading.Thread(target=leave) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


class ParallelThreadsTest(unittest.TestCase):
    def runs(self, script, **changes):
        for python in interpreters.all_interpreters().values():
            run = interpreters.run(python, script, EROICA_PYTHON_HZ="100", **changes)
            self.assertEqual((run.status, run.err), (0, ""), python)
            self.assertEqual(run.events["misuse"], 0, python)
            yield run

    def count(self, run, name):
        functions = run.events["functions"]
        return sum(functions[row["function"]]["name"] == name for row in run.events["intervals"])

    def test_all_that_threads_say_at_once_is_taken(self):
        for run in self.runs(STEPS):
            self.assertEqual(self.count(run, "own"), THREADS * TURNS)

    def test_each_entry_of_an_object_that_threads_share_has_its_end(self):
        for run in self.runs(ONE_REGION):
            self.assertEqual(self.count(run, "shared"), 2 * THREADS * TURNS)
        for run in self.runs(ONE_COLLECTIVE):
            ended = [row["ended"] for row in run.events["operations"]]
            self.assertEqual(ended, THREADS * TURNS * [True])
        for run in self.runs(ONE_CHECKPOINT):
            kinds = run.marks()
            self.assertEqual((kinds.count(4), kinds.count(5)), (THREADS * TURNS, THREADS * TURNS))

    def test_what_another_thread_has_entered_is_left(self):
        for run in self.runs(LEFT_ELSEWHERE):
            self.assertEqual(self.count(run, "shared"), 3)

    def test_a_line_that_all_would_say_is_said_once(self):
        for python in interpreters.all_interpreters().values():
            run = interpreters.run(python, ONE_LINE)
            self.assertEqual((run.status, len(run.err.splitlines())), (0, 1), run.err)

    def test_of_first_signs_that_come_at_once_one_attaches(self):
        for run in self.runs(FIRST_SIGNS, RANK=None, WORLD_SIZE=None):
            self.assertTrue(run.events["operations"])


if __name__ == "__main__":
    unittest.main()

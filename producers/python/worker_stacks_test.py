"""Where the worker of a data loader is while the training thread waits for its batch, in every
CPython of this machine, against the recorded core."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

OTHER_LANE = 0  # a lane's kind: no training thread
WAIT = "(waiting for the data loader's 1 worker, dataset Slow)"

# A worker as PyTorch makes it: LOOP is what the child runs, CHILD how the parent makes it.
SCRIPT = """
import eroica, os, recorded_core, signal, subprocess, sys, time, warnings
from eroica import annotations, life, native
warnings.simplefilter("ignore")  # of os.fork beside other threads
def decode():
    time.sleep(0.05)
def load():
    decode()
def _worker_loop():
    while True:
        load()
def other_loop():
    while True:
        load()
def fork(loop):
    process = os.fork()
    if process == 0:
        loop()
    return process
def spawn(loop):
    code = f'''
import time
def decode():
    time.sleep(0.05)
def load():
    decode()
def {loop}():
    while True:
        load()
{loop}()
'''
    return subprocess.Popen([sys.executable, "-c", code]).pid
def seconds_of(text):
    events = recorded_core.read()
    return sum((i["end"] - i["start"]) * 1e-9 for i in events["intervals"]
               if text in events["functions"][i["function"]]["name"])
def wait_for(worker, until):
    function = annotations.function_of(WAIT, native.WAIT_OTHER)
    start = time.monotonic_ns()
    life.native.enter(function, True)
    life.native.await_worker(worker, function)
    until()
    events = recorded_core.read()
    print(events["functions"][events["training_function"]]["name"])
    life.native.await_worker(0, function)
    life.native.interval(start, function)
def seen():
    deadline = time.monotonic() + 60
    while seconds_of("decode") < 0.5:
        assert time.monotonic() < deadline, recorded_core.text()[-2000:]
        time.sleep(0.02)
eroica.step()
processes = [CHILDREN]
try:
    for process in processes:
        wait_for(process, lambda: UNTIL)
finally:
    for process in processes:
        os.kill(process, signal.SIGKILL)
    for process in processes:
        try:
            os.waitpid(process, 0)
        except ChildProcessError:
            pass
"""


class WorkerStacksTest(unittest.TestCase):
    def run_waits(self, python, children, until):
        script = SCRIPT.replace("WAIT,", f"{WAIT!r},")
        script = script.replace("CHILDREN", children).replace("UNTIL", until)
        run = interpreters.run(python, script, EROICA_PYTHON_HZ="100")
        self.assertEqual((run.status, run.err), (0, ""), python)
        self.assertEqual(run.events["misuse"], 0)
        return run

    def each(self):
        return interpreters.all_interpreters().values()

    def rows_of_worker(self, run):
        return [
            row for row in run.events["intervals"] if len(run.stack(row["function"])) > 1
            and run.stack(row["function"])[0] == WAIT
        ]

    def calls_of_worker(self, run):
        """By function, without the places."""
        return {
            tuple(name.rpartition(": ")[2] for name in run.stack(row["function"])[1:])
            for row in self.rows_of_worker(run)
        }

    def test_the_stack_of_the_worker_is_called_by_the_wait(self):
        for python in self.each():
            run = self.run_waits(python, "fork(_worker_loop)", "seen()")
            rows = self.rows_of_worker(run)
            self.assertIn(("load", "decode"), self.calls_of_worker(run))
            lanes = [run.events["lanes"][row["lane"]]["kind"] for row in rows]
            self.assertEqual(set(lanes), {OTHER_LANE})
            self.assertGreater(run.time_of("waiting for the data"), 0.4)
            self.assertRegex(run.out, ": (decode|load)$", "for reports of progress")

    def test_another_worker_is_read_as_it_is(self):
        for python in self.each():
            run = self.run_waits(
                python, "fork(_worker_loop), fork(_worker_loop)", "time.sleep(0.5)"
            )
            stacks = [run.stack(row["function"])[-1] for row in self.rows_of_worker(run)]
            self.assertTrue(stacks)
            self.assertTrue(all(name.endswith((": decode", ": load")) for name in stacks), stacks)

    # From 3.13 on CPython says where its threads are found.
    def test_a_worker_that_was_spawned_is_found_by_its_interpreter(self):
        for version, python in interpreters.all_interpreters().items():
            known = int(version.rstrip("t").partition(".")[2]) >= 13
            run = self.run_waits(
                python, "spawn('_worker_loop')", "seen()" if known else "time.sleep(1.5)"
            )
            calls = self.calls_of_worker(run)
            self.assertEqual(("load", "decode") in calls, known, (version, calls))

    def test_what_is_no_worker_has_no_stack(self):
        for python in self.each():
            run = self.run_waits(python, "fork(other_loop), spawn('other_loop')", "time.sleep(0.4)")
            self.assertEqual(self.rows_of_worker(run), [])
            self.assertGreater(run.time_of("waiting for the data"), 0.7)
            self.assertEqual(run.out.splitlines(), [WAIT, WAIT])


if __name__ == "__main__":
    unittest.main()

"""The stack sampler in real programs, in every CPython of this machine, against the recorded
core."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

TRAINING = 1  # a lane's kind
WAIT_NONE, WAIT_OTHER = 0, 2

# Works until enough samples were taken, not for a time: a machine that is busy takes longer.
UNTIL = """
import eroica, recorded_core, time
def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition(recorded_core.read()):
        assert time.monotonic() < deadline, recorded_core.text()[-2000:]
        yield
def seconds_of(events, text):
    return sum((i["end"] - i["start"]) * 1e-9 for i in events["intervals"]
               if text in events["functions"][i["function"]]["name"])
"""

LOOP = UNTIL + """
def inner():
    total = 0
    for i in range(300000):
        total += i * i
    return total
def outer():
    return inner()
def main():
    for _ in until(lambda events: seconds_of(events, "inner") > 0.5):
        for _ in range(20):
            outer()
main()
"""

SLEEPER = UNTIL + """
def load():
    time.sleep(0.25)
def main():
    for _ in until(lambda events: seconds_of(events, "load") > 1):
        load()
main()
"""

C_CALL_IN_CALLER = UNTIL + """
numbers = (1 << 3000000)
def small():
    return 1
def caller():
    for _ in range(40):
        numbers * numbers   # an operator is no call: the interpreter looks up in small()
        small()
def main():
    for _ in until(lambda events: seconds_of(events, "caller") + seconds_of(events, "small") > 0.5):
        caller()
main()
"""


# Statistics of the sampler: a row of StackSamplerStatistics.
STATISTICS = UNTIL + """
import ctypes, os
def statistics():
    names = ("samples", "unread", "visits", "visit_ns", "ticks", "gil_waits")
    values = (ctypes.c_uint64 * len(names))()
    library = ctypes.CDLL(os.path.join(os.environ["EROICA_LIB_DIR"], "liberoica_python.so"))
    library.eroica_python_sampler_statistics(values)
    return dict(zip(names, values))
"""

GIL_HELD_IN_C = STATISTICS + """
number = 3 ** 1000000
eroica.step()
before = statistics()
def hold():
    number * number  # one operation, which keeps the GIL
hold()
after = statistics()
print(after["samples"] - before["samples"])
"""

CALLS_AND_NEW_CODE = STATISTICS + """
eroica.step()
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def made(k):
    scope = {}
    exec(f"def made_{k}():\\n    return sum(i for i in range(3))", scope)
    return scope[f"made_{k}"]
def churn():
    for k in range(400):
        made(k % 40)()
deadline = time.monotonic() + 60
while statistics()["samples"] < 100 and time.monotonic() < deadline:
    fib(16)
    churn()
counts = statistics()
print(counts["samples"], counts["unread"])
"""

# Each thread of a free-threaded build runs a copy of the bytecode of its own, and frees objects while
# others are read.
BESIDE_THREADS_WITH_THE_SAME_CODE = CALLS_AND_NEW_CODE.replace("\ndeadline", """
import threading
def beside():
    while not ended.is_set():
        fib(12)
        churn()
ended = threading.Event()
threads = [threading.Thread(target=beside) for _ in range(3)]
for thread in threads:
    thread.start()
deadline""", 1).replace("\ncounts", """
ended.set()
for thread in threads:
    thread.join()
counts""", 1)

HOG_BESIDE_A_STEP = """
import threading
def hog():
    x = 0
    while True:
        x += 1
threading.Thread(target=hog, name="hog-thread", daemon=True).start()
def step():
    for _ in range(1000):
        time.sleep(0)   # gives the GIL away and waits for it, as operators of a framework do
        break
"""

KNOWN_FRAMES = ("<module>|fib|made|churn|until|seconds_of|<genexpr>|<listcomp>|<lambda>|read|text"
                "|statistics|made_[0-9]+|[a-z_.]+/.*|[a-z_]+[.]py.*")


class SamplerTest(unittest.TestCase):
    def each(self):
        return interpreters.all_interpreters().values()

    def run_sampled(self, python, script, hz="100", **changes):
        run = interpreters.run(python, script, EROICA_PYTHON_HZ=hz, **changes)
        self.assertEqual((run.status, run.err), (0, ""), python)
        self.assertEqual(run.events["misuse"], 0)
        return run

    def test_a_loop_that_never_gives_the_gil_away_is_seen(self):
        for python in self.each():
            run = self.run_sampled(python, LOOP)
            stacks = {tuple(run.stack(row["function"])) for row in run.events["intervals"]}
            wanted = [stack for stack in stacks if "inner" in stack[-1]]
            self.assertTrue(wanted, stacks)
            names = [name.partition(": ")[2] for name in wanted[0]]
            self.assertEqual(names, ["<module>", "main", "outer", "inner"])
            self.assertRegex(wanted[0][-1], r"^train\.py\(\d+\): inner$")
            lanes = {run.events["lanes"][row["lane"]]["kind"] for row in run.events["intervals"]}
            self.assertEqual(lanes, {TRAINING})
            self.assertIsNotNone(run.events["training_function"])

    def test_intervals_cover_the_time_without_holes_or_overlaps(self):
        for python in self.each():
            run = self.run_sampled(python, LOOP)
            functions = run.events["functions"]
            rows = [
                row
                for row in run.events["intervals"]
                if "GIL" not in functions[row["function"]]["name"]
            ]
            for before, after in zip(rows, rows[1:]):
                self.assertEqual(before["end"], after["start"])

    def test_a_long_call_belongs_to_its_caller(self):
        for python in self.each():
            run = self.run_sampled(python, SLEEPER)
            total = sum((row["end"] - row["start"]) * 1e-9 for row in run.events["intervals"])
            # Which function has most of the time, not how much: that is the machine's to say.
            self.assertGreater(run.time_of("load"), total - run.time_of("load"))

    def test_a_sleep_in_each_step_is_told_as_long_as_it_is_by_few_stacks(self):
        script = UNTIL + """
def slow():
    time.sleep(0.02)
def work():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass
slept = 0
for _ in range(80):
    eroica.step()
    with eroica.region("both"):
        work()
        begin = time.monotonic()
        slow()
        slept += time.monotonic() - begin
    work()
eroica.step()
print(slept)
"""
        for python in self.each():
            run = self.run_sampled(python, script, hz="10")
            # On a busy machine it waits for a processor when it wakes up.
            waits = [row for row in run.processor_waits if "slow" in run.stack(row["function"])]
            told = run.time_of("slow") + sum((row["end"] - row["start"]) * 1e-9 for row in waits)
            # Some twenty stacks divide it. stack_attribution_test checks it exactly.
            self.assertGreater(told, 0.6 * 80 * 0.02)
            self.assertLess(told, 1.4 * float(run.out))
            within = [row for row in run.events["intervals"] if "both" in run.stack(row["function"])]
            self.assertTrue(within)

    def test_a_call_into_c_that_keeps_the_gil_is_seen_while_it_lasts(self):
        for python in self.each():
            self.assertGreater(int(self.run_sampled(python, GIL_HELD_IN_C).out), 2, python)

    def check_changing_code(self, script, most_unread):
        for python in self.each():
            run = self.run_sampled(python, script, hz="1000")
            read, unread = map(int, run.out.split())
            self.assertGreater(read * most_unread, unread)
            for row in run.events["functions"]:
                if row["name"].startswith("train.py"):
                    self.assertRegex(row["name"], rf"^train[.]py[(][0-9]+[)]: ({KNOWN_FRAMES})$")

    def test_stacks_and_code_that_change_all_the_time_are_read_as_they_are(self):
        self.check_changing_code(CALLS_AND_NEW_CODE, most_unread=0.05)

    def test_stacks_are_read_beside_threads_that_run_and_free_the_same_code(self):
        self.check_changing_code(BESIDE_THREADS_WITH_THE_SAME_CODE, most_unread=0.1)

    def test_time_before_a_function_s_first_instruction_is_its_caller_s(self):
        for python in self.each():
            run = self.run_sampled(python, C_CALL_IN_CALLER)
            self.assertGreater(run.time_of("caller"), run.time_of("small"))

    def test_frames_of_the_interpreter_and_of_eroica_are_left_out(self):
        script = UNTIL + """
def main():
    for _ in until(lambda events: seconds_of(events, "main") > 0.3):
        for _ in range(50):  # reading the events back takes longer the more there are
            with eroica.region("r"):
                eroica.step()
        for _ in range(1000000):
            pass
import runpy
main()
"""
        for python in self.each():
            names = {row["name"] for row in self.run_sampled(python, script).events["functions"]}
            self.assertFalse(
                [name for name in names if "annotations.py" in name or "<frozen i" in name], names
            )

    def test_waits_are_named_as_waits(self):
        script = UNTIL + """
import queue, threading
waits = queue.Queue()
def feed():
    while True:
        time.sleep(0.1)
        waits.put(1)
threading.Thread(target=feed, daemon=True).start()
for _ in until(lambda events: seconds_of(events, ": get") + seconds_of(events, ": wait") > 0.4):
    waits.get()
"""
        for python in self.each():
            run = self.run_sampled(python, script)
            waits = {
                row["name"].partition(": ")[2]
                for row in run.events["functions"]
                if row["wait"] == WAIT_OTHER
            }
            self.assertTrue(waits & {"get", "wait"}, run.events["functions"])

    def test_a_busy_thread_beside_the_loop_is_named_as_the_gil_s_holder(self):
        script = UNTIL + HOG_BESIDE_A_STEP + """
def held(events):
    names = [row["name"] for row in events["functions"]]
    return any("held by thread hog-thread in train.py" in name for name in names)
for _ in until(lambda events: held(events) and seconds_of(events, "held by") > 0.3):
    for _ in range(10):
        step()
"""
        for version, python in interpreters.all_interpreters().items():
            run = self.run_sampled(python, script, **interpreters.with_gil(version))
            name = next(row["name"] for row in run.events["functions"] if "held by" in row["name"])
            self.assertRegex(
                name,
                r"^\(waiting for the GIL, held by thread hog-thread in train\.py\(\d+\): hog\)$",
            )

    def test_where_there_is_no_gil_nothing_waits_for_it(self):
        script = STATISTICS + HOG_BESIDE_A_STEP + """
lock = threading.Lock()
def contend():
    while True:
        with lock:
            shared.append(1)
shared = []
for _ in range(2):
    threading.Thread(target=contend, daemon=True).start()
eroica.step()
deadline = time.monotonic() + 60
while statistics()["ticks"] < 200 and time.monotonic() < deadline:
    step()
    with lock:  # of the interpreter's own locks, which lie elsewhere than the GIL
        shared.clear()
print(statistics()["ticks"], statistics()["gil_waits"])
"""
        for version, python in interpreters.all_interpreters().items():
            if interpreters.is_free_threaded(version):
                run = self.run_sampled(python, script)
                ticks, gil_waits = map(int, run.out.split())
                self.assertGreaterEqual(ticks, 200)
                self.assertEqual(gil_waits, 0)
                self.assertFalse([row for row in run.events["functions"] if "GIL" in row["name"]])

    def test_a_healthy_loop_hardly_waits_for_the_gil(self):
        for python in self.each():
            run = self.run_sampled(python, LOOP, hz="50")
            total = sum((row["end"] - row["start"]) * 1e-9 for row in run.events["intervals"])
            self.assertLess(run.time_of("(waiting for the GIL"), 0.05 * total)
            self.assertFalse([row for row in run.events["functions"] if "held by" in row["name"]])

    def test_full_tracing_nests_calls_and_ends_with_the_window(self):
        script = UNTIL + """
import sys
def leaf():
    time.sleep(0.001)
    return len([1])
def middle():
    leaf()
recorded_core.full_trace(True)
for _ in until(lambda events: seconds_of(events, "<built-in function sleep>") > 0.02):
    middle()
recorded_core.full_trace(False)
middle()
before = len([f for f in recorded_core.read()["intervals"]])
assert sys.getprofile() is None
"""
        for python in self.each():
            run = self.run_sampled(python, script)
            sleeping = next(
                row["function"]
                for row in run.events["intervals"]
                if "sleep" in run.stack(row["function"])[-1]
            )
            names = [name.partition(": ")[2] or name for name in run.stack(sleeping)]
            self.assertEqual(names, ["<module>", "middle", "leaf", "<built-in function sleep>"])
            self.assertIn(
                "<built-in function len>", {row["name"] for row in run.events["functions"]}
            )

    def test_another_profiler_is_left_alone_and_that_is_said_once(self):
        script = UNTIL + """
import sys
mine = lambda frame, event, argument: None
sys.setprofile(mine)
recorded_core.full_trace(True)
for _ in until(lambda events: seconds_of(events, "work") > 0.5):
    def work():
        for i in range(5000000): pass
    work()
assert sys.getprofile() is mine
"""
        for python in self.each():
            run = interpreters.run(python, script, EROICA_PYTHON_HZ="100")
            self.assertEqual((run.status, len(run.err.splitlines())), (0, 1), run.err)


if __name__ == "__main__":
    unittest.main()

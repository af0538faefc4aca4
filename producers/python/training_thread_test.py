"""Which thread is sampled: the one that trains, in real programs, in every CPython of this machine,
against the recorded core."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

TRAINING = 1  # a lane's kind

# Works until enough was recorded, not for a time: a machine that is busy takes longer.
HELP = """
import ctypes, eroica, os, recorded_core, selectors, threading, time
def seconds_of(text):
    events = recorded_core.read()
    return sum((i["end"] - i["start"]) * 1e-9 for i in events["intervals"]
               if text in events["functions"][i["function"]]["name"])
def slow_sleep():
    time.sleep(0.03)
def fast():
    sum(range(2000))
def one_step():
    eroica.step()
    fast()
    slow_sleep()
def train(enough):
    deadline = time.monotonic() + 60
    while not enough():
        assert time.monotonic() < deadline, recorded_core.text()[-3000:]
        for _ in range(5):
            one_step()
def slept():
    return seconds_of("slow_sleep") > 1
def rest_of_main():
    time.sleep(0.03)
def keep_main_busy(seconds):
    while seconds_of("rest_of_main") < seconds:
        rest_of_main()
"""

JOINED = HELP + """
def wait_for_training(thread):
    thread.join()
thread = threading.Thread(target=train, args=(slept,), name="TrainingThread")
thread.start()
wait_for_training(thread)
"""

# Ray Train: the rank's variables are set late, so that the thread's first step attaches.
ATTACHED_BY_THE_THREAD = HELP + """
assert not eroica.enabled()
def loop():
    os.environ.update(RANK="0", WORLD_SIZE="1")
    one_step()
    train(slept)
thread = threading.Thread(target=loop, name="TrainingThread")
thread.start()
thread.join()
keep_main_busy(0.3)
"""

EVENT_LOOP = HELP + """
def main_loop(thread):
    loop = selectors.DefaultSelector()
    read, write = os.pipe()
    loop.register(read, selectors.EVENT_READ)
    while thread.is_alive():
        loop.select(0.05)
thread = threading.Thread(target=train, args=(slept,), name="TrainingThread")
thread.start()
main_loop(thread)
"""

ON_MAIN = HELP + """
train(slept)
"""

ONE_AFTER_THE_OTHER = HELP + """
def first_work():
    time.sleep(0.03)
def second_work():
    time.sleep(0.03)
def trainer(work):
    end = time.monotonic() + 2
    while time.monotonic() < end:
        eroica.step()
        work()
for work in (first_work, second_work):
    thread = threading.Thread(target=trainer, args=(work,))
    thread.start()
    thread.join()
keep_main_busy(0.5)
"""

# Threads that begin and end all the time: their states and ids are used again.
SHORT_LIVES = HELP + """
def short_life(k):
    for _ in range(4):
        eroica.step()
        for _ in range(20):
            fast()
end = time.monotonic() + 4
k = 0
while time.monotonic() < end:
    threads = [threading.Thread(target=short_life, args=(k + i,)) for i in range(3)]
    k += 3
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""

LOADS_AHEAD = HELP + """
def load_ahead():
    for _ in eroica.dataloader(iter(int, 1)):
        time.sleep(0.005)
threading.Thread(target=load_ahead, daemon=True).start()
time.sleep(0.2)
def train_step():
    eroica.optimizer_step()
    slow_sleep()
deadline = time.monotonic() + 60
while not slept():
    assert time.monotonic() < deadline
    for _ in range(5):
        train_step()
"""

FULL_TRACE = HELP + """
import sys
found = []
def traced():
    return seconds_of("<built-in function sleep>") > 0.1
def trainer():
    eroica.step()
    recorded_core.full_trace(True)
    train(traced)
    recorded_core.full_trace(False)
    slow_sleep()
    found.append(sys.getprofile())
thread = threading.Thread(target=trainer)
thread.start()
thread.join()
assert found == [None], found
"""

COLLECTS = "import gc\ngc.disable()\n" + HELP + """
kept = [{"a": [i]} for i in range(200000)]
collected, end = threading.Event(), threading.Event()
def collect():
    gc.collect()
def collect_on_main():
    gc.collect()
def trainer():
    for _ in range(3):
        eroica.step()
        collect()
    collected.set()
    end.wait()
thread = threading.Thread(target=trainer)
thread.start()
collected.wait()
collect_on_main()
end.set()
thread.join()
"""

HELD_GIL = HELP + """
def hog():
    while True:
        pass
def trainer():
    deadline = time.monotonic() + 60
    while "held by thread hog-thread in train.py" not in recorded_core.text():
        assert time.monotonic() < deadline
        for _ in range(20):
            eroica.step()
            time.sleep(0)
threading.Thread(target=hog, name="hog-thread", daemon=True).start()
thread = threading.Thread(target=trainer)
thread.start()
thread.join()
"""

COLLECTIVES = HELP + """
def trainer():
    for _ in range(40):
        eroica.step()
        with eroica.collective("all_reduce"):
            time.sleep(0.02)
        slow_sleep()
thread = threading.Thread(target=trainer)
thread.start()
thread.join()
"""


class TrainingThreadTest(unittest.TestCase):
    def runs(self, script, hz="100", with_gil=False, **changes):
        for version, python in interpreters.all_interpreters().items():
            if with_gil:
                changes.update(interpreters.with_gil(version))
            run = interpreters.run(python, script, EROICA_PYTHON_HZ=hz, **changes)
            self.assertEqual((run.status, run.err), (0, ""), python)
            self.assertEqual(run.events["misuse"], 0)
            yield run

    def names_of(self, run, lane_kind=TRAINING):
        """Seconds by the innermost function, on lanes of that kind."""
        seconds = {}
        for row in run.events["intervals"]:
            if run.events["lanes"][row["lane"]]["kind"] == lane_kind:
                name = run.events["functions"][row["function"]]["name"].partition(": ")[2]
                seconds[name] = seconds.get(name, 0) + (row["end"] - row["start"]) * 1e-9
        return seconds

    def check_is_followed(self, script, waits):
        for run in self.runs(script):
            seconds = self.names_of(run)
            total = sum(seconds.values())
            self.assertGreater(seconds.get("slow_sleep", 0), 0.7 * total, seconds)
            waited = sum(seconds.get(name, 0) for name in waits)
            self.assertLess(waited, 0.1 * total, seconds)
            stacks = {tuple(run.stack(row["function"])) for row in run.events["intervals"]}
            slow = next(stack for stack in stacks if "slow_sleep" in stack[-1])
            names = [name.partition(": ")[2] for name in slow]
            self.assertEqual(names[-3:], ["train", "one_step", "slow_sleep"])
            self.assertEqual(names[0], "_bootstrap")

    def test_the_thread_that_trains_is_seen_where_the_main_thread_joins_it(self):
        waits = ("join", "_wait_for_tstate_lock", "wait_for_training", "<module>")
        self.check_is_followed(JOINED, waits)

    def test_the_thread_that_trains_is_seen_beside_a_main_thread_s_event_loop(self):
        self.check_is_followed(EVENT_LOOP, ("select", "main_loop", "<module>"))

    def test_a_thread_that_attaches_is_seen_and_the_main_thread_behind_it(self):
        for run in self.runs(ATTACHED_BY_THE_THREAD, RANK=None, WORLD_SIZE=None):
            seconds = self.names_of(run)
            self.assertGreater(seconds.get("slow_sleep", 0), 0.8, seconds)
            self.assertGreater(seconds.get("rest_of_main", 0), 0.2, seconds)

    def test_the_main_thread_is_seen_where_it_trains(self):
        for run in self.runs(ON_MAIN):
            seconds = self.names_of(run)
            self.assertGreater(seconds.get("slow_sleep", 0), 0.7 * sum(seconds.values()), seconds)

    def test_a_thread_that_loads_ahead_does_not_train(self):
        for run in self.runs(LOADS_AHEAD):
            seconds = self.names_of(run)
            self.assertGreater(seconds.get("slow_sleep", 0), 0.8, seconds)

    def test_one_trainer_after_the_other_and_the_main_thread_behind_them(self):
        for run in self.runs(ONE_AFTER_THE_OTHER):
            seconds = self.names_of(run)
            for name, least in (("first_work", 1), ("second_work", 1), ("rest_of_main", 0.3)):
                self.assertGreater(seconds.get(name, 0), least, seconds)

    def test_threads_that_begin_and_end_all_the_time_are_read_as_they_are(self):
        for run in self.runs(SHORT_LIVES, hz="1000"):
            for row in run.events["functions"]:
                if row["name"].startswith("train.py"):
                    self.assertRegex(
                        row["name"], r"^train[.]py[(][0-9]+[)]: (<module>|<listcomp>|short_life|fast)$"
                    )
            for row in run.events["intervals"]:
                names = [name.partition(": ")[2] for name in run.stack(row["function"])]
                if names[-1] in ("short_life", "fast"):
                    self.assertEqual(names[0], "_bootstrap", names)

    def test_full_tracing_comes_with_the_trainer_s_next_call(self):
        for run in self.runs(FULL_TRACE, hz="50"):
            sleeping = next(
                row["function"]
                for row in run.events["intervals"]
                if "built-in function sleep" in run.stack(row["function"])[-1]
            )
            names = [name.partition(": ")[2] or name for name in run.stack(sleeping)]
            self.assertEqual(names[-3:], ["one_step", "slow_sleep", "<built-in function sleep>"])

    def test_collections_of_the_trainer_are_seen_and_no_others(self):
        for run in self.runs(COLLECTS):
            stacks = [[name.partition(": ")[2] for name in stack] for stack in run.collections]
            self.assertEqual({stack[-2] for stack in stacks}, {"collect"})

    def test_who_holds_the_gil_is_another_thread_than_the_trainer(self):
        for run in self.runs(HELD_GIL, with_gil=True):
            self.assertTrue([r for r in run.events["functions"] if "held by" in r["name"]])
            self.assertFalse([r for r in run.events["functions"] if "trainer" in r["name"]
                              and "held by" in r["name"]])

    def test_a_collective_of_the_trainer_is_on_its_lane_and_no_stack_s_time(self):
        for run in self.runs(COLLECTIVES):
            lanes = {row["interval"]["lane"] for row in run.events["operations"]}
            kinds = {run.events["lanes"][lane]["kind"] for lane in lanes}
            self.assertEqual(kinds, {TRAINING})
            seconds = self.names_of(run)
            self.assertLess(seconds.get("trainer", 0), 0.4, seconds)
            self.assertGreater(seconds.get("slow_sleep", 0), 0.7, seconds)


if __name__ == "__main__":
    unittest.main()

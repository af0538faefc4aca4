"""A rank is replaced while the others go on, with small real jobs."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from launch_test import DEADLINE_S, FOLDER, descendants, launch, running, wait_until

STEPS = 60


def order(path, rank):
    """What the launcher answers to an order, and the exit code."""
    process = subprocess.run([sys.executable, os.path.join(FOLDER, "replace_rank.py"), path, rank],
                             stdout=subprocess.PIPE, text=True, timeout=DEADLINE_S)
    return json.loads(process.stdout), process.returncode


class Replacement(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.socket = os.path.join(self.folder, "orders")
        self.ends = os.path.join(self.folder, "ends")

    def start(self, *arguments):
        process = launch("--ranks", "3", "--seed", "5", "--step-ends", self.ends, "--truth", self.folder, *arguments)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def steps_done(self):
        if not os.path.exists(self.ends):
            return []
        with open(self.ends) as file:
            return [int(line.split()[0]) for line in file.read().splitlines(True) if line.endswith("\n")]

    def truth_of(self, rank):
        with open(os.path.join(self.folder, f"rank_{rank}.json")) as file:
            return json.load(file)

    def replace(self, rank):
        process = self.start("--steps", str(STEPS), "--standby", self.socket)
        wait_until(lambda: len(self.steps_done()) > 3, "the first steps")
        before = set(descendants(process.pid))
        answer, code = order(self.socket, str(rank))
        self.assertEqual(code, 0, answer)
        self.assertEqual(answer["replaced"], rank)
        self.assertEqual(order(self.socket, str(rank))[0], {"refused": "the standby has a rank already"})
        output = process.communicate(timeout=DEADLINE_S)[0]
        self.assertEqual(process.returncode, 0, output)
        self.assertFalse(os.path.exists(self.socket))
        self.assertEqual(running(before), [])
        return answer["first_step"]

    def test_the_others_go_on_and_all_ranks_have_the_same_parameters(self):
        for rank in (1, 0):  # rank 0 is where ranks meet
            with self.subTest(rank=rank):
                if os.path.exists(self.ends):
                    os.unlink(self.ends)
                first = self.replace(rank)
                self.assertEqual(self.steps_done(), list(range(STEPS)), "no step twice, none left out")
                truths = [self.truth_of(r) for r in range(3)]
                self.assertEqual(len({truth["parameters"] for truth in truths}), 1)
                for truth in truths:
                    steps = STEPS - first if truth["rank"] == rank else STEPS
                    self.assertEqual(len(truth["losses"]), steps)
                healthy = truths[2]["losses"]
                self.assertLess(healthy[-1], 0.7 * healthy[0])

    def test_orders_that_cannot_be_are_refused_and_the_job_goes_on(self):
        process = self.start("--steps", str(STEPS), "--standby", self.socket)
        wait_until(lambda: self.steps_done(), "the first step")
        self.assertEqual(order(self.socket, "7"), ({"refused": "there is no rank 7 among 3"}, 1))
        process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.steps_done(), list(range(STEPS)))

    def test_a_standby_that_has_died_is_reported(self):
        process = self.start("--steps", "100000", "--standby", self.socket)
        wait_until(lambda: self.steps_done(), "the first step")
        standby = [pid for pid in descendants(process.pid) if is_standby(pid)]
        self.assertEqual(len(standby), 1)
        os.kill(standby[0], 9)
        wait_until(lambda: not running(standby), "the standby gone")
        self.assertEqual(order(self.socket, "1"), ({"refused": "the standby has ended"}, 1))
        process.terminate()
        process.communicate(timeout=DEADLINE_S)

    def test_a_restart_goes_on_from_its_checkpoint(self):
        process = self.start("--steps", "20", "--restart-after", "9")
        output = process.communicate(timeout=DEADLINE_S)[0]
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(self.steps_done(), list(range(20)))
        self.assertEqual(len({self.truth_of(rank)["parameters"] for rank in range(3)}), 1)
        self.assertEqual(len(self.truth_of(0)["losses"]), 10)


def is_standby(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"--standby\0" in file.read()


if __name__ == "__main__":
    unittest.main()

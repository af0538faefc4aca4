"""The launcher's exit codes, signals and cleaning up, with small real jobs."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import rank_network

FOLDER = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 120.0


def launch(*arguments, **options):
    command = [sys.executable, os.path.join(FOLDER, "launch.py"), "--backend", "numpy"]
    return subprocess.Popen(command + list(arguments), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, **options)


def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {DEADLINE_S:g} s: {what}")
        time.sleep(0.02)


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def descendants(pid):
    """Running processes that the process started, or that these did."""
    found = []
    for entry in os.listdir("/proc"):
        fields = read_proc(entry, "stat").rpartition(b")")[2].split()
        if entry.isdigit() and len(fields) > 1 and fields[0] != b"Z" and int(fields[1]) == pid:
            found += [int(entry)] + descendants(int(entry))
    return found


def running(pids):
    return [pid for pid in pids
            if read_proc(pid, "stat").rpartition(b")")[2].split()[:1] not in ([], [b"Z"])]


def named(pids, name):
    return [pid for pid in pids if read_proc(pid, "comm").strip() == name]


class Launch(unittest.TestCase):
    def start(self, *arguments):
        process = launch(*arguments)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_trains_with_falling_loss_and_all_ranks_write_their_truth(self):
        with tempfile.TemporaryDirectory() as folder:
            process = self.start("--ranks", "3", "--steps", "60", "--truth", folder)
            output = process.communicate(timeout=DEADLINE_S)[0]
            self.assertEqual(process.returncode, 0, output)
            self.assertIn("step 60: loss", output)
            for rank in range(3):
                with open(os.path.join(folder, f"rank_{rank}.json")) as file:
                    truth = json.loads(file.read())
                self.assertEqual(len(truth["times"]["step_ms"]), 60)
                self.assertLess(truth["losses"][-1], 0.6 * truth["losses"][0])
                self.assertGreater(truth["bytes_sent"], 0)

    def test_exit_code_is_that_of_the_rank_that_failed(self):
        process = self.start("--ranks", "3", "--steps", "100000")
        wait_until(lambda: len(descendants(process.pid)) == 3, "three ranks")
        ranks = descendants(process.pid)
        os.kill(min(ranks), signal.SIGKILL)
        output = process.communicate(timeout=DEADLINE_S)[0]
        self.assertEqual(process.returncode, 128 + signal.SIGKILL, output)
        self.assertEqual(running(ranks), [])

    def test_a_signal_ends_all_ranks(self):
        process = self.start("--ranks", "2", "--steps", "100000", "--log-every", "1")
        self.assertIn("step 1:", process.stdout.readline())
        ranks = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(running(ranks), [])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
    def test_no_neighbour_outlives_a_launcher_that_is_killed(self):
        process = self.start("--ranks", "2", "--steps", "100000", "--log-every", "1", "--fault",
                             "neighbor", "--fault-rank", "1", "--fault-step", "6")
        wait_until(lambda: len(named(descendants(process.pid), b"stress_neighbor")) > 1,
                   "busy neighbours")
        everybody = descendants(process.pid)
        process.kill()
        wait_until(lambda: not running(everybody), f"all of {everybody} gone")

    def test_a_slow_link_has_a_network_to_be_slow_in(self):
        """Ranks of one network namespace exchange data over loopback, which is no link."""
        if subprocess.run([*rank_network.NAMESPACES, "ip", "link"], capture_output=True).returncode != 0:
            self.skipTest("namespaces, or the programs that make them, are not to be had here")
        process = self.start("--ranks", "3", "--steps", "400", "--fault", "link", "--fault-rank", "1",
                             "--fault-step", "16")

        def networks():
            training = [pid for pid in descendants(process.pid) if b"train.py" in read_proc(pid, "cmdline")]
            return {os.stat(f"/proc/{pid}/ns/net").st_ino for pid in training}

        wait_until(lambda: len(networks()) == 3, "each rank has a network of its own")
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=DEADLINE_S)[0]
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, output)

    def test_a_mistaken_command_line_starts_nothing(self):
        for arguments in (["--ranks", "0"], ["--fault", "compute", "--fault-rank", "8"],
                          ["--fault", "gc", "--fault-step", "2"], ["--fault", "nonsense"]):
            with self.subTest(arguments=arguments):
                process = self.start(*arguments)
                process.communicate(timeout=DEADLINE_S)
                self.assertEqual(process.returncode, 2)


if __name__ == "__main__":
    unittest.main()

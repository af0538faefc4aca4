"""What libproducer_core.so does to the process that it is loaded into, whatever happens there."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CORE = os.environ["EROICA_TEST_CORE"]
PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
HOST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing", "host.py")


class HostProcess(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="eroica-host-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.recording = os.path.join(self.folder, "recording")
        # Makes the topics.
        subprocess.run([PROGRAM, "node", "--recording", self.recording, "--drain"], check=False, capture_output=True)
        subprocess.run([PROGRAM, "topics", "create", "--recording", self.recording], check=True, capture_output=True)

    def environment(self, **variables):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EROICA_")}
        base = {"EROICA_RECORDING": self.recording, "EROICA_EXCHANGE": os.path.join(self.folder, "exchange"), "RANK": "0",
                "WORLD_SIZE": "2", "PYTHONDONTWRITEBYTECODE": "1"}
        return {name: value for name, value in {**inherited, **base, **variables}.items() if value is not None}

    def start(self, scenario, *arguments, **variables):
        return subprocess.Popen([sys.executable, HOST, CORE, scenario, *arguments], env=self.environment(**variables),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_host(self, scenario, *arguments, timeout=60, **variables):
        process = self.start(scenario, *arguments, **variables)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail(f"{scenario} hangs: {process.communicate()}")
        return process.returncode, out, err

    def state_of(self, process):
        with open(f"/proc/{process.pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]

    def statistics(self, out):
        return json.loads(out.splitlines()[-1].removeprefix("done "))

    def drained(self):
        """What a node reads of the recording: its counters of the stage summarize."""
        state = os.path.join(self.folder, "state")
        run = subprocess.run([PROGRAM, "node", "--recording", self.recording, "--state", state, "--drain"], check=True,
                             capture_output=True, text=True)
        line = next(line for line in run.stderr.splitlines() if line.startswith("summarize:"))
        return {name: int(value) for name, value in (word.split("=") for word in line.split()[1:])}

    def test_everything_arrives_when_the_process_ends_by_itself(self):
        code, out, err = self.run_host("steps", "200")
        self.assertEqual((code, err), (0, ""))
        statistics = self.statistics(out)
        self.assertEqual(statistics["lost"], 0)
        counters = self.drained()
        self.assertGreater(counters["received"], 0)
        self.assertEqual(counters["dead_lettered"], 0)
        self.assertGreater(counters["emitted"], 0)

    def test_hard_exit_keeps_the_code_and_what_was_sent(self):
        code, _, err = self.run_host("hard_exit")
        self.assertEqual((code, err), (7, ""))
        self.assertEqual(self.drained()["dead_lettered"], 0)

    def test_killed_leaves_a_recording_that_can_be_read(self):
        code, _, _ = self.run_host("killed")
        self.assertEqual(code, -signal.SIGKILL)
        counters = self.drained()
        self.assertGreater(counters["processed"], 0)
        self.assertEqual(counters["dead_lettered"], 0)

    def test_stopped_and_continued(self):
        process = self.start("steps", "400")
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + 10
        while self.state_of(process) != "T":
            self.assertLess(time.monotonic(), deadline)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (0, ""))
        self.assertEqual(self.statistics(out)["lost"], 0)

    def test_children_of_a_rank_are_not_the_rank(self):
        code, out, err = self.run_host("forks")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("children [0]", out)
        code, out, err = self.run_host("spawned", CORE)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("ready False rank 0 is attached in process", out)

    def test_a_child_that_is_told_its_rank_is_missed_where_its_parent_only_assumes_it(self):
        """As in a script that trains by itself, and then starts the ranks of its job."""
        told = ("RANK=0", "WORLD_SIZE=2")
        code, out, err = self.run_host("spawned", CORE, *told, RANK=None, WORLD_SIZE=None)
        self.assertEqual(code, 0)
        self.assertIn("ready False rank 0 is attached in process", out)
        self.assertRegex(err, r"^eroica: this process is not captured: rank 0 is attached in process \d+ already.*\n$")
        code, _, err = self.run_host("spawned", CORE, *told)
        self.assertEqual((code, err), (0, ""))

    def test_what_only_starts_the_trainer_hands_its_rank_over(self):
        code, out, err = self.run_host("starts_the_trainer", CORE)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("child on True", out)
        self.assertIn("child 0 enabled False", out)
        counters = self.drained()
        self.assertEqual(counters["dead_lettered"], 0)
        self.assertGreater(counters["emitted"], 0)

    def test_what_has_handed_its_rank_over_takes_it_again_as_it_trains(self):
        code, out, err = self.run_host("trains_after_its_child", CORE)
        self.assertEqual(code, 0, err)
        self.assertIn("child on True", out)
        self.assertEqual(out.count("beside False it has handed its rank over, and trains itself: rank 0 is"), 2)
        self.assertRegex(err, r"^eroica: this process is not captured: it has handed [^\n]*\n$")
        self.assertIn("again True \n", out)
        statistics = self.statistics(out)
        self.assertGreater(statistics["taken"], 200)
        self.assertEqual(statistics["lost"], 0)
        self.assertEqual(self.drained()["dead_lettered"], 0)

    def test_what_trains_itself_keeps_its_rank(self):
        for call in ("keep_rank", "step"):
            code, out, err = self.run_host("starts_the_trainer", CORE, call)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("child on False", out)
            self.assertIn("child 0 enabled True", out)

    def test_a_process_that_replaces_itself_is_the_rank_again(self):
        code, out, err = self.run_host("replaced", CORE)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("ready True"), 2)
        self.assertEqual(self.drained()["dead_lettered"], 0)

    def test_a_second_eroica_in_the_process_stays_off(self):
        other = os.path.join(self.folder, "libproducer_core.so")
        shutil.copy(CORE, other)
        code, out, err = self.run_host("twice", other)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("second False rank 0 is attached", out)

    def test_full_rings_drop_and_count(self):
        code, out, _ = self.run_host("flooded")
        self.assertEqual(code, 0)
        statistics = self.statistics(out)
        self.assertGreaterEqual(statistics["taken"] + statistics["lost"], 200_000)

    def test_a_loss_is_said_where_it_matters(self):
        """A healthy job's last word is no worry over a thousandth."""
        for count, wanted in (("1", r"^$"), ("100", r"^eroica: rank 0: 100 of \d+ events were lost\n$")):
            code, _, err = self.run_host("losing", count)
            self.assertEqual(code, 0)
            self.assertRegex(err, wanted)

    def test_more_threads_than_rings(self):
        code, out, _ = self.run_host("threads")
        self.assertEqual(code, 0)

    def test_detached_is_off_for_good(self):
        code, out, _ = self.run_host("detached")
        self.assertEqual(code, 0)
        self.assertIn("enabled False detached", out)

    def test_switched_off_or_wrong_says_one_line_at_most(self):
        cases = [({"EROICA_DISABLE": "1"}, "EROICA_DISABLE is set", 0),
                 ({"EROICA_RECORDING": None}, "neither EROICA_RECORDING nor EROICA_BOOTSTRAP is set", 0),
                 ({"EROICA_LEVEL": "9"}, "EROICA_LEVEL=9: must be a number from 0 to 2", 1),
                 ({"EROICA_RANKS": "every 8", "RANK": "3"}, "EROICA_RANKS leaves this rank out", 0)]
        for variables, reason, lines in cases:
            with self.subTest(variables):
                code, out, err = self.run_host("steps", "5", **variables)
                self.assertEqual(code, 0)
                self.assertIn("ready False " + reason, out)
                self.assertEqual(len(err.splitlines()), lines)

    def test_no_recording_there_says_one_line_and_training_goes_on(self):
        code, out, err = self.run_host("steps", "300", EROICA_RECORDING=os.path.join(self.folder, "nowhere"))
        self.assertEqual(code, 0)
        self.assertEqual(len(err.splitlines()), 1)
        self.assertIn("is not captured", err)

    def test_a_broker_that_is_down_all_along(self):
        code, out, err = self.run_host("steps", "600", EROICA_RECORDING=None, EROICA_BOOTSTRAP="127.0.0.1:1", EROICA_LEVEL="2")
        self.assertEqual(code, 0)
        self.assertLessEqual(len(err.splitlines()), 3, err)
        self.assertEqual([line.split()[0] for line in out.splitlines()], ["ready", "done"])  # nothing of ours

    def test_a_full_disk(self):
        # A limit on the size of files is what a full disk looks like to a writer (but for its signal).
        process = subprocess.Popen(
            [sys.executable, HOST, CORE, "steps", "900"], env=self.environment(EROICA_SEND_MS="10"), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))))
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertGreater(self.statistics(out)["lost"], 0)
        self.assertIn("losing events", err)

    def exported(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", CORE], check=True, capture_output=True, text=True).stdout
        names = [line.split()[-1].partition("@")[0] for line in symbols.splitlines()]
        return sorted(name.removeprefix("eroica_") for name in names if name.startswith("eroica_"))

    def test_no_value_that_a_call_is_handed_hurts_the_process(self):
        for seed in range(1, 6):
            with self.subTest(seed):
                code, out, err = self.run_host("hostile", str(seed), EROICA_RANK="0",
                                               EROICA_EXCHANGE=os.path.join(self.folder, f"exchange-{seed}"))
                self.assertEqual(code, 0, err)
                calls = next(line for line in out.splitlines() if line.startswith("calls "))
                self.assertEqual(calls.split()[1:], self.exported(), "every call that the library exports")
                for line in err.splitlines():  # what was lost: of the calls, and to a busy broker
                    self.assertRegex(line, "^eroica: rank 0: .* lost")
                self.assertLessEqual(len(err.splitlines()), 2, err)
        counters = self.drained()
        self.assertEqual(counters["dead_lettered"], 0)
        self.assertGreater(counters["processed"], 0)

    def test_no_value_hurts_a_process_in_which_eroica_is_off(self):
        for how, variables in (("off", {"EROICA_DISABLE": "1"}), ("detached", {}), ("forked", {})):
            code, _, err = self.run_host("hostile_when_off", how, **variables)
            self.assertEqual(code, 0, (how, err))

    def test_a_process_that_can_have_no_further_thread(self):
        """A limit of threads, which a container has: training goes on, with its signals."""
        os.chmod(self.folder, 0o777)
        for root, folders, files in os.walk(self.recording):
            for name in folders + files:
                os.chmod(os.path.join(root, name), 0o777)
        os.chmod(self.recording, 0o777)
        folder = os.path.join(self.folder, "readable")  # by a user without privileges
        os.mkdir(folder, 0o777)
        core = shutil.copy(CORE, folder)
        host = shutil.copy(HOST, folder)
        os.chmod(core, 0o755)
        os.chmod(host, 0o755)
        source = ("import ctypes, json, os, pkgutil, random, resource, runpy, signal, sys, threading, time\n"
                  "ctypes.CDLL(sys.argv[1])\n"
                  "if os.getuid() == 0: os.setuid(65534)\n"
                  "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\n"
                  "sys.argv[:] = [sys.argv[2], sys.argv[1], sys.argv[3]]\n"
                  "runpy.run_path(sys.argv[0], run_name='__main__')\n")
        command = [sys.executable, "-c", source, core, host, "threadless"]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ready False cannot start a thread", done.stdout)
        self.assertIn("masked []", done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("Training goes on", done.stderr)

    def test_a_preloaded_allocator(self):
        for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
            path = os.path.join("/usr/lib/x86_64-linux-gnu", name)
            if os.path.exists(path):
                before = os.environ.get("LD_PRELOAD")  # a sanitizer's runtime
                libraries = f"{before}:{path}" if before else path
                code, _, err = self.run_host("steps", "100", LD_PRELOAD=libraries)
                self.assertEqual((code, err), (0, ""))

    def test_output_that_nobody_reads(self):
        process = self.start("forever")
        process.stdout.readline()
        process.stdout.close()
        process.stderr.close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()

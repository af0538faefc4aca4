"""Ranks that end while the job trains, under `eroica run`, from outside: real processes, real signals."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../producers/python/testing")
sys.path.insert(0, TESTING)

import torch_interpreter  # noqa: E402

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
DEADLINE_S = 60
# A launcher of three ranks, as torchrun: where one fails it ends the others by SIGTERM, and itself with 1.
# Where none fails it kills its workers and ends with 0, as Ray does. Rank 1 runs argv[1] at its step 60.
JOB = """
import os, signal, subprocess, sys, time
if "RANK" in os.environ:
    import eroica
    def load_batch():
        time.sleep(0.02)
    def fail():
        raise RuntimeError("its own")
    for step in range(120):
        eroica.step()
        load_batch()
        if os.environ["RANK"] == "1" and step == 60:
            exec(sys.argv[1])
    while True:
        time.sleep(1)
ranks = [subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(n), WORLD_SIZE="3"))
         for n in range(3)]
deadline = time.monotonic() + float(sys.argv[2])
while not any(rank.poll() for rank in ranks) and time.monotonic() < deadline:
    time.sleep(0.05)
failed = any(rank.poll() for rank in ranks)
if failed:
    time.sleep(0.4)  # as long as a launcher may take to see it
for rank in ranks:
    rank.send_signal(signal.SIGTERM if failed else signal.SIGKILL)
    rank.send_signal(signal.SIGCONT)
for rank in ranks:
    rank.wait()
sys.exit(1 if failed else 0)
"""
# Two ranks; rank 1 leaves its loop at step 40. Rank 0 takes a moment to end, as large programs do.
LEAVING = """
import atexit, os, sys, time, torch, torch.distributed as dist
def end_slowly():
    time.sleep(1.5)
def train(rank, ways):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    weight = torch.ones(8, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 1e-5)
    for step in range(80):
        if rank == 1 and step == 40:
            os._exit(0)
        (weight * weight).sum().backward()
        if ways == "waits":
            dist.all_reduce(weight.grad, async_op=True).wait()
        else:
            dist.all_reduce(weight.grad)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
if __name__ == "__main__":
    atexit.register(end_slowly)
    train(int(os.environ["RANK"]), sys.argv[1])
"""
LAUNCHER = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, *sys.argv[1:]], env=dict(os.environ, RANK=str(n), WORLD_SIZE="2"))
         for n in range(2)]
sys.exit(max(rank.wait() for rank in ranks))
"""
# Stopped, they keep the signal: all have got it before one ends.
ALL_TOLD = """
others = open(f"/proc/{os.getppid()}/task/{os.getppid()}/children").read().split()
for number in (signal.SIGSTOP, signal.SIGTERM):
    for other in map(int, others):
        if other != os.getpid():
            os.kill(other, number)
os.kill(os.getpid(), signal.SIGTERM)
"""
KILLED = "os.kill(os.getpid(), signal.SIGKILL)"


class EndedRankProgram(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="eroica-ended-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.job = os.path.join(self.folder, "train.py")
        self.recording = os.path.join(self.folder, "recording")
        with open(self.job, "w", encoding="utf-8") as file:
            file.write(JOB)

    def call(self, *command, **changes):
        ours = ("EROICA_", "RANK", "WORLD_SIZE", "PYTHONPATH")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        done = subprocess.run([PROGRAM, *command], cwd=self.folder, capture_output=True, text=True,
                              env={**inherited, "PYTHONDONTWRITEBYTECODE": "1", **changes}, timeout=2 * DEADLINE_S,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def run_job(self, does, lasts_s=DEADLINE_S):
        code, _, said = self.call("run", "-o", self.recording, "--", sys.executable, self.job, does, str(lasts_s))
        return code, said

    def expect_named(self, does, how, place="train.py"):
        code, said = self.run_job(does)
        self.assertEqual(code, 1, said)
        # The note of where it stood is renewed twice a second, some 22 steps.
        self.assertRegex(said, rf"The process of rank 1 {how} (in|after) step ([2-5]\d|60)\b")
        self.assertRegex(said.replace("\n", " "), f"its training thread in {place}")
        self.assertNotRegex(said, "The process of rank [02]", "they ended because of it")
        code, found, _ = self.call("findings", "--recording", self.recording)
        self.assertIn(f"The process of rank 1 {how}", found)

    def test_a_rank_that_is_killed_is_named_with_its_step_and_function(self):
        self.expect_named(KILLED, "was killed by SIGKILL")

    def test_a_rank_that_somebody_ends_is_the_first_of_those_that_the_launcher_ends(self):
        self.expect_named("os.kill(os.getpid(), signal.SIGTERM)", "was ended by SIGTERM")
        _, found, _ = self.call("findings", "--recording", self.recording)
        self.assertRegex(" ".join(found.split()), "the first of 3 within")

    def test_ranks_that_are_all_told_to_end_have_no_first_and_the_job_is_not_well(self):
        code, said = self.run_job(ALL_TOLD)
        self.assertEqual(code, 1, said)
        code, found, err = self.call("findings", "--recording", self.recording)
        self.assertEqual(code, 3, found + err)
        for text in (said, found):
            words = " ".join(text.split())
            self.assertIn("Cannot tell", words)
            self.assertIn("All ranks were ended by SIGTERM within", words)
            self.assertIn("the job ended with exit code 1", words)
            self.assertNotIn("The process of rank", words)

    def test_a_rank_that_crashes(self):
        self.expect_named("signal.signal(signal.SIGSEGV, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGSEGV)",
                          "crashed by SIGSEGV")

    def test_a_rank_whose_script_raises(self):
        self.expect_named("fail()", "ended with exit code 1", r"train.py\(\d+\): fail")

    def test_a_rank_that_leaves_is_named_and_not_the_one_that_waits_for_it(self):
        python = torch_interpreter.find()
        if python is None:
            self.skipTest("no PyTorch")
        launcher = os.path.join(self.folder, "launch.py")
        for file, text in ((self.job, LEAVING), (launcher, LAUNCHER)):
            with open(file, "w", encoding="utf-8") as opened:
                opened.write(text)
        for ways in ("reduces", "waits"):
            recording = f"{self.recording}-{ways}"
            code, _, said = self.call("run", "-o", recording, "--", python, launcher, self.job, ways,
                                      MASTER_ADDR="127.0.0.1", MASTER_PORT=torch_interpreter.free_port())
            self.assertEqual(code, 1, said)
            self.assertRegex(said, "The process of rank 1 ended with exit code 0", ways)
            self.assertNotIn("The process of rank 0", said, ways)

    def test_a_replay_of_the_recording_finds_it_again(self):
        self.run_job(KILLED)
        shutil.rmtree(self.recording + ".state", True)
        code, said, err = self.call("replay", "--recording", self.recording)
        self.assertIn("The process of rank 1 was killed by SIGKILL", said + err)

    def test_workers_that_are_killed_when_all_is_done_are_no_finding(self):
        code, said = self.run_job("pass", lasts_s=4)
        self.assertEqual(code, 0, said)
        self.assertNotIn("The process of rank", said)


if __name__ == "__main__":
    unittest.main()

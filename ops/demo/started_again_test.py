"""A job that trains, ends, and is started again under its name: real processes, at capture level 1."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(FOLDER))
STEPS, WINDOW_STEPS, RANKS = 40, 8, 4


class StartedAgain(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.recording = os.path.join(scratch.name, "recording")
        self.program = os.environ["EROICA_TEST_PROGRAM"]
        created = self.eroica("topics", "create")
        self.assertEqual(created.returncode, 0, created.stderr)

    def train(self, *arguments):
        environment = dict(
            os.environ, EROICA_RECORDING=self.recording, EROICA_JOB="again", EROICA_LEVEL="1",
            EROICA_WINDOW_STEPS=str(WINDOW_STEPS), EROICA_LIB_DIR=os.environ["EROICA_TEST_LIB_DIR"],
            PYTHONPATH=os.path.join(SOURCE, "producers/python/zero_code"))
        command = [sys.executable, os.path.join(FOLDER, "launch.py"), "--backend", "numpy",
                   "--ranks", str(RANKS), "--steps", str(STEPS), *arguments]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stdout)

    def eroica(self, *arguments):
        return subprocess.run([self.program, *arguments, "--recording", self.recording],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120)

    def test_the_second_run_is_diagnosed_from_its_beginning(self):
        self.train()
        self.train("--fault", "compute", "--fault-rank", "2", "--fault-step", "8",
                   "--fault-size", "1.5")
        drained = self.eroica("node", "--drain", "--json")
        self.assertEqual(drained.returncode, 0, drained.stderr)
        findings = [json.loads(line)
                    for line in self.eroica("findings", "--json").stdout.splitlines()]
        named = [finding for finding in findings
                 if {culprit["rank"] for culprit in finding["culprits"]} == {2}]
        self.assertTrue(named, findings)
        for finding in named:
            self.assertGreaterEqual(finding["windows"]["first"], STEPS // WINDOW_STEPS,
                                    "windows count on")
            self.assertLess(finding["steps"]["last"], STEPS, "steps begin again")


if __name__ == "__main__":
    unittest.main()

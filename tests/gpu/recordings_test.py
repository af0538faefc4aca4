"""Recordings of real jobs on a GPU (recordings/, made by run.sh), diagnosed and counted anew."""

import json
import os
import subprocess
import tarfile
import tempfile
import unittest

import truth

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings")


class Recordings(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="gpu-recordings-")
        self.addCleanup(self._folder.cleanup)

    def recording(self, name):
        with tarfile.open(os.path.join(FOLDER, name + ".tar.xz")) as archive:
            archive.extractall(self._folder.name)
        return os.path.join(self._folder.name, name)

    def run_program(self, *arguments):
        ran = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return ran.stdout

    def findings(self, name):
        recording = self.recording(name)
        self.run_program("node", "--recording", recording, "--state", recording + ".state",
                         "--drain")
        lines = self.run_program("findings", "--recording", recording, "--json").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def trace(self, name):
        path = os.path.join(self._folder.name, name + ".json")
        self.run_program("export", "--recording", self.recording(name), "-o", path)
        return path

    def known(self, name):
        return os.path.join(FOLDER, name + ".json")

    def test_nothing_is_found_in_a_healthy_job(self):
        self.assertEqual(self.findings("healthy"), [])

    def test_matrix_products_too_many_are_found_by_rank_and_kernel(self):
        finding, = self.findings("compute")
        self.assertEqual({culprit["rank"] for culprit in finding["culprits"]}, {2})
        self.assertIn("nvjet_sm90", finding["title"])

    def test_who_does_not_come_to_an_all_reduce_is_found_with_its_function(self):
        finding, = self.findings("hang")
        self.assertEqual({culprit["rank"] for culprit in finding["culprits"]}, {3})
        self.assertIn("stand_still", json.dumps(finding))

    def test_every_kernel_that_torch_profiler_sees_is_recorded_as_often(self):
        with open(self.known("small")) as file:
            a_step = json.load(file)["a_step"]
        ours = truth.Steps(self.trace("small"), self.known("small"))
        self.assertEqual({name: list(ours.a_step(name)) for name in ours.durations}, a_step)
        self.assertEqual(ours.over_an_edge, 0)

    def test_every_piece_of_counted_work_is_recorded_once(self):
        counts = truth.counted(self.trace("work"), truth.read(self.known("work")))
        for name, done in truth.read(self.known("work"))["counts"].items():
            self.assertEqual(counts[name], done, name)


if __name__ == "__main__":
    unittest.main()

"""`eroica run` over a job whose NCCL has its activation mask set from outside: it is not taken for a
job without collectives."""

import json
import os
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
JOB = os.environ["EROICA_TEST_MASKED_JOB"]
PLUGIN = os.environ["EROICA_TEST_NCCL_PLUGIN"]
RANKS = 'for rank in 0 1; do RANK=$rank "$@" & jobs="$jobs $!"; done; for job in $jobs; do wait $job || exit; done'


class MaskedJobTest(unittest.TestCase):
    def run_job(self, *mask):
        """What `eroica run` says, and the findings of the recording."""
        with tempfile.TemporaryDirectory(prefix="eroica-masked-") as folder:
            ours = ("EROICA_", "RANK", "CUDA_INJECTION64", "NCCL_PROFILER", "PYTHONPATH")
            env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
            env.update(WORLD_SIZE="2", XDG_RUNTIME_DIR=folder, EROICA_HOST_HZ="0")
            recording = os.path.join(folder, "recording")
            done = subprocess.run(
                [PROGRAM, "run", "-o", recording, "--window-steps", "16", "--", "sh", "-c", RANKS, "sh", JOB, PLUGIN, *mask],
                capture_output=True,
                text=True,
                timeout=100,
                env=env,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            found = subprocess.run(
                [PROGRAM, "findings", "--recording", recording, "--json"],
                capture_output=True,
                text=True,
                timeout=100,
                env=env,
                check=False,
            )
            return " ".join(done.stderr.split()), [json.loads(line) for line in found.stdout.splitlines()]

    def gaps(self, findings):
        return [finding for finding in findings if finding["kind"] == "monitoring_gap"]

    def test_a_mask_of_0_is_said_by_a_finding_and_at_the_end(self):
        said, findings = self.run_job("0")
        gaps = self.gaps(findings)
        self.assertEqual([gap["subkind"] for gap in gaps], ["collectives"], said)
        why = "NCCL's activation mask was set to 0 from outside."
        self.assertEqual(gaps[0]["title"], f"Collectives of ranks 0, 1 are not captured: {why}")
        self.assertGreaterEqual(gaps[0]["steps"]["first"], 64)
        self.assertIn("Collectives of ranks 0 and 1 were not captured from step ", said)
        self.assertIn(why, said)

    def test_a_mask_without_channels_says_what_is_missing(self):
        _, findings = self.run_job("2")
        title = self.gaps(findings)[0]["title"]
        self.assertTrue(title.startswith("Sends and receives, and times of collectives on the device of ranks 0, 1 "), title)

    def test_a_mask_that_nobody_sets_is_no_gap(self):
        said, findings = self.run_job()
        self.assertEqual(self.gaps(findings), [])
        self.assertNotIn("activation mask", said)


if __name__ == "__main__":
    unittest.main()

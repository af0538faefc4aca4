"""What is drawn: the same for a seed, as many healthy jobs as faulty ones, each number within its range."""
import pathlib
import random
import re
import tempfile
import tomllib
import unittest

import faults
import layouts
import realism
import realistic


def drawn(seed, jobs=60):
    with tempfile.TemporaryDirectory() as folder:
        realistic.draw(pathlib.Path(folder), seed, jobs, 64)
        return {path.stem: path.read_text() for path in pathlib.Path(folder).iterdir()}


class Realistic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.texts = drawn(1)
        cls.jobs = {name: tomllib.loads(text) for name, text in cls.texts.items()}

    def test_a_seed_draws_the_same_jobs_again_and_another_one_others(self):
        self.assertEqual(drawn(1), self.texts)
        self.assertNotEqual(drawn(2), self.texts)

    def test_healthy_jobs_are_as_many_as_faulty_ones(self):
        healthy = [job for job in self.jobs.values() if "fault" not in job]
        self.assertEqual(len(healthy), 60)
        self.assertEqual(len(self.jobs), 120)
        for job in healthy:
            self.assertTrue(all(one.get("optional") for one in job.get("expect", [])))

    def test_every_kind_of_fault_is_drawn(self):
        kinds = {job["fault"][0]["kind"] for job in self.jobs.values() if "fault" in job}
        self.assertEqual(kinds, {kind.name for kind in realistic.KINDS})

    def test_a_file_holds_every_number_and_each_is_in_its_range(self):
        for name, job in self.jobs.items():
            for key, (low, high) in realism.HARDWARE.items():
                self.assertTrue(low <= job["hardware"][key] <= high, (name, key))
            for key, (low, high) in realism.MEMORY_BOUND.items():
                self.assertTrue(low <= job["hardware"]["memory_bound"][key] <= high, (name, key))
            for key, (low, high) in realism.NOISE.items():
                self.assertTrue(low <= job["noise"][key] <= high, (name, key))
            self.assertIn(job["noise"]["tail_degrees"], realism.TAIL_DEGREES)
            self.assertLessEqual(set(realism.JITTER), set(job["workload"]["jitter"]))
            self.assertIn(job["fabric"]["slot_over_nic"], realism.SLOT_OVER_NIC)
            for fault in job.get("fault", []):
                self.assertLessEqual(set(realism.SHAPES.get(fault["kind"], {})), set(fault), name)

    def test_a_slow_device_is_farther_from_its_peers_than_healthy_ones(self):
        for name, job in self.jobs.items():
            for fault in job.get("fault", []):
                if fault["kind"] in realistic.OF_A_DEVICE:
                    self.assertGreaterEqual(fault["severity"], 2.9 * job["hardware"]["device_spread"], name)

    def test_what_looks_the_same_has_alternatives(self):
        kind = next(kind for kind in realistic.KINDS if kind.name == "nic_send_slow")
        ring = next(layout for layout in layouts.LAYOUTS if layout.name == "fsdp_48r")
        self.assertEqual(
            realistic.alternatives(kind, ring, [43], {}),
            [{"kinds": ["communication"], "ranks": [3]}, {"kinds": ["communication"], "ranks": [43], "peer_rank": 3}],
        )
        lost = next(kind for kind in realistic.KINDS if kind.name == "nic_down")
        near = {"own_nic_share": 0.48, "neighbor_nic_share": 0.5}
        far = {"own_nic_share": 0.3, "neighbor_nic_share": 0.7}
        self.assertEqual([one["ranks"] for one in realistic.alternatives(lost, ring, [5], near)], [[4], ["4-5"]])
        self.assertEqual(realistic.alternatives(lost, ring, [5], far), [])
        retries = next(kind for kind in faults.KINDS if kind.name == "ecc_retries")
        pauses = {"pause_us": 300.0, "pause_lengths": 2, "severity": 0.1}  # 450 us in each 4.5 ms
        self.assertEqual(realistic.alternatives(retries, ring, [5], pauses, 5000), [{"kinds": ["contention"], "ranks": [5]}])
        self.assertEqual(realistic.alternatives(retries, ring, [5], pauses, 4000), [])

    def test_every_number_says_why_it_is_plausible(self):
        text = pathlib.Path(realism.__file__).read_text()
        lines = re.sub(r"^TIMES = \{.*?^\}", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()
        for before, line in zip(lines, lines[1:]):
            if re.search(r"(?: =|:) .*\d", line.split("#")[0]):
                self.assertTrue("#" in line or before.startswith("#"), line)


class Faults(unittest.TestCase):
    def test_what_fits_has_somebody_to_strike(self):
        for kind in realistic.KINDS:
            fitting = [layout for layout in layouts.LAYOUTS if realistic.fits(kind, layout)]
            self.assertTrue(fitting, kind.name)
            for layout in fitting:
                ranks = faults.struck(kind, layout, random.Random(1))
                self.assertTrue(ranks and max(ranks) < layout.ranks, (kind.name, layout.name))


if __name__ == "__main__":
    unittest.main()

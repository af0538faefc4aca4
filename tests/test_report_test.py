"""Tests of what a run of the tests says at its end."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(os.path.abspath(__file__)).parent

JUNIT = """<testsuite>
<testcase name="ring_test" classname="ring_test" time="2.5" status="run"><system-out>x</system-out></testcase>
<testcase name="ended_test" classname="ended_test" time="1" status="fail"><failure message=""/></testcase>
<testcase name="Broker.Restarts" classname="Broker.Restarts" time="9" status="run"/>
<testcase name="pages" classname="pages" time="0.1" status="notrun"><skipped message=""/>
<system-out>looking for a browser
skipped: there is no chromium</system-out></testcase>
</testsuite>"""

RING = """<testsuites><testsuite name="Ring">
<testcase name="Holds" classname="Ring" status="run" time="0.1"/>
<testcase name="Drops" classname="Ring" status="run" time="0.1"/>
<testcase name="Real" classname="Ring" status="run" time="0"><skipped message="no device&#x0A;here"/></testcase>
<testcase name="DISABLED_Old" classname="Ring" status="notrun" time="0"/>
</testsuite></testsuites>"""

ENDED = """<testsuites><testsuite name="Ended">
<testcase name="Begins" classname="Ended" status="run" time="0.1"/>
</testsuite></testsuites>"""


class TestReport(unittest.TestCase):
    def report(self, **results):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "junit").write_text(JUNIT)
            for name, content in results.items():
                (folder / f"{name}.xml").write_text(content)
            program = [sys.executable, HERE / "test_report.py", folder / "junit", folder]
            return subprocess.run(program, check=True, capture_output=True, text=True).stdout

    def test_counts_the_tests_of_a_program_one_by_one(self):
        # Two of Ring and the broker's passed; the program that was ended failed.
        self.assertEqual(
            self.report(ring_test=RING).splitlines()[-1], "tests: 3 passed, 1 failed, 2 skipped"
        )

    def test_a_program_that_was_ended_has_failed_though_its_tests_had_passed(self):
        self.assertIn(" 1 failed,", self.report(ring_test=RING, ended_test=ENDED).splitlines()[-1])

    def test_results_that_are_cut_off_count_as_the_entry(self):
        self.assertEqual(
            self.report(ring_test="<testsuites><tests").splitlines()[-1],
            "tests: 2 passed, 1 failed, 1 skipped",
        )

    def test_says_why_tests_were_skipped(self):
        report = self.report(ring_test=RING)
        self.assertIn("  Ring.Real: no device here\n", report)
        self.assertIn("  pages: skipped: there is no chromium\n", report)

    def test_names_the_slowest_first(self):
        lines = self.report(ring_test=RING).splitlines()
        self.assertEqual([line.split()[-1] for line in lines[1:3]], ["Broker.Restarts", "ring_test"])


if __name__ == "__main__":
    unittest.main()

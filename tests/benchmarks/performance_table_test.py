"""Tests of performance_table.py."""

import argparse
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import performance_table  # noqa: E402


def result(name, real_time, unit="ms", **more):
    return {"name": name, "run_name": name, "run_type": "iteration", "real_time": real_time, "cpu_time": real_time, "time_unit": unit, **more}


class PerformanceTableTest(unittest.TestCase):
    def test_shows_the_median_and_the_spread(self):
        document = {"benchmarks": [result("BM_A", 3.0), result("BM_A", 1.0), result("BM_A", 2.0)]}
        self.assertEqual(performance_table.rows_of(document), [["`BM_A`", "2.00 ms", "100 %", "", ""]])

    def test_leaves_aggregates_out(self):
        mean = result("BM_A_mean", 2.0)
        mean["run_type"] = "aggregate"
        self.assertEqual(len(performance_table.rows_of({"benchmarks": [result("BM_A", 2.0), mean]})), 1)

    def test_shows_throughput_and_counters(self):
        document = {"benchmarks": [result("BM_A", 2.5, "us", items_per_second=2.5e7, bytes_per_second=3.1e8, **{"B/interval": 7.25})]}
        self.assertEqual(performance_table.rows_of(document)[0][1:], ["2.50 us", "", "25.0 M/s, 310 MB/s", "B/interval 7.25"])

    def test_shows_small_counters(self):
        self.assertEqual(performance_table.three_digits(3.2e-9), "3.20e-09")
        self.assertEqual(performance_table.three_digits(0.0), "0.00")

    def test_says_what_a_benchmark_reported_as_error(self):
        document = {"benchmarks": [result("BM_A", 0.0, error_occurred=True, error_message="no traces")]}
        self.assertEqual(performance_table.rows_of(document)[0][-1], "no traces")

    def test_keeps_the_order_of_the_program(self):
        document = {"benchmarks": [result("BM_B", 1.0), result("BM_A", 1.0), result("BM_B", 1.0)]}
        self.assertEqual([row[0] for row in performance_table.rows_of(document)], ["`BM_B`", "`BM_A`"])

    def test_reads_the_results_of_a_program_that_logs_on_its_output(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "chatty_benchmark"
            program.write_text("#!/usr/bin/env python3\nimport json, sys\nprint('[info] kafka: loading')\n"
                               "out = next(a for a in sys.argv if a.startswith('--benchmark_out=')).split('=', 1)[1]\n"
                               f"open(out, 'w').write({json.dumps(json.dumps({'benchmarks': [result('BM_A', 1.0)]}))})\n")
            program.chmod(0o700)
            arguments = argparse.Namespace(min_time=0.1, repetitions=1, filter="")
            self.assertEqual(len(performance_table.run(str(program), arguments)["benchmarks"]), 1)

    def test_is_markdown(self):
        text = performance_table.table([["`BM_A`", "1", "", "", ""]])
        self.assertEqual(len(text.splitlines()), 3)
        self.assertTrue(all(line.count("|") == 6 for line in text.splitlines()))


if __name__ == "__main__":
    unittest.main()

"""Whether a finding's time of a function is compared with the same steps of the rank."""

import unittest

import function_time

CASE = {"truth": {"rank": 2}}


def truths(planted, rank=2):
    return [{"rank": 0, "times": {"planted_ms": [0.0] * len(planted)}},
            {"rank": rank, "times": {"planted_ms": planted}}]


def finding(told_ms, steps, last, rank=2, function="planted.py(32): slow_sleep"):
    return {"culprits": [{"rank": rank}], "function": function, "steps": {"first": 3, "last": last},
            "evidence": [{"name": "busy_time_per_step", "culprit": 1, "samples": steps},
                         {"name": "function_time_per_step", "culprit": 1e6 * told_ms, "samples": 3}]}


class FunctionTime(unittest.TestCase):
    def test_is_compared_with_the_steps_of_its_window(self):
        planted = [0.0] * 4 + [30.0] * 4 + [60.0] * 4
        self.assertEqual(function_time.of(CASE, [finding(31, 4, 7)], truths(planted)),
                         {"told_ms": 31.0, "measured_ms": 30.0})
        self.assertEqual(function_time.of(CASE, [finding(44, 8, 11)], truths(planted)),
                         {"told_ms": 44.0, "measured_ms": 45.0})

    def test_of_several_findings_the_largest_counts(self):
        found = [finding(3, 4, 3), finding(33, 4, 3), finding(90, 4, 3, rank=1)]
        self.assertEqual(function_time.of(CASE, found, truths([30.0] * 4))["told_ms"], 33.0)

    def test_is_not_known_of_another_function_nor_where_nothing_was_measured(self):
        planted = truths([30.0] * 4)
        self.assertIsNone(function_time.of(CASE, [finding(30, 4, 3, function="a.py(1): b")], planted))
        self.assertIsNone(function_time.of(CASE, [finding(30, 4, 3, rank=0)], planted))
        self.assertIsNone(function_time.of(CASE, [{"kind": "hang"}], planted))
        self.assertIsNone(function_time.of(CASE, [finding(30, 4, 3)], truths([0.0] * 4)))
        self.assertIsNone(function_time.of(CASE, [finding(30, 4, 3)], truths([30.0], rank=1)))
        self.assertIsNone(function_time.of(CASE, [finding(30, 4, 9)], planted), "steps that it lacks")
        self.assertIsNone(function_time.of({"truth": {}}, [finding(30, 4, 3)], planted))

    def test_is_close_within_a_twentieth(self):
        for told_ms, close in ((28.4, False), (28.6, True), (31.4, True), (31.6, False)):
            time = {"told_ms": told_ms, "measured_ms": 30.0}
            self.assertEqual(function_time.is_close(time), close, told_ms)


if __name__ == "__main__":
    unittest.main()

"""The judging of live runs, with made-up findings and truth files: every verdict, and no other."""

import os
import sys
import tempfile
import unittest

import judge
import matrix

COMPUTE = {"name": "compute", "truth": {"rank": 3}, "from_step": 100,
           "function": "extra_attention_layer", "cause": ["slow_rank"]}
LINK = {"name": "link", "truth": {"link": [4, 5]}, "cause": ["communication"]}
HEALTHY = {"name": "healthy", "truth": {}}


def finding(*culprits, kind="slow_rank", function="extra_attention_layer", last_step=300, **more):
    return dict({"kind": kind, "subkind": "function", "culprits": list(culprits),
                 "function": function, "stack": "", "title": "", "explanation": "",
                 "steps": {"first": 101, "last": last_step}}, **more)


def rank(number, **more):
    return dict({"rank": number, "host": "a", "device": 0}, **more)


class CasesThatCanRun(unittest.TestCase):
    def test_what_is_missing_is_said(self):
        self.assertEqual(matrix.why_not({}, sys.executable), "")
        self.assertEqual(matrix.why_not({"requires": ["json"], "programs": ["sh"]}, sys.executable), "")
        self.assertIn("no_such_module", matrix.why_not({"requires": ["no_such_module"]}, sys.executable))
        self.assertIn("no-such-program", matrix.why_not({"programs": ["no-such-program"]}, sys.executable))

    def test_every_file_of_cases_can_be_read(self):
        for path in ("cases.toml", "frameworks/frameworks.toml"):
            cases = matrix.read_cases(os.path.join(matrix.HERE, path), "", {"numpy", "torch"})
            names = [case["name"] for case in cases]
            self.assertGreater(len(names), 10)
            self.assertEqual(len(names), len(set(names)))
            for case in cases:
                for word in case["command"]:
                    if word.startswith("tests/"):
                        self.assertTrue(os.path.exists(os.path.join(matrix.ROOT, word)), word)


class Verdicts(unittest.TestCase):
    def verdict(self, case, *findings):
        return judge.judge(case, list(findings))

    def test_the_faulty_rank_alone_is_right(self):
        result = self.verdict(COMPUTE, finding(rank(3)))
        self.assertEqual(result["verdict"], "right")
        self.assertTrue(result["function"] and result["cause"])
        self.assertEqual(result["false"], [])

    def test_another_rank_is_wrong(self):
        result = self.verdict(COMPUTE, finding(rank(2)))
        self.assertEqual(result["verdict"], "wrong")
        self.assertEqual(len(result["false"]), 1)
        self.assertFalse(result["function"])

    def test_the_faulty_rank_among_others_is_wrong(self):
        self.assertEqual(self.verdict(COMPUTE, finding(rank(3), rank(4)))["verdict"], "wrong")

    def test_a_host_without_a_rank_is_wrong(self):
        self.assertEqual(self.verdict(COMPUTE, finding({"host": "a"}))["verdict"], "wrong")

    def test_no_finding_is_missed(self):
        self.assertEqual(self.verdict(COMPUTE)["verdict"], "missed")

    def test_of_two_findings_the_right_one_counts_and_the_other_is_false(self):
        for findings in ([finding(rank(3)), finding(rank(6))],
                         [finding(rank(6)), finding(rank(3))]):
            result = self.verdict(COMPUTE, *findings)
            self.assertEqual(result["verdict"], "right")
            self.assertEqual(len(result["false"]), 1)
            self.assertIn("rank 6", result["false"][0])

    def test_two_right_findings_are_one_and_a_repetition(self):
        result = self.verdict(COMPUTE, finding(rank(3), function="other"), finding(rank(3)))
        self.assertEqual(result["verdict"], "right")
        self.assertEqual(result["repeated"], 1)
        self.assertTrue(result["function"])
        self.assertEqual(result["false"], [])

    def test_the_right_rank_with_another_function_is_right_but_not_in_function(self):
        result = self.verdict(COMPUTE, finding(rank(3), function="backward"))
        self.assertEqual(result["verdict"], "right")
        self.assertFalse(result["function"])

    def test_a_function_may_stand_in_the_stack(self):
        result = self.verdict(COMPUTE, finding(rank(3), function="matmul",
                                               stack="train > extra_attention_layer > matmul"))
        self.assertTrue(result["function"])

    def test_the_function_of_a_false_finding_does_not_count(self):
        result = self.verdict(COMPUTE, finding(rank(3), function="backward"), finding(rank(1)))
        self.assertFalse(result["function"])

    def test_what_was_over_before_the_fault_began_is_false(self):
        result = self.verdict(COMPUTE, finding(rank(3), last_step=90))
        self.assertEqual(result["verdict"], "wrong")
        self.assertEqual(len(result["false"]), 1)

    def test_without_known_steps_a_finding_is_not_taken_as_too_early(self):
        self.assertEqual(self.verdict(COMPUTE, finding(rank(3), last_step=-1))["verdict"], "right")

    def test_nobody_named_but_right_in_cause_is_unnamed(self):
        self.assertEqual(self.verdict(COMPUTE, finding())["verdict"], "unnamed")
        self.assertEqual(self.verdict(COMPUTE, finding(kind="hang"))["verdict"], "wrong")

    def test_nothing_in_a_healthy_job_is_quiet(self):
        self.assertEqual(self.verdict(HEALTHY)["verdict"], "quiet")

    def test_any_finding_in_a_healthy_job_is_false(self):
        for said in (finding(rank(0)), finding(), finding({"host": "a"}, kind="contention")):
            self.assertEqual(self.verdict(HEALTHY, said)["verdict"], "false")

    def test_gaps_in_telemetry_are_counted_apart(self):
        gap = finding(rank(0), kind="monitoring_gap")
        result = self.verdict(HEALTHY, gap)
        self.assertEqual((result["verdict"], result["gaps"]), ("quiet", 1))
        self.assertEqual(self.verdict(COMPUTE, gap)["verdict"], "missed")

    def test_a_link_is_named_by_its_sender_or_by_both_ends(self):
        for culprit in (rank(4, peer=5), rank(5, peer=4), rank(4)):
            self.assertEqual(self.verdict(LINK, finding(culprit))["verdict"], "right", culprit)
        both = finding(rank(4), rank(5))
        self.assertEqual(self.verdict(LINK, both)["verdict"], "right")

    def test_another_link_is_wrong(self):
        for culprit in (rank(3, peer=4), rank(5, peer=6), rank(5), rank(0)):
            self.assertEqual(self.verdict(LINK, finding(culprit))["verdict"], "wrong", culprit)

    def test_rank_0_is_a_rank_as_any_other(self):
        case = dict(COMPUTE, truth={"rank": 0})
        self.assertEqual(self.verdict(case, finding(rank(0)))["verdict"], "right")
        self.assertEqual(self.verdict(case, finding(rank(1)))["verdict"], "wrong")

    def test_findings_without_optional_fields_are_judged(self):
        self.assertEqual(self.verdict(COMPUTE, {"kind": "slow_rank"})["verdict"], "unnamed")
        self.assertEqual(self.verdict(HEALTHY, {})["verdict"], "false")


def truth_files(own_after, all_reduce=((5, 5), (5, 5), (5, 5)), fault=True, torch=False):
    """Three ranks of 20 steps; from step 10 on rank r needs own_after[r] ms of its own."""
    ranks = []
    for number, own in enumerate(own_after):
        before, after = all_reduce[number]
        steps = [100.0 + before] * 10 + [own + after] * 10
        times = {"step_ms": steps, "all_reduce_ms": [] if torch else [before] * 10 + [after] * 10}
        ranks.append({"rank": number, "times": times,
                      "fault": {"name": "compute", "step": 10} if fault else None})
    return ranks


class Effect(unittest.TestCase):
    CASE = {"truth": {"rank": 1}}

    def test_is_what_the_faulty_rank_needs_more_than_its_peers(self):
        ranks = truth_files((100, 150, 100), ((5, 50), (5, 0), (5, 50)))
        self.assertAlmostEqual(judge.effect(self.CASE, ranks), 50 / 150)

    def test_is_nothing_where_all_ranks_slow_down_together(self):
        self.assertAlmostEqual(judge.effect(self.CASE, truth_files((200, 200, 200))), 0.0)

    def test_is_negative_where_another_rank_is_slower(self):
        self.assertLess(judge.effect(self.CASE, truth_files((200, 100, 200))), 0.0)

    def test_is_what_the_faulty_rank_says_that_was_planted(self):
        ranks = truth_files((100, 100, 100))
        for truth in ranks:
            truth["times"]["planted_ms"] = [25.0 * (truth["rank"] == 1)] * len(truth["times"]["step_ms"])
        self.assertAlmostEqual(judge.effect(self.CASE, ranks), 25 / 105)
        for truth in ranks:  # a worker of the data loader has it, which measures nothing
            truth["times"]["planted_ms"] = [0.0] * len(truth["times"]["step_ms"])
        self.assertIsNone(judge.effect(self.CASE, ranks))

    def test_of_a_link_is_the_longer_all_reduce(self):
        ranks = truth_files((100, 100, 100), ((10, 54), (10, 54), (10, 54)))
        self.assertAlmostEqual(judge.effect({"truth": {"link": [1, 2]}}, ranks), 44 / 110)

    def test_without_the_time_of_the_all_reduce_is_told_from_what_the_fault_takes(self):
        for name, column in (("data", "data_ms"), ("compute", "cpu_ms")):
            ranks = truth_files((145, 145, 145), torch=True)
            for number, needed in enumerate((10, 85, 10)):
                ranks[number]["fault"]["name"] = name
                ranks[number]["times"].update({"data_ms": [1] * 20, "cpu_ms": [1] * 20})
                ranks[number]["times"][column] = [10] * 10 + [needed] * 10
            self.assertAlmostEqual(judge.effect(self.CASE, ranks), 75 / 150)

    def test_longer_steps_of_all_are_no_effect_of_a_fault_that_took_nothing(self):
        ranks = truth_files((300, 300, 300), torch=True)
        for truth in ranks:
            truth["fault"]["name"] = "data"
            truth["times"]["data_ms"] = [5] * 20
        self.assertAlmostEqual(judge.effect(self.CASE, ranks), 0.0)

    def test_is_not_known_of_healthy_jobs_nor_without_truth_files(self):
        self.assertIsNone(judge.effect({"truth": {}}, truth_files((1, 1, 1), fault=False)))
        self.assertIsNone(judge.effect(self.CASE, []))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        matrix.adopt_orphans()

    def test_a_fault_that_slowed_nothing_makes_a_run_void(self):
        result = matrix.verdict_of(COMPUTE, False, 0, 0.01, [])
        self.assertEqual(result["verdict"], "void")
        self.assertEqual(matrix.verdict_of(COMPUTE, False, 0, 0.3, [])["verdict"], "missed")
        self.assertEqual(matrix.verdict_of(COMPUTE, False, 0, None, [])["verdict"], "missed")

    def test_a_job_that_failed_or_never_ended_is_failed_whatever_was_found(self):
        for code in (1, None):
            result = matrix.verdict_of(COMPUTE, False, code, 0.3, [finding(rank(3))])
            self.assertEqual(result["verdict"], "failed")
            self.assertNotIn("failed", matrix.GOOD)

    def test_findings_that_cannot_be_read_are_failed_and_not_quiet(self):
        result = matrix.verdict_of(HEALTHY, False, 0, None, "eroica findings failed")
        self.assertEqual(result["verdict"], "failed")

    def test_a_command_that_exceeds_its_time_is_ended_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "output")
            script = ("import os, subprocess, sys; p = subprocess.Popen([sys.executable, '-c',"
                      " 'import signal; signal.pause()']); print(p.pid, flush=True); p.wait()")
            code, _ = matrix.run_command([sys.executable, "-c", script], os.environ, output, 3.0)
            self.assertIsNone(code)
            with open(output) as file:
                child = int(file.read())
            self.assertFalse(is_running(child))

    def test_a_rank_in_a_session_of_its_own_whose_launcher_died_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "output")
            script = ("import subprocess, sys; p = subprocess.Popen([sys.executable, '-c',"
                      " 'import signal; signal.pause()'], start_new_session=True);"
                      " print(p.pid, flush=True)")
            code, _ = matrix.run_command([sys.executable, "-c", script], os.environ, output, 60.0)
            self.assertEqual(code, 0)
            with open(output) as file:
                self.assertFalse(is_running(int(file.read())))

    def test_the_exit_code_of_the_command_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", "raise SystemExit(7)"]
            output = os.path.join(folder, "output")
            self.assertEqual(matrix.run_command(command, os.environ, output, 60.0)[0], 7)

    def test_findings_of_a_program_that_fails_or_babbles_are_an_error(self):
        self.assertIsInstance(matrix.read_findings("/bin/false", "x"), list)  # 1: none or some.
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "eroica")
            for text in ("exit 2", "echo no JSON"):
                with open(program, "w") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(program, 0o700)
                self.assertIsInstance(matrix.read_findings(program, "x"), str)

    def test_cannot_tell_is_silence_only_of_what_was_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "eroica")
            for jobs, expected in (("", "nothing was recorded"), ('{"job": "a"}', [])):
                with open(program, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n[ $1 = jobs ] && echo '{jobs}' && exit 0\nexit 3\n")
                os.chmod(program, 0o700)
                self.assertEqual(matrix.read_findings(program, folder), expected)

    def test_the_table_counts_each_verdict_once(self):
        records = [dict(judge.judge(COMPUTE, findings), case="compute", plain=False, effect=0.4,
                        step_ms=100.0) for findings in
                   ([finding(rank(3))], [finding(rank(1))], [], [finding(rank(3), function="f")])]
        records[0]["time"] = {"told_ms": 31.0, "measured_ms": 30.0}
        records[3]["time"] = {"told_ms": 40.0, "measured_ms": 30.0}
        header, row = matrix.table([COMPUTE], records)
        cells = dict(zip(header, row))
        self.assertEqual((cells["time"], cells["told of measured"]),
                         ("1/2", "31.0 of 30.0 ms; 40.0 of 30.0 ms"))
        self.assertEqual((cells["runs"], cells["right"], cells["wrong"], cells["missed"]),
                         ("4", "2", "1", "1"))
        self.assertEqual((cells["function"], cells["false findings"]), ("1/2", "1"))
        self.assertEqual(matrix.as_markdown([header, row]).count("\n"), 3)

    def test_all_cases_of_the_file_are_well_formed(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.toml")
        cases = matrix.read_cases(path, "", {"numpy", "torch"})
        self.assertEqual(len(cases), len({case["name"] for case in cases}))
        for case in cases:
            judge.judge(case, [finding(rank(3))])
            script = next(part for part in case["command"] if part.endswith(".py"))
            self.assertTrue(os.path.exists(os.path.join(matrix.ROOT, script)), script)

    def test_a_misspelt_case_is_refused(self):
        good = {"name": "x", "backend": "numpy", "command": [], "truth": {}}
        matrix.check_case(good)
        for bad in (dict(good, truth={"ranks": 3}), dict(good, functoin="x"),
                    {"name": "x", "backend": "numpy"}):
            with self.assertRaises(SystemExit):
                matrix.check_case(bad)


if __name__ == "__main__":
    unittest.main()

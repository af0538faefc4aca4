"""How endings are compared: endings.py itself."""

import os
import signal
import subprocess
import sys
import unittest

import endings
import job


def outcome_of(script, limit=60.0):
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    return endings.outcome(process, limit, "/nowhere")


class Comparing(unittest.TestCase):
    def record(self, without, with_eroica, ending="returns"):
        """Of a cell whose runs give these, each again and again."""
        sides = {False: without, True: with_eroica}
        counts = {False: 0, True: 0}

        def run(_args, _cell, side):
            counts[side] += 1
            status, out, err = sides[side][(counts[side] - 1) % len(sides[side])]
            return (endings.Outcome(status, "trained\n" + out, err),)

        original, endings.run = endings.run, run
        self.addCleanup(setattr, endings, "run", original)
        return endings.compare(None, endings.Cell("numpy", "plain", ending))

    def test_equal_outcomes_are_the_same(self):
        self.assertEqual(self.record([(0, "", "")], [(0, "", "")])["verdict"], "same")

    def test_another_code_signal_or_output_is_changed(self):
        for other in ((139, "", ""), (-signal.SIGSEGV, "", ""), (0, "more", ""), (0, "", "more"),
                      (None, "", "")):
            with self.subTest(other):
                self.assertEqual(self.record([(0, "", "")], [other])["verdict"], "changed")

    def test_what_happens_without_eroica_too_is_unsteady(self):
        both = [(0, "", ""), (-signal.SIGABRT, "", "")]
        self.assertEqual(self.record(both, [both[1]])["verdict"], "unsteady")
        self.assertEqual(self.record([both[0]], both[::-1])["verdict"], "changed")

    def test_a_job_that_fails_before_its_end_is_void(self):
        record = endings.Outcome(1, "", "ImportError")
        original, endings.run = endings.run, lambda *_: (record,)
        self.addCleanup(setattr, endings, "run", original)
        cell = endings.Cell("numpy", "plain", "returns")
        self.assertEqual(endings.compare(None, cell)["verdict"], "void")

    def test_an_ending_that_is_not_reached_is_void(self):
        for ending, said, verdict in (
                ("restarted", "1\n", "void"), ("restarted", "trained\n1\n", "same"),
                ("destroyed_and_made_again", "", "void"),
                ("destroyed_and_made_again", "made again\n", "same"), ("returns", "", "same")):
            with self.subTest(ending, said=said):
                sides = [(0, said, "")]
                self.assertEqual(self.record(sides, sides, ending)["verdict"], verdict)

    def test_exit_codes_signals_and_hangs_are_told_apart(self):
        self.assertEqual(outcome_of("raise SystemExit(3)").status, 3)
        self.assertEqual(outcome_of("import os; os.abort()").status, -signal.SIGABRT)
        hanging = outcome_of("print('begun', flush=True); import signal; signal.pause()", 5.0)
        self.assertEqual((hanging.status, hanging.out), (None, "begun\n"))

    def test_lines_and_frames_of_eroica_are_left_out_and_no_others(self):
        text = """Traceback (most recent call last):
  File "/a/train.py", line 3, in <module>
    step()
  File "/x/python/eroica/torch_distributed.py", line 130, in watched
    work = original(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/a/not_eroica/model.py", line 9, in forward
    fail()
ValueError: eroica: of the user
eroica: rank 3 is losing events: the disk is full
"""
        self.assertEqual(endings.without_own_lines(text).splitlines(), [
            "Traceback (most recent call last):", '  File "/a/train.py", line 3, in <module>',
            "    step()", '  File "/a/not_eroica/model.py", line 9, in forward', "    fail()",
            "ValueError: eroica: of the user"])


class Cells(unittest.TestCase):
    def test_there_are_as_many_as_promised_and_each_once(self):
        cells = endings.all_cells(torch=None)
        self.assertGreaterEqual(len(cells), 150)
        self.assertEqual(len(cells), len(set(cells)))
        self.assertGreater(len(endings.all_cells(torch="x")), len(cells))

    def test_every_host_has_what_endings_use(self):
        folder = os.path.dirname(os.path.abspath(endings.__file__))
        for host in ("numpy", "gloo", "outliving"):
            with open(os.path.join(folder, host + "_host.py"), encoding="utf-8") as file:
                text = file.read()
            for name in ("start", "train", "collective", "pending", "pending_until", "group",
                         "destroy"):
                self.assertIn(f"def {name}(", text, host)
        self.assertIn("returns", job.ENDINGS)


if __name__ == "__main__":
    unittest.main()

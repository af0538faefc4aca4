"""`eroica act` replaces the slow rank of a job that trains under `eroica run`: real processes, start to end."""

import json
import os
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Acting(unittest.TestCase):
    def test_the_slow_rank_is_found_and_replaced_while_the_others_go_on(self):
        steps = 200
        process = subprocess.run(
            [sys.executable, os.path.join(FOLDER, "acting.py"), "--eroica", os.environ["EROICA_TEST_PROGRAM"],
             "--steps", str(steps), "--fault-size", "1.5", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=280)
        self.assertEqual(process.returncode, 0, process.stderr)
        result = json.loads(process.stdout)
        self.assertEqual(result["replaced_rank"], 2)
        self.assertIn("Rank 2", result["finding"])
        self.assertEqual(result["steps"], steps, "no step is left out")
        self.assertLess(result["first_step"], steps)
        self.assertIn("restart_lost_s", result)
        print(process.stdout, file=sys.stderr)


if __name__ == "__main__":
    unittest.main()

"""Daemon threads at exit, of every CPython of the machine: up to 3.13 CPython ends a thread that asks
for the GIL then by pthread_exit, which unwinds the frames of an injected library below it."""

import os
import subprocess
import unittest

from testing import interpreters

LIBRARY = os.environ.get("EROICA_TEST_UNWOUND_FRAMES", "")
PROCESSES = 10  # of each CPython; 14 of 20 were aborted by a second unwinder

SCRIPT = """
import ctypes, sys, threading, time
library = ctypes.CDLL(sys.argv[1])
library.eroica_test_gil_rounds.restype = ctypes.c_long
finalizing = "Py_IsFinalizing" if hasattr(ctypes.pythonapi, "Py_IsFinalizing") else "_Py_IsFinalizing"
calls = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
         for name in ("PyGILState_Ensure", "PyGILState_Release", finalizing)]
for _ in range(4):
    threading.Thread(target=library.eroica_test_hold_gil, args=calls, daemon=True).start()
deadline = time.monotonic() + 60
while library.eroica_test_gil_rounds() < 100:
    assert time.monotonic() < deadline
"""


@unittest.skipUnless(LIBRARY, "EROICA_TEST_UNWOUND_FRAMES is not set")
class UnwindTest(unittest.TestCase):
    @unittest.skipIf(
        os.environ.get("EROICA_SANITIZED") == "thread",
        "so slow, a thread asks for the GIL of an interpreter that has ended since it looked: CPython ends by SIGSEGV",
    )
    def test_daemon_threads_that_ask_for_the_gil_at_exit_end_quietly(self):
        for version, python in interpreters.all_interpreters().items():
            with self.subTest(python=version):
                ends = [
                    subprocess.run(
                        [python, "-I", "-c", SCRIPT, LIBRARY],
                        capture_output=True,
                        text=True,
                        timeout=100,
                        check=False,
                    )
                    for _ in range(PROCESSES)
                ]
                self.assertEqual([(end.returncode, end.stderr) for end in ends], [(0, "")] * PROCESSES)


if __name__ == "__main__":
    unittest.main()

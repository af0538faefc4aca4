"""Daemon threads at exit, of every CPython of the machine: up to 3.13 CPython ends a thread that asks
for the GIL then by pthread_exit, which unwinds the frames of an injected library below it."""

import os
import subprocess
import unittest

from testing import interpreters

LIBRARY = os.environ.get("EROICA_TEST_UNWOUND_FRAMES", "")
PROCESSES = 10  # of each CPython; 14 of 20 were aborted by a second unwinder
THREADS = 4

# The threads wait for the GIL when the interpreter begins to end; AtTheEnd lets go of it then.
SCRIPT = """
import ctypes, os, sys, threading, time
threads, unwound = map(int, sys.argv[2:])
library = ctypes.PyDLL(sys.argv[1])
library.eroica_test_gil_rounds.restype = ctypes.c_long
library.eroica_test_close_gate.restype = ctypes.c_bool
hold_gil = ctypes.CDLL(sys.argv[1]).eroica_test_hold_gil
calls = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
         for name in ("PyGILState_Ensure", "PyGILState_Release")]
sys.setswitchinterval(100)  # a thread keeps the GIL until it lets go of it
for _ in range(threads):
    threading.Thread(target=hold_gil, args=calls, daemon=True).start()
deadline = time.monotonic() + 60
while library.eroica_test_gil_rounds() < 100:
    assert time.monotonic() < deadline
    time.sleep(0.001)

class AtTheEnd:
    def __init__(self):
        self.unwound = unwound
        self.left, self.sleep, self.write = library.eroica_test_frames_left, time.sleep, os.write

    def __del__(self):
        for _ in range(10_000):
            self.sleep(0.001)
            if self.left() >= self.unwound:
                break
        self.write(1, b"%d" % self.left())

at_the_end = AtTheEnd()
assert library.eroica_test_close_gate(threads)
"""


def frames_unwound(version):
    """From 3.14 on, and in free-threaded builds, CPython lets such a thread hang instead."""
    if interpreters.is_free_threaded(version):
        return 0
    return THREADS if tuple(map(int, version.split("."))) < (3, 14) else 0


@unittest.skipUnless(LIBRARY, "EROICA_TEST_UNWOUND_FRAMES is not set")
class UnwindTest(unittest.TestCase):
    def test_daemon_threads_that_ask_for_the_gil_at_exit_end_quietly(self):
        for version, python in interpreters.all_interpreters().items():
            with self.subTest(python=version):
                gil = ["-X", "gil=1"] if interpreters.is_free_threaded(version) else []
                self.check([python, *gil], str(frames_unwound(version)))

    def check(self, python, unwound):
        for _ in range(PROCESSES):
            end = subprocess.run(
                [*python, "-I", "-c", SCRIPT, LIBRARY, str(THREADS), unwound],
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            self.assertEqual((end.returncode, end.stdout, end.stderr), (0, unwound, ""))


if __name__ == "__main__":
    unittest.main()

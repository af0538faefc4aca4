"""How processes with a sampler end: at every way out, in every CPython of this machine, each many
times."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402


class ShutdownTest(unittest.TestCase):
    """Ends of a process with a sampler at 1,000 Hz in the middle of its work, each many times."""

    TIMES = 4
    HEAD = "import eroica, os, sys, time\n"

    def each(self):
        return [
            one for one in interpreters.all_interpreters().values() for _ in range(self.TIMES)
        ]

    def ends(self, script, status):
        for python in self.each():
            run = interpreters.run(
                python,
                self.HEAD * ("import eroica" not in script) + script,
                epilogue=False,
                EROICA_PYTHON_HZ="1000",
                timeout=60,
                PYTHONWARNINGS="ignore",
            )  # of forks beside threads
            self.assertEqual((run.status, run.err), (status, ""), python)

    BUSY = "end = time.monotonic() + 0.05\nwhile time.monotonic() < end: pass\n"

    def test_the_end_of_the_script(self):
        self.ends(self.BUSY, 0)

    def test_exit_with_a_status(self):
        self.ends(self.BUSY + "sys.exit(3)", 3)

    def test_os_exit(self):
        self.ends(self.BUSY + "os._exit(4)", 4)

    def test_kill(self):
        self.ends(self.BUSY + "os.kill(os.getpid(), 9)", -signal.SIGKILL)

    def test_the_sampler_stops_while_other_threads_hold_the_gil(self):
        # They end after the sampler and before the interpreter: CPython up to 3.12 crashes now and
        # then where daemon threads run on into its end, with and without Eroica.
        script = """
import atexit, threading, time
ends = []
def spin():
    while not ends: pass
threads = [threading.Thread(target=spin, daemon=True) for _ in range(3)]
def end():
    ends.append(True)
    for thread in threads: thread.join()
atexit.register(end)
import eroica
for thread in threads: thread.start()
"""
        self.ends(script + self.BUSY, 0)

    @unittest.skipIf(
        os.environ.get("EROICA_SANITIZED") == "address",
        "GCC 12's AddressSanitizer forks while another thread holds its allocator: the child waits for ever",
    )
    def test_children_of_forks_end_well(self):
        self.ends(
            """
for _ in range(20):
    child = os.fork()
    if child == 0:
        for i in range(10000): pass
        sys.exit(5)   # through the child's own interpreter shutdown
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
""",
            0,
        )

    def test_code_that_comes_and_goes(self):
        script = """
for i in range(300):
    text = f"def f{i}():\\n  for j in range(2000): pass\\nf{i}()"
    exec(compile(text, f"file{i}.py", "exec"), {})
"""
        self.ends(script, 0)

    def test_deep_recursion_generators_and_exceptions(self):
        self.ends(
            """
def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
def numbers():
    for i in range(5000): yield i
sys.setrecursionlimit(5000)
for _ in range(20):
    assert deep(2000) == 2000
    assert sum(numbers()) == 12497500
    try:
        [][1]
    except IndexError:
        pass
""",
            0,
        )

    def test_atexit_callbacks_of_the_script_still_run(self):
        for python in interpreters.all_interpreters().values():
            run = interpreters.run(
                python,
                "import atexit, eroica\natexit.register(print, 'bye')",
                epilogue=False,
                EROICA_PYTHON_HZ="1000",
            )
            self.assertEqual((run.status, run.out, run.err), (0, "bye\n", ""))


if __name__ == "__main__":
    unittest.main()

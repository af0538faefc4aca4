"""`eroica top` from outside: on a terminal that the test holds the other end of, and without one."""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE_S = 90
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
HOME = b"\x1b[H"


class Node:
    """A node over a copy of a recording of a real job. It may be stopped and started again, on the same port."""

    def __init__(self, folder, *options):
        self.recording = os.path.join(folder, "recording")
        shutil.copytree(ROOT / "tests/golden/live/compute", self.recording)
        drained = subprocess.run([PROGRAM, "node", "--recording", self.recording, "--drain", "--set",
                                  "summarize.out_of_orderness_ms=1000"], capture_output=True, check=False)
        assert drained.returncode == 0, drained.stderr
        self.options = options
        self.listen = "127.0.0.1:0"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "node", "--recording", self.recording, "--set", f"rest.listen={self.listen}", *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for line in self.process.stderr:
            found = re.search(rb"url=(http://(127\.0\.0\.1:\d+))", line)
            if found:
                self.url = found.group(1).decode()
                self.listen = found.group(2).decode()
                return
        raise AssertionError("the node does not listen")

    def stop(self):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait(timeout=DEADLINE_S)
        self.process.stderr.close()


class Terminal:
    """`eroica top` on a terminal of its own."""

    def __init__(self, *arguments, columns=100, rows=30, **variables):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables}
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([PROGRAM, "top", *arguments], stdin=slave, stdout=slave,
                                        stderr=subprocess.PIPE, env=environment)
        self.slave = slave
        self.seen = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, wanted, begin=0):
        """All that was drawn, once it has this text behind `begin`."""
        deadline = time.monotonic() + DEADLINE_S
        while wanted not in self.seen[begin:]:
            if not self.read_some(max(0, deadline - time.monotonic())):
                raise AssertionError(f"no {wanted} in {self.seen[-2000:]}")
        return self.seen

    def read_some(self, time_s):
        ready, _, _ = select.select([self.master], [], [], time_s)
        if not ready:
            return False
        try:
            part = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += part
        return bool(part)

    def end(self):
        """Its exit code, once it has ended; everything it drew is in seen."""
        deadline = time.monotonic() + DEADLINE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            self.read_some(0.05)
        while self.read_some(0):
            pass
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()
        os.close(self.slave)
        os.close(self.master)


def lines_of(frame):
    """The lines of a frame, without what moves the cursor or colours."""
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", line) for line in frame.decode().split("\n")]


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="eroica-top-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.node = Node(cls.folder)
        cls.addClassCleanup(lambda: cls.node.stop())

    def top(self, *arguments, **options):
        terminal = Terminal("--node", self.node.url, "--every", "1", *arguments, **options)
        self.addCleanup(terminal.close)
        return terminal

    def once(self, *arguments):
        """Without a terminal, until the node has read its findings."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            run = subprocess.run([PROGRAM, "top", "--node", self.node.url, *arguments], capture_output=True, text=True,
                                 check=False)
            if run.returncode == 1 or time.monotonic() > deadline:
                return run

    def test_without_a_terminal_it_is_printed_once(self):
        run = self.once()
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertNotIn("\x1b", run.stdout)
        self.assertIn("Open findings", run.stdout)
        self.assertIn("holds", run.stdout)

    def test_as_json(self):
        run = self.once("--json")
        view = json.loads(run.stdout)
        self.assertEqual(view["findings_open"], 1)
        self.assertTrue(view["job"]["newest_window"].startswith("steps-"))

    def test_once_on_a_terminal_leaves_the_screen_alone(self):
        terminal = Terminal("--node", self.node.url, "--once")
        self.addCleanup(terminal.close)
        self.assertIn(terminal.end(), (0, 1))
        self.assertNotIn(ENTER, terminal.seen)
        self.assertIn(b"job ", terminal.seen)

    def test_q_and_signals_give_the_terminal_back(self):
        for what in ("q", signal.SIGINT, signal.SIGTERM):
            with self.subTest(what):
                terminal = self.top()
                terminal.read_until(b"job ")
                self.assertFalse(termios.tcgetattr(terminal.slave)[3] & termios.ECHO)
                if what == "q":
                    os.write(terminal.master, b"q")
                else:
                    terminal.process.send_signal(what)
                self.assertIn(terminal.end(), (0, 1))
                self.assertIn(ENTER, terminal.seen)
                self.assertTrue(terminal.seen.endswith(b"\x1b[?25h" + LEAVE), terminal.seen[-100:])
                self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)

    def test_it_fits_the_terminal_and_follows_its_size(self):
        terminal = self.top(columns=70, rows=12)
        terminal.read_until(b"job ")
        begin = len(terminal.seen)
        terminal.resize(50, 8)
        terminal.read_until(HOME, begin)
        begin = terminal.seen.index(HOME, begin)
        terminal.read_until(b"\x1b[J", begin)
        frame = terminal.seen[begin:terminal.seen.index(b"\x1b[J", begin)]
        lines = lines_of(frame)
        self.assertLessEqual(len(lines), 8)
        self.assertLessEqual(max(map(len, lines)), 50)

    def test_colours_only_where_they_are_wanted(self):
        self.once()
        for variables, colours in (({}, True), ({"NO_COLOR": "1"}, False)):
            with self.subTest(variables):
                terminal = self.top(**variables)
                terminal.read_until(b"Open findings")
                terminal.read_until(b"\x1b[J", terminal.seen.index(b"Open findings"))
                self.assertEqual(re.search(rb"\x1b\[[0-9;]*m", terminal.seen) is not None, colours)

    def test_a_node_that_starts_again_is_waited_for(self):
        terminal = self.top(columns=120)
        terminal.read_until(b"q ends it")
        begin = len(terminal.seen)
        self.node.stop()
        terminal.read_until(b"reconnecting: ", begin)
        place = terminal.seen.index(b"reconnecting: ", begin)
        self.assertIn(b"job ", terminal.read_until(b"\x1b[J", place)[place:], "what it last said stays")
        begin = len(terminal.seen)
        self.node.start()
        terminal.read_until(b"q ends it", begin)
        os.write(terminal.master, b"q")
        self.assertIn(terminal.end(), (0, 1))

    def test_a_node_that_is_not_there_is_an_error_and_no_screen(self):
        terminal = Terminal("--node", "http://127.0.0.1:1")
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), 2)
        self.assertNotIn(ENTER, terminal.seen)
        self.assertIn(b"does not answer", terminal.process.stderr.read())

    def test_a_job_that_is_not_known(self):
        run = subprocess.run([PROGRAM, "top", "--node", self.node.url, "--job", "no\x1b[2J"], capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.returncode, 3)
        self.assertIn("no job 'no\\x1b[2J'", run.stderr)


class TopWithToken(unittest.TestCase):
    def test_the_token_is_of_a_file_or_of_the_environment(self):
        folder = tempfile.mkdtemp(prefix="eroica-top-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        made = json.loads(subprocess.run([PROGRAM, "token", "--name", "top", "--json"], capture_output=True,
                                         check=True).stdout)
        tokens, token = os.path.join(folder, "tokens"), os.path.join(folder, "token")
        for path, text in ((tokens, made["line"]), (token, made["token"])):
            with open(path, "w", encoding="ascii") as file:
                file.write(text + "\n")
        node = Node(folder, "--set", f"rest.token_file={tokens}")
        self.addCleanup(node.stop)

        def code(*arguments, **variables):
            run = subprocess.run([PROGRAM, "top", "--node", node.url, "--once", *arguments], capture_output=True,
                                 text=True, check=False, env={**os.environ, **variables})
            self.assertNotIn(made["token"], run.stdout + run.stderr)
            return run.returncode

        self.assertEqual(code(), 2)
        self.assertEqual(code(EROICA_TOKEN="wrong"), 2)
        self.assertIn(code("--token-file", token), (0, 1))
        self.assertIn(code(EROICA_TOKEN=made["token"]), (0, 1))
        self.assertEqual(code("--token-file", os.path.join(folder, "none")), 2)


if __name__ == "__main__":
    unittest.main()

"""`eroica diagnose --open` from outside: the dashboard of traces, until Ctrl-C."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
DEADLINE_S = 60
RANKS = 4
STRAGGLER = 2
STEPS = 24
STEP_US = 100_000
COMPUTE_US = 50_000
STRAGGLER_US = 80_000
ALL_REDUCE_US = 5_000


def span(name, category, begin, end, thread=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": thread, "ts": begin,
            "dur": end - begin, "args": args}


def step_of(rank, step):
    begin = 1_000_000 + step * STEP_US
    computed = begin + (STRAGGLER_US if rank == STRAGGLER else COMPUTE_US)
    group = {"Collective name": "allreduce", "Process Group Name": "0", "Group size": RANKS,
             "Process Group Ranks": str(list(range(RANKS))), "In msg nelems": 1 << 20,
             "dtype": "Float"}
    return [
        span(f"ProfilerStep#{step}", "user_annotation", begin, begin + STEP_US),
        span("gemm", "kernel", begin, computed, thread=7, device=0, stream=7),
        span("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", computed,
             begin + STRAGGLER_US + ALL_REDUCE_US, thread=20, device=0, stream=20, **group),
    ]


def trace_of(rank):
    return {"distributedInfo": {"rank": rank, "world_size": RANKS},
            "traceEvents": [event for step in range(STEPS) for event in step_of(rank, step)]}


class DiagnosePage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="eroica-diagnose-page-test-")
        self.addCleanup(shutil.rmtree, folder, True)
        for rank in range(RANKS):
            (pathlib.Path(folder) / f"rank{rank}.json").write_text(json.dumps(trace_of(rank)))
        self.process = subprocess.Popen(
            [PROGRAM, "diagnose", folder, "--job", "night", "--open", "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={name: value for name, value in os.environ.items()
                 if name not in ("DISPLAY", "WAYLAND_DISPLAY")})
        self.addCleanup(self.process.kill)

    def url(self):
        for line in self.process.stderr:
            if line.startswith(b"page: "):
                return line.decode().removeprefix("page: ").strip()
        self.fail("no page")

    def get(self, path):
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                with urllib.request.urlopen(self.base + path, timeout=DEADLINE_S) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:  # 503: the findings are being read
                if error.code != 503 or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def test_the_job_stays_on_the_page_until_somebody_ends_it(self):
        self.base = self.url()
        with urllib.request.urlopen(self.base, timeout=DEADLINE_S) as page:
            self.assertIn(b"<title>Eroica", page.read())
        self.assertEqual([job["job"] for job in self.get("v1/jobs")["jobs"]], ["night"])
        self.assertEqual(len(self.get("v1/jobs/night/ranks")["ranks"]), RANKS)
        self.assertGreater(len(self.get("v1/jobs/night/windows")["windows"]), 1)
        self.assertTrue(self.get("v1/jobs/night/functions")["functions"])
        shown = self.get("v1/findings?job=night")["findings"]
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=DEADLINE_S)
        printed = [line for line in map(json.loads, out.splitlines()) if "id" in line]
        self.assertEqual({finding["id"] for finding in shown},
                         {finding["id"] for finding in printed})
        self.assertEqual([finding["culprits"][0]["rank"] for finding in printed], [STRAGGLER])
        self.assertEqual(self.process.returncode, 1)
        self.assertFalse(self.shows_the_job(), "the page outlives the program")

    def shows_the_job(self):
        """Whether the page still answers: the port may be another program's by now."""
        try:
            return "night" in [job["job"] for job in self.get("v1/jobs")["jobs"]]
        except (OSError, ValueError, KeyError):
            return False


if __name__ == "__main__":
    unittest.main()

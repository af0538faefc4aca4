#!/usr/bin/env python3
"""Runs one node on a real Kafka for as long as it is let, under simulated jobs, two at a time and
as fast as they go, and says whether its memory, its state on disk and its open files stay flat.

    ops/soak_node.py                     30 minutes
    ops/soak_node.py --minutes 600 --csv soak.csv

Needs a build (ops/build.sh release). Exit codes: 0 flat, 1 something grew or the node died, 2 usage.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NODE = ROOT / "build/release/ops/cli/eroica"
LAB = ROOT / "build/release/tests/evaluation/lab/eroica-lab"
SCENARIOS = {  # and how many steps of each: about as much telemetry
    "gpu_slow_dp_8r": 4_000,
    "code_regression_mild_dp_64r": 500,
    "healthy_checkpoint_dp_8r": 4_000,
    "code_regression_hidden_fsdp_16r": 2_000,
}
JOBS_AT_ONCE = 2
SAMPLE_SECONDS = 5
# Of the last quarter against the second one; the first warms up.
GROWTH_MAX = {"rss_mib": 1.10, "disk_mib": 1.25, "files": 1.05}
SLACK = {"rss_mib": 8, "disk_mib": 16, "files": 4}
# How many of 100 samples are lower than the one that is compared. A job is sent faster than it runs,
# and what is fetched of it comes and goes within seconds: of the memory it is what lies below.
PERCENTILE = {"rss_mib": 25, "disk_mib": 50, "files": 50}
MEMORY_MIB = 2048  # runtime.memory_mib, its default: never more
SETTINGS = [
    "topics.events_retention_ms=60000",
    "topics.patterns_retention_ms=60000",
    # What fills up to a bound goes with the jobs that there have been, not with the time; it is to
    # be full within the first quarter: jobs that are over, RocksDB's cache (0.2 MiB a job: its
    # usual 256 MiB last more than a thousand), windows that are shown.
    "state.ended_jobs_kept=2",
    "state.memory_mib=16",
    "rest.memory_mib=16",
]


class Soak:
    def __init__(self, minutes, pause, folder):
        self.pause = pause
        self.end = time.monotonic() + minutes * 60
        self.folder = pathlib.Path(folder)
        self.broker_folder = self.folder / "kafka"
        self.samples = []
        self.jobs = 0
        self.steps = 0
        self.job_seconds = 0.0

    def start(self):
        self.broker = self.run(["ops/kafka.sh", "start", "--free-port", self.broker_folder]).strip()
        settings = [word for setting in SETTINGS for word in ("--set", setting)]
        self.place = ["--bootstrap", self.broker]
        self.run([NODE, "topics", "create", *self.place, *settings])
        state = ["--state", self.folder / "state"]
        with open(self.folder / "node.log", "w") as log:
            self.node = subprocess.Popen(
                [NODE, "node", *self.place, *settings, *state], stdout=log, stderr=log, cwd=ROOT
            )

    def run(self, command):
        done = subprocess.run(
            [str(word) for word in command], cwd=ROOT, text=True, capture_output=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"soak_node.py: {command[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def simulate(self, number):
        scenario, steps = list(SCENARIOS.items())[number % len(SCENARIOS)]
        command = [LAB, "simulate", f"tests/scenarios/dev/{scenario}.toml", "--level", "1"]
        command += ["--steps", steps, "--job", f"soak-{number}", "--seed", number + 1]
        return json.loads(self.run([*command, *self.place, "--json"]))

    def simulate_some(self):
        numbers = range(self.jobs, self.jobs + JOBS_AT_ONCE)
        with concurrent.futures.ThreadPoolExecutor(JOBS_AT_ONCE) as pool:
            for said in pool.map(self.simulate, numbers):
                self.jobs += 1
                self.steps += said["steps"]
                self.job_seconds += said["steps"] * said["step_ns_mean"] / 1e9

    def sample(self):
        status = pathlib.Path(f"/proc/{self.node.pid}/status").read_text()
        rss = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        state = self.folder / "state"
        self.samples.append(
            {
                "second": round(time.monotonic() - self.started),
                "rss_mib": int(rss.split()[1]) / 1024,
                "disk_mib": sum(size_of(path) for path in state.rglob("*")) / 2**20,
                "files": len(os.listdir(f"/proc/{self.node.pid}/fd")),
                "jobs": self.jobs,
                "job_hours": self.job_seconds / 3600,
            }
        )

    def soak(self):
        self.started = time.monotonic()
        sampled = 0.0
        while time.monotonic() < self.end:
            self.simulate_some()
            if self.node.poll() is not None:
                sys.exit(f"soak_node.py: the node ended with {self.node.returncode}")
            if time.monotonic() - sampled >= SAMPLE_SECONDS:
                sampled = time.monotonic()
                self.sample()
                self.show()
            time.sleep(self.pause)

    def show(self):
        now = self.samples[-1]
        print(
            f"\rsoak: {now['second'] // 60} min, {now['jobs']} jobs, {now['job_hours']:.1f} h of job"
            f" time, {now['rss_mib']:.0f} MiB, disk {now['disk_mib']:.0f} MiB,"
            f" {now['files']} files ",
            end="" if sys.stderr.isatty() else "\n",
            flush=True,
        )

    def stop(self):
        self.node.terminate()
        try:
            self.node.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.node.kill()
        subprocess.run(["ops/kafka.sh", "stop", str(self.broker_folder)], cwd=ROOT, check=False)


def size_of(path):
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0  # a compaction was faster


def level(name, samples):
    values = [sample[name] for sample in samples]
    return statistics.quantiles(values, n=100, method="inclusive")[PERCENTILE[name] - 1]


def grown(samples):
    """The names of what is larger in the last quarter than in the second, or than it may be."""
    quarter = len(samples) // 4
    found = []
    for name, growth in GROWTH_MAX.items():
        before = level(name, samples[quarter : 2 * quarter])
        after = level(name, samples[-quarter:])
        most = max(sample[name] for sample in samples)
        print(f"{name}: {before:.1f} in the second quarter, {after:.1f} in the last, {most:.1f} at most")
        if after > before * growth + SLACK[name] or (name == "rss_mib" and most > MEMORY_MIB):
            found.append(name)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--pause", type=float, default=0, help="seconds from jobs to jobs")
    parser.add_argument("--csv", help="file for the samples")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eroica-soak-") as folder:
        soak = Soak(asked.minutes, asked.pause, folder)
        soak.start()
        try:
            soak.soak()
        finally:
            soak.stop()
    if asked.csv:
        with open(asked.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=soak.samples[0].keys())
            writer.writeheader()
            writer.writerows(soak.samples)
    print(f"{soak.jobs} jobs, {soak.steps} steps, {soak.job_seconds / 3600:.1f} h of job time")
    if len(soak.samples) < 8:
        sys.exit("soak_node.py: too short to say anything: eight samples at least")
    if more := grown(soak.samples):
        print("NOT flat: " + ", ".join(more), file=sys.stderr)
        return 1
    print("flat")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What Eroica costs a training job: two of the same job take turns, one of them under `eroica run`.

    tests/live/overhead.py --turns 40
    tests/live/overhead.py --plain-twice            # what the measurement itself is off by

The processors of a shared machine change their speed by a third within seconds, so that runs one
after the other tell nothing. Here both jobs are there all the time, and each runs for two seconds
while the other is stopped (SIGSTOP). Two turns, one of each job, are a pair; which one begins
alternates. Of each turn the steps are counted that rank 0 has done in it, and parts of steps.
No rank asks for a capture window (EROICA_REQUESTS=0): each stop would look like a job that blocks.
"""

import argparse
import bisect
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import matrix

ROOT = matrix.ROOT
STEP_LINE = re.compile(rb"step (\d+):")
WARM_UP_STEPS = 20
MOST_STEPS = 1_000_000
ROUNDS = 2_000  # of the bootstrap


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eroica", default=os.path.join(ROOT, "build/release/ops/cli/eroica"))
    parser.add_argument("--python", default="/usr/bin/python3", help="one that has NumPy")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--turns", type=int, default=40, help="of each job")
    parser.add_argument("--turn-s", type=float, default=2.0, metavar="SECONDS")
    parser.add_argument("--plain-twice", action="store_true", help="no Eroica in either job")
    parser.add_argument("--json", metavar="FILE", help="write all turns")
    return parser.parse_args()


class Job:
    """One of the two jobs: stopped, or running. Its own time stands still while it is stopped."""

    def __init__(self, name, command, folder):
        self.name = name
        self.began, self.active, self.steps = None, 0.0, []  # steps: (own time, steps done)
        self._log = open(os.path.join(folder, name + ".err"), "wb")
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=self._log,
                                         env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
                                                  EROICA_REQUESTS="0"),
                                         start_new_session=True)
        self.began = time.monotonic()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            found = STEP_LINE.match(line)
            if found:
                self.steps.append((self.own_time(), int(found.group(1))))

    def own_time(self):
        return self.active + (time.monotonic() - self.began if self.began is not None else 0.0)

    def wait_for_step(self, step):
        while not self.steps or self.steps[-1][1] < step:
            if self._process.poll() is not None:
                raise SystemExit(f"overhead.py: the {self.name} job has ended; see {self._log.name}")
            time.sleep(0.05)

    def stop(self):
        self._signal(signal.SIGSTOP)
        if self.began is not None:
            self.active, self.began = self.own_time(), None

    def go_on(self):
        self.began = time.monotonic()
        self._signal(signal.SIGCONT)

    def _signal(self, number):
        for pid in [self._process.pid] + matrix.descendants(self._process.pid):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def progress(self, own_time):
        """Steps done by then, and the part of the one that was under way."""
        after = bisect.bisect_right(self.steps, (own_time, MOST_STEPS))
        if after in (0, len(self.steps)):
            return None
        (begin, done), (end, _) = self.steps[after - 1], self.steps[after]
        return done + (own_time - begin) / (end - begin)


def command_of(args, recording):
    job = [args.python, "ops/demo/launch.py", "--backend", "numpy", "--ranks", str(args.ranks),
           "--steps", str(MOST_STEPS), "--log-every", "1"]
    return [args.eroica, "run", "--recording", recording, "--"] + job if recording else job


def start(args, folder):
    """Both jobs, warm and stopped."""
    jobs = []
    for name in ("plain", "eroica"):
        watched = name == "eroica" and not args.plain_twice
        recording = os.path.join(folder, "recording") if watched else None
        job = Job(name, command_of(args, recording), folder)
        job.wait_for_step(WARM_UP_STEPS)
        job.stop()
        jobs.append(job)
    return jobs


def take_turns(args, jobs):
    """The turns of each job in its own time: {name: [(begin, end), ...]}."""
    turns = {job.name: [] for job in jobs}
    for number in range(args.turns):
        for job in jobs if number % 2 == 0 else reversed(jobs):
            begin = job.own_time()
            job.go_on()
            time.sleep(args.turn_s)
            job.stop()
            turns[job.name].append((begin, job.own_time()))
        print(f"\rpair {number + 1} of {args.turns}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return turns


def step_ms(job, begin, end):
    """How long a step took in that turn; None where no two steps frame it."""
    before, after = job.progress(begin), job.progress(end)
    if before is None or after is None or after <= before:
        return None
    return 1000 * (end - begin) / (after - before)


def interval_of_median(values, seed=1):
    """95 %, by bootstrap."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values)))
                     for _ in range(ROUNDS))
    return medians[int(0.025 * ROUNDS)], medians[int(0.975 * ROUNDS)]


def report(plain, watched, turns):
    pairs = [(step_ms(plain, *p), step_ms(watched, *w))
             for p, w in zip(turns[plain.name], turns[watched.name])]
    pairs = [pair for pair in pairs if None not in pair]
    if len(pairs) < 4:
        raise SystemExit("overhead.py: too few turns with whole steps in them: longer turns help")
    ratios = [w / p - 1 for p, w in pairs]
    low, high = interval_of_median(ratios)
    quartiles = statistics.quantiles(ratios, n=4)
    print(f"step: {statistics.median(p for p, _ in pairs):.1f} ms without Eroica,"
          f" {statistics.median(w for _, w in pairs):.1f} ms with it (medians of"
          f" {len(pairs)} pairs of turns)")
    print(f"with Eroica a step takes {100 * statistics.median(ratios):+.2f} %"
          f" (95 %: {100 * low:+.2f} to {100 * high:+.2f}; quartiles of the pairs"
          f" {100 * quartiles[0]:+.2f} and {100 * quartiles[2]:+.2f})")
    return pairs


def main():
    args = arguments()
    matrix.adopt_orphans()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
        try:
            plain, watched = jobs = start(args, folder)
            turns = take_turns(args, jobs)
        finally:
            matrix.end_descendants()
        pairs = report(plain, watched, turns)
        if args.json:
            with open(args.json, "w") as file:
                json.dump({"pairs_of_step_ms": pairs}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the scripts of this folder share: the fault that one rank has, and what each rank measured.

They are users' scripts: nothing here knows of Eroica, but where a script says so. A rank calls
`Planted.in_step()` once a step, where its own code computes.
"""

import argparse
import os
import sys
import time

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../ops/demo"))

import truth

FAULTS = ("sleep", "compute", "data")


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("--fault-rank", type=int, default=2)
    parser.add_argument("--fault-step", type=int, default=64)
    parser.add_argument("--slow-ms", type=float, default=30)
    parser.add_argument("--truth", metavar="FOLDER")
    return parser.parse_args()


def slow_sleep(seconds):
    time.sleep(seconds)


def extra_layer(seconds):
    """Computes in Python for that long on the processor: a machine that is busy changes nothing."""
    end, total = time.thread_time() + seconds, 0
    while time.thread_time() < end:
        total += sum(range(1000))
    return total


def read_from_slow_disk(seconds):
    time.sleep(seconds)


class Planted:
    """One rank's. Times are milliseconds; a step lasts from one call of in_step to the next."""

    def __init__(self, args, rank, world):
        self.args, self.rank, self.world = args, rank, world
        self._times = {"step_ms": [], "planted_ms": []}
        self._began = None
        self._planted = 0.0
        self._step = self._samples = 0

    def in_step(self):
        """Called once a step."""
        now = time.perf_counter()
        if self._began is not None:
            self._times["step_ms"].append(1000 * (now - self._began))
            self._times["planted_ms"].append(1000 * self._planted)
        self._began, self._planted = now, 0.0
        if self._is_due("sleep", self._step):
            self._run(slow_sleep, self.args.slow_ms)
        elif self._is_due("compute", self._step):
            self._run(extra_layer, self.args.slow_ms)
        self._step += 1

    def in_sample(self, batch, processes):
        """Called where the data set makes a sample; batch: samples a step; processes: that make them
        side by side. What a process beside the rank's own plants is not in its times."""
        if self._is_due("data", self._samples * processes // batch):
            self._run(read_from_slow_disk, self.args.slow_ms / batch * processes)
        self._samples += 1

    def _is_due(self, fault, step):
        args = self.args
        return args.fault == fault and self.rank == args.fault_rank and step >= args.fault_step

    def _run(self, function, milliseconds):
        begin = time.perf_counter()
        function(milliseconds / 1000)
        self._planted += time.perf_counter() - begin

    def write(self):
        args = self.args
        fault = {"name": args.fault, "rank": args.fault_rank, "step": args.fault_step, "size": 0}
        if args.truth:
            truth.write(args.truth, self.rank, {
                "rank": self.rank, "world": self.world, "backend": "framework", "pid": os.getpid(),
                "fault": fault if args.fault else None, "times": self._times, "losses": []})

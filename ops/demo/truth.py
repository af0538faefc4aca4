"""What a rank itself knows of its steps: the truth that a diagnosis is checked against.

As a program it shows the truth of a job:   python3 ops/demo/truth.py FOLDER [--json]
"""

import argparse
import gc
import json
import os
import socket
import statistics
import struct
import time

PHASES = ("data", "forward", "backward", "all_reduce", "optimizer")
COLUMNS = tuple(f"{phase}_ms" for phase in PHASES) + ("step_ms", "cpu_ms", "gc_ms", "run_queue_ms",
                                                      "running")
WARM_UP = 2


class StepClock:
    """Times of each step and phase of this process, one list a column, in milliseconds.

    `running` is how many processes of the host were running or ready as the step began.
    """

    def __init__(self):
        self.times = {column: [] for column in COLUMNS}
        self._gc_seconds = 0.0
        gc.callbacks.append(self._collected)

    def begin(self):
        self.times["running"].append(_running_processes())
        self._counters = self._read_counters()
        self._begin = self._last = time.perf_counter()

    def lap(self, phase):
        now = time.perf_counter()
        self.times[f"{phase}_ms"].append(1000 * (now - self._last))
        self._last = now

    def end(self):
        self.times["step_ms"].append(1000 * (time.perf_counter() - self._begin))
        for column, before, after in zip(("cpu_ms", "gc_ms", "run_queue_ms"), self._counters,
                                         self._read_counters()):
            self.times[column].append(1000 * (after - before))

    def _read_counters(self):
        return time.process_time(), self._gc_seconds, _run_queue_seconds()

    def _collected(self, phase, info):
        if phase == "start":
            self._gc_start = time.perf_counter()
        else:
            self._gc_seconds += time.perf_counter() - self._gc_start


def _run_queue_seconds():
    """How long the training thread was ready to run and did not: the core ran something else."""
    try:
        with open("/proc/self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _running_processes():
    try:
        with open("/proc/stat") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("procs_running"))
    except (OSError, StopIteration, ValueError):
        return 0


TCP_INFO_FIELDS = {"rtt_us": (68, "I"), "pacing_rate": (104, "Q"), "max_pacing_rate": (112, "Q"),
                   "bytes_acked": (120, "Q"), "delivery_rate": (160, "Q"), "busy_time_us": (168, "Q"),
                   "receiver_limited_us": (176, "Q"), "send_buffer_limited_us": (184, "Q")}


def tcp_info(connection):
    """What the kernel knows of a connection (struct tcp_info)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return {name: struct.unpack_from(form, info, offset)[0]
            for name, (offset, form) in TCP_INFO_FIELDS.items()
            if offset + struct.calcsize(form) <= len(info)}


def write(folder, rank, truth):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"rank_{rank}.json"), "w") as file:
        file.write(json.dumps(truth) + "\n")


def read(folder):
    """The truth of all ranks, in their order."""
    ranks = []
    for name in os.listdir(folder):
        if name.startswith("rank_") and name.endswith(".json"):
            with open(os.path.join(folder, name)) as file:
                ranks.append(json.loads(file.read()))
    return sorted(ranks, key=lambda truth: truth["rank"])


def medians(truth, first, last=None):
    """Medians of all columns over steps, and `own_ms`: the step without the all-reduce."""
    times = {column: values[first:last] for column, values in truth["times"].items()}
    times["own_ms"] = [s - a for s, a in zip(times["step_ms"], times["all_reduce_ms"])]
    return {column: statistics.median(values) for column, values in times.items() if values}


def summary(ranks):
    """Medians of each rank before the fault and from it on; without a fault all is before."""
    fault = ranks[0]["fault"]
    first = fault["step"] if fault else None
    rows = []
    for truth in ranks:
        row = {"rank": truth["rank"], "before": medians(truth, WARM_UP, first)}
        if fault:
            row["after"] = medians(truth, first + WARM_UP)
        rows.append(row)
    return {"fault": fault, "ranks": rows}


def main():
    parser = argparse.ArgumentParser(description="Shows what the ranks of a demo job measured.")
    parser.add_argument("folder")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    result = summary(read(args.folder))
    if args.json:
        print(json.dumps(result))
        return
    columns = ["step_ms", "own_ms"] + [c for c in COLUMNS if c != "step_ms"]
    print("fault:", result["fault"])
    print(f"{'rank':>4} {'':6} " + " ".join(f"{column.replace('_ms', ''):>10}" for column in columns))
    for row in result["ranks"]:
        for part in ("before", "after"):
            if part in row:
                values = " ".join(f"{row[part].get(c, 0):10.1f}" for c in columns)
                print(f"{row['rank']:>4} {part:6} {values}")


if __name__ == "__main__":
    main()

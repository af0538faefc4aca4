#!/usr/bin/env python3
"""Makes the flight-recorder dumps of a large job that hangs, and times `eroica diagnose` over them.

    tests/benchmarks/flight_dumps.py --program build/release/ops/cli/eroica [--against OTHER]

256 ranks of tensor, pipeline and data parallel groups with full rings of 2,000 entries and call stacks,
as PyTorch 2.15 writes them (pickle): batches of sends and receives between pipeline stages (Megatron's
default), all-reduces of the other groups. In the last all-reduce of all, one rank is absent. Prints the
size, and of each program the least and the median of the runs, wall and processor time.
"""

import argparse
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BASE_NS = 1_790_000_000_000_000_000
FRAMES = [
    {"name": f"call_{i}", "filename": f"/env/lib/python3.11/site-packages/torch/nn/m{i}.py", "line": i}
    for i in range(14)
] + [{"name": "train_step", "filename": "/job/train.py", "line": 41}]


class Rank:
    def __init__(self, rank, ranks, width):
        stage, column = divmod(rank, width)
        self.rank, self.stages, self.stage = rank, ranks // width, stage
        tensor = column // 8
        self.groups = {
            "0": ("default_pg", list(range(ranks))),
            str(100 + rank // 8): ("TENSOR_MODEL_PARALLEL_GROUP", list(range(rank // 8 * 8, rank // 8 * 8 + 8))),
            str(1000 + column): ("PIPELINE_MODEL_PARALLEL_GROUP", list(range(column, ranks, width))),
            str(2000 + stage * 8 + column % 8): ("DATA_PARALLEL_GROUP", list(range(stage * width + column % 8, (stage + 1) * width, 8))),
        }
        self.names = list(self.groups)
        self.numbers = {name: [0, 0] for name in self.names}
        self.entries = []

    def add(self, name, word, ended, p2p=False, new=True):
        group = self.names[name]
        if new:
            self.numbers[group][p2p] += 1
        at = BASE_NS + len(self.entries) * 1_000_000 + self.rank * 1_000
        sizes = [] if word == "nccl:coalesced" else [[4096, 1, 5120]]
        kinds = [] if not sizes else ["BFloat16"]
        self.entries.append(
            {
                "frames": list(FRAMES),
                "record_id": len(self.entries),
                "pg_id": name,
                "process_group": (group, self.groups[group][0]),
                "thread_name": "python3",
                "thread_id": "139723358280576",
                "collective_seq_id": self.numbers[group][0],
                "p2p_seq_id": self.numbers[group][1],
                "op_id": len(self.entries),
                "profiling_name": word,
                "time_created_ns": at,
                "input_sizes": sizes,
                "input_dtypes": kinds,
                "output_sizes": sizes,
                "output_dtypes": kinds,
                "state": "completed" if ended else "scheduled",
                "time_discovered_started_ns": None,
                "time_discovered_completed_ns": at + 500_000 if ended else None,
                "retired": ended,
                "timeout_ms": 600_000,
                "is_p2p": p2p,
            }
        )

    def batch(self):
        peers = [p for p in (self.stage - 1, self.stage + 1) if 0 <= p < self.stages]
        for i, peer in enumerate(peers):
            self.add(2, f"nccl:send {self.stage}->{peer}", False, True, i == 0)
            self.add(2, f"nccl:recv {self.stage}<-{peer}", False, True, False)
        self.add(2, "nccl:coalesced", True, True, False)

    def write(self, folder, entries, absent):
        while len(self.entries) < entries - 8:
            self.batch()
            self.add(1, "nccl:all_reduce", True)
            self.add(3, "nccl:all_reduce", True)
        if not absent:
            self.add(0, "nccl:all_reduce", False)
        config = {n: {"name": n, "desc": d, "ranks": str(r)} for n, (d, r) in self.groups.items()}
        status = {0: {"last_enqueued_collective": 1, "last_started_collective": -1, "last_completed_collective": 0}}
        dump = {"version": "2.10", "pg_config": config, "comm_lib_version": "2.27.5", "pg_status": status, "entries": self.entries}
        with open(os.path.join(folder, f"nccl_trace_rank_{self.rank}"), "wb") as file:
            pickle.dump(dump, file, protocol=2)


def run(program, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run([program, "diagnose", folder, "--json"], capture_output=True, text=True)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--against", help="an older program, run in turn with the other")
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", help="write the dumps into this folder and leave them")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = flags.keep or scratch
        os.makedirs(folder, exist_ok=True)
        absent = flags.ranks // 3
        for rank in range(flags.ranks):
            Rank(rank, flags.ranks, flags.ranks // 4).write(folder, flags.entries, rank == absent)
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
        print(f"{flags.ranks} ranks, {size / 1e6:.0f} MB")
        programs = [flags.program] + ([flags.against] if flags.against else [])
        times = {program: [] for program in programs}
        right = {program: True for program in programs}
        for _ in range(flags.runs):
            for program in programs:
                wall, cpu, said = run(program, folder)
                times[program].append((wall, cpu))
                right[program] = right[program] and f"rank {absent} never launched" in said
        for program, rows in times.items():
            walls, cpus = zip(*rows)
            print(
                f"{program}: wall {min(walls):.2f} s at the least, {statistics.median(walls):.2f} s median; "
                f"processor {min(cpus):.2f} s, {statistics.median(cpus):.2f} s; "
                f"{'the rank is named' if right[program] else 'THE RANK IS NOT NAMED'}"
            )
        return 0 if right[flags.program] else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What each producer costs a training step on this GPU.

    tests/gpu/overhead.py --eroica build/release/ops/cli/eroica --libraries build/release/lib
    tests/gpu/overhead.py ... --ranks 4 --mps --shapes shared      # with NCCL, ranks on one device

All jobs are there from the beginning, one a choice of producers, and take turns: a block of steps
each, while the others wait for their next line and the device is idle. Each round has another
order. A block's steps are not synchronized one by one. `plain` is there twice: what the measurement
itself is off by. `torch.profiler` records every block in memory; only the steps are timed.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import capture
import ranks as rank_starter

CHOICES = {
    "plain": capture.NONE,
    "plain again": capture.NONE,
    "python": ("python",),
    "cupti": ("cupti",),
    "python + cupti": ("python", "cupti"),
    "python + cupti, level 1": ("python", "cupti"),
    "torch.profiler": capture.NONE,
}
CHOICES_OF_RANKS = {
    "plain": capture.NONE,
    "plain again": capture.NONE,
    "nccl": ("nccl",),
    "all": capture.ALL,
    "all, level 1": capture.ALL,
}
PROFILED = "torch.profiler"
WARM_UP_STEPS = 10
ROUNDS_OF_BOOTSTRAP = 2000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eroica", default="build/release/ops/cli/eroica")
    parser.add_argument("--libraries", default="build/release/lib")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--mps", action="store_true")
    parser.add_argument("--shapes", default="launches,realistic")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--block-seconds", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=200, help="ends after a whole round")
    parser.add_argument("--json", metavar="FILE", help="all blocks")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


class Worker:
    """One rank: trains a block of steps for each line that it reads."""

    def __init__(self, profiled):
        import torch
        import model
        self._torch, self._models, self._profiled = torch, model, profiled
        self._distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
        if self._distributed:
            torch.cuda.set_device(0)
            torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", 0))
        self._trained, self._counted = {}, set()

    def _made(self, name):
        if name not in self._trained:
            self._torch.manual_seed(1)
            shape = self._models.SHAPES[name]
            model = self._models.LanguageModel(shape).cuda()
            if self._distributed:
                model = self._torch.nn.parallel.DistributedDataParallel(model)
            tokens = self._models.Tokens(shape, 1, seed=1)[0].cuda()
            self._trained[name] = model, self._models.adamw(model, shape), tokens
        return self._trained[name]

    def _watcher(self):
        if not self._profiled:
            return contextlib.nullcontext()
        kinds = self._torch.profiler.ProfilerActivity
        return self._torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA])

    def block(self, name, steps):
        """Milliseconds a step."""
        model, optimizer, tokens = self._made(name)
        with self._watcher() as watcher:
            if self._distributed:
                self._torch.distributed.barrier()
            self._torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(steps):
                self._models.train_step(model, optimizer, tokens)
            self._torch.cuda.synchronize()
            took = time.perf_counter() - began
        if watcher is not None and name not in self._counted:
            self._count(watcher, name, steps)
        return 1000 * took / steps

    def _count(self, watcher, name, steps):
        self._counted.add(name)
        of_device = [event for event in watcher.events()
                     if event.device_type == self._torch.autograd.DeviceType.CUDA]
        print(f"{name}: {len(of_device) / steps:.0f} pieces of device work a step",
              file=sys.stderr, flush=True)

    def serve(self):
        print("ready", flush=True)
        for line in sys.stdin:
            name, steps = line.split()
            print(f"{self.block(name, int(steps))}", flush=True)
        if self._distributed:
            self._torch.distributed.destroy_process_group()


class Job:
    """All ranks of one choice of producers."""

    def __init__(self, name, ranks, variables, folder):
        self.name = name
        port = rank_starter.free_port()
        command = [sys.executable, os.path.abspath(__file__), "--worker"]
        self._ranks = []
        for rank in range(ranks):
            environment = rank_starter.rank_environment(rank, ranks, port)
            environment.update(variables, OVERHEAD_PROFILED=str(int(name == PROFILED)))
            log = open(os.path.join(folder, f"{name.replace(' ', '_')}_{rank}.err"), "wb")
            self._ranks.append(subprocess.Popen(command, env=environment, text=True, stderr=log,
                                                stdin=subprocess.PIPE, stdout=subprocess.PIPE))

    def wait(self):
        answers = [rank.stdout.readline().strip() for rank in self._ranks]
        if "" in answers:
            raise SystemExit(f"overhead.py: the job {self.name} has ended")
        return answers

    def block(self, shape, steps):
        for rank in self._ranks:
            rank.stdin.write(f"{shape} {steps}\n")
            rank.stdin.flush()
        return statistics.mean(float(answer) for answer in self.wait())

    def end(self):
        for rank in self._ranks:
            rank.stdin.close()
        for rank in self._ranks:
            try:
                rank.wait(timeout=20)
            except subprocess.TimeoutExpired:
                rank.kill()


def start(args, folder):
    installation = capture.Installation(args.eroica, args.libraries)
    jobs = []
    for name, producers in (CHOICES if args.ranks == 1 else CHOICES_OF_RANKS).items():
        recording = os.path.join(folder, name.replace(" ", "_"))
        if producers:
            installation.make_recording(recording, args.ranks)
        variables = installation.variables(recording, name, producers,
                                           level=1 if "level 1" in name else 2)
        jobs.append(Job(name, args.ranks, variables, folder))
    for job in jobs:
        job.wait()
    return jobs


def measure(args, jobs):
    """{shape: {job: [milliseconds a step, ...]}}, block by block."""
    shapes, draw = args.shapes.split(","), random.Random(1)
    steps = {}
    for shape in shapes:
        for job in jobs:
            job.block(shape, WARM_UP_STEPS)
        steps[shape] = max(5, int(1000 * args.block_seconds / jobs[0].block(shape, WARM_UP_STEPS)))
    blocks = {shape: {job.name: [] for job in jobs} for shape in shapes}
    deadline = time.monotonic() + args.seconds
    for _ in range(args.rounds):
        for shape in shapes:
            for job in draw.sample(jobs, len(jobs)):
                blocks[shape][job.name].append(job.block(shape, steps[shape]))
        keep(args, blocks)  # whoever has no time for the rest has what there is
        if time.monotonic() > deadline:
            break
    return blocks


def keep(args, blocks):
    if args.json:
        with open(args.json, "w") as file:
            json.dump(blocks, file)


def interval_of_median(values):
    """95 %, by bootstrap."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values)))
                     for _ in range(ROUNDS_OF_BOOTSTRAP))
    return medians[ROUNDS_OF_BOOTSTRAP // 40], medians[-ROUNDS_OF_BOOTSTRAP // 40]


def report(blocks):
    for shape, jobs in blocks.items():
        plain = jobs["plain"]
        print(f"{shape}: {len(plain)} rounds")
        for name, took in jobs.items():
            # Of one round: what drifts is in both.
            more = [100 * (mine / without - 1) for mine, without in zip(took, plain)]
            low, high = interval_of_median(more)
            print(f"  {name:24} {statistics.median(took):9.3f} ms a step (least {min(took):.3f})  "
                  f"{statistics.median(more):+7.2f} %  (95 %: {low:+.2f} to {high:+.2f})")


def main():
    args = arguments()
    if args.worker:
        Worker(os.environ.get("OVERHEAD_PROFILED") == "1").serve()
        return 0
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder, rank_starter.mps(args.mps):
        jobs = start(args, folder)
        try:
            blocks = measure(args, jobs)
        finally:
            for job in jobs:
                job.end()
        for name in sorted(os.listdir(folder)):
            if name.endswith(".err"):
                with open(os.path.join(folder, name)) as log:
                    text = log.read()
                if text:
                    print(f"{name}: {text[-500:]}", file=sys.stderr)
    report(blocks)
    return 0


if __name__ == "__main__":
    sys.exit(main())

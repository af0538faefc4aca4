#!/usr/bin/env python3
"""Trains a small language model, data-parallel: this is one rank. ops/demo/launch.py starts all.

Runs under torchrun, too. With PyTorch installed it trains with DDP, else in NumPy.
"""

import os

for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[_threads] = "1"  # Before NumPy is imported: ranks share the cores of this host.

import argparse
import collections
import contextlib
import importlib
import importlib.util
import resource
import shutil
import sys
import tempfile
import time

import data
import faults
import replacement
import truth

try:
    import eroica
except ImportError:  # Training needs no Eroica.
    eroica = None

Job = collections.namedtuple("Job", "rank world local_rank master")
BATCH, LENGTH, RECORDS = 8, 32, 64


def job_of_environment():
    """Who this process is, as torchrun and launch.py say it."""
    host = os.environ.get("MASTER_ADDR", "127.0.0.1")
    port = int(os.environ.get("MASTER_PORT", "29500"))
    if "TORCHELASTIC_RUN_ID" in os.environ:
        port += 1  # torchrun itself listens at MASTER_PORT.
    return Job(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")),
               int(os.environ.get("LOCAL_RANK", "0")), (host, port))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add_training_arguments(parser)
    parser.add_argument("--standby", action="store_true", help="wait for a rank to replace")
    parser.add_argument("--checkpoint", metavar="FILE", help="what rank 0 writes at --stop-after")
    parser.add_argument("--stop-after", type=int, default=-1, metavar="S", help="end behind step S")
    parser.add_argument("--resume", metavar="FILE", help="go on from a checkpoint")
    args = parser.parse_args()
    check_training_arguments(parser, args)
    return args


def add_training_arguments(parser):
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", choices=("auto", "numpy", "torch"), default="auto")
    parser.add_argument("--fault", choices=sorted(faults.FAULTS), help="what is wrong")
    parser.add_argument("--fault-rank", type=int, default=3, metavar="R", help="with which rank")
    parser.add_argument("--fault-step", type=int, default=20, metavar="S", help="from which step")
    parser.add_argument("--fault-size", type=float, default=0.4, metavar="X",
                        help="how much longer it makes a step (0.4: 40 %%)")
    parser.add_argument("--truth", metavar="FOLDER", help="where each rank writes what it measured")
    parser.add_argument("--log-every", type=int, default=20, metavar="STEPS")
    parser.add_argument("--step-ends", metavar="FILE",
                        help="where rank 0 writes when each step ended (CLOCK_MONOTONIC)")


def check_training_arguments(parser, args):
    if args.steps < 1 or args.log_every < 1:
        parser.error("--steps and --log-every are at least 1")
    if args.fault and args.fault_step < faults.MIN_FAULT_STEP:
        parser.error(f"--fault-step is at least {faults.MIN_FAULT_STEP}: a fault is sized by the"
                     " steps before it")
    if args.fault and args.fault_size <= 0:
        parser.error("--fault-size is above 0")


def make_training(backend, *args):
    if backend == "auto":
        backend = "torch" if importlib.util.find_spec("torch") else "numpy"
    if backend == "torch":
        from torch_training import TorchTraining
        return TorchTraining(*args)
    from numpy_training import NumpyTraining
    return NumpyTraining(*args)


def watched_loader(loader):
    return eroica.dataloader(loader) if eroica else loader


def watched_all_reduce(job, nbytes):
    if eroica is None:
        return contextlib.nullcontext()
    return eroica.collective("all_reduce", group="world", nbytes=nbytes, ranks=range(job.world))


def watch_from(step):
    """Eroica begins in a process that has taken a rank over, with the number of its next step."""
    global eroica
    if os.environ.pop("DEMO_WATCH_LATER", None) is None or importlib.util.find_spec("eroica") is None:
        return
    del os.environ["EROICA_DISABLE"]
    os.environ["EROICA_FIRST_STEP"] = str(step)
    import eroica as package
    eroica = importlib.reload(package)  # it asks for its variables when it is imported


class StepEnds:
    """When each step of the job ended, as rank 0 sees it, over all processes that are rank 0."""

    def __init__(self, path, rank):
        self._file = open(path, "a") if path and rank == 0 else None

    def add(self, step):
        if self._file is not None:
            self._file.write(f"{step} {time.monotonic():.6f}\n")
            self._file.flush()


def train(args, job, training, shard, member, first_step):
    """The training loop. Returns what this rank measured."""
    clock, ends = truth.StepClock(), StepEnds(args.step_ends, job.rank)
    faulty = args.fault is not None and job.rank == args.fault_rank
    fault = faults.make_fault(args.fault, args.fault_size) if faulty else faults.NoFault()
    losses, bytes_sent = [], 0
    batches = iter(watched_loader(training.loader))
    for step in range(first_step, args.steps):
        if member.is_alone_in_its_rank():
            watch_from(step)
            batches = iter(watched_loader(training.loader))
        clock.begin()
        if step == args.fault_step:
            fault.begin(clock.times, training, shard)
        inputs, targets = next(batches)
        clock.lap("data")
        scores = training.forward(inputs)
        if step >= args.fault_step:
            fault.during_step(training.activations(scores))
        clock.lap("forward")
        losses.append(training.backward(scores, targets))
        clock.lap("backward")
        if training.reduces_gradients:
            member.before_all_reduce()
            with watched_all_reduce(job, training.gradient_bytes):
                bytes_sent += training.all_reduce()
        clock.lap("all_reduce")
        training.optimize()
        clock.lap("optimizer")
        clock.end()
        if eroica:
            eroica.step()
        ends.add(step)
        if job.rank == 0 and (step + 1) % args.log_every == 0:
            print(f"step {step + 1}: loss {losses[-1]:.3f},"
                  f" {clock.times['step_ms'][-1]:.0f} ms", flush=True)
        if step == args.stop_after:
            if job.rank == 0:
                training.save(args.checkpoint, step + 1)
            break
        if member.after_step(step):
            return None
    return {"times": clock.times, "losses": losses, "bytes_sent": bytes_sent}


def run_rank(args, job, line, replaced=None):
    """Trains as one rank. replaced: what the launcher has said to a standby."""
    folder = tempfile.mkdtemp(prefix=f"demo-rank{job.rank}-")
    try:
        path = os.path.join(folder, "shard")
        index = data.write_shard(path, RECORDS, BATCH, LENGTH, args.seed * 1000 + job.rank)
        shard = data.Shard(path, index)
        options = [] if replaced is None else [True]
        training = make_training(args.backend, job, shard, BATCH, LENGTH, args.seed, *options)
        first_step = training.load(args.resume) if args.resume else 0
        if replaced is not None:
            first_step = replacement.take_over(training, line, replaced["port"])
        member = replacement.Member(job, training, line)
        measured = train(args, job, training, shard, member, first_step)
        if args.truth and measured is not None:
            write_truth(args, job, training, measured)
        training.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_truth(args, job, training, measured):
    fault = {"name": args.fault, "rank": args.fault_rank, "step": args.fault_step,
             "size": args.fault_size} if args.fault else None
    truth.write(args.truth, job.rank, {
        "rank": job.rank, "world": job.world, "backend": training.name, "pid": os.getpid(),
        "max_rss_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "parameters": training.digest(), "fault": fault, "connections": [
            truth.tcp_info(c) for c in training.outgoing_connections()], **measured})


def stand_by(args, line):
    """Waits, with all loaded that needs no rank, until the launcher says which rank to be."""
    global eroica
    eroica = None  # until this process is a rank
    from numpy_training import warm_up
    warm_up(BATCH, LENGTH)
    order = line.receive(wait=True)
    if order is None:
        return  # the job has ended without
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(order["rank"])
    run_rank(args, job_of_environment(), line, replaced=order)


def main():
    args = arguments()
    line = replacement.Line.of_environment()
    if args.standby:
        stand_by(args, line)
    else:
        run_rank(args, job_of_environment(), line)


if __name__ == "__main__":
    sys.exit(main())

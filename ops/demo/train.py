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
import importlib.util
import resource
import shutil
import sys
import tempfile

import data
import faults
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


def train(args, job, training, shard):
    """The training loop. Returns what this rank measured."""
    clock = truth.StepClock()
    faulty = args.fault is not None and job.rank == args.fault_rank
    fault = faults.make_fault(args.fault, args.fault_size) if faulty else faults.NoFault()
    losses, bytes_sent = [], 0
    batches = iter(watched_loader(training.loader))
    for step in range(args.steps):
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
            with watched_all_reduce(job, training.gradient_bytes):
                bytes_sent += training.all_reduce()
        clock.lap("all_reduce")
        training.optimize()
        clock.lap("optimizer")
        clock.end()
        if eroica:
            eroica.step()
        if job.rank == 0 and (step + 1) % args.log_every == 0:
            print(f"step {step + 1}: loss {losses[-1]:.3f},"
                  f" {clock.times['step_ms'][-1]:.0f} ms", flush=True)
    return {"times": clock.times, "losses": losses, "bytes_sent": bytes_sent}


def main():
    args = arguments()
    job = job_of_environment()
    folder = tempfile.mkdtemp(prefix=f"demo-rank{job.rank}-")
    try:
        path = os.path.join(folder, "shard")
        index = data.write_shard(path, RECORDS, BATCH, LENGTH, args.seed * 1000 + job.rank)
        shard = data.Shard(path, index)
        training = make_training(args.backend, job, shard, BATCH, LENGTH, args.seed)
        measured = train(args, job, training, shard)
        if args.truth:
            fault = {"name": args.fault, "rank": args.fault_rank, "step": args.fault_step,
                     "size": args.fault_size} if args.fault else None
            truth.write(args.truth, job.rank, {
                "rank": job.rank, "world": job.world, "backend": training.name, "pid": os.getpid(),
                "max_rss_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                "fault": fault, "connections": [
                    truth.tcp_info(c) for c in training.outgoing_connections()], **measured})
        training.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

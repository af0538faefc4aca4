#!/usr/bin/env python3
"""Trains on a GPU: one process, or one rank of several. A user's script: it knows nothing of Eroica.

    tests/gpu/train.py --shape realistic --steps 40
    tests/gpu/ranks.py --ranks 4 -- tests/gpu/train.py --shape shared --wrap ddp --steps 200

With --steps-file, what each step took by this script's own clock, for truth.py. With --profile,
torch.profiler takes a part of the steps.
"""

import argparse
import contextlib
import json
import os
import time

import torch
import torch.distributed

import model as models

NOBODY = -1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=models.SHAPES, default="realistic")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--wrap", choices=("none", "ddp", "fsdp"), default="none")
    parser.add_argument("--sync-every", type=int, default=1, metavar="STEPS")
    parser.add_argument("--steps-file", metavar="FILE")
    parser.add_argument("--profile", metavar="FILE", help="the trace of torch.profiler")
    parser.add_argument("--profile-from", type=int, default=0)
    parser.add_argument("--profile-steps", type=int, default=1 << 30)
    parser.add_argument("--fault", choices=("compute", "data", "hang"))
    parser.add_argument("--fault-rank", type=int, default=0)
    parser.add_argument("--fault-step", type=int, default=64)
    parser.add_argument("--fault-size", type=float, default=1.0,
                        help="compute: matrix products a step; data, hang: seconds")
    return parser.parse_args()


class Fault:
    """What is wrong with one rank, from a step on."""

    def __init__(self, args, rank):
        self.kind = args.fault if rank == args.fault_rank else None
        self.step, self.size = args.fault_step, args.fault_size
        if self.kind == "compute":
            self._matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def extra_matrix_products(self):
        for _ in range(int(self.size)):
            torch.mm(self._matrix, self._matrix)

    def in_forward(self, step):
        if self.kind == "compute" and step >= self.step:
            return self.extra_matrix_products
        return None

    def before_step(self, step):
        if self.kind == "hang" and step == self.step:
            self.stand_still()

    def stand_still(self):
        time.sleep(self.size)

    def read_slowly(self, index):
        """In a worker of the data loader."""
        if index >= self.step:
            time.sleep(self.size)

    def delay(self):
        return self.read_slowly if self.kind == "data" else None


def wrapped(model, wrap):
    if wrap == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=4)
    if wrap == "fsdp":
        from torch.distributed.fsdp import fully_shard
        for block in model.blocks:
            fully_shard(block)
        return fully_shard(model)
    return model


def profiler(args):
    if not args.profile:
        return None
    activities = torch.profiler.ProfilerActivity
    return torch.profiler.profile(activities=[activities.CPU, activities.CUDA])


def train(args, rank):
    torch.manual_seed(1)
    shape = models.SHAPES[args.shape]
    fault = Fault(args, rank)
    workers = 1 if args.wrap != "none" else 0
    loader = torch.utils.data.DataLoader(
        models.Tokens(shape, args.steps, seed=1 + rank, delay=fault.delay()), batch_size=None,
        num_workers=workers, pin_memory=True)
    model = wrapped(models.LanguageModel(shape).cuda(), args.wrap)
    optimizer = models.adamw(model, shape)
    watcher, steps = profiler(args), []
    with contextlib.ExitStack() as stack:
        for step, batch in enumerate(loader):
            if watcher and step == args.profile_from:
                torch.cuda.synchronize()
                stack.enter_context(watcher)
            if watcher and step == args.profile_from + args.profile_steps:
                torch.cuda.synchronize()
                stack.close()
            begin = time.time_ns()
            fault.before_step(step)
            loss = models.train_step(model, optimizer, batch.cuda(non_blocking=True),
                                     fault.in_forward(step))
            if (step + 1) % args.sync_every == 0:
                loss = loss.item()
                torch.cuda.synchronize()
            steps.append((begin, time.time_ns()))
    if watcher:
        watcher.export_chrome_trace(args.profile)
    return steps, float(loss)


def main():
    args = arguments()
    rank = 0
    if args.wrap != "none":
        torch.cuda.set_device(0)
        torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", 0))
        rank = torch.distributed.get_rank()
    steps, loss = train(args, rank)
    if args.steps_file:
        with open(args.steps_file.replace("RANK", str(rank)), "w") as file:
            json.dump({"rank": rank, "steps_ns": steps, "loss": loss}, file)
    took = sorted(end - begin for begin, end in steps)
    print(f"rank {rank}: {len(steps)} steps, median {took[len(took) // 2] / 1e6:.2f} ms,"
          f" loss {loss:.4f}", flush=True)
    if args.wrap != "none":
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()

"""What the PyTorch scripts of this folder share: arguments, data, the fault, and the training loop.

They are users' scripts: nothing here knows of Eroica. Model, data and faults are the demo's.
"""

import argparse
import os
import shutil
import sys
import tempfile

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_threads] = "1"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ops/demo"))

import torch
import torch.distributed

import data
import faults
import truth
from torch_training import Records

RECORDS = 32


class LiveJob:
    """One rank of a training over gloo. Started by torchrun."""

    def __init__(self, description, batch, length, same_data_on_all_ranks=False):
        self.args = _arguments(description)
        torch.set_num_threads(1)
        torch.manual_seed(self.args.seed)
        torch.distributed.init_process_group("gloo")
        self.rank = torch.distributed.get_rank()
        self.world = torch.distributed.get_world_size()
        if not 0 <= self.args.fault_rank < self.world:
            raise SystemExit(f"there is no rank {self.args.fault_rank} among {self.world}")
        seed = self.args.seed if same_data_on_all_ranks else self.args.seed + self.rank
        self._folder = tempfile.mkdtemp(prefix=f"live-rank{self.rank}-")
        path = os.path.join(self._folder, "shard")
        index = data.write_shard(path, RECORDS, batch, length, seed)
        self._shard = data.Shard(path, index)
        records = Records(self._shard, batch, length, seed)
        self._loader = torch.utils.data.DataLoader(records, batch_size=None, num_workers=1)
        self._fault = faults.NoFault()
        if self.args.fault and self.rank == self.args.fault_rank:
            self._fault = faults.make_fault(self.args.fault, self.args.fault_size)
        self._step = 0

    def in_forward(self, activations):
        """The model calls this once a step: here an extra layer of the faulty rank runs."""
        if self._step >= self.args.fault_step:
            self._fault.during_step(activations.detach().numpy())

    def run(self, train_step):
        """Trains: train_step(inputs, targets) is one step, and returns its loss, or None."""
        try:
            self._run(train_step)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, train_step):
        clock, losses = truth.StepClock(), []
        batches = iter(self._loader)
        for self._step in range(self.args.steps):
            clock.begin()
            if self._step == self.args.fault_step:
                self._fault.begin(clock.times, None, self._shard)
            inputs, targets = next(batches)
            clock.lap("data")
            loss = train_step(inputs, targets)
            clock.end()
            if loss is not None:
                losses.append(loss)
                if (self._step + 1) % self.args.log_every == 0:
                    print(f"rank {self.rank} step {self._step + 1}: loss {loss:.3f},"
                          f" {clock.times['step_ms'][-1]:.0f} ms", flush=True)
        if self.args.truth:
            truth.write(self.args.truth, self.rank, {
                "rank": self.rank, "world": self.world, "backend": "torch", "pid": os.getpid(),
                "fault": self._injected(), "times": clock.times, "losses": losses})
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()

    def _injected(self):
        args = self.args
        return {"name": args.fault, "rank": args.fault_rank, "step": args.fault_step,
                "size": args.fault_size} if args.fault else None


def _arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", choices=("compute", "data"))
    parser.add_argument("--fault-rank", type=int, default=1)
    parser.add_argument("--fault-step", type=int, default=50)
    parser.add_argument("--fault-size", type=float, default=0.4)
    parser.add_argument("--truth", metavar="FOLDER")
    parser.add_argument("--log-every", type=int, default=50)
    args = parser.parse_args()
    if args.fault and args.fault_step < faults.MIN_FAULT_STEP:
        parser.error(f"--fault-step is at least {faults.MIN_FAULT_STEP}")
    return args

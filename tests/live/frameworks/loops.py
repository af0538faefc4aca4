"""Loops over gloo that people write themselves; started by torchrun.

    loops.py KIND   fsdp2, no_sync (four micro-batches a step), gan (two optimizers), workers (a
                    DataLoader with two), compile (torch.compile), mpi (ranks from mpirun), slurm
                    (ranks from srun), plain (nothing of these), restart (the first attempt of
                    torchrun has no fault, and ends at step 100, where rank 2 raises)
"""

import contextlib
import os
import sys

import planted
import torch_parts

import torch
from torch import nn

MICRO_BATCHES = 4
BREAKS = {"rank": 2, "step": 100}


def loader_of(plant, **options):
    return iter(torch.utils.data.DataLoader(
        torch_parts.Samples(plant), batch_size=torch_parts.BATCH, **options))


def one_optimizer(plant, wrap, workers=0, micro_batches=1, breaks_at=None):
    """A step: micro-batches, a reduction of the gradients with the last one, the optimizer.
    breaks_at: the step that raises."""
    model = wrap(torch_parts.Net())
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    batches = loader_of(plant, num_workers=workers, persistent_workers=workers > 0)
    for step in range(plant.args.steps):
        if step == breaks_at:
            raise RuntimeError(f"rank {plant.rank} breaks in step {step}")
        optimizer.zero_grad()
        for micro_batch in range(micro_batches):
            keeps = model.no_sync if micro_batch + 1 < micro_batches else contextlib.nullcontext
            with keeps():
                loss = torch_parts.loss_of(model, next(batches))
                if micro_batch == 0:
                    plant.in_step()
                loss.backward()
        optimizer.step()


def data_parallel(net):
    return nn.parallel.DistributedDataParallel(net)


def compiled(net):
    return torch.compile(data_parallel(net), dynamic=False)


def sharded(net):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    for layer in net.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def adversaries(plant):
    width = torch_parts.WIDTH
    critic = data_parallel(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)))
    maker = data_parallel(nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width)))
    optimizers = [torch.optim.Adam(part.parameters()) for part in (critic, maker)]
    batches = loader_of(plant)
    for _ in range(plant.args.steps):
        real, _ = next(batches)
        made = maker(torch.randn(torch_parts.BATCH, 64))
        plant.in_step()
        optimizers[0].zero_grad()
        (nn.functional.softplus(-critic(real)).mean()
         + nn.functional.softplus(critic(made.detach())).mean()).backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        nn.functional.softplus(-critic(made)).mean().backward()
        optimizers[1].step()


def restarted(plant):
    breaks_at = None
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        plant.args.fault = None
        breaks_at = BREAKS["step"] if plant.rank == BREAKS["rank"] else None
    one_optimizer(plant, data_parallel, breaks_at=breaks_at)


# Of launchers other than torchrun: the variables that hold rank and number of ranks.
LAUNCHERS = {
    "mpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "slurm": ("SLURM_PROCID", "SLURM_NTASKS"),
}


def take_ranks_of(launcher):
    """What a script does that these start: PyTorch takes RANK and WORLD_SIZE alone."""
    rank, size = LAUNCHERS[launcher]
    os.environ.update(RANK=os.environ[rank], WORLD_SIZE=os.environ[size],
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29517"))


def main():
    kind = sys.argv.pop(1)
    if kind in LAUNCHERS:
        take_ranks_of(kind)
    plant = torch_parts.start(__doc__)
    kinds = {
        "fsdp2": lambda: one_optimizer(plant, sharded),
        "no_sync": lambda: one_optimizer(plant, data_parallel, micro_batches=MICRO_BATCHES),
        "gan": lambda: adversaries(plant),
        "workers": lambda: one_optimizer(plant, data_parallel, workers=2),
        "compile": lambda: one_optimizer(plant, compiled),
        "mpi": lambda: one_optimizer(plant, data_parallel),
        "slurm": lambda: one_optimizer(plant, data_parallel),
        "plain": lambda: one_optimizer(plant, data_parallel),
        "restart": lambda: restarted(plant),
    }
    kinds[kind]()
    torch_parts.finish(plant)


if __name__ == "__main__":
    main()

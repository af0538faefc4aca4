"""PyTorch over gloo, one rank or, where a launcher says so, more."""

import os

import torch
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
model = None
_ports = iter(("MASTER_PORT", "JOB_NEXT_PORT"))


def start():
    """The second time with another port: the ranks let go of the store one after the other."""
    os.environ["MASTER_PORT"] = os.environ[next(_ports)]
    dist.init_process_group("gloo")


def collective():
    dist.all_reduce(torch.ones(8))


def pending():
    """Ends when the other rank takes part, which it does not; alone it ends at once."""
    return dist.all_reduce(torch.ones(8), async_op=True)


def pending_until(when):
    return pending()


def group():
    return dist.new_group(list(range(dist.get_world_size())))


def destroy():
    dist.destroy_process_group()


def train(steps=3):
    """What DistributedDataParallel's C++ reduces; the model stays, as a script's does."""
    global model
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1)))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()

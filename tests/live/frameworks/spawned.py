"""torch.multiprocessing.spawn: four ranks that the script starts itself, none in the environment."""

import os

import planted
import torch_parts

import torch
from torch import nn

RANKS = 4


def train(rank, args, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    plant = planted.Planted(args, rank, RANKS)
    model = nn.parallel.DistributedDataParallel(torch_parts.Net(plant.in_step))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    batches = iter(torch.utils.data.DataLoader(torch_parts.Samples(plant), torch_parts.BATCH))
    for _ in range(args.steps):
        optimizer.zero_grad()
        torch_parts.loss_of(model, next(batches)).backward()
        optimizer.step()
    torch_parts.finish(plant)


def main():
    args = planted.arguments(__doc__)
    torch.multiprocessing.spawn(train, (args, 20_000 + os.getpid() % 20_000), RANKS)


if __name__ == "__main__":
    main()

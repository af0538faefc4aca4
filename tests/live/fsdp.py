"""Fully sharded data parallel: each rank keeps a part of every layer and gathers it when needed."""

from live_job import LiveJob

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch_training import LanguageModel

BATCH, LENGTH = 8, 64


def main():
    job = LiveJob(__doc__, BATCH, LENGTH)
    mesh = init_device_mesh("cpu", (job.world,))
    model = LanguageModel(LENGTH, width=96, layers=3)
    for layer in model.layers.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train_step(inputs, targets):
        scores = model(inputs)
        job.in_forward(scores)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    job.run(train_step)


if __name__ == "__main__":
    main()

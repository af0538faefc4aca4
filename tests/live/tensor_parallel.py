"""Tensor parallel: each rank computes a part of every layer, of the same data."""

from live_job import LiveJob

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                               parallelize_module)

import data

BATCH, LENGTH, WIDTH, LAYERS = 8, 64, 128, 4


class Block(nn.Module):
    """Each position sees the mean of those before it, and goes through two layers."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.widen = nn.Linear(2 * WIDTH, 8 * WIDTH)
        self.narrow = nn.Linear(8 * WIDTH, WIDTH)

    def forward(self, x):
        normal = self.norm(x)
        counts = torch.arange(1, x.shape[1] + 1).unsqueeze(-1)
        before = normal.cumsum(dim=1) / counts
        hidden = nn.functional.gelu(self.widen(torch.cat([normal, before], dim=-1)))
        return x + self.narrow(hidden)


class Model(nn.Module):
    def __init__(self, in_forward):
        super().__init__()
        self.in_forward = in_forward
        self.tokens = nn.Embedding(data.VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, data.VOCABULARY)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number == 0:
                self.in_forward(x)
        return self.head(x)


def main():
    job = LiveJob(__doc__, BATCH, LENGTH, same_data_on_all_ranks=True)
    mesh = init_device_mesh("cpu", (job.world,))
    model = Model(job.in_forward)
    for block in model.blocks:
        parallelize_module(block, mesh,
                           {"widen": ColwiseParallel(), "narrow": RowwiseParallel()})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)

    def train_step(inputs, targets):
        scores = model(inputs)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    job.run(train_step)


if __name__ == "__main__":
    main()

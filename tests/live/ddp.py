"""DistributedDataParallel: every rank has the whole model and its own data."""

from live_job import LiveJob

import torch
from torch import nn
from torch_training import LanguageModel

BATCH, LENGTH = 8, 64


def main():
    job = LiveJob(__doc__, BATCH, LENGTH)
    model = nn.parallel.DistributedDataParallel(LanguageModel(LENGTH, width=96, layers=3))
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

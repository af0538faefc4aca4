"""An elastic job: rank 1 fails once, and torchrun starts all ranks again (--max-restarts 1)."""

import os

import torch_parts

import torch
from torch import nn

FAILS_AT = 40


def main():
    plant = torch_parts.start(__doc__)
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    model = nn.parallel.DistributedDataParallel(torch_parts.Net(plant.in_step))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    batches = iter(torch.utils.data.DataLoader(torch_parts.Samples(plant), torch_parts.BATCH))
    for step in range(plant.args.steps):
        if attempt == 0 and plant.rank == 1 and step == FAILS_AT:
            raise RuntimeError("this attempt ends here")
        optimizer.zero_grad()
        torch_parts.loss_of(model, next(batches)).backward()
        optimizer.step()
    torch_parts.finish(plant)


if __name__ == "__main__":
    main()

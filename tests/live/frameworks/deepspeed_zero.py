"""DeepSpeed on processors over gloo: an engine of ZeRO stage 1 (--stage 0: none). A step is two
micro-batches. Started by DeepSpeed's own launcher, or by torchrun.
"""

import os
import sys

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import planted
import torch_parts

import deepspeed
import torch

MICRO_BATCHES = 2


def main():
    args = planted.arguments(__doc__)
    deepspeed.init_distributed("gloo")
    torch.manual_seed(0)
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    plant = planted.Planted(args, rank, world)
    model = torch_parts.Net()
    engine, _, loader, _ = deepspeed.initialize(
        model=model, optimizer=torch.optim.AdamW(model.parameters(), 1e-3),
        training_data=torch_parts.Samples(plant),
        config={
            "train_micro_batch_size_per_gpu": torch_parts.BATCH,
            "gradient_accumulation_steps": MICRO_BATCHES,
            "zero_optimization": {"stage": 1},
        })
    batches = iter(loader)
    for micro_batch in range(args.steps * MICRO_BATCHES):
        loss = torch_parts.loss_of(engine, next(batches))
        if micro_batch % MICRO_BATCHES == 0:
            plant.in_step()
        engine.backward(loss)
        engine.step()
    torch_parts.finish(plant)


if __name__ == "__main__":
    main()

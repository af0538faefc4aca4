"""Pipeline parallel, 1F1B: each rank has some layers; micro-batches pass through all ranks."""

from live_job import LiveJob

import torch
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import data

BATCH, LENGTH, WIDTH, HEADS, MICRO_BATCHES = 16, 32, 96, 4, 4


class Stage(nn.Module):
    """One layer of the model; the first stage embeds tokens, the last one scores them."""

    def __init__(self, first, last, in_forward):
        super().__init__()
        self.in_forward = in_forward
        self.micro_batch = 0
        self.embed = nn.Embedding(data.VOCABULARY, WIDTH) if first else nn.Identity()
        self.layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0,
                                                batch_first=True, norm_first=True)
        self.head = nn.Linear(WIDTH, data.VOCABULARY) if last else nn.Identity()
        mask = torch.triu(torch.full((LENGTH, LENGTH), float("-inf")), 1)
        self.register_buffer("mask", mask)

    def forward(self, x):
        x = self.layer(self.embed(x), src_mask=self.mask, is_causal=True)
        if self.micro_batch % MICRO_BATCHES == 0:
            self.in_forward(x)
        self.micro_batch += 1
        return self.head(x)


def loss_of(scores, targets):
    return nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())


def main():
    # The first stage reads inputs, the last one targets: of the same records.
    job = LiveJob(__doc__, BATCH, LENGTH, same_data_on_all_ranks=True)
    first, last = job.rank == 0, job.rank == job.world - 1
    module = Stage(first, last, job.in_forward)
    rows = BATCH // MICRO_BATCHES
    tokens = torch.zeros(rows, LENGTH, dtype=torch.long)
    hidden = torch.zeros(rows, LENGTH, WIDTH, requires_grad=True)
    scores = torch.zeros(rows, LENGTH, data.VOCABULARY, requires_grad=True)
    stage = PipelineStage(module, job.rank, job.world, torch.device("cpu"),
                          input_args=(tokens if first else hidden,),
                          output_args=(scores if last else hidden,))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)

    def train_step(inputs, targets):
        optimizer.zero_grad()
        losses = []
        if first:
            schedule.step(inputs)
        elif last:
            schedule.step(target=targets, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        return torch.stack(losses).detach().mean().item() if losses else None

    job.run(train_step)


if __name__ == "__main__":
    main()

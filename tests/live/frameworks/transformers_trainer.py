"""Hugging Face's Trainer; started by torchrun."""

import tempfile

import planted
import torch_parts

import torch
import transformers
from torch import nn


class Model(nn.Module):
    def __init__(self, plant):
        super().__init__()
        self.net = torch_parts.Net(plant.in_step)

    def forward(self, inputs, labels):
        scores = self.net(inputs)
        return {"loss": nn.functional.cross_entropy(scores, labels), "logits": scores}


class Rows(torch_parts.Samples):
    def __getitem__(self, index):
        inputs, target = super().__getitem__(index)
        return {"inputs": inputs, "labels": target}


def main():
    args = planted.arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            output_dir=folder, max_steps=args.steps, per_device_train_batch_size=torch_parts.BATCH,
            use_cpu=True, report_to=[], save_strategy="no", logging_strategy="no",
            disable_tqdm=True, remove_unused_columns=False)
        plant = planted.Planted(args, settings.process_index, settings.world_size)
        transformers.Trainer(model=Model(plant), args=settings, train_dataset=Rows(plant)).train()
        plant.write()
        torch.distributed.barrier()


if __name__ == "__main__":
    main()

"""Lightning's Trainer, strategy ddp, four processes that it starts itself."""

import planted
import torch_parts

import lightning
import torch

RANKS = 4


class Module(lightning.LightningModule):
    def __init__(self, plant):
        super().__init__()
        self.net = torch_parts.Net(plant.in_step)

    def training_step(self, batch, _):
        return torch_parts.loss_of(self.net, batch)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


def main():
    args = planted.arguments(__doc__)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=RANKS, strategy="ddp", max_steps=args.steps, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    plant = planted.Planted(args, trainer.global_rank, RANKS)
    loader = torch.utils.data.DataLoader(torch_parts.Samples(plant), batch_size=torch_parts.BATCH)
    trainer.fit(Module(plant), loader)
    plant.write()


if __name__ == "__main__":
    main()

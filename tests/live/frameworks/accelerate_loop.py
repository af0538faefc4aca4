"""A loop of one's own with Hugging Face Accelerate; started by torchrun, as accelerate launch does."""

import planted
import torch_parts

import accelerate
import torch


def main():
    args = planted.arguments(__doc__)
    accelerator = accelerate.Accelerator(cpu=True)
    plant = planted.Planted(args, accelerator.process_index, accelerator.num_processes)
    net = torch_parts.Net(plant.in_step)
    loader = torch.utils.data.DataLoader(torch_parts.Samples(plant), batch_size=torch_parts.BATCH)
    model, optimizer, loader = accelerator.prepare(
        net, torch.optim.AdamW(net.parameters(), 1e-3), loader)
    for step, batch in enumerate(loader):
        if step == args.steps:
            break
        loss = torch_parts.loss_of(model, batch)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    plant.write()


if __name__ == "__main__":
    main()

"""The model and the data set of the PyTorch scripts of this folder."""

import planted

import torch
from torch import nn

torch.set_num_threads(1)
WIDTH, BATCH, CLASSES = 256, 16, 10


class Net(nn.Module):
    """A small perceptron. on_forward: called once in each forward pass that trains."""

    def __init__(self, on_forward=None):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(4)])
        self.head = nn.Linear(WIDTH, CLASSES)
        self._on_forward = on_forward

    def forward(self, inputs):
        for layer in self.layers:
            inputs = torch.relu(layer(inputs))
        if self._on_forward is not None and self.training:
            self._on_forward()
        return self.head(inputs)


class Samples(torch.utils.data.Dataset):
    """Random samples, the same for one index. plant: a Planted whose fault may lie here, or None."""

    def __init__(self, plant=None, count=100_000):
        self._plant, self._count = plant, count

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        if self._plant is not None:
            worker = torch.utils.data.get_worker_info()
            self._plant.in_sample(BATCH, worker.num_workers if worker else 1)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(WIDTH, generator=generator), index % CLASSES


def start(description):
    """Arguments, rank and world of a script that a launcher started, over gloo."""
    args = planted.arguments(description)
    torch.distributed.init_process_group("gloo")
    torch.manual_seed(0)
    return planted.Planted(args, torch.distributed.get_rank(), torch.distributed.get_world_size())


def loss_of(model, batch):
    inputs, targets = batch
    return nn.functional.cross_entropy(model(inputs), targets)


def finish(plant):
    plant.write()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()

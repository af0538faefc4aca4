"""The same training with PyTorch: DataLoader, DistributedDataParallel over gloo, AdamW."""

import os
import socket
import zlib

import data
import numpy as np
import torch
import torch.distributed
from torch import nn

WIDTH, LAYERS, HEADS = 64, 2, 4


class Records(torch.utils.data.Dataset):
    """One item is a whole batch: a record of the shard, decoded."""

    def __init__(self, shard, batch, length, seed):
        self.shard = shard
        self.batch = batch
        self.length = length
        self.seed = seed

    def __len__(self):
        return 1 << 30

    def __getitem__(self, number):
        record = self.shard.read_record(number)
        random = np.random.default_rng(self.seed + number)
        inputs, targets = data.decode(record, self.batch, self.length, random)
        return torch.from_numpy(inputs.copy()), torch.from_numpy(targets.copy())


class LanguageModel(nn.Module):
    def __init__(self, length, width=WIDTH, layers=LAYERS):
        super().__init__()
        self.tokens = nn.Embedding(data.VOCABULARY, width)
        self.positions = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0.0, batch_first=True,
                                           norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, data.VOCABULARY)
        mask = torch.triu(torch.full((length, length), float("-inf")), 1)
        self.register_buffer("mask", mask)

    def forward(self, tokens):
        hidden = self.tokens(tokens) + self.positions
        return self.head(self.layers(hidden, mask=self.mask, is_causal=True))


class TorchTraining:
    name = "torch"
    reduces_gradients = False  # DDP does, in backward.

    def __init__(self, job, shard, batch, length, seed):
        self.world = job.world
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        os.environ.setdefault("MASTER_ADDR", job.master[0])
        os.environ.setdefault("MASTER_PORT", str(job.master[1]))
        torch.distributed.init_process_group("gloo", rank=job.rank, world_size=job.world)
        self.model = nn.parallel.DistributedDataParallel(LanguageModel(length))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        dataset = Records(shard, batch, length, seed + job.rank)
        self.loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1)
        self.gradient_bytes = sum(4 * p.numel() for p in self.model.parameters())

    def forward(self, inputs):
        return self.model(inputs)

    def backward(self, scores, targets):
        """DDP sums the gradients over the ranks while this runs."""
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        loss.backward()
        return loss.item()

    def optimize(self):
        self.optimizer.step()

    def activations(self, scores):
        return scores.detach().numpy()

    def bytes_sent_per_step(self):
        return 2 * self.gradient_bytes * (self.world - 1) / self.world

    def digest(self):
        """Of the parameters: ranks that have trained together have the same."""
        return zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in self.model.parameters()))

    def outgoing_connections(self):
        """gloo does not show its connections: all TCP connections of this process."""
        found = []
        for entry in os.listdir("/proc/self/fd"):
            try:
                if not os.readlink(f"/proc/self/fd/{entry}").startswith("socket:"):
                    continue
                connection = socket.socket(fileno=os.dup(int(entry)))
            except OSError:
                continue  # Closed since.
            if connection.family in (socket.AF_INET, socket.AF_INET6) and _is_connected(connection):
                found.append(connection)
            else:
                connection.close()
        return found

    def close(self):
        torch.distributed.destroy_process_group()


def _is_connected(connection):
    try:
        connection.getpeername()
    except OSError:
        return False
    return True

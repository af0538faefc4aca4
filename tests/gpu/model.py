"""A small transformer, and the shapes of it that are trained here."""

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Shape:
    layers: int
    width: int
    heads: int
    length: int
    batch: int
    vocabulary: int = 8192
    fused_optimizer: bool = False  # one kernel for many parameters


SHAPES = {
    # Four ranks of it share one device.
    "shared": Shape(layers=8, width=256, heads=4, length=256, batch=64, vocabulary=1024,
                    fused_optimizer=True),
    # As little as can be called training: for recordings that are kept.
    "small": Shape(layers=2, width=256, heads=4, length=256, batch=64, vocabulary=1024,
                   fused_optimizer=True),
    # The worst case of a tracer: some 1,800 kernels of a few microseconds a step.
    "launches": Shape(layers=12, width=128, heads=4, length=64, batch=2, vocabulary=512),
    # Kernels of 10 us to 1 ms: the device has always something to do.
    "realistic": Shape(layers=12, width=1024, heads=16, length=1024, batch=8,
                       fused_optimizer=True),
}


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.before_attention = nn.LayerNorm(shape.width)
        self.before_layers = nn.LayerNorm(shape.width)
        self.project_in = nn.Linear(shape.width, 3 * shape.width)
        self.project_out = nn.Linear(shape.width, shape.width)
        self.widen = nn.Linear(shape.width, 4 * shape.width)
        self.narrow = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.project_in(self.before_attention(x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project_out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(nn.functional.gelu(self.widen(self.before_layers(x))))


class LanguageModel(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(shape.length, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.last = nn.LayerNorm(shape.width)
        self.scores = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.scores(self.last(x))


class Tokens(torch.utils.data.Dataset):
    """Batches of made-up text: the same at every run."""

    def __init__(self, shape, batches, seed, delay=None):
        draw = torch.Generator().manual_seed(seed)
        self._batches = batches
        self._kept = torch.randint(0, shape.vocabulary, (16, shape.batch, shape.length + 1),
                                   generator=draw)
        self._delay = delay

    def __len__(self):
        return self._batches

    def __getitem__(self, index):
        if self._delay is not None:
            self._delay(index)
        return self._kept[index % len(self._kept)]


def adamw(model, shape):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False,
                             fused=shape.fused_optimizer)


def train_step(model, optimizer, tokens, in_forward=None):
    """One step on the device of tokens. in_forward is called once, amid the model's kernels."""
    with torch.autocast(tokens.device.type, dtype=torch.bfloat16):
        scores = model(tokens[:, :-1])
        if in_forward is not None:
            in_forward()
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach()

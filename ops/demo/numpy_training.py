"""Data-parallel training in NumPy: the model on this rank, gradients exchanged over the ring."""

import zlib

import numpy as np
from data import VOCABULARY, DataLoader
from model import Adam, Transformer, cross_entropy
from ring import Ring

WIDTH, LAYERS, HEADS = 48, 2, 4


def warm_up(batch, length):
    """A step of a model that nobody keeps: what is loaded and built at the first one is there."""
    model = Transformer(VOCABULARY, length, WIDTH, LAYERS, HEADS, 0)
    tokens = np.zeros((batch, length), np.int64)
    model.backward(cross_entropy(model.forward(tokens), tokens)[1])
    Adam(model.flat).step(model.flat_gradient)


class NumpyTraining:
    name = "numpy"
    reduces_gradients = True

    def __init__(self, job, shard, batch, length, seed, standby=False):
        self.job = job
        self.world = job.world
        self.model = Transformer(VOCABULARY, length, WIDTH, LAYERS, HEADS, seed)
        self.optimizer = Adam(self.model.flat)
        self.ring = None if standby else Ring(job.rank, job.world, job.master)
        self.loader = DataLoader(shard, batch, length, seed + job.rank)
        self.gradient_bytes = self.model.flat_gradient.nbytes

    def forward(self, inputs):
        return self.model.forward(inputs)

    def backward(self, scores, targets):
        self.model.flat_gradient[:] = 0
        loss, gradient = cross_entropy(scores, targets)
        self.model.backward(gradient)
        return loss

    def all_reduce(self):
        """Returns the bytes that this rank sent."""
        sent = self.ring.all_reduce(self.model.exchanged)
        self.model.flat_gradient *= np.float32(1.0 / self.world)
        return sent

    def optimize(self):
        self.optimizer.step(self.model.flat_gradient)

    def activations(self, scores):
        return scores

    def bytes_sent_per_step(self):
        return 2 * self.gradient_bytes * (self.world - 1) / self.world

    def outgoing_connections(self):
        return [] if self.ring.outgoing is None else [self.ring.outgoing]

    def announce(self, *numbers):
        """What the next all-reduce says to all ranks: whole numbers below 2^24, of one rank only."""
        self.model.announced[:] = numbers

    def announced(self):
        """What the last all-reduce said."""
        return tuple(round(float(number)) for number in self.model.announced)

    def join(self, port):
        """All ranks, one of them anew, form the ring again."""
        if self.ring is not None:
            self.ring.close()
        self.ring = Ring(self.job.rank, self.world, (self.job.master[0], port))

    def state(self):
        """All that a rank must have to go on as its peers do: arrays that are sent as they are."""
        return (self.model.flat, self.optimizer.mean, self.optimizer.square)

    def digest(self):
        """Of the parameters: ranks that have trained together have the same."""
        return zlib.crc32(self.model.flat.tobytes())

    def save(self, path, step):
        names = ("parameters", "mean", "square")
        with open(path, "wb") as file:
            np.savez(file, step=step, count=self.optimizer.count, **dict(zip(names, self.state())))

    def load(self, path):
        """Returns the step to go on with."""
        with np.load(path) as saved:
            for name, array in zip(("parameters", "mean", "square"), self.state()):
                array[:] = saved[name]
            self.optimizer.count = int(saved["count"])
            return int(saved["step"])

    def close(self):
        self.loader.close()
        if self.ring is not None:
            self.ring.close()

"""Data-parallel training in NumPy: the model on this rank, gradients exchanged over the ring."""

import numpy as np
from data import VOCABULARY, DataLoader
from model import Adam, Transformer, cross_entropy
from ring import Ring

WIDTH, LAYERS, HEADS = 48, 2, 4


class NumpyTraining:
    name = "numpy"
    reduces_gradients = True

    def __init__(self, job, shard, batch, length, seed):
        self.world = job.world
        self.model = Transformer(VOCABULARY, length, WIDTH, LAYERS, HEADS, seed)
        self.optimizer = Adam(self.model.flat)
        self.ring = Ring(job.rank, job.world, job.master)
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
        sent = self.ring.all_reduce(self.model.flat_gradient)
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

    def close(self):
        self.loader.close()
        self.ring.close()

"""What can be wrong with one rank. Every fault is real work, real waiting or a real bottleneck.

A fault is sized when it begins: it measures how long a step takes on this machine and does as much
as makes a step longer by `size` (0.35: 35 %), with the same amount in each step from then on.
"""

import math
import os
import socket
import statistics
import struct
import threading
import time

import foreign
import numpy as np

FIRST_MEASURED_STEP = 2
MIN_FAULT_STEP = 6
SO_MAX_PACING_RATE = 47


class NoFault:
    """A healthy rank, and what all faults share. The training loop calls these from its thread."""

    def __init__(self, size=0.0):
        self.size = size

    def begin(self, times, trainer, loader_shard):
        """Called once, before the first step that the fault slows."""

    def during_step(self, activations):
        """Called in every step from then on, in the forward pass."""


class ExtraCompute(NoFault):
    """One more layer that only this rank computes."""

    passes = 0

    def during_step(self, activations):
        if self.passes == 0:
            before = time.thread_time()
            extra_attention_layer(activations, 3)
            cost = (time.thread_time() - before) / 3
            self.passes = max(1, round(self.extra_seconds / cost))
        extra_attention_layer(activations, self.passes)

    def begin(self, times, trainer, loader_shard):
        self.extra_seconds = self.size * _step_seconds(times)


def extra_attention_layer(activations, passes):
    rows = activations.reshape(-1, activations.shape[-1])
    for _ in range(passes):
        scores = rows @ rows.T
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = scores @ rows
    return mixed


class SlowData(NoFault):
    """The records of this rank come from slow remote storage, not from the local disk."""

    def begin(self, times, trainer, loader_shard):
        seconds = (1.0 + self.size) * _step_seconds(times)
        record_bytes = statistics.median(size for _, size in loader_shard.index)
        loader_shard.storage_rate.value = record_bytes / seconds


class GarbageCollection(NoFault):
    """Keeps a history of linked samples, so that Python's collector has long work in each step."""

    MAX_HISTORY = 450_000  # objects, to bound memory

    def begin(self, times, trainer, loader_shard):
        self.history = []
        self.extra_seconds = self.size * _step_seconds(times)
        before = time.thread_time()
        link_samples(20_000)
        # What is kept is three times what a step adds; a full collection visits all of it.
        cost = (time.thread_time() - before) / 20_000
        self.samples = max(1000, min(self.MAX_HISTORY // 6, int(0.5 * self.extra_seconds / cost)))

    def during_step(self, activations):
        before = time.thread_time()
        record_sample_history(self.history, self.samples)
        if len(self.history) == 3:
            # Collections grow with what is kept: come nearer to the size asked for.
            spent = time.thread_time() - before
            ratio = min(2.0, max(0.5, self.extra_seconds / spent))
            self.samples = min(self.MAX_HISTORY // 6, int(self.samples * ratio**0.3))


def record_sample_history(history, samples):
    """The oldest of three generations becomes garbage that only the cyclic collector frees."""
    history.append(link_samples(samples))
    if len(history) > 3:
        del history[0]


def link_samples(samples):
    first = previous = {"number": 0}
    for number in range(samples):
        sample = {"number": number, "previous": previous}
        previous["next"] = sample
        previous = sample
    return first


class GilHolder(NoFault):
    """A background thread computes metrics in pure Python and so holds the interpreter's lock."""

    def begin(self, times, trainer, loader_shard):
        seconds = self.size * _step_seconds(times)
        before = time.thread_time()
        aggregate_metrics(20_000)
        self.count = int(20_000 * seconds / (time.thread_time() - before))
        self.wanted = threading.Semaphore(0)
        threading.Thread(target=self.metrics_aggregator, name="metrics_aggregator",
                         daemon=True).start()

    def during_step(self, activations):
        self.wanted.release()

    def metrics_aggregator(self):
        while True:
            self.wanted.acquire()
            aggregate_metrics(self.count)


def aggregate_metrics(count):
    mean = square = 0.0
    for number in range(1, count + 1):
        value = (number * 2654435761 % 4096) / 4096
        mean += (value - mean) / number
        square += (value * value - square) / number
    return mean, square


class BusyNeighbor(NoFault):
    """Foreign processes run on the one core that this rank may use."""

    MAX_NEIGHBORS = 40

    def begin(self, times, trainer, loader_shard):
        # On each other core so many compete: the other ranks, and what else this host runs.
        ranks = int(os.environ["WORLD_SIZE"])
        running = statistics.median(times["running"][FIRST_MEASURED_STEP:])
        strangers = max(0.0, running - ranks)
        competing = (ranks - 1 + strangers) / int(os.environ["DEMO_OTHER_CORES"])
        # Beside N neighbours this rank has one of N + 1 shares of its core.
        count = math.ceil((1.0 + self.size) * max(1.0, competing)) - 1
        count = min(self.MAX_NEIGHBORS, max(1, count))
        order = foreign.ORDER.pack(count, min(os.sched_getaffinity(0)))
        os.write(int(os.environ["DEMO_NEIGHBOR_FD"]), order)


class SlowLink(NoFault):
    """The kernel sends no faster than a given rate to the next rank."""

    # Much of the transfer passes while ranks that share a core wait for each other anyway.
    HIDDEN = 2.5

    def begin(self, times, trainer, loader_shard):
        seconds = self.HIDDEN * self.size * _step_seconds(times)
        rate = max(1, int(trainer.bytes_sent_per_step() / seconds))
        for connection in trainer.outgoing_connections():
            connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("Q", rate))


FAULTS = {
    "compute": ExtraCompute,
    "data": SlowData,
    "gc": GarbageCollection,
    "gil": GilHolder,
    "neighbor": BusyNeighbor,
    "link": SlowLink,
}


def make_fault(name, size):
    if name == "neighbor" and "DEMO_NEIGHBOR_FD" not in os.environ:
        raise SystemExit("train.py: only launch.py can start the processes of --fault neighbor")
    return FAULTS[name](size)


def _step_seconds(times):
    return statistics.median(times["step_ms"][FIRST_MEASURED_STEP:]) / 1000

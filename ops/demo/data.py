"""Training data: a shard of compressed records on disk, and a loader that decodes ahead."""

import multiprocessing
import os
import queue
import threading
import zlib

import foreign
import numpy as np

VOCABULARY = 64


def write_shard(path, records, batch, length, seed):
    """Text of a language in which every token has few successors: there is something to learn."""
    random = np.random.default_rng(seed)
    successors = np.random.default_rng(7).integers(0, VOCABULARY, (VOCABULARY, 4))
    index = []
    with open(path, "wb") as file:
        for _ in range(records):
            tokens = np.empty((batch, length + 1), np.uint8)
            tokens[:, 0] = random.integers(0, VOCABULARY, batch)
            for column in range(1, length + 1):
                choice = random.integers(0, 4, batch)
                tokens[:, column] = successors[tokens[:, column - 1], choice]
            record = zlib.compress(tokens.tobytes(), 6)
            index.append((file.tell(), len(record)))
            file.write(record)
    return index


class Shard:
    """The records of one rank: in a file of this host, or behind slow remote storage."""

    def __init__(self, path, index):
        self.path = path
        self.index = index
        # Bytes a second of remote storage; 0: the file is read. Shared with loader processes.
        self.storage_rate = multiprocessing.RawValue("d", 0.0)
        self._file = os.open(path, os.O_RDONLY)
        self._storage = None

    def read_record(self, number):
        start, size = self.index[number % len(self.index)]
        if self.storage_rate.value > 0:
            return self.read_record_from_remote_storage(start, size)
        return os.pread(self._file, size, start)

    def read_record_from_remote_storage(self, start, size):
        if self._storage is None:
            self._storage = foreign.connect_remote_storage(self.path)
        self._storage.sendall(foreign.REQUEST.pack(start, size, self.storage_rate.value))
        record = bytearray(size)
        filled = 0
        while filled < size:
            count = self._storage.recv_into(memoryview(record)[filled:])
            if count == 0:
                raise ConnectionError("the remote storage closed its connection")
            filled += count
        return bytes(record)


def decode(record, batch, length, random):
    """A record's inputs and targets, its rows in random order."""
    tokens = np.frombuffer(zlib.decompress(record), np.uint8).reshape(batch, length + 1)
    tokens = tokens[random.permutation(batch)].astype(np.int64)
    return tokens[:, :-1], tokens[:, 1:]


class DataLoader:
    """Iterates over batches (inputs, targets). A thread reads and decodes `ahead` batches ahead."""

    def __init__(self, shard, batch, length, seed, ahead=2):
        self.shard = shard
        self.batch = batch
        self.length = length
        self._random = np.random.default_rng(seed)
        self._ready = queue.Queue(maxsize=ahead)
        self._closed = threading.Event()
        self._worker = threading.Thread(target=self._load, name="data_loader", daemon=True)
        self._worker.start()

    def __iter__(self):
        return self

    def __next__(self):
        batch = self._ready.get()
        if isinstance(batch, BaseException):
            raise batch
        return batch

    def close(self):
        self._closed.set()
        while True:
            try:
                self._ready.get_nowait()
            except queue.Empty:
                return

    def _load(self):
        number = 0
        try:
            while not self._closed.is_set():
                record = self.shard.read_record(number)
                self._ready.put(decode(record, self.batch, self.length, self._random))
                number += 1
        except Exception as error:  # The training thread raises it: a loader never dies silently.
            self._ready.put(error)

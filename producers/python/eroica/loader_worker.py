"""How much of a training thread's wait for a batch was a wait for a processor, which a faster dataset
would not shorten: of the worker that loads the batch, and of the thread itself, which takes the
samples out of the worker's memory."""

import os

# The part in which the worker's threads waited. It begins as the wait of a training thread does
# (diagnosis/measurements/thread_function.h), whose own name the thread's part has.
WORKERS = "(runnable, waiting for a processor: the data loader's workers)"
OWN = "(runnable, waiting for a processor)"
LEAST_NS = 100_000  # as producers/host/training_thread.h: no event for a microsecond
# A shorter wait for a batch is not looked into: to read the files of the worker's threads takes
# some 30 us.
LEAST_WAIT_NS = 1_000_000

_PROC = "/proc"
_MOST = 4096  # workers that are remembered
_MOST_THREADS = 16  # of a worker that are read
_LIST_AGAIN = 64  # readings after which a worker's threads are listed again

_workers = {}  # by process: a _Worker


class _Worker:
    """What was read of a process that loads batches."""

    __slots__ = ("threads", "readings", "batches")

    def __init__(self):
        self.threads = {}  # by number: ns that it had waited for a processor at the last reading
        self.readings = 0
        self.batches = 0  # that came since

    def waited_ns(self, process):
        """How long its threads waited since the last reading. What runs in it beside the dataset
        (it sends batches, and the memory in which they lie) is on the batch's way, too."""
        folder = f"{_PROC}/{process}/task"
        lists = self.readings % _LIST_AGAIN == 0
        names = os.listdir(folder)[:_MOST_THREADS] if lists else self.threads
        self.readings += 1
        before, self.threads = self.threads, {}
        total = 0
        for name in names:
            now = _waited_ns(f"{folder}/{name}/schedstat")
            if now is None:
                self.readings = 0  # it has ended: who is there now
                continue
            total += max(0, now - before.get(name, now))
            self.threads[name] = now
        return total


def of(iterator):
    """The process that loads the next batch of a _MultiProcessingDataLoaderIter; None where another
    release keeps it elsewhere."""
    try:
        return iterator._workers[iterator._task_info[iterator._rcvd_idx][0]].pid
    except Exception:
        return None


def passed(process):
    """A batch of it came without a wait that is looked into."""
    worker = _workers.get(process)
    if worker is not None:
        worker.batches += 1


def starved_ns(process):
    """For how long it waited for a processor while it loaded a batch that is there now: since its
    last reading, shared out to all batches that came meanwhile. 0 at its first one, and where the
    kernel does not say."""
    if process is None:
        return 0
    worker = _workers.get(process)
    if worker is None:
        if len(_workers) >= _MOST:
            _workers.clear()
        worker = _workers[process] = _Worker()
    batches, worker.batches = worker.batches + 1, 0
    try:
        return worker.waited_ns(process) // batches
    except OSError:
        return 0


def own_waited_ns():
    """How long the calling thread has waited for a processor since it began; 0 where the kernel does
    not say."""
    return _waited_ns(f"{_PROC}/thread-self/schedstat") or 0


def _waited_ns(path):
    """By the kernel's account."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(file, 128).split()[1])
        finally:
            os.close(file)
    except (OSError, ValueError, IndexError):
        return None

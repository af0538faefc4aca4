"""The worker that loads the batch for which a training thread waits, and how long that worker waited
for a processor: the part of the wait that a faster dataset would not shorten."""

import os

# The part of a wait for a batch in which its worker waited for a processor. Begins as the wait of a
# training thread does (diagnosis/measurements/thread_function.h).
FUNCTION = "(runnable, waiting for a processor: the data loader's workers)"
LEAST_NS = 100_000  # as producers/host/training_thread.h: no event for a microsecond

_PROC = "/proc"
_MOST = 4096  # workers that are remembered

_waited = {}  # by process: ns that it has waited for a processor, when it last delivered a batch


def of(iterator):
    """The process that loads the next batch of a _MultiProcessingDataLoaderIter; None where another
    release keeps it elsewhere."""
    try:
        return iterator._workers[iterator._task_info[iterator._rcvd_idx][0]].pid
    except Exception:
        return None


def starved_ns(process):
    """How long it waited for a processor since its last batch; 0 at its first one, and where the
    kernel does not say. Costs the reading of one small file."""
    if process is None:
        return 0
    now = _waited_ns(process)
    if now is None:
        return 0
    if len(_waited) >= _MOST:
        _waited.clear()
    before = _waited.get(process, now)
    _waited[process] = now
    return max(0, now - before)  # another process may have its number by now


def _waited_ns(process):
    """Of its main thread, by the kernel's account (schedstat)."""
    try:
        file = os.open(f"{_PROC}/{process}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(file, 128).split()[1])
        finally:
            os.close(file)
    except (OSError, ValueError, IndexError):
        return None

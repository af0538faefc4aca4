"""Processes beside the training job that a fault needs: a busy neighbour, and slow remote storage.

Run as a program, this file is such a process; the functions at the top start them. Neither outlives
the job: storage ends when its connection does, neighbours when the pipe of their orders closes, and
the kernel kills them when whoever started them dies (PR_SET_PDEATHSIG).
"""

import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import time

REQUEST = struct.Struct("!QQd")  # first byte and size of a record, bytes a second
ORDER = struct.Struct("!II")  # number of busy processes, the core on which they run
PIECES_PER_RECORD = 50
PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """To be called in a process that was just started."""
    LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def connect_remote_storage(path):
    """Starts a storage server for one file and returns the connection to it."""
    ours, theirs = socket.socketpair()
    with theirs:
        _start("remote_storage", [path, str(theirs.fileno())], [theirs.fileno()])
    return ours


def start_neighbors():
    """Starts the process that waits for an ORDER. Returns the pipe through which to send it."""
    read_end, write_end = os.pipe()
    process = _start("stress_neighbor", [str(read_end), str(os.getpid())], [read_end],
                     die_with_parent)
    os.close(read_end)
    return process, write_end


def _start(role, arguments, fds, before_exec=None):
    # A foreign process has nothing to do with the training job: it inherits no injected library.
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-S", "-E", os.path.abspath(__file__), role] + arguments
    return subprocess.Popen(command, env=environment, pass_fds=fds, preexec_fn=before_exec,
                            stdin=subprocess.DEVNULL)


def _name(name):
    LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def remote_storage(path, connection):
    """Serves parts of a file, no faster than asked for: as storage does that many jobs share."""
    file = os.open(path, os.O_RDONLY)
    while True:
        request = connection.recv(REQUEST.size, socket.MSG_WAITALL)
        if len(request) < REQUEST.size:
            return
        start, size, rate = REQUEST.unpack(request)
        content = os.pread(file, size, start)
        begin = time.monotonic()
        piece = max(1, size // PIECES_PER_RECORD)
        for position in range(0, size, piece):
            part = content[position : position + piece]
            time.sleep(max(0.0, begin + (position + len(part)) / rate - time.monotonic()))
            connection.sendall(part)


def stress_neighbor(orders):
    """Starts the busy processes when the order comes, and stays until the pipe closes."""
    order = os.read(orders, ORDER.size)
    if len(order) < ORDER.size:
        return
    count, core = ORDER.unpack(order)
    parent = os.getpid()
    for _ in range(count):
        if os.fork() == 0:
            os.close(orders)
            die_with_parent()
            if os.getppid() != parent:
                os._exit(0)
            os.setsid()  # With automatic groups each session gets an equal share of a core.
            os.sched_setaffinity(0, {core})
            burn_cpu()
    os.read(orders, 1)  # Ends when every writer is gone.
    os._exit(0)  # The kernel kills the busy processes.


def burn_cpu():
    value = 1
    while True:
        value = value * 6364136223846793005 % 18446744073709551557


def main(role, *arguments):
    _name(role)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Whoever started us decides when we end.
    if role == "remote_storage":
        with socket.socket(fileno=int(arguments[1])) as connection:
            try:
                remote_storage(arguments[0], connection)
            except (BrokenPipeError, ConnectionResetError):
                pass  # The training job ended in the middle of a record.
    else:
        if os.getppid() == int(arguments[1]):
            stress_neighbor(int(arguments[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])

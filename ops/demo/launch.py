#!/usr/bin/env python3
"""Starts the ranks of the demo on this host, as torchrun does.

    python3 ops/demo/launch.py --ranks 8 --steps 400 --fault compute --fault-rank 3

Signals go to all ranks. Its exit code is that of the rank that failed first, 128 + N if signal N
ended that rank. When one rank fails, the others get ten seconds to notice by themselves.
"""

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import time

import foreign
import train

GRACE_S = 10.0
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the ranks")
    train.add_training_arguments(parser)
    args = parser.parse_args()
    train.check_training_arguments(parser, args)
    if args.ranks < 1:
        parser.error("--ranks is at least 1")
    if args.fault and not 0 <= args.fault_rank < args.ranks:
        parser.error(f"there is no rank {args.fault_rank} among {args.ranks}")
    if args.fault == "neighbor" and len(os.sched_getaffinity(0)) < 2:
        parser.error("--fault neighbor needs two cores: one of its own for the rank")
    return args


def rank_command(args):
    command = [args.python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")]
    for name in ("steps", "seed", "backend", "fault_rank", "fault_step", "fault_size", "log_every"):
        command += ["--" + name.replace("_", "-"), str(getattr(args, name))]
    for name in ("fault", "truth"):
        if getattr(args, name):
            command += ["--" + name, getattr(args, name)]
    return command


def cores_of_rank(args, rank):
    """With a neighbour on one core, that core belongs to its rank and the others to the rest."""
    cores = sorted(os.sched_getaffinity(0))
    if args.fault != "neighbor":
        return set(cores)
    return {cores[-1]} if rank == args.fault_rank else set(cores[:-1])


def start_rank(args, rank, port, neighbor_pipe):
    environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(args.ranks),
                       LOCAL_WORLD_SIZE=str(args.ranks), MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(port))
    pass_fds = []
    if neighbor_pipe is not None and rank == args.fault_rank:
        environment["DEMO_NEIGHBOR_FD"] = str(neighbor_pipe)
        environment["DEMO_OTHER_CORES"] = str(len(os.sched_getaffinity(0)) - 1)
        pass_fds = [neighbor_pipe]
    cores = cores_of_rank(args, rank)

    def before_exec():
        foreign.die_with_parent()
        os.sched_setaffinity(0, cores)

    # In a session of its own a rank gets a signal of the terminal once: from here.
    return subprocess.Popen(rank_command(args), env=environment, pass_fds=pass_fds,
                            stdin=subprocess.DEVNULL, start_new_session=True,
                            preexec_fn=before_exec)


def free_port():
    """Below the ports that the kernel gives to outgoing connections, so that none of those takes it."""
    for _ in range(100):
        port = random.randrange(20_000, 32_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue
    raise OSError("found no free port between 20000 and 32000")


def wait_for_all(ranks, signals):
    """Returns the exit code of the job."""
    exit_code, deadline = 0, None
    running = dict(enumerate(ranks))
    while running:
        for rank, process in list(running.items()):
            if process.poll() is None:
                continue
            del running[rank]
            if process.returncode != 0 and exit_code == 0:
                code = process.returncode
                exit_code = code if code > 0 else 128 - code
                deadline = time.monotonic() + GRACE_S
                print(f"launch.py: rank {rank} failed with {code}", file=sys.stderr)
        while signals:
            number = signals.pop()
            deadline = deadline or time.monotonic() + GRACE_S
            exit_code = exit_code or 128 + number
            for process in running.values():
                process.send_signal(number)
        if deadline is not None and time.monotonic() > deadline:
            for process in running.values():
                process.kill()
        time.sleep(0.05)
    return exit_code


def main():
    args = arguments()
    signals = []
    for number in FORWARDED:
        signal.signal(number, lambda received, _: signals.append(received))
    neighbors = neighbor_pipe = None
    if args.fault == "neighbor":
        neighbors, neighbor_pipe = foreign.start_neighbors()
    port = free_port()
    ranks = [start_rank(args, rank, port, neighbor_pipe) for rank in range(args.ranks)]
    if neighbor_pipe is not None:
        os.close(neighbor_pipe)  # Now the faulty rank alone holds it: it ends with the rank.
    try:
        return wait_for_all(ranks, signals)
    finally:
        for process in ranks + ([neighbors] if neighbors else []):
            if process.poll() is None:
                process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())

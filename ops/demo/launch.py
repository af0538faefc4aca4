#!/usr/bin/env python3
"""Starts the ranks of the demo on this host, as torchrun does.

    python3 ops/demo/launch.py --ranks 8 --steps 400 --fault compute --fault-rank 3
    python3 ops/demo/launch.py --ranks 8 --steps 400 --standby SOCKET       a rank can be replaced
    python3 ops/demo/launch.py --ranks 8 --steps 400 --restart-after 200    what that saves

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
import tempfile
import time

import foreign
import rank_network
import replacement
import train
from standby import Standby

GRACE_S = 10.0
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the ranks")
    parser.add_argument("--standby", metavar="SOCKET",
                        help="one process more, which takes a rank's place on the order of"
                             " replace_rank.py SOCKET RANK")
    parser.add_argument("--restart-after", type=int, default=-1, metavar="S",
                        help="write a checkpoint behind step S, end all ranks and start all anew")
    train.add_training_arguments(parser)
    args = parser.parse_args()
    train.check_training_arguments(parser, args)
    if args.ranks < 1:
        parser.error("--ranks is at least 1")
    if args.fault and not 0 <= args.fault_rank < args.ranks:
        parser.error(f"there is no rank {args.fault_rank} among {args.ranks}")
    if args.fault == "neighbor" and len(os.sched_getaffinity(0)) < 2:
        parser.error("--fault neighbor needs two cores: one of its own for the rank")
    if (args.standby or args.restart_after >= 0) and args.backend == "torch":
        parser.error("--standby and --restart-after are for --backend numpy")
    if args.standby:
        args.backend = "numpy"
        if args.ranks < 2 or args.fault in ("neighbor", "link") or args.restart_after >= 0:
            parser.error("--standby needs two ranks, and neither --fault neighbor, --fault link nor"
                         " --restart-after")
    return args


def rank_command(args, *more):
    command = [args.python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")]
    for name in ("steps", "seed", "backend", "fault_rank", "fault_step", "fault_size", "log_every"):
        command += ["--" + name.replace("_", "-"), str(getattr(args, name))]
    for name in ("fault", "truth", "step_ends"):
        if getattr(args, name):
            command += ["--" + name.replace("_", "-"), getattr(args, name)]
    return command + list(more)


def cores_of_rank(args, rank):
    """With a neighbour on one core, that core belongs to its rank and the others to the rest."""
    cores = sorted(os.sched_getaffinity(0))
    if args.fault != "neighbor":
        return set(cores)
    return {cores[-1]} if rank == args.fault_rank else set(cores[:-1])


def start_rank(args, rank, port, neighbor_pipe=None, control=None, more=()):
    has_network = args.fault == "link"
    environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(args.ranks),
                       LOCAL_WORLD_SIZE=str(args.ranks),
                       MASTER_ADDR=rank_network.address_of(0) if has_network else "127.0.0.1",
                       MASTER_PORT=str(port))
    if has_network:
        environment["GLOO_SOCKET_IFNAME"] = rank_network.INTERFACE
    pass_fds = []
    if neighbor_pipe is not None and rank == args.fault_rank:
        environment["DEMO_NEIGHBOR_FD"] = str(neighbor_pipe)
        environment["DEMO_OTHER_CORES"] = str(len(os.sched_getaffinity(0)) - 1)
        pass_fds = [neighbor_pipe]
    if control is not None:
        environment[replacement.CONTROL_FD] = str(control)
        pass_fds = pass_fds + [control]
    command = rank_command(args, *more)
    return start_process(rank_network.command_of(rank, command) if has_network else command,
                         environment, pass_fds, cores_of_rank(args, rank))


def start_process(command, environment, pass_fds, cores):
    def before_exec():
        foreign.die_with_parent()
        os.sched_setaffinity(0, cores)

    # In a session of its own a rank gets a signal of the terminal once: from here.
    return subprocess.Popen(command, env=environment, pass_fds=pass_fds,
                            stdin=subprocess.DEVNULL, start_new_session=True,
                            preexec_fn=before_exec)


def start_standby(args, port, control):
    """It is no rank yet, so Eroica takes no notice of it until it is one."""
    environment = dict(os.environ, WORLD_SIZE=str(args.ranks), LOCAL_WORLD_SIZE=str(args.ranks),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    environment.pop("RANK", None)
    environment[replacement.CONTROL_FD] = str(control)
    if "EROICA_DISABLE" not in environment:
        environment.update(EROICA_DISABLE="1", DEMO_WATCH_LATER="1")
    healthy = argparse.Namespace(**dict(vars(args), fault=None))
    return start_process(rank_command(healthy, "--standby"), environment, [control],
                         os.sched_getaffinity(0))


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


def start_ranks_with_standby(args, port):
    """Returns the ranks, the standby, and a line to each rank."""
    standby = Standby(args.standby, args.ranks, lambda fd: start_standby(args, port, fd), free_port)
    ranks, lines = [], []
    for rank in range(args.ranks):
        ours, theirs = socket.socketpair()
        with theirs:
            ranks.append(start_rank(args, rank, port, control=theirs.fileno()))
        lines.append(replacement.Line(ours))
    return ranks, standby, lines


def wait_for_all(ranks, signals, standby=None, lines=()):
    """Returns the exit code of the job. ranks: who is which, also when one is replaced."""
    exit_code, deadline = 0, None
    running = dict(enumerate(ranks))
    while running:
        for rank, process in list(running.items()):
            if process.poll() is None:
                continue
            if standby is not None and standby.takes_over(rank, process.returncode):
                running[rank] = ranks[rank] = standby.process
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
        if standby is not None:
            standby.poll(lines)
        time.sleep(0.05)
    return exit_code


def run_restarted(args, signals):
    """The job, ended behind a step and started anew from its checkpoint."""
    with tempfile.TemporaryDirectory(prefix="demo-checkpoint-") as folder:
        checkpoint = os.path.join(folder, "state")
        end = ("--checkpoint", checkpoint, "--stop-after", str(args.restart_after))
        code = run_ranks(args, signals, more=end)
        return code or run_ranks(args, signals, more=("--resume", checkpoint))


def run_ranks(args, signals, neighbor_pipe=None, more=()):
    port = free_port()
    standby, lines = None, ()
    if args.standby:
        ranks, standby, lines = start_ranks_with_standby(args, port)
    else:
        ranks = [start_rank(args, rank, port, neighbor_pipe, more=more)
                 for rank in range(args.ranks)]
    if neighbor_pipe is not None:
        os.close(neighbor_pipe)  # Now the faulty rank alone holds it: it ends with the rank.
    try:
        return wait_for_all(ranks, signals, standby, lines)
    finally:
        for process in ranks + ([standby.process] if standby else []):
            if process.poll() is None:
                process.kill()
            process.wait()
        if standby:
            standby.close()


def main():
    args = arguments()
    if args.fault == "link":
        rank_network.enter()
        rank_network.prepare(args.ranks)
    signals = []
    for number in FORWARDED:
        signal.signal(number, lambda received, _: signals.append(received))
    neighbors = neighbor_pipe = None
    if args.fault == "neighbor":
        neighbors, neighbor_pipe = foreign.start_neighbors()
    try:
        if args.restart_after >= 0:
            return run_restarted(args, signals)
        return run_ranks(args, signals, neighbor_pipe)
    finally:
        if neighbors is not None:
            neighbors.kill()
            neighbors.wait()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A training job in plain Python whose loop runs where frameworks let it run: on a thread.

    tests/live/threaded.py --loop thread --fault sleep --fault-rank 2

--loop thread: as Ray Train's, named TrainingThread, which the main thread joins; event_loop: the
main thread waits in a selector meanwhile, as a notebook's kernel does; main: the main thread
trains. Needs neither NumPy nor PyTorch: ranks add up one number over TCP.
"""

import argparse
import os
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../ops/demo"))

import truth

try:
    import eroica
except ImportError:  # a run without Eroica
    eroica = None

NUMBER = struct.Struct("d")


class Star:
    """An all-reduce of one number: every rank sends it to rank 0, which sends the sum back."""

    def __init__(self, rank, world, port):
        self.rank = rank
        if rank == 0:
            server = socket.create_server(("127.0.0.1", port))
            self.peers = [server.accept()[0] for _ in range(world - 1)]
            server.close()
        else:
            self.peers = [_connect(port)]
        for peer in self.peers:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def all_reduce(self, value):
        if self.rank == 0:
            total = value + sum(_receive(peer) for peer in self.peers)
            for peer in self.peers:
                peer.sendall(NUMBER.pack(total))
            return total
        self.peers[0].sendall(NUMBER.pack(value))
        return _receive(self.peers[0])


def _connect(port):
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _receive(peer):
    data = b""
    while len(data) < NUMBER.size:
        part = peer.recv(NUMBER.size - len(data))
        if not part:
            raise ConnectionError("a peer is gone")
        data += part
    return NUMBER.unpack(data)[0]


def forward(weights, count):
    return sum(weight * number for weight, number in zip(weights, range(count)))


def backward(weights, loss, count):
    return [weight - 1e-9 * loss * number for weight, number in zip(weights, range(count))]


def slow_sleep(seconds):
    time.sleep(seconds)


def train(args, rank):
    star, clock = Star(rank, args.ranks, args.port), truth.StepClock()
    weights, count = [0.5] * 20000, 20000
    for step in range(args.steps):
        clock.begin()
        if eroica:
            eroica.step()
        clock.lap("data")
        for _ in range(3):
            loss = forward(weights, count)
            weights = backward(weights, loss, count)
        if args.fault and rank == args.fault_rank and step >= args.fault_step:
            slow_sleep(args.slow_ms / 1000)
        clock.lap("backward")
        if eroica:
            with eroica.collective("all_reduce", nbytes=NUMBER.size, ranks=range(args.ranks)):
                star.all_reduce(loss)
        else:
            star.all_reduce(loss)
        clock.lap("all_reduce")
        clock.end()
    if args.truth:
        fault = {"name": args.fault, "rank": args.fault_rank, "step": args.fault_step, "size": 0}
        truth.write(args.truth, rank, {
            "rank": rank, "world": args.ranks, "backend": "plain", "pid": os.getpid(),
            "fault": fault if args.fault else None, "times": clock.times, "losses": []})


def run_rank(args, rank):
    if args.loop == "main":
        return train(args, rank)
    thread = threading.Thread(target=train, args=(args, rank), name="TrainingThread")
    thread.start()
    if args.loop == "thread":
        thread.join()
        return None
    main_loop(thread)
    return None


def main_loop(thread):
    loop = selectors.DefaultSelector()
    woken, _ = sockets = socket.socketpair()
    loop.register(woken, selectors.EVENT_READ)
    while thread.is_alive():
        loop.select(0.1)
    for end in sockets:
        end.close()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--loop", choices=("main", "thread", "event_loop"), default="thread")
    parser.add_argument("--fault", choices=("sleep",))
    parser.add_argument("--fault-rank", type=int, default=2)
    parser.add_argument("--fault-step", type=int, default=60)
    parser.add_argument("--slow-ms", type=float, default=30)
    parser.add_argument("--truth", metavar="FOLDER")
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def main():
    args = arguments()
    if "RANK" in os.environ:
        return run_rank(args, int(os.environ["RANK"]))
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--port", str(free_port())]
    ranks = [subprocess.Popen(command, env=dict(os.environ, RANK=str(rank),
                                                WORLD_SIZE=str(args.ranks)))
             for rank in range(args.ranks)]
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())

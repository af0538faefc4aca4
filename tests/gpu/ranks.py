#!/usr/bin/env python3
"""Starts the ranks of a job on one GPU, as torchrun starts them on several.

    tests/gpu/ranks.py --ranks 4 -- tests/gpu/train.py --shape shared --wrap ddp

NCCL refuses two ranks on one device of one host. Each rank is therefore given a host of its own
(NCCL_HOSTID), and they speak over the loopback's sockets. The kernels of one rank wait for those of
others: without NVIDIA's MPS the device gives each process a slice of time in turn, and a step takes
as much longer. --mps starts MPS for the job where the driver's package has it, and stops it.
"""

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--mps", action="store_true")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    args.script = [word for word in args.script if word != "--"]
    if not args.script:
        parser.error("which script?")
    return args


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def rank_environment(rank, ranks, port):
    return dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_HOSTID=f"host{rank}",
                NCCL_SOCKET_IFNAME="lo", NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1",
                NCCL_IB_DISABLE="1")


def control_of_mps():
    return shutil.which("nvidia-cuda-mps-control",
                        path=os.environ.get("PATH", "") + ":/usr/local/nvidia/bin:/usr/bin")


@contextlib.contextmanager
def mps(wanted):
    """MPS for this process's children; nothing where it is not wanted, not there, or fails."""
    control = control_of_mps() if wanted else None
    if control is None:
        if wanted:
            print("ranks.py: no nvidia-cuda-mps-control here: slices of time", file=sys.stderr)
        yield False
        return
    with tempfile.TemporaryDirectory(prefix="mps-") as folder:
        os.environ["CUDA_MPS_PIPE_DIRECTORY"] = folder
        os.environ["CUDA_MPS_LOG_DIRECTORY"] = folder
        started = subprocess.run([control, "-d"], check=False).returncode == 0
        print(f"ranks.py: MPS {'serves' if started else 'does not start'}", file=sys.stderr)
        try:
            yield started
        finally:
            if started:
                subprocess.run([control], input=b"quit\n", check=False)
            del os.environ["CUDA_MPS_PIPE_DIRECTORY"]


def run(args):
    port = free_port()
    ranks = [subprocess.Popen([sys.executable, *args.script],
                              env=rank_environment(rank, args.ranks, port))
             for rank in range(args.ranks)]
    return max(abs(process.wait()) for process in ranks)


def main():
    args = arguments()
    with mps(args.mps):
        return run(args)


if __name__ == "__main__":
    sys.exit(main())

"""NumPy and mpi4py under mpirun.

--lines: what the script says to Eroica. none: nothing; step: eroica.step() alone; both:
eroica.collective() round the call that waits as well.
--calls: blocking, or requests that are issued, computed beside and waited for.
"""

import argparse
import sys

import planted

import numpy
from mpi4py import MPI

try:
    import eroica
except ImportError:  # a run without Eroica
    eroica = None


def multiply(matrix):
    for _ in range(8):
        matrix = (matrix @ matrix) * 1e-3
    return matrix


def reduce_by_requests(world, gradients, total, matrix):
    """Halves are reduced while the next one is computed, and neighbors exchange a row."""
    half = len(gradients) // 2
    row, after = numpy.ones(256), numpy.empty(256)
    rank, size = world.Get_rank(), world.Get_size()
    requests = [world.Iallreduce(gradients[:half], total[:half])]
    requests.append(world.Irecv(after, (rank - 1) % size))
    requests.append(world.Isend(row, (rank + 1) % size))
    multiply(matrix)
    requests.append(world.Iallreduce(gradients[half:], total[half:]))
    MPI.Request.Waitall(requests)


def main():
    lines = argparse.ArgumentParser(add_help=False)
    lines.add_argument("--lines", choices=("none", "step", "both"), default="none")
    lines.add_argument("--calls", choices=("blocking", "requests"), default="blocking")
    own, sys.argv[1:] = lines.parse_known_args()
    args = planted.arguments(__doc__)
    says = own.lines if eroica else "none"
    world = MPI.COMM_WORLD
    plant = planted.Planted(args, world.Get_rank(), world.Get_size())
    matrix, gradients = numpy.ones((256, 256)), numpy.ones(100_000)
    total = numpy.empty_like(gradients)
    for _ in range(args.steps):
        if says != "none":
            eroica.step()
        multiply(matrix)
        plant.in_step()
        if says == "both":
            ranks = range(world.Get_size())
            with eroica.collective("all_reduce", nbytes=gradients.nbytes, ranks=ranks):
                world.Allreduce(gradients, total)
        elif own.calls == "requests":
            reduce_by_requests(world, gradients, total, matrix)
        else:
            world.Allreduce(gradients, total)
    plant.write()


if __name__ == "__main__":
    main()

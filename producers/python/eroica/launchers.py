"""Which process of a job this is, as far as it shows when its interpreter starts.

A launcher's variables are inherited: by the launcher itself, by what stands between it and the ranks
(Ray's agents and workers, the children of multiprocessing), by a script that starts ranks of its own.
So only the variables that are set for ranks alone make a process a rank from its start on; what MPI
and Slurm set says which process they started, and such a process attaches when it trains.
"""

import os
import sys

RANK_VARIABLES = ("EROICA_RANK", "RANK")
_LAUNCHERS = (
    "torchrun",
    "accelerate",
    "deepspeed",
    "mpirun",
    "mpiexec",
    "srun",
    "horovodrun",
    "ray",
    "pip",
    "pip3",
)
_LAUNCHER_MODULES = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands",
    "deepspeed.launcher",
    "pip",
    "ensurepip",
    "venv",
)
# Of Ray's own programs, by the folder that they lie in: agents, monitors, and the workers, one of
# which may become a rank of any job.
_RUNTIME_FOLDERS = ("/ray/_private/", "/ray/dashboard/", "/ray/autoscaler/")


def is_rank_from_its_start():
    return any(name in os.environ for name in RANK_VARIABLES) and not _stands_before_ranks()


def _command_line():
    arguments = getattr(sys, "orig_argv", None)  # since 3.10
    if arguments is None:
        try:
            with open("/proc/self/cmdline", "rb") as file:
                arguments = os.fsdecode(file.read()).split("\0")
        except OSError:
            arguments = []
    return arguments


def _stands_before_ranks():
    """A program that starts ranks, serves them or installs packages, or a child of multiprocessing:
    it holds a rank's variables where they were set for it or for what it descends from."""
    arguments = _command_line()
    for position, argument in enumerate(arguments[:8]):
        if argument == "-c":  # the rest is the user's; multiprocessing's children start this way
            return any(
                text.startswith("from multiprocessing.")
                for text in arguments[position + 1 : position + 2]
            )
        if argument == "-m":
            return arguments[position + 1 : position + 2] != [] and arguments[
                position + 1
            ].startswith(_LAUNCHER_MODULES)
        if position > 0 and not argument.startswith("-"):
            return os.path.basename(argument) in _LAUNCHERS or any(
                folder in argument for folder in _RUNTIME_FOLDERS
            )
    return False

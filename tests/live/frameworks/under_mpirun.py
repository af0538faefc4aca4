"""Starts a script of this folder on four ranks by mpirun, with the interpreter that runs this one."""

import os
import sys

RANKS = "4"
# Root in a container, and more ranks than processors, are fine here.
OPTIONS = ["--allow-run-as-root", "--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none"]

if __name__ == "__main__":
    os.execvp("mpirun", ["mpirun", *OPTIONS, "-n", RANKS, sys.executable, *sys.argv[1:]])

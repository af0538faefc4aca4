"""An interpreter with PyTorch, where the machine has one."""

import os
import socket
import subprocess

import interpreters


def find():
    """$EROICA_TEST_TORCH_PYTHON, or any that has PyTorch. None where there is none."""
    candidates = [os.environ.get("EROICA_TEST_TORCH_PYTHON", "")]
    for python in candidates + list(interpreters.all_interpreters().values()):
        if python:
            command = [python, "-c", "import torch.distributed as d; assert d.is_gloo_available()"]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return python
    return None


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])

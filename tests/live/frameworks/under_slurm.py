"""Runs a command by Slurm: `srun -n TASKS PYTHON ...`, with the interpreter that runs this script, in
a cluster of this one machine that is made in a temporary folder and ends with the command.

    under_slurm.py TASKS SCRIPT ...

The daemons run as the user of this script and know nothing of Eroica: srun hands the environment on.
"""

import contextlib
import getpass
import os
import socket
import subprocess
import sys
import tempfile
import time

PROCESSORS = 8  # that Slurm is told of: more tasks than there are processors are fine here
READY_S = 60.0  # for the node to come up
MUNGED = "/usr/sbin/munged"

CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def write_configuration(folder):
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        os.mkdir(os.path.join(folder, name))
    path = os.path.join(folder, "slurm.conf")
    with open(path, "w") as file:
        file.write(CONFIGURATION.format(folder=folder, host=host, ports=free_ports(2),
                                        user=getpass.getuser(), processors=PROCESSORS))
    with open(os.path.join(folder, "cgroup.conf"), "w") as file:
        file.write("CgroupPlugin=cgroup/v1\n")
    key = os.path.join(folder, "munge.key")
    with open(key, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(os.urandom(128))
    return path


def daemon(folder, command, environment):
    log = open(os.path.join(folder, os.path.basename(command[0]) + ".out"), "wb")
    with log:
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=subprocess.STDOUT)


def start_daemons(folder, configuration):
    """munged, slurmctld and slurmd: a list of their processes."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": configuration}
    names = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munged.pid",
             "log-file": "munged.log", "seed-file": "munged.seed"}
    munged = [MUNGED, "--foreground", "--force",
              *(f"--{option}={folder}/{name}" for option, name in names.items())]
    commands = (munged, ["/usr/sbin/slurmctld", "-D", "-c"], ["/usr/sbin/slurmd", "-D", "-c"])
    return [daemon(folder, command, environment) for command in commands]


def is_ready(environment):
    state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True,
                           text=True, check=False)
    return state.stdout.strip() == "idle"


def main():
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        configuration = write_configuration(folder)
        environment = dict(os.environ, SLURM_CONF=configuration)
        daemons = start_daemons(folder, configuration)
        try:
            end = time.monotonic() + READY_S
            while not is_ready(environment):
                if time.monotonic() > end:
                    raise SystemExit("under_slurm.py: the node of Slurm did not come up")
                time.sleep(0.2)
            command = ["srun", "-n", sys.argv[1], sys.executable, *sys.argv[2:]]
            return subprocess.run(command, env=environment, check=False).returncode
        finally:
            for one in reversed(daemons):
                one.terminate()
                one.wait()


if __name__ == "__main__":
    sys.exit(main())

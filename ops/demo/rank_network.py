"""A network between ranks on one host: each rank in a network namespace of its own, on one bridge.

What ranks of one namespace send each other passes no network, whatever addresses they use: the kernel
delivers it over loopback. Linux lets any user make namespaces inside a user namespace, unless its
administrator forbids it. Needs `unshare` and `nsenter` (util-linux) and `ip` (iproute2).
"""

import os
import subprocess
import sys

ENTERED = "DEMO_RANK_NETWORK"
NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--")
INTERFACE = "eth0"  # of each rank


def enter():
    """Begins this program again inside namespaces of its own, unless that is done."""
    if ENTERED in os.environ:
        return
    try:
        subprocess.run([*NAMESPACES, "ip", "link"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit("--fault link needs a network between the ranks (unshare, nsenter and ip, and a"
                         f" kernel that allows user namespaces): {error}") from error
    os.environ[ENTERED] = "1"
    os.execvp(NAMESPACES[0], [*NAMESPACES, sys.executable, *sys.argv])


def address_of(rank):
    return f"10.77.{rank // 250}.{1 + rank % 250}"


def prepare(ranks):
    """The namespaces and the bridge; they end with the processes in them."""
    _run("mount", "-t", "tmpfs", "tmpfs", "/run")  # where `ip netns` keeps names: seen by this job alone
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "name", "ranks", "type", "bridge")
    _run("ip", "link", "set", "ranks", "up")
    for rank in range(ranks):
        name = f"rank{rank}"
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", "name", f"port{rank}", "type", "veth", "peer", "name", INTERFACE, "netns", name)
        _run("ip", "link", "set", f"port{rank}", "master", "ranks", "up")
        _run("ip", "-n", name, "link", "set", "lo", "up")
        _run("ip", "-n", name, "address", "add", address_of(rank) + "/16", "dev", INTERFACE)
        _run("ip", "-n", name, "link", "set", INTERFACE, "up")


def command_of(rank, command):
    """The command, in the rank's namespace."""
    return ["nsenter", f"--net=/run/netns/rank{rank}", "--", *command]


def _run(*command):
    subprocess.run(command, check=True)

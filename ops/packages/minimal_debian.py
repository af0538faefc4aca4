"""A minimal Debian 12, made by debootstrap from the mirror that this machine's apt uses: where the
packages, the images and the services are tried on a system that has nothing else.

It is made once for a build folder (the tests of several processes wait for the one that makes it)
and kept there as an archive. Needs root, debootstrap and a mirror; raises unittest.SkipTest with the
one that is missing."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import unittest

SUITE = "bookworm"
DEADLINE_S = 480


def mirrors():
    """The mirrors of the suite that apt is configured with, in its order."""
    command = ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(SUITE) $(COMPONENT)"]
    try:
        listed = subprocess.run(
            [*command, "Created-By: Packages"], capture_output=True, text=True, check=False
        ).stdout.splitlines()
    except FileNotFoundError:
        return []
    lines = (line.split() for line in listed)
    found = [words[0] for words in lines if SUITE in words[1:3] and words[-1] == "main"]
    return list(dict.fromkeys(site for site in found if "security" not in site))


def missing():
    """Why there can be none here; empty where there can."""
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("debootstrap") is None:
        return "no debootstrap (Debian: debootstrap)"
    if not mirrors():
        return f"apt knows no mirror of {SUITE}"
    return ""


def archive(folder):
    """The path of the system as a tar archive in this folder; made where it is not there yet."""
    why = missing()
    if why:
        raise unittest.SkipTest(why)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{SUITE}.tar")
    with open(path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            _make(path)
    return path


def _make(path):
    with tempfile.TemporaryDirectory(prefix="eroica-debian-") as folder:
        root = os.path.join(folder, "root")
        mirror = mirrors()[0]
        command = ["debootstrap", "--variant=minbase", SUITE, root, mirror]
        made = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        said = made.stdout + made.stderr
        if "Couldn't download" in said or "Failed getting release" in said:
            raise unittest.SkipTest(f"the mirror {mirror} cannot be reached")
        if made.returncode != 0:
            raise AssertionError(said)
        # No package that is installed into it starts a service.
        policy = os.path.join(root, "usr/sbin/policy-rc.d")
        with open(policy, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(policy, 0o755)
        for cached in os.scandir(os.path.join(root, "var/cache/apt/archives")):
            if cached.name.endswith(".deb"):
                os.remove(cached.path)
        packing = ["tar", "--create", "--numeric-owner", "--file", path + ".part"]
        subprocess.run([*packing, "--directory", root, "."], check=True)
        os.replace(path + ".part", path)

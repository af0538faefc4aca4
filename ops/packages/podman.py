"""Podman with a storage of its own in a folder of the test: its images and containers are nobody
else's, and go with the folder. Needs root and Podman; says which of them is missing."""

import os
import resource
import shutil
import subprocess
import unittest

DEADLINE_S = 300
TASKS = 8192


class Podman:
    """Its containers share the network of the machine: brokers and receivers of the tests are on
    its loopback, and no bridge or firewall of the machine is touched."""

    def __init__(self, folder):
        if os.geteuid() != 0:
            raise unittest.SkipTest("not root")
        if shutil.which("podman") is None:
            raise unittest.SkipTest("no podman (Debian: podman)")
        # runc: crun refuses a machine with control groups of both versions.
        self.command = ["podman", "--runtime=runc", "--cgroup-manager=cgroupfs"]
        self.command += [f"--root={folder}/storage", f"--runroot={folder}/run"]
        self.command += [f"--tmpdir={folder}/tmp"]
        code, out, err = self.ask("info")
        if code != 0:
            raise unittest.SkipTest(f"podman cannot run containers here: {out}{err}")

    def take(self, archive, image):
        """Imports a system as an image, and skips the test where no container of it runs: Podman may
        answer `info` in a container that may not mount or make control groups."""
        for words in (
            ("import", "--quiet", archive, image),
            ("run", "--rm", "--network=host", image, "/bin/true"),
        ):
            code, out, err = self.ask(*words)
            if code != 0:
                raise unittest.SkipTest(
                    f"podman cannot run containers here: podman {words[0]}: {out}{err}"
                )

    def ask(self, *words, **options):
        """(exit code, standard output, standard error)"""
        options = {"timeout": DEADLINE_S, **options}
        done = subprocess.run(
            [*self.command, *words], capture_output=True, text=True, check=False, **options
        )
        return done.returncode, done.stdout, done.stderr

    def do(self, *words, **options):
        """Standard output; AssertionError with all that was said where it fails."""
        code, out, err = self.ask(*words, **options)
        if code != 0:
            raise AssertionError(f"podman {' '.join(words)}: {code}\n{out}{err}")
        return out

    def build(self, containerfile, context, *words, **options):
        """Builds from what is here: an image that is missing is never fetched."""
        here = ["--pull=never", "--network=host", "--isolation=chroot", f"--file={containerfile}"]
        return self.do("build", *here, *words, context, **options)

    def run(self, *words, **options):
        """Standard output of a container; of one that is detached, its id."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        # Within what a machine without CAP_SYS_RESOURCE can give; Podman's own wishes are beyond.
        limits = [f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={TASKS}:{TASKS}"]
        return self.do("run", *limits, *words, **options)

    def remove_all(self):
        """Ends and removes what was started, and unmounts the storage."""
        self.ask("rm", "--all", "--force", "--time=0")
        self.ask("rmi", "--all", "--force")
        self.ask("umount", "--all")

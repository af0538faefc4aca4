"""The packages on a system that has nothing else: a minimal Debian 12 in a temporary folder, from the
mirror that this machine's apt uses. The service's command line runs there as the service's user and
finds what a recording holds; the commands of the Containerfile's last stages run there, too.

Needs root, debootstrap and a mirror; says which of them is missing where it is skipped."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request

import containerfile

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILT = os.environ["EROICA_TEST_PACKAGES"]
SUITE = "bookworm"
DEADLINE_S = 300
# The machine's own port may be taken.
ANY_PORT = ("--set", "rest.listen=127.0.0.1:0")


def mirrors():
    """The mirrors of the suite that apt is configured with, in its order."""
    command = ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(SUITE) $(COMPONENT)", "Created-By: Packages"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    except FileNotFoundError:
        return []
    found = [line.split()[0] for line in listed if SUITE in line.split()[1:3] and line.split()[-1] == "main"]
    return list(dict.fromkeys(site for site in found if "security" not in site))


def missing():
    """Why this cannot run here; empty where it can."""
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("debootstrap") is None:
        return "no debootstrap (Debian: debootstrap)"
    if not mirrors():
        return f"apt knows no mirror of {SUITE}"
    return ""


class CleanSystem(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        why = missing()
        if why:
            raise unittest.SkipTest(why)
        cls.folder = tempfile.mkdtemp(prefix="eroica-clean-system-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.root = os.path.join(cls.folder, "root")
        mirror = mirrors()[0]
        made = subprocess.run(["debootstrap", "--variant=minbase", SUITE, cls.root, mirror],
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        if "Couldn't download" in made.stdout + made.stderr or "Failed getting release" in made.stdout + made.stderr:
            raise unittest.SkipTest(f"the mirror {mirror} cannot be reached")
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        os.mkdir(os.path.join(cls.root, "packages"))
        for path in glob.glob(os.path.join(BUILT, "*.deb")):
            shutil.copy(path, os.path.join(cls.root, "packages"))
        # No service is started by an installation into a folder.
        cls.write("usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)

    @classmethod
    def write(cls, path, text, mode=0o644):
        with open(os.path.join(cls.root, path), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(cls.root, path), mode)

    @classmethod
    def inside(cls, *command, user=None, proc=""):
        """The beginning of a process in there, in namespaces of its own; with /proc mounted so."""
        options = f"-o {proc}" if proc else ""
        script = f"mount -t proc {options} proc '{cls.root}/proc' && exec \"$@\""
        chroot = ["chroot"] + ([f"--userspec={user}:{user}"] if user else []) + [cls.root]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", *chroot, *command]

    @classmethod
    def run_inside(cls, *command, **options):
        done = subprocess.run(cls.inside(*command, **options), capture_output=True, text=True, timeout=DEADLINE_S,
                              env=cls.environment(), check=False)
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def environment():
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                **{name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}}

    def shell(self, command):
        code, out, err = self.run_inside("sh", "-ec", command)
        self.assertEqual(code, 0, f"{command}\n{out}{err}")
        return out

    def test_the_service_and_the_images(self):
        """In one system, since making one takes most of the time."""
        with self.subTest("installed with what Debian has"):
            self.shell("apt-get update && apt-get install --yes --no-install-recommends /packages/*.deb")
        with self.subTest("the program is whole"):
            self.assertNotIn("not found", self.shell("ldd /usr/bin/eroica /usr/lib/eroica/*.so"))
        with self.subTest("the service"):
            self.check_service()
        with self.subTest("the image of the producers"):
            self.check_producers_image()
        with self.subTest("removed without a trace"):
            self.shell("apt-get purge --yes eroica eroica-producers eroica-dev")
            left = self.shell("ls -d /etc/eroica /var/lib/eroica /usr/lib/eroica /usr/lib/python3/dist-packages/eroica"
                              " /lib/systemd/system/eroica-node.service 2>/dev/null || true")
            self.assertEqual(left, "")
        with self.subTest("the image of the node"):
            self.check_node_image()

    def check_service(self):
        with open(os.path.join(self.root, "lib/systemd/system/eroica-node.service"), encoding="utf-8") as file:
            unit = dict(re.findall(r"^(\w+)=(.*)$", file.read(), re.MULTILINE))
        self.assertIn(unit["User"], self.shell("getent passwd"))
        state = "/var/lib/" + unit["StateDirectory"]
        # What systemd does before it starts a service.
        self.shell(f"install -d -o {unit['User']} -g {unit['Group']} -m {unit['StateDirectoryMode']} {state}")
        shutil.copytree(os.path.join(SOURCE, "tests/golden/live/compute"), self.root + state + "/recording")
        self.shell(f"chown -R {unit['User']}:{unit['Group']} {state}/recording")
        config = "etc/eroica/node.toml"
        with open(os.path.join(self.root, config), encoding="utf-8") as file:
            edited = file.read().replace("[node]\n", f'[node]\nrecording = "{state}/recording"\n')
        self.write(config, edited)
        proc = f"hidepid={unit['ProtectProc']},subset={unit['ProcSubset']}"
        self.follow(unit["ExecStart"].split(), unit["User"], f"{state}/recording", proc)

    def follow(self, command, user, recording, proc=""):
        """Runs a node until it has found what the recording holds, and stops it as systemd would."""
        with open(os.path.join(self.folder, "log"), "w+", encoding="utf-8") as log:
            node = subprocess.Popen(self.inside(*command, *ANY_PORT, user=user, proc=proc), stdout=log, stderr=log,
                                    env=self.environment())
            try:
                found = self.await_findings(recording, user, node, log)
                self.assertEqual([self.status(log, path) for path in ("/healthz", "/readyz")], [200, 200])
                os.kill(self.program(node.pid), signal.SIGTERM)
                code = node.wait(timeout=60)
            finally:
                node.kill()
                node.wait()
            log.seek(0)
            said = log.read()
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"diagnose: received=[1-9]")
        blamed = {culprit["rank"] for one in found for culprit in one["culprits"]}
        self.assertEqual(blamed, {3}, found)

    def status(self, log, path):
        """What the node answers to a probe; it says itself where it listens."""
        with open(log.name, encoding="utf-8") as file:
            url = re.search(r"url=(http://127\.0\.0\.1:\d+)", file.read())[1]
        with urllib.request.urlopen(url + path, timeout=10) as answer:
            return answer.status

    def program(self, parent):
        """The process of the node below that of unshare."""
        with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
            child = int(file.read().split()[0])
        with open(f"/proc/{child}/comm", encoding="ascii") as file:
            self.assertEqual(file.read().strip(), "eroica")
        return child

    def await_findings(self, recording, user, node, log):
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and node.poll() is None:
            code, out, _ = self.run_inside("eroica", "findings", "--recording", recording, "--json", user=user)
            if code == 1:
                return [json.loads(line) for line in out.splitlines()]
            time.sleep(0.5)
        log.seek(0)
        raise AssertionError(f"nothing was found: {log.read()}")

    def check_producers_image(self):
        stage = containerfile.stages()["producers-files"]
        for command in stage.commands():
            self.shell(command)
        # As an init container copies it, and loaded without a package around it.
        self.shell("cp -r /opt/eroica/. /mnt && mv /usr/lib/eroica /usr/lib/away")
        try:
            self.assertNotIn("not found", self.shell("ldd /mnt/lib/libproducer_core.so /mnt/lib/liberoica_python.so"))
            listed = self.shell("ldd /mnt/lib/libproducer_core.so")
            self.assertIn("/mnt/lib/libabsl_status.so", listed)
            self.shell("test -f /mnt/python/eroica/lib/libproducer_core.so -a -f /mnt/python/zero_code/sitecustomize.py")
        finally:
            self.shell("mv /usr/lib/away /usr/lib/eroica")

    def check_node_image(self):
        stage = containerfile.stages()["node"]
        self.shell("userdel eroica")  # an image has none
        for command in stage.commands():
            self.shell(command)
        uid, gid = stage.last("USER").split(":")
        shutil.copytree(os.path.join(SOURCE, "tests/golden/live/compute"), self.root + "/var/lib/eroica/recording")
        self.shell(f"chown -R {uid}:{gid} /var/lib/eroica/recording")
        start = stage.exec_form("ENTRYPOINT") + stage.exec_form("CMD")
        self.follow([*start, "--recording", "/var/lib/eroica/recording"], "eroica", "/var/lib/eroica/recording")
        self.assertIn(f" {uid} {gid} ", self.shell("stat --format=' %u %g ' /var/lib/eroica/state"))


if __name__ == "__main__":
    unittest.main()

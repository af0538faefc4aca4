"""The two images, built by Podman from the Containerfile and run as the manifests of Kubernetes run
them: root file system read-only, no capability, no privileges to gain.

There is no registry: debian:bookworm is the minimal system of debootstrap. The stage `build`, which
compiles everything anew, is replaced by the packages of EROICA_TEST_PACKAGES; where that is not
set, the Containerfile is built as it is, which takes some ten minutes on two processors:
  EROICA_TEST_DEBIAN=/var/tmp/eroica python3 ops/packages/images_test.py"""

import glob
import json
import os
import re
import shutil
import tempfile
import unittest
import urllib.request

import yaml

import containerfile
import minimal_debian
from podman import Podman
from waiting import await_true

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(containerfile.PATH)))
BUILT = os.environ.get("EROICA_TEST_PACKAGES")
COMPILING_DEADLINE_S = 7200
# The security contexts of ops/kubernetes, which manifests_test.py looks at, as Podman says them.
RESTRICTED = ("--read-only", "--cap-drop=all", "--security-opt=no-new-privileges")
RECORDING = "/var/lib/eroica/recording"


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="eroica-images-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.podman = Podman(cls.folder)
        cls.addClassCleanup(cls.podman.remove_all)
        base = minimal_debian.archive(os.environ["EROICA_TEST_DEBIAN"])
        for name in {stage.base for stage in containerfile.stages().values() if ":" in stage.base}:
            cls.podman.take(base, name)
        file, context = cls.from_packages() if BUILT else (containerfile.PATH, SOURCE)
        for target in ("producers", "node"):
            words = ("--target", target, "--tag", f"eroica-{target}")
            cls.podman.build(file, context, *words, timeout=COMPILING_DEADLINE_S)

    @classmethod
    def from_packages(cls):
        """A Containerfile whose stage `build` takes the packages, and its context."""
        context = os.path.join(cls.folder, "context")
        os.makedirs(os.path.join(context, "packages"))
        for path in glob.glob(os.path.join(BUILT, "*.deb")):
            shutil.copy(path, os.path.join(context, "packages"))
        file = os.path.join(context, "Containerfile")
        with open(file, "w", encoding="utf-8") as written:
            written.write(containerfile.with_packages("packages"))
        return file, context

    def volume(self, owner):
        """A folder for the containers, which belongs to that user, as fsGroup makes it."""
        path = tempfile.mkdtemp(dir=self.folder)
        os.chown(path, owner, owner)
        return path

    def inspect(self, image):
        return json.loads(self.podman.do("image", "inspect", image))[0]["Config"]

    def test_the_node_follows_a_recording(self):
        config = self.inspect("eroica-node")
        user = int(config["User"].split(":")[0])
        state = self.volume(user)
        shutil.copytree(
            os.path.join(SOURCE, "tests/golden/live/compute"), f"{state}/recording"
        )
        for path, _, files in os.walk(state):
            for name in (path, *(os.path.join(path, file) for file in files)):
                os.chown(name, user, user)
        # The command of the image; a machine's own port 8470 may be taken.
        command = [*config["Cmd"], "--recording", RECORDING, "--set", "rest.listen=127.0.0.1:0"]
        name = "node"
        self.podman.run(
            "--detach", "--name", name, "--network=host", *RESTRICTED,
            f"--volume={state}:/var/lib/eroica", "eroica-node", *command,
        )  # fmt: skip
        await_true(lambda: self.findings(name), "the node finds the slow rank")
        found = self.findings(name)
        self.assertEqual({culprit["rank"] for one in found for culprit in one["culprits"]}, {3})
        url = re.search(r"url=(http://127\.0\.0\.1:\d+)", self.logs(name))[1]
        for probe in ("/healthz", "/readyz"):
            with urllib.request.urlopen(url + probe, timeout=10) as answer:
                self.assertEqual(answer.status, 200)
        self.podman.do("stop", "--time=60", name)
        ended = json.loads(self.podman.do("inspect", name))[0]["State"]
        self.assertEqual(ended["ExitCode"], 0, self.logs(name))
        self.assertRegex(self.logs(name), r"diagnose: received=[1-9]")
        self.assertEqual(os.stat(f"{state}/state").st_uid, user)

    def logs(self, name):
        code, out, err = self.podman.ask("logs", name)
        self.assertEqual(code, 0, err)
        return out + err

    def findings(self, name):
        words = ("exec", name, "eroica", "findings", "--recording", RECORDING, "--json")
        code, out, _ = self.podman.ask(*words)
        return [json.loads(line) for line in out.splitlines()] if code == 1 else []

    def test_the_node_says_what_it_lacks(self):
        """As the image comes, it knows no broker."""
        with self.assertRaisesRegex(AssertionError, r": 2\n(.|\n)*kafka\.bootstrap"):
            self.podman.run("--rm", "--network=none", *RESTRICTED, "eroica-node")

    def test_every_command_of_the_program_is_there(self):
        said = self.podman.run("--rm", "--network=none", *RESTRICTED, "eroica-node", "--help")
        for command in ("node", "findings", "replay", "record", "topics", "alert", "act"):
            self.assertRegex(said, rf"(?m)^ +{command}\b")

    def test_the_producers_are_copied_into_a_job_and_load_there(self):
        """By the init container of ops/kubernetes/producers, into an image of Debian alone."""
        with open(f"{SOURCE}/ops/kubernetes/producers/training.yaml", encoding="utf-8") as file:
            pod = yaml.safe_load(file)["spec"]["template"]["spec"]
        program, *arguments = pod["initContainers"][0]["command"]
        user = int(self.inspect("eroica-producers")["User"].split(":")[0])
        shared = self.volume(user)
        self.podman.run(
            "--rm", "--network=none", *RESTRICTED, f"--volume={shared}:/eroica",
            f"--entrypoint={program}", "eroica-producers", *arguments,
        )  # fmt: skip
        training = pod["containers"][0]
        variables = {one["name"]: one["value"] for one in training["env"] if "value" in one}
        where = ("--network=none", f"--volume={shared}:/eroica:ro", "debian:bookworm")
        ours = [name for name in os.listdir(f"{shared}/lib") if not name.startswith("libabsl_")]
        self.assertIn("libproducer_core.so", ours)
        for library in ours:  # those of Abseil are found by them
            listed = self.podman.run("--rm", *where, "ldd", f"/eroica/lib/{library}")
            self.assertNotIn("not found", listed, library)
        for folder in variables["PYTHONPATH"].split(":") + [variables["EROICA_LIB_DIR"]]:
            self.assertTrue(os.path.isdir(folder.replace("/eroica", shared, 1)), folder)
        self.assertTrue(
            os.path.isfile(variables["NCCL_PROFILER_PLUGIN"].replace("/eroica", shared, 1))
        )


if __name__ == "__main__":
    unittest.main()

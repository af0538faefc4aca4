"""The Containerfile as a text: its stages hang together and its end is what the manifests and the
service say. images_test.py builds and runs it."""

import os
import re
import subprocess
import unittest

import containerfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(containerfile.PATH)))
# How packages come to be: the names of CPack, without version and architecture.
PACKAGES = ("eroica", "eroica-producers", "eroica-dev")


class Container(unittest.TestCase):
    def setUp(self):
        self.stages = containerfile.stages()

    def test_stages_build_on_debian_12_or_on_one_another(self):
        seen = set()
        for name, stage in self.stages.items():
            self.assertIn(stage.base, {"scratch", "debian:bookworm", "debian:bookworm-slim"} | seen, name)
            for rest in stage.all("COPY") + stage.all("RUN"):
                for source in re.findall(r"(?:--from=|from=)([\w-]+)", rest):
                    self.assertIn(source, seen, rest)
            seen.add(name)

    def test_what_is_copied_from_the_sources_is_there(self):
        for stage in self.stages.values():
            for rest in stage.all("COPY"):
                if rest.startswith("--from="):
                    continue
                for source in rest.split()[:-1]:
                    self.assertTrue(os.path.exists(os.path.join(ROOT, source)), rest)

    def test_scripts_that_it_runs_are_there(self):
        for stage in self.stages.values():
            for command in stage.commands():
                for script in re.findall(r"\bops/[\w/.-]+\.sh\b", command):
                    self.assertTrue(os.access(os.path.join(ROOT, script), os.X_OK), script)

    def test_its_commands_are_shell(self):
        for stage in self.stages.values():
            for command in stage.commands():
                done = subprocess.run(["sh", "-n"], input=command, text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_packages_are_those_that_cpack_makes(self):
        asked = set()
        for stage in self.stages.values():
            for command in stage.commands():
                asked |= set(re.findall(r"/packages/([a-z-]+)_\*\.deb", command))
        self.assertTrue(asked)
        self.assertLessEqual(asked, set(PACKAGES))

    def test_images_run_as_a_number_and_without_a_shell(self):
        for name in ("node", "producers"):
            self.assertRegex(self.stages[name].last("USER"), r"^[1-9]\d*:[1-9]\d*$")
        node = self.stages["node"]
        self.assertEqual(node.exec_form("ENTRYPOINT"), ["/usr/bin/eroica"])
        self.assertEqual(node.exec_form("CMD")[0], "node")
        uid, gid = node.last("USER").split(":")
        made = " ".join(node.commands())
        self.assertIn(f"useradd --uid {uid} --gid {gid} ", made)

    def test_the_image_starts_what_the_service_starts(self):
        with open(os.path.join(ROOT, "ops/packages/eroica-node.service"), encoding="utf-8") as file:
            service = re.search(r"^ExecStart=(.*)$", file.read(), re.MULTILINE).group(1).split()
        node = self.stages["node"]
        self.assertEqual(node.exec_form("ENTRYPOINT") + node.exec_form("CMD"), service)

    def test_it_opens_the_port_of_the_pods(self):
        with open(os.path.join(ROOT, "ops/kubernetes/base/node.toml"), encoding="utf-8") as file:
            port = re.search(r'^listen = ".*:(\d+)"$', file.read(), re.MULTILINE).group(1)
        self.assertEqual(self.stages["node"].last("EXPOSE"), port)

    def test_what_is_no_stage_is_refused(self):
        for wrong in ("FROM debian:bookworm\n", "FROM debian:bookworm AS a\nCOPPY x y\n"):
            with self.subTest(wrong), self.assertRaises((ValueError, AttributeError)):
                containerfile.stages(wrong)


if __name__ == "__main__":
    unittest.main()

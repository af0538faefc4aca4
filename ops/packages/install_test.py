"""`cmake --install`: an installed tree works by itself, wherever it lies."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import installed

# A rank: says what it sees of Eroica and which libraries it has loaded.
RANK = """
import json, os, eroica
for _ in range(12):
    eroica.step()
maps = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
seen = {"enabled": eroica.enabled(), "why": eroica.off_reason(), "package": eroica.__file__,
        "version": eroica.__version__, "libraries": sorted(maps), "environment": dict(os.environ)}
print(json.dumps(seen))
"""
CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(eroica 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE eroica::producer_core)
if(NOT EXISTS "${EROICA_SCHEMAS}/finding.fbs")
  message(FATAL_ERROR "no schemas in ${EROICA_SCHEMAS}")
endif()
"""
CONSUMER_C = """
#include <eroica/producer_core.h>
#include <stdio.h>
int main(void) {
  printf("%lld", (long long)eroica_rank());
  return 0;
}
"""


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = installed.install(cls)
        cls.program = os.path.join(cls.prefix, "bin", "eroica")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="eroica-install-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def files(self):
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), self.prefix)

    def run_installed(self, *arguments, **variables):
        return installed.run(self.program, *arguments, folder=self.folder, **variables)

    def test_the_parts_are_where_the_documentation_says(self):
        files = set(self.files())
        self.assertLessEqual(
            {
                "bin/eroica",
                "include/eroica/producer_core.h",
                "lib/cmake/eroica/eroica-config.cmake",
                "lib/eroica/libnccl-profiler-eroica.so",
                "lib/eroica/liberoica_python.so",
                "lib/eroica/libproducer_core.so",
                "lib/eroica/python/eroica/__init__.py",
                "lib/eroica/python/zero_code/sitecustomize.py",
                "share/eroica/monitoring/alerts.yml",
                "share/eroica/monitoring/grafana.json",
                "share/eroica/python/finding_generated.py",
                "share/eroica/schemas/finding.fbs",
                "share/bash-completion/completions/eroica",
                "share/fish/vendor_completions.d/eroica.fish",
                "share/man/man1/eroica.1.gz",
                "share/man/man1/eroica-config-check.1.gz",
                "share/man/man1/eroica-top.1.gz",
                "share/zsh/vendor-completions/_eroica",
            },
            files,
        )

    def test_nothing_of_the_tests_and_nothing_outside_the_prefix(self):
        for file in self.files():
            self.assertRegex(file, r"^(bin|include|lib|share)/")
            self.assertNotRegex(file, r"test|__pycache__|\.pyc$|\.a$")

    def test_no_library_is_looked_for_in_the_build_folder(self):
        programs = [f for f in self.files() if f.endswith(".so") or f.startswith("bin/")]
        for file in programs:
            dynamic = subprocess.run(["readelf", "-d", os.path.join(self.prefix, file)],
                                     check=True, capture_output=True, text=True).stdout
            paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
            self.assertIn(paths, ([], ["$ORIGIN"]), file)

    def test_one_version(self):
        with open(os.path.join(installed.SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"project\(eroica VERSION ([\d.]+)", file.read()).group(1)
        self.assertEqual(self.run_installed("--version").stdout.splitlines()[0], f"eroica {version}")
        with open(os.path.join(self.prefix, "lib/eroica/python/eroica/__init__.py"), encoding="utf-8") as file:
            self.assertIn(f'__version__ = "{version}"', file.read())

    def test_check_finds_python(self):
        checked = self.run_installed("check", "--json")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        sources = {one["source"]: one for one in json.loads(checked.stdout)["sources"]}
        self.assertEqual(sources["python"]["capture"], "yes", sources["python"])

    def test_the_tree_may_lie_elsewhere_than_it_was_made_for(self):
        command = [installed.CMAKE, "--install", installed.BUILD, "--prefix", "/opt/eroica-elsewhere"]
        subprocess.run(command, check=True, capture_output=True, timeout=installed.DEADLINE_S,
                       env={**os.environ, "DESTDIR": self.folder})
        self.assertFalse(os.path.exists("/opt/eroica-elsewhere"))
        program = os.path.join(self.folder, "opt", "eroica-elsewhere", "bin", "eroica")
        self.assertEqual(installed.run(program, "check", folder=self.folder).returncode, 0)

    def test_a_job_is_captured_with_nothing_but_the_installation(self):
        ran = self.run_installed("run", "-o", "recording", "--job", "installed", "--", sys.executable, "-c", RANK)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        seen = json.loads(ran.stdout)
        self.assertTrue(seen["enabled"], seen["why"])
        private = os.path.join(self.prefix, "lib", "eroica")
        self.assertTrue(seen["package"].startswith(private), seen["package"])
        ours = [path for path in seen["libraries"] if "eroica" in os.path.basename(path) or "producer_core" in path]
        self.assertEqual({os.path.dirname(path) for path in ours}, {private})
        for name, value in seen["environment"].items():
            if name.startswith(("EROICA_", "PYTHONPATH", "NCCL_", "CUDA_")):
                self.assertNotIn(installed.BUILD, value, name)
                self.assertNotIn(installed.SOURCE + os.sep, value, name)
        drained = self.run_installed("node", "--recording", "recording", "--state", "again", "--drain")
        self.assertEqual(drained.returncode, 0, drained.stderr)
        self.assertRegex(drained.stderr, r"summarize: received=[1-9]")

    def test_the_package_finds_its_libraries_without_a_variable(self):
        os.mkdir(os.path.join(self.folder, "recording"))
        private = os.path.join(self.prefix, "lib", "eroica")
        ran = installed.run(sys.executable, "-c", RANK, folder=self.folder, EROICA_RECORDING="recording",
                            EROICA_JOB="alone", PYTHONPATH=os.path.join(private, "python"), XDG_RUNTIME_DIR=self.folder)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue(json.loads(ran.stdout)["enabled"], ran.stdout + ran.stderr)

    def test_without_producers_it_says_which_package_is_missing(self):
        prefix = installed.install(self, "--component", "program")
        alone = os.path.join(prefix, "bin", "eroica")
        ran = installed.run(alone, "run", "-o", "recording", "--", "true", folder=self.folder)
        self.assertIn("eroica-producers", ran.stderr)

    def test_programs_of_others_build_with_the_c_interface(self):
        for name, text in (("CMakeLists.txt", CONSUMER), ("consumer.c", CONSUMER_C)):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for command in (
            [installed.CMAKE, "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            [installed.CMAKE, "--build", "build"],
            ["build/consumer"],
        ):
            ran = installed.run(*command, folder=self.folder)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(ran.stdout, "-1")  # not attached

    def test_the_bindings_read_what_is_on_the_topics(self):
        try:
            subprocess.run(["/usr/bin/python3", "-c", "import flatbuffers"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("Debian's Python has no flatbuffers (python3-flatbuffers)")
        payloads = os.path.join(installed.SOURCE, "schemas", "testdata", "payloads")
        shutil.copytree(payloads, os.path.join(self.folder, "payloads"))
        read = """
import finding_generated, rank_standing_generated, pattern_generated, event_generated, control_generated
import collective_generated, collective_summary_generated
finding = finding_generated.Finding.GetRootAs(open("payloads/FND1.bin", "rb").read(), 0)
print(len(finding.Id()), finding.EvidenceLength() > 0)
"""
        ran = installed.run("/usr/bin/python3", "-c", read, folder=self.folder,
                            PYTHONPATH=os.path.join(self.prefix, "share/eroica/python"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.split(), ["32", "True"])


if __name__ == "__main__":
    unittest.main()

"""The wheel: built from the tree, installed without an index, imported, and switched on without
code."""

import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import build_wheel  # noqa: E402
import interpreters  # noqa: E402

RECORD = """
import ctypes, eroica, os, sys
assert eroica.enabled(), eroica.off_reason()
assert eroica.__file__.startswith(sys.prefix)
assert eroica.step() == 0
"""


class WheelTest(unittest.TestCase):
    def build(self, folder):
        # The recorded core stands in for the core, as everywhere in these tests.
        build = os.path.join(folder, "build")
        os.mkdir(build)
        os.symlink(interpreters.LIB_DIR, os.path.join(build, "lib"))
        return build_wheel.build_wheel(build, os.path.join(folder, "out"))

    def test_it_installs_and_switches_on(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = self.build(folder)
            venv = os.path.join(folder, "venv")
            subprocess.run([sys.executable, "-m", "venv", venv], check=True, capture_output=True)
            python = os.path.join(venv, "bin", "python")
            pip = [python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check"]
            done = subprocess.run(pip + [wheel], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            run = interpreters.run(python, RECORD, False, PYTHONPATH=None, EROICA_LIB_DIR=None)
            self.assertEqual((run.status, run.err), (0, ""))

            # The libraries of an installed wheel are its own, whatever else is named.
            own = "import eroica; from eroica import native; print(native.library_folder())"
            for named in (None, interpreters.LIB_DIR, "/nowhere"):
                run = interpreters.run(python, own, False, PYTHONPATH=None, EROICA_LIB_DIR=named)
                self.assertEqual((run.status, run.err), (0, ""))
                self.assertTrue(run.out.strip().startswith(venv), run.out)

            where = "import eroica, os; print(os.path.dirname(eroica.__file__) + '/zero_code')"
            zero = subprocess.run(
                [python, "-I", "-c", where], capture_output=True, text=True, check=True
            )
            script = "import sys\nassert sys.modules['eroica'].enabled()\n"
            path = zero.stdout.strip()
            run = interpreters.run(python, script, False, PYTHONPATH=path, EROICA_LIB_DIR=None)
            self.assertEqual((run.status, run.err), (0, ""))

    def test_the_same_tree_gives_the_same_bytes(self):
        contents = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder, open(self.build(folder), "rb") as file:
                contents.append(file.read())
        self.assertEqual(contents[0], contents[1])

    def test_the_tag_names_the_glibc_that_is_needed(self):
        self.assertEqual(build_wheel.glibc_of(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.4\0"), 34)
        with tempfile.TemporaryDirectory() as folder:
            wheel = self.build(folder)
            self.assertRegex(
                os.path.basename(wheel), r"^eroica-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl$"
            )
            with zipfile.ZipFile(wheel) as content:
                names = content.namelist()
        self.assertIn("eroica/lib/libproducer_core.so", names)
        self.assertIn("eroica/zero_code/sitecustomize.py", names)

    def test_libraries_that_were_not_built_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(SystemExit, "libproducer_core.so is not there"):
                build_wheel.build_wheel(folder, folder)


if __name__ == "__main__":
    unittest.main()

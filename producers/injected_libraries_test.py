"""What the libraries that go into a training process need and bring: one C++ runtime each, out of
everybody's sight, and the unwinder of the process, never one of their own."""

import os
import re
import subprocess
import unittest

LIBRARIES = [name for name in os.environ.get("EROICA_TEST_INJECTED", "").split(os.pathsep) if name]
UNWINDER = "libgcc_s.so.1"


def read(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(library):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", read("readelf", "--dynamic", "--wide", library)))


def symbols(library, *options):
    """{name: kind} as nm says it, without versions."""
    rows = (line.split() for line in read("nm", *options, library).splitlines())
    return {row[-1].split("@")[0]: row[-2] for row in rows if len(row) > 1}


@unittest.skipUnless(LIBRARIES, "EROICA_TEST_INJECTED is not set")
class InjectedLibrariesTest(unittest.TestCase):
    def check_each(self, check):
        self.assertGreaterEqual(len(LIBRARIES), 4)
        for library in LIBRARIES:
            with self.subTest(library=os.path.basename(library)):
                check(library)

    def test_none_brings_an_unwinder(self):
        def check(library):
            own = [
                name
                for name, kind in symbols(library).items()
                if name.startswith("_Unwind_") and kind not in "Uw"
            ]
            self.assertEqual(own, [], "a second unwinder in the process")

        self.check_each(check)

    def test_the_unwinder_is_that_of_the_process(self):
        def check(library):
            self.assertIn(UNWINDER, needed(library))
            self.assertEqual(symbols(library, "--dynamic").get("_Unwind_Resume"), "U")

        self.check_each(check)

    def test_the_cplusplus_runtime_is_their_own(self):
        def check(library):
            self.assertNotIn("libstdc++.so.6", needed(library))
            self.assertNotIn("__cxa_throw", symbols(library, "--dynamic"))

        self.check_each(check)


if __name__ == "__main__":
    unittest.main()

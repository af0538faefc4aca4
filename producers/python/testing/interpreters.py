"""The CPythons of this machine, and how tests run a script in one of them against the recorded
core. EROICA_TEST_EVERY_PYTHON: all of them; without it the oldest, the newest, and the newest
free-threaded one."""

import functools
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PRODUCER = os.path.dirname(HERE)
ZERO_CODE = os.path.join(PRODUCER, "zero_code")
LIB_DIR = os.environ.get("EROICA_TEST_LIB_DIR", "")
# "t": a free-threaded build (PEP 703), which is an interpreter of its own.
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.13t", "3.14t", "3.15t")
_SAY_VERSION = """
import sys, sysconfig
free_threaded = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print("%d.%d%s" % (*sys.version_info[:2], free_threaded), sys.implementation.name)
"""


def is_free_threaded(version):
    return version.endswith("t")


def with_gil(version):
    """Changes of the environment by which it has a GIL: a free-threaded build can have one, too."""
    return {"PYTHON_GIL": "1"} if is_free_threaded(version) else {}


def _version(path):
    command = [path, "-I", "-c", _SAY_VERSION]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.split()
    return words[0] if done.returncode == 0 and words[1:] == ["cpython"] else None


@functools.lru_cache(maxsize=None)
def _found():
    found = {_version(sys.executable): sys.executable}
    for version in VERSIONS:
        release, letter = version.rstrip("t"), "t" if is_free_threaded(version) else ""
        candidates = glob.glob(
            os.path.expanduser(f"~/.pyenv/versions/{release}.*{letter}/bin/python{version}")
        )
        candidates += [
            os.path.join(folder, f"python{version}")
            for folder in os.environ["PATH"].split(os.pathsep)
        ]
        for candidate in candidates:
            if (
                version not in found
                and os.access(candidate, os.X_OK)
                and _version(candidate) == version
            ):
                found[version] = candidate
    return found


def all_interpreters():
    """{version: path}, from 3.9 on; at least the one that runs the tests."""
    return _chosen(_found())


def _chosen(found):
    versions = sorted(found, key=lambda one: VERSIONS.index(one) if one in VERSIONS else 99)
    if not os.environ.get("EROICA_TEST_EVERY_PYTHON"):
        with_gil = [version for version in versions if not is_free_threaded(version)]
        kept = (*with_gil[:1], *with_gil[-1:], versions[-1])
        versions = [version for version in versions if version in kept]
    return {version: found[version] for version in versions}


RUNNABLE = "(runnable, waiting for a processor)"
WAITS_WITHIN = "(waits for a processor)"


class Run:
    """What became of a script: its exit status, output, and what reached the C ABI (None where
    nothing was loaded)."""

    def __init__(self, done, events):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr
        self.events = events
        # What comes by itself: stacks of Python's collections of garbage, and on a busy machine waits
        # for a processor.
        self.collections = []
        self.processor_waits = []
        if events is not None:
            self._set_aside()

    def _set_aside(self):
        others = []
        for row in self.events["intervals"]:
            stack = self.stack(row["function"])
            if stack[-1] == "<gc collection>":
                self.collections.append(stack)
            elif stack[-1] in (RUNNABLE, WAITS_WITHIN):
                self.processor_waits.append(row)
            else:
                others.append(row)
        self.events["intervals"] = others

    def marks(self):
        return [mark["kind"] for mark in self.events["marks"]]

    def stack(self, function):
        names = []
        while function is not None:
            row = self.events["functions"][function]
            names.append(row["name"])
            function = row["parent"]
        return names[::-1]

    def time_of(self, wanted, lane=None):
        """Seconds of intervals whose function's name holds the text."""
        functions = self.events["functions"]
        return sum(
            (interval["end"] - interval["start"]) * 1e-9
            for interval in self.events["intervals"]
            if wanted in functions[interval["function"]]["name"]
            and (lane is None or interval["lane"] == lane)
        )


_EPILOGUE = """
import recorded_core as _recorded_core
_recorded_core.write()
"""


def environment(**changes):
    """Asks for Eroica as a rank would be; None removes a variable."""
    own = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("EROICA_", "PYTHON", "RANK"))
    }
    own.update(
        EROICA_LIB_DIR=LIB_DIR,
        EROICA_RECORDING="recorded-by-the-test",
        EROICA_PYTHON_HZ="0",
        RANK="0",
        WORLD_SIZE="1",
        PYTHONPATH=os.pathsep.join((PRODUCER, HERE)),
        PYTHONDONTWRITEBYTECODE="1",
    )
    for key, value in changes.items():
        if value is None:
            own.pop(key, None)
        else:
            own[key] = value
    return own


def run(python, script, epilogue=True, arguments=(), timeout=100, name="train.py", **changes):
    """Runs the text as a script of that name, which may be a path, below a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(script + (_EPILOGUE if epilogue else ""))
        record = os.path.join(folder, "recorded.json")
        env = environment(RECORDED_TO=record, **changes)
        command = [python, path, *arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=env,
            cwd=folder,
            check=False,
        )
        events = None
        if os.path.exists(record):
            with open(record, encoding="utf-8") as file:
                events = json.load(file)
        return Run(done, events)

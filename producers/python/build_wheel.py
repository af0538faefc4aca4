#!/usr/bin/env python3
"""Writes eroica-VERSION-py3-none-manylinux_X_Y_ARCH.whl from the tree and a build folder.

    python3 producers/python/build_wheel.py BUILD_FOLDER OUTPUT_FOLDER

The wheel holds the package, its shared libraries in eroica/lib, and zero_code as
eroica/zero_code, for PYTHONPATH. Needs nothing but Python; the same input gives the same bytes.
The platform tag says the oldest glibc whose symbols the libraries need.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIRED = ("libproducer_core.so", "liberoica_python.so")
# Taken along where they were built.
OPTIONAL = ("liberoica_cupti.so", "libnccl-profiler-eroica.so")
EPOCH = (1980, 1, 1, 0, 0, 0)


def version():
    with open(os.path.join(HERE, "eroica", "__init__.py"), encoding="utf-8") as file:
        return re.search(r'^__version__ = "([^"]+)"$', file.read(), re.MULTILINE).group(1)


def glibc_of(content):
    """The newest GLIBC_2.N among the version names that a library holds."""
    minors = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)]
    return max(minors, default=17)


def libraries(build):
    """{file name: content}; SystemExit where a required one was not built."""
    found = {}
    for name in REQUIRED + OPTIONAL:
        path = os.path.join(build, "lib", name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = file.read()
        elif name in REQUIRED:
            raise SystemExit(
                f"{path} is not there: build the targets eroica_python and eroica_producer_core"
            )
    return found


def carried(build):
    """{file name: content} of the libraries under ours that only this system has: Abseil's."""
    core = os.path.join(build, "lib", REQUIRED[0])
    lines = subprocess.run(["ldd", core], check=True, capture_output=True, text=True).stdout
    found = {}
    for name, path in re.findall(r"^\s*(libabsl_\S+) => (\S+)", lines, re.MULTILINE):
        with open(path, "rb") as file:
            found[name] = file.read()
    return found


def sources():
    """{path in the wheel: content} of the Python files."""
    files = {}
    for folder, target in (("eroica", "eroica"), ("zero_code", "eroica/zero_code")):
        for name in sorted(os.listdir(os.path.join(HERE, folder))):
            if name.endswith(".py"):
                with open(os.path.join(HERE, folder, name), "rb") as file:
                    files[f"{target}/{name}"] = file.read()
    return files


def metadata(tag):
    about = f"Metadata-Version: 2.1\nName: eroica\nVersion: {version()}\n"
    about += "Summary: Finds which rank and which function slows a large training job down\n"
    about += "Requires-Python: >=3.9\n"
    wheel = f"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    return {"METADATA": about.encode(), "WHEEL": wheel.encode()}


def record_line(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


def build_wheel(build, output):
    binaries = {**libraries(build), **carried(build)}
    minor = max(glibc_of(content) for content in binaries.values())
    tag = f"py3-none-manylinux_2_{minor}_{platform.machine()}"
    info = f"eroica-{version()}.dist-info"
    files = sources()
    files.update({f"eroica/lib/{name}": content for name, content in binaries.items()})
    files.update({f"{info}/{name}": content for name, content in metadata(tag).items()})
    record = "".join(record_line(path, content) for path, content in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()

    os.makedirs(output, exist_ok=True)
    path = os.path.join(output, f"eroica-{version()}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: build_wheel.py BUILD_FOLDER OUTPUT_FOLDER")
    print(build_wheel(sys.argv[1], sys.argv[2]))

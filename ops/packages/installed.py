"""An installation in a temporary folder, and processes that see neither the sources nor the build."""

import os
import shutil
import subprocess
import tempfile

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ["EROICA_TEST_BUILD"]
CMAKE = os.environ.get("EROICA_TEST_CMAKE", "cmake")
DEADLINE_S = 120


def install(case, *options):
    """`cmake --install` into a folder that the test case removes; returns the prefix."""
    prefix = tempfile.mkdtemp(prefix="eroica-install-")
    case.addClassCleanup(shutil.rmtree, prefix, True)
    command = [CMAKE, "--install", BUILD, "--prefix", prefix, *options]
    subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_S)
    return prefix


def _hiding():
    """The beginning of a command line that covers the tree with empty folders; empty where a
    process may not do that."""
    folders = [SOURCE] + ([] if BUILD.startswith(SOURCE + os.sep) else [BUILD])
    script = "".join(f"mount -t tmpfs none '{folder}' && " for folder in folders) + 'exec "$@"'
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"]
    try:
        works = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        works = False
    return command if works else []


HIDING = _hiding()


def environment(**variables):
    """What a job would have of a plain shell, without what this test was given."""
    ours = ("EROICA_", "CUDA_INJECTION64", "NCCL_PROFILER", "PYTHON", "LD_")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }


def run(*command, folder, **variables):
    """Runs it in a folder, out of reach of the tree; the finished process."""
    return subprocess.run(
        [*HIDING, *command],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )



"""What `eroica run` gives the ranks of a job, with a choice of producers: for measurements."""

import os
import subprocess

NONE = ()
ALL = ("python", "cupti", "nccl")


class Installation:
    """Where program and libraries are: a build folder, or what has been unpacked of packages."""

    def __init__(self, program, libraries):
        self.program, self.libraries = os.path.abspath(program), os.path.abspath(libraries)

    def make_recording(self, folder, ranks):
        """Empty, with its topics."""
        os.makedirs(folder, exist_ok=True)
        subprocess.run([self.program, "topics", "create", "--recording", folder, "--set",
                        f"topics.events_partitions={ranks}"], check=True,
                       stdout=subprocess.DEVNULL)

    def variables(self, recording, job, producers, level=2):
        if not producers:
            return {}
        of = lambda name: os.path.join(self.libraries, name)
        variables = {"EROICA_RECORDING": recording, "EROICA_JOB": job,
                     "EROICA_EXCHANGE": recording + ".exchange", "EROICA_LIB_DIR": self.libraries,
                     "EROICA_LEVEL": str(level), "EROICA_REQUESTS": "0"}
        if "python" in producers:
            users = os.environ.get("PYTHONPATH")
            variables["PYTHONPATH"] = ":".join(
                [of("python/zero_code"), of("python")] + ([users] if users else []))
        if "cupti" in producers:
            variables["CUDA_INJECTION64_PATH"] = of("liberoica_cupti.so")
        if "nccl" in producers:
            variables["NCCL_PROFILER_PLUGIN"] = of("libnccl-profiler-eroica.so")
        return variables

#!/usr/bin/env python3
"""Whether a backlog is worked off in bounded memory as without a bound: backlog.py [OPTIONS]

Records a simulated job of 4,096 ranks at capture level 2, one of them slow. Works the recording off
once with `eroica node --drain`, which knows no bound of memory, and once with a node that follows
its log and may take --memory-mib. Prints what came late, peak memory and seconds of both, and fails
where the findings differ or anything was late. Needs a build (ops/build.sh release eroica
eroica-lab), 3 GB of disk and, for --drain, 6 GB of memory.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = """
family = "gpu slow"
about = "The GPU of one rank is slow."
steps = {steps}

[layout]
tensor = 8
pipeline = 4
data = {data}

[workload]
micro_batches = {micro_batches}

[telemetry]
sample_period_us = 10_000

[[fault]]
kind = "gpu_slow"
ranks = 37
severity = 0.3
first_step = 4
"""
# Nothing was processed for so long: the node has come to the end of what there is.
QUIET_SECONDS = 15


def metrics_of(url):
    text = urllib.request.urlopen(url + "/metrics", timeout=60).read().decode()
    return {
        name: float(value)
        for name, value in re.findall(r"^(eroica_\S+) ([0-9.e+]+)$", text, re.MULTILINE)
    }


def total(metrics, name, *labels):
    return sum(
        value
        for key, value in metrics.items()
        if key.startswith(name) and all(label in key for label in labels)
    )


def peak_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) // 1024


def findings_of(build, recording):
    """By id, what was said of each last; without the wall clock."""
    command = [str(build / "ops/cli/eroica"), "findings", "--recording", str(recording), "--json"]
    lines = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    findings = {}
    for line in lines.splitlines():
        finding = json.loads(line)
        for stamp in ("emitted_at_ns", "emitted_at"):
            finding.pop(stamp, None)
        findings[finding["id"]] = finding
    return findings


def drain(build, recording, folder):
    command = [str(build / "ops/cli/eroica"), "node", "--recording", str(recording), "--drain"]
    started = time.monotonic()
    with open(folder / "drain.log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"backlog.py: the drain failed, see {folder / 'drain.log'}")
    return time.monotonic() - started, usage.ru_maxrss // 1024


def follow(build, recording, folder, memory_mib, options):
    command = [str(build / "ops/cli/eroica"), "node", "--recording", str(recording)]
    for option in [f"runtime.memory_mib={memory_mib}", "rest.listen=127.0.0.1:0", *options]:
        command += ["--set", option]
    log = folder / "node.log"
    with open(log, "w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    started = time.monotonic()
    while not (said := re.search(r"url=(http://127.0.0.1:\d+)", log.read_text())):
        if process.poll() is not None:
            sys.exit(f"backlog.py: the node ended, see {log}")
        time.sleep(0.05)
    processed, moved_at, metrics = -1, time.monotonic(), {}
    while time.monotonic() - moved_at < QUIET_SECONDS:
        time.sleep(1)
        metrics = metrics_of(said.group(1))
        now = total(metrics, "eroica_stage_records_processed_total")
        if now != processed:
            processed, moved_at = now, time.monotonic()
    peak = peak_mib(process.pid)
    process.send_signal(signal.SIGTERM)
    if process.wait(60) != 0:
        sys.exit(f"backlog.py: the node failed, see {log}")
    return moved_at - started, peak, metrics


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--recording", type=pathlib.Path, help="of a job, instead of a new one")
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--micro-batches", type=int, default=10)
    parser.add_argument("--memory-mib", type=int, default=1024)
    parser.add_argument("--set", action="append", default=[], help="an option of the node")
    parser.add_argument("--folder", type=pathlib.Path, help="where all of it stays")
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp(prefix="eroica-backlog-"))
    folder.mkdir(exist_ok=True)
    recording = arguments.recording or folder / "recording"
    if not recording.exists():
        job = folder / "job.toml"
        values = {"steps": arguments.steps, "data": arguments.ranks // 32}
        job.write_text(JOB.format(micro_batches=arguments.micro_batches, **values))
        lab = str(arguments.build / "tests/evaluation/lab/eroica-lab")
        simulate = [lab, "simulate", str(job), "--job", "backlog", "--level", "2"]
        subprocess.run([*simulate, "-o", str(recording)], check=True, stdout=subprocess.DEVNULL)
    ways = {}
    for way in ("drained", "followed"):
        ways[way] = folder / way
        shutil.rmtree(ways[way], ignore_errors=True)
        shutil.rmtree(f"{ways[way]}.state", ignore_errors=True)
        shutil.copytree(recording, ways[way])
    seconds, peak = drain(arguments.build, ways["drained"], folder)
    print(f"--drain: {seconds:.1f} s, {peak} MiB at most", flush=True)
    seconds, peak, metrics = follow(
        arguments.build, ways["followed"], folder, arguments.memory_mib, arguments.set
    )
    late = 0
    for stage in ("summarize", "align", "diagnose"):
        of_stage = f'stage="{stage}"'
        unused = total(metrics, "eroica_stage_events_unused_total", of_stage, 'reason="late"')
        early = total(metrics, "eroica_stage_windows_forced_total", of_stage)
        records = total(metrics, "eroica_stage_records_processed_total", of_stage)
        late += unused + early
        print(f"{stage}: {records:.0f} records, {unused:.0f} late, {early:.0f} windows forced")
    used = total(metrics, "eroica_events_total", 'outcome="used"')
    print(f"node, {arguments.memory_mib} MiB: {seconds:.1f} s, {peak} MiB at most, {used:.0f} events")
    expected = findings_of(arguments.build, ways["drained"])
    actual = findings_of(arguments.build, ways["followed"])
    print(f"findings: {len(expected)} and {len(actual)}, equal: {expected == actual}")
    for way in ways.values():
        if arguments.folder is None:
            shutil.rmtree(way, ignore_errors=True)
    sys.exit(0 if late == 0 and expected and expected == actual else 1)


if __name__ == "__main__":
    main()

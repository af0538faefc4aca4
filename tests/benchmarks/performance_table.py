#!/usr/bin/env python3
"""Prints the table of docs/PERFORMANCE.md: every result of the Google Benchmark programs given, one row each, in markdown.

usage: performance_table.py PROGRAM... [--filter REGEX] [--min-time SECONDS] [--repetitions N]

The median over the repetitions is shown, with its spread. A program that fails ends the run with its output; a benchmark that reports an error (no traces
beside the repository, say) becomes a row that says so.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = ["benchmark", "time", "spread", "throughput", "more"]
NOT_COUNTERS = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations",
    "real_time", "cpu_time", "time_unit", "aggregate_name", "aggregate_unit", "items_per_second", "bytes_per_second", "label",
    "error_occurred", "error_message",
}
NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def three_digits(value):
    if 0 < abs(value) < 0.01:
        return f"{value:.2e}"
    for limit, digits in ((9.995, 2), (99.95, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def scaled(value, units):
    """units: (factor, name), largest first; the first that leaves at least one."""
    for factor, name in units:
        if abs(value) >= factor:
            return f"{three_digits(value / factor)} {name}"
    return f"{three_digits(value / units[-1][0])} {units[-1][1]}"


def time_text(ns):
    return scaled(ns, ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")))


def throughput_text(row):
    texts = []
    if "items_per_second" in row:
        texts.append(scaled(row["items_per_second"], ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1, "/s"))))
    if "bytes_per_second" in row:
        texts.append(scaled(row["bytes_per_second"], ((1e9, "GB/s"), (1e6, "MB/s"), (1, "B/s"))))
    return ", ".join(texts)


def row_of(name, repetitions):
    """One row from all repetitions of one benchmark."""
    failed = next((r for r in repetitions if r.get("error_occurred")), None)
    if failed:
        return [f"`{name}`", "", "", "", failed.get("error_message", "failed")]
    times = sorted(r["real_time"] * NANOSECONDS[r["time_unit"]] for r in repetitions)
    ordered = sorted(repetitions, key=lambda r: r["real_time"])
    middle = ordered[len(ordered) // 2]
    median = times[len(times) // 2]
    spread = f"{100 * (times[-1] - times[0]) / median:.0f} %" if len(times) > 1 and median > 0 else ""
    counters = [f"{key} {three_digits(value)}" for key, value in middle.items() if key not in NOT_COUNTERS and isinstance(value, (int, float))]
    if middle.get("label"):
        counters.append(middle["label"])
    return [f"`{name}`", time_text(median), spread, throughput_text(middle), ", ".join(counters)]


def rows_of(document):
    """Rows of one program's JSON output, in its order."""
    by_name = {}
    for result in document["benchmarks"]:
        if result.get("run_type", "iteration") == "iteration":
            by_name.setdefault(result["run_name"] if "run_name" in result else result["name"], []).append(result)
    return [row_of(name, repetitions) for name, repetitions in by_name.items()]


def table(rows):
    lines = ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def run(program, arguments):
    """Its results come in a file: on its output they would lie among what the program logs."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        command = [program, f"--benchmark_out={results}", "--benchmark_out_format=json", f"--benchmark_min_time={arguments.min_time}",
                   f"--benchmark_repetitions={arguments.repetitions}"]
        if arguments.filter:
            command.append(f"--benchmark_filter={arguments.filter}")
        print(f"running {pathlib.Path(program).name} ...", file=sys.stderr, flush=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} failed with {done.returncode}:\n{done.stderr}")
        text = results.read_text() if results.exists() else ""
    return json.loads(text) if text.strip() else {"benchmarks": []}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--filter", default="")
    parser.add_argument("--min-time", type=float, default=0.2)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args(argv)
    if arguments.filter:
        re.compile(arguments.filter)
    for program in arguments.programs:
        name = pathlib.Path(program).name
        rows = rows_of(run(program, arguments))
        if rows:
            print(f"\n### {name}\n\n{table(rows)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

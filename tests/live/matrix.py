#!/usr/bin/env python3
"""Runs real training jobs under `eroica run` and judges what it finds. The cases: cases.toml, or a
file of that form (frameworks/frameworks.toml).

    tests/live/matrix.py --eroica build/release/ops/cli/eroica --repeat 3
    tests/live/matrix.py --cases 'numpy_.*' --plain --keep recordings --json result.json

A void run tells nothing: the fault did not slow the job, as the job's own truth files say. A failed
one is Eroica's fault until shown otherwise: the job ended with an error or exceeded its time, or the
findings could not be read. Exit code: 0 when all that is not void was right or quiet, else 1.
"""

import argparse
import collections
import ctypes
import importlib.util
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

import function_time
import judge

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))
MIN_EFFECT = 0.05
END_S = 45.0  # torchrun gives its ranks 30 s
PR_SET_CHILD_SUBREAPER = 36
WARM_UP = 2
VERDICTS = ("right", "unnamed", "wrong", "missed", "quiet", "false", "void", "failed")
GOOD = ("right", "quiet", "void", "plain")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eroica", default=os.path.join(ROOT, "build/release/ops/cli/eroica"))
    parser.add_argument("--file", default=os.path.join(HERE, "cases.toml"), help="of the cases")
    parser.add_argument("--cases", default="", metavar="REGEXP", help="run these only")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--numpy-python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--torch-python", metavar="PYTHON", help="without: no torch cases")
    parser.add_argument("--time-limit", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--window-steps", type=int, help="passed on to eroica run")
    parser.add_argument("--plain", action="store_true",
                        help="run each case without Eroica too, and compare step times")
    parser.add_argument("--only-plain", action="store_true", help="without Eroica only")
    parser.add_argument("--keep", metavar="FOLDER", help="keep recordings, output and truth here")
    parser.add_argument("--json", metavar="FILE", help="write all results")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as Markdown")
    return parser.parse_args()


def read_cases(path, pattern, backends):
    with open(path, "rb") as file:
        cases = tomllib.load(file)["case"]
    for case in cases:
        check_case(case)
    return [c for c in cases if re.search(pattern, c["name"]) and c["backend"] in backends]


def check_case(case):
    """A misspelt truth would judge every run wrongly: stop instead."""
    known = {"name", "backend", "command", "env", "truth", "from_step", "function", "cause",
             "time_limit_s", "requires", "programs"}
    unknown = set(case) - known
    if unknown or not {"name", "backend", "command", "truth"} <= set(case):
        raise SystemExit(f"cases.toml: {case.get('name')}: unknown or missing keys {unknown}")
    if case["truth"] and set(case["truth"]) not in ({"rank"}, {"link"}):
        raise SystemExit(f"cases.toml: {case['name']}: truth is rank, link or nothing")


def why_not(case, python):
    """What of a case this machine lacks; nothing where it can run."""
    for program in case.get("programs", []):
        if not shutil.which(program):
            return f"there is no {program}"
    for module in case.get("requires", []):
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True,
                          check=False).returncode:
            return f"{python} has no {module}"
    return ""


def those_that_can_run(args, cases):
    """Says which others cannot, and why."""
    can = []
    for case in cases:
        why = why_not(case, python_of(args, case))
        if why:
            print(f"not run: {case['name']}: {why}", file=sys.stderr)
        else:
            can.append(case)
    return can


def python_of(args, case):
    return args.torch_python if case["backend"] == "torch" else args.numpy_python


def run_command(command, environment, output, limit):
    """Returns (exit code, seconds); the code is None where the time limit ended the job."""
    begin = time.monotonic()
    with open(output, "wb") as file:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            return process.wait(timeout=limit), time.monotonic() - begin
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.wait(timeout=END_S)
            except subprocess.TimeoutExpired:
                pass
            return None, time.monotonic() - begin
        finally:
            end_descendants()
            process.wait()


def adopt_orphans():
    """Ranks whose launcher died become children of this process, so that it can end them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants():
    """Whatever a job left behind ends with it: ranks run in sessions of their own."""
    while True:
        running = descendants(os.getpid())
        if not running:
            return
        for pid in running:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def descendants(pid):
    """Processes that this one started or adopted, and so on; without those that have ended."""
    children = collections.defaultdict(list)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue  # Ended since.
        if state != b"Z":
            children[int(parent)].append(int(entry))
    found = list(children[pid])
    for child in found:
        found += children[child]
    return found


def read_findings(eroica, recording):
    """The latest version of every finding, or a text that says why there are none."""
    command = [eroica, "findings", "--recording", recording, "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode not in (0, 1, 3):
        return f"eroica findings failed with {result.returncode}: {result.stderr.strip()[-200:]}"
    if result.returncode == 3 and not has_job(eroica, recording):
        return "nothing was recorded"  # which is no silence
    try:
        return [json.loads(line) for line in result.stdout.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        return f"eroica findings printed no JSON: {error}"


def has_job(eroica, recording):
    command = [eroica, "jobs", "--recording", recording, "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return result.returncode == 0 and bool(result.stdout.strip())


def truth_module():
    """ops/demo/truth.py, which wrote the truth files."""
    path = os.path.join(ROOT, "ops/demo/truth.py")
    spec = importlib.util.spec_from_file_location("demo_truth", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_case(args, case, plain, folder):
    """One run. Returns its record."""
    truth, recording = os.path.join(folder, "truth"), os.path.join(folder, "recording")
    command = [python_of(args, case)] + case["command"] + ["--truth", truth]
    if not plain:
        windows = ["--window-steps", str(args.window_steps)] if args.window_steps else []
        command = [args.eroica, "run", "--recording", recording] + windows + ["--"] + command
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **case.get("env", {}))
    load = os.getloadavg()[0]
    limit = case.get("time_limit_s", args.time_limit)
    code, seconds = run_command(command, environment, os.path.join(folder, "output"), limit)
    ranks = truth_module().read(truth) if os.path.isdir(truth) else []
    record = {"case": case["name"], "plain": plain, "exit_code": code, "seconds": seconds,
              "load": [load, os.getloadavg()[0]], "effect": judge.effect(case, ranks),
              "step_ms": healthy_step_ms(case, ranks)}
    findings = [] if plain or code != 0 else read_findings(args.eroica, recording)
    record.update(verdict_of(case, plain, code, record["effect"], findings))
    record["time"] = function_time.of(case, findings, ranks) if isinstance(findings, list) else None
    return record


def verdict_of(case, plain, code, effect, findings):
    if code is None:
        return {"verdict": "failed", "why": "exceeded its time"}
    if code != 0:
        return {"verdict": "failed", "why": f"exit code {code}"}
    if plain:
        return {"verdict": "plain"}
    if isinstance(findings, str):
        return {"verdict": "failed", "why": findings}
    judged = judge.judge(case, findings)
    if case["truth"] and effect is not None and effect < MIN_EFFECT:
        judged.update(verdict="void", why=f"the fault cost {100 * effect:.0f} % of a step")
    return judged


def healthy_step_ms(case, ranks):
    """Median step over ranks, before the fault: what Eroica's overhead is told from."""
    last = ranks[0]["fault"]["step"] if ranks and ranks[0]["fault"] else None
    steps = [truth["times"]["step_ms"][WARM_UP:last] for truth in ranks]
    medians = [statistics.median(values) for values in steps if values]
    return statistics.median(medians) if medians else None


def table(cases, records):
    """Rows of text: one a case."""
    header = ["case", "truth", "runs", *VERDICTS, "function", "cause", "false findings",
              "time", "told of measured", "effect", "step", "plain step"]
    rows = [header]
    for case in cases:
        runs = [r for r in records if r["case"] == case["name"] and not r["plain"]]
        plain = [r for r in records if r["case"] == case["name"] and r["plain"]]
        counts = collections.Counter(r["verdict"] for r in runs)
        right = [r for r in runs if r["verdict"] == "right"]
        rows.append([
            case["name"], truth_in_words(case["truth"]), str(len(runs)),
            *(str(counts[v]) if counts[v] else "" for v in VERDICTS),
            f"{sum(r['function'] for r in right)}/{len(right)}" if right else "",
            f"{sum(r['cause'] for r in right)}/{len(right)}" if right else "",
            str(sum(len(r.get("false", [])) for r in runs if r["verdict"] != "void")),
            *time_texts([r["time"] for r in runs if r.get("time")]),
            median_text([r["effect"] for r in runs + plain], "{:.0%}"),
            median_text([r["step_ms"] for r in runs], "{:.0f} ms"),
            median_text([r["step_ms"] for r in plain], "{:.0f} ms")])
    return rows


def time_texts(times):
    """In how many runs the function's time is right, and the times."""
    return (f"{sum(map(function_time.is_close, times))}/{len(times)}" if times else "",
            "; ".join(f"{t['told_ms']:.1f} of {t['measured_ms']:.1f} ms" for t in times))


def truth_in_words(truth):
    if "rank" in truth:
        return f"rank {truth['rank']}"
    return f"link {truth['link'][0]} to {truth['link'][1]}" if truth else "nothing"


def median_text(values, form):
    values = [value for value in values if value is not None]
    return form.format(statistics.median(values)) if values else ""


def as_text(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip()
                     for row in rows)


def as_markdown(rows):
    lines = ["| " + " | ".join(row).replace("_", "\\_") + " |" for row in rows]
    lines.insert(1, "|---|---|" + "---:|" * (len(rows[0]) - 2))
    return "\n".join(lines) + "\n"


def run_all(args, cases):
    """All cases once, then all again: what loads the machine meets all of them."""
    modes = [True] if args.only_plain else [False, True] if args.plain else [False]
    runs = [(n, c, m) for n in range(args.repeat) for c in cases for m in modes]
    records = []
    for number, (repetition, case, plain) in enumerate(runs):
        name = f"{case['name']}-{repetition}{'-plain' if plain else ''}"
        print(f"[{number + 1}/{len(runs)}] {name} ...", end=" ", file=sys.stderr, flush=True)
        folder = os.path.join(args.keep, name) if args.keep else tempfile.mkdtemp(prefix="live-")
        os.makedirs(folder, exist_ok=True)
        record = run_case(args, case, plain, folder)
        records.append(dict(record, repetition=repetition))
        print(f"{record['verdict']} in {record['seconds']:.0f} s {record.get('why', '')}"
              f"{'; '.join(record.get('false', []))}", file=sys.stderr, flush=True)
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
        if args.json:  # Written after each run: a matrix that is stopped loses nothing.
            with open(args.json, "w") as file:
                json.dump(records, file, indent=1)
    return records


def main():
    args = arguments()
    adopt_orphans()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if not args.only_plain and not os.access(args.eroica, os.X_OK):
        raise SystemExit(f"matrix.py: there is no program {args.eroica}; --eroica names it")
    args.eroica = os.path.abspath(args.eroica)
    if args.keep:
        args.keep = os.path.abspath(args.keep)
    backends = {"numpy", "torch"} if args.torch_python else {"numpy"}
    cases = those_that_can_run(args, read_cases(args.file, args.cases, backends))
    if not cases:
        raise SystemExit("matrix.py: no such case can run (torch cases need --torch-python)")
    records = run_all(args, cases)
    rows = table(cases, records)
    print(as_text(rows))
    if args.markdown:
        with open(args.markdown, "w") as file:
            file.write(as_markdown(rows))
    return 0 if all(record["verdict"] in GOOD for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())

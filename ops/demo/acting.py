#!/usr/bin/env python3
"""Shows `eroica act` on a job that trains: a slow rank is found and replaced by a standby process.

    python3 ops/demo/acting.py --eroica build/release/ops/cli/eroica

Two runs under `eroica run`. In the first one a rank becomes slow; eroica act, with a policy, orders
the launcher to replace it, and the other ranks go on behind the step at hand. In the second one all
ranks are ended behind a step and started anew from a checkpoint of that step: the best case of a
restart. Printed is what each of them cost: how much longer than a usual step it took from the end of
the last step before to the end of the first step after, by the clock of rank 0.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = os.path.join(FOLDER, "launch.py")
PATIENCE_S = 240.0
FOLLOWING = 20  # steps by which a usual one is known

POLICY = """[limits]
cool_down_s = 600
executables = ["{python}"]

[[action]]
name = "standby takes over"
does = "restart_rank_on_spare"
command = ["{python}", "{order}", "{socket}", "{{rank}}"]
timeout_s = 60

[[rule]]
name = "a rank that stays slow"
action = "standby takes over"
kind = ["slow_rank", "contention"]
severity = "minor"
confidence = 0.9
lost_share = 0.05
quorum = [2, 3]
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eroica", default="eroica", help="the program")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--fault-rank", type=int, default=2, metavar="R")
    parser.add_argument("--fault-step", type=int, default=24, metavar="S")
    parser.add_argument("--fault-size", type=float, default=0.8, metavar="X")
    parser.add_argument("--json", action="store_true", help="the numbers alone, on one line")
    return parser.parse_args()


def eroica_run(args, recording, *launcher):
    return [args.eroica, "run", "-o", recording, "--job", "demo", "--window-steps", "16", "--",
            sys.executable, LAUNCHER, "--backend", "numpy", "--ranks", str(args.ranks), *launcher]


def wait_for(condition, process, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"acting.py: {what} did not come to be")
        time.sleep(0.1)


def end_of(process, what):
    try:
        return process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise SystemExit(f"acting.py: {what} hangs") from None


def run_acting(args, folder):
    """The run with the slow rank. Returns the journal of eroica act."""
    recording, socket = os.path.join(folder, "recording"), os.path.join(folder, "orders")
    policy, journal = os.path.join(folder, "act.toml"), os.path.join(folder, "act.jsonl")
    with open(policy, "w") as file:
        file.write(POLICY.format(python=sys.executable, socket=socket,
                                 order=os.path.join(FOLDER, "replace_rank.py")))
    out = sys.stderr if args.json else None
    job = subprocess.Popen(
        eroica_run(args, recording, "--steps", str(args.steps), "--fault", "compute",
                   "--fault-rank", str(args.fault_rank), "--fault-step", str(args.fault_step),
                   "--fault-size", str(args.fault_size), "--standby", socket, "--step-ends",
                   os.path.join(folder, "acting-ends")), stdout=out)
    wait_for(lambda: os.path.exists(socket), job, "the job")
    act = subprocess.Popen([args.eroica, "act", "--recording", recording, "--policy", policy,
                            "--journal", journal, "--execute"], stdout=out)
    code = end_of(job, "the job")
    act.send_signal(signal.SIGTERM)
    end_of(act, "eroica act")
    if code != 0:
        raise SystemExit(f"acting.py: the job ended with {code}")
    with open(journal) as file:
        return [json.loads(line) for line in file]


def run_restart(args, folder):
    """The same ranks, ended and started anew in the middle."""
    after = 2 * FOLLOWING
    code = end_of(subprocess.Popen(
        eroica_run(args, os.path.join(folder, "restarted"), "--steps", str(2 * after),
                   "--restart-after", str(after), "--step-ends",
                   os.path.join(folder, "restart-ends")),
        stdout=sys.stderr if args.json else None), "the restarted job")
    if code != 0:
        raise SystemExit(f"acting.py: the restarted job ended with {code}")
    return after + 1


def step_ends(path):
    with open(path) as file:
        return {int(step): float(when) for step, when in (line.split() for line in file)}


def lost_at(ends, step):
    """What the change before this step cost, and a usual step after it; in seconds."""
    last = min(step + FOLLOWING, max(ends))
    usual = statistics.median(ends[s] - ends[s - 1] for s in range(step + 1, last + 1))
    return ends[step] - ends[step - 1] - usual, usual


def main():
    args = arguments()
    folder = tempfile.mkdtemp(prefix="eroica-acting-")
    try:
        journal = run_acting(args, folder)
        done = [entry for entry in journal if entry["entry"] == "outcome"]
        if not done or not done[0]["done"]:
            raise SystemExit(f"acting.py: no rank was replaced: {json.dumps(journal, indent=1)}")
        answer = json.loads(done[0]["output"])
        ends = step_ends(os.path.join(folder, "acting-ends"))
        replaced_at = answer["first_step"]
        lost, usual = lost_at(ends, replaced_at)
        slow = statistics.median(ends[s] - ends[s - 1]
                                 for s in range(args.fault_step + 1, replaced_at))
        restarted_at = run_restart(args, folder)
        restart_ends = step_ends(os.path.join(folder, "restart-ends"))
        restart_lost, _ = lost_at(restart_ends, restarted_at)
        result = {
            "finding": done[0]["title"], "replaced_rank": answer["replaced"],
            "first_step": replaced_at, "steps": len(ends),
            "found_and_replaced_s": round(ends[replaced_at] - ends[args.fault_step], 2),
            "slow_step_ms": round(1000 * slow), "step_after_ms": round(1000 * usual),
            "prepared_s": answer["prepared_s"], "replacement_lost_s": round(lost, 3),
            "restart_lost_s": round(restart_lost, 3)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        print(json.dumps(result))
        return
    print(f"""
found      {result["finding"]}
replaced   rank {answer["replaced"]} by the standby, from step {replaced_at} on, \
{result["found_and_replaced_s"]} s after it became slow; the standby was ready in \
{answer["prepared_s"]} s, while training went on
steps      {result["slow_step_ms"]} ms with the slow rank, {result["step_after_ms"]} ms after
time lost  {1000 * lost:.0f} ms by replacing the rank
           {1000 * restart_lost:.0f} ms by a restart of the job from a checkpoint of that very step
           ({restart_lost / lost:.1f} times as much)""" if lost > 0 else json.dumps(result))


if __name__ == "__main__":
    main()

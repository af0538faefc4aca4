"""Draws scenarios anew: every fault kind, and healthy jobs, in layouts, step times and windows of many kinds. The same seed draws the same files.

    python3 tests/scenarios/draw/draw.py --seed 7 --out FOLDER [--faults 4] [--healthy 60] [--max-ranks 128] [--huge 1] [--only gpu_slow]
    python3 tests/scenarios/draw/draw.py --seed 7 --out FOLDER --realistic [--jobs 60] [--max-ranks 64]
"""
import argparse
import pathlib
import random

import faults
import layouts
import realistic
from job import OF_A_STEP, Job, drawn, table_text
from quiet import QUIET


def draw_fault(folder, kind, layout, number, rng):
    job = Job(layout, rng)
    job.tables["workload.jitter"] = {"kernel": drawn((0.003, 0.025), rng), "host": drawn((0.03, 0.2), rng), "transfer": drawn((0.01, 0.08), rng)}
    if rng.random() < 0.15:
        job.tables["workload"]["length_spread"] = drawn((0.02, 0.1), rng)
    ranks = faults.struck(kind, layout, rng)
    job.window_steps = max(3, job.window_steps)  # two steps show no persistence, whoever looks
    many = layout.ranks > 1024  # a minute of computing each: fewer steps
    if many:
        job.window_steps = min(4, job.window_steps)
    past = job.window_steps * (3 if kind.after_past else 0)
    first = past + rng.choice((0, job.window_steps, rng.randrange(2, 3 * job.window_steps)))
    if kind.family == "hang":  # a job that never took a step has no step to hang in
        first = max(1, first)
    steps = first + (4 * job.window_steps if many else max(20, 5 * job.window_steps))
    if kind.name == "transient_spike":
        steps = max(steps, 128)
    if kind.name == "telemetry_loss":  # of a fifth of twenty steps one may be lost, or eight: nobody can tell the one from an accident
        steps = max(steps, 64)
    job.tables["telemetry"]["window_steps"] = job.window_steps
    fault = {"kind": kind.name, "ranks": "all" if kind.strikes == "all" else faults.spans(ranks)}
    peer = None
    if kind.strikes == "link":
        peer = fault["peer_rank"] = faults.peer_over_link(layout, ranks[0], rng)
    fault["severity"] = float("%.3g" % (kind.mild * (kind.gross / kind.mild) ** rng.random()))
    fault["first_step"] = first
    if kind.name == "congested_path":
        fault["duty"] = 0.5
    tail = table_text("fault", fault) + table_text("expect", faults.expectation(kind, layout, ranks, peer))
    job.write(folder, "%s_%d_%s" % (kind.name, number, layout.name), kind.family, "%s, drawn." % kind.name, steps, rng.randrange(1, 100000), tail)


def draw_kind(folder, kind, pool, count, rng):
    fitting = [layout for layout in pool if faults.fits(kind, layout) and (kind.name != "transient_spike" or layout.ranks <= 1024)]
    for number, layout in enumerate(rng.sample(fitting, min(count, len(fitting)))):
        draw_fault(folder, kind, layout, number, rng)


def draw_healthy(folder, layout, number, rng):
    job = Job(layout, rng)
    kinds = rng.sample(QUIET, rng.choice((1, 1, 2, 3)))
    job.disturb(kinds)
    steps, tail = rng.choice((24, 48, 96)) if layout.ranks <= 64 else 32, ""
    if layout.ranks <= 24 and rng.random() < 0.4:  # hours: steps of ten seconds
        longer = 1e7 / (job.step_ms * 1e3)
        for key in ("layer_forward_us", "data_us", "optimizer_us"):
            job.tables["workload"][key] = float("%.3g" % (job.tables["workload"][key] * longer))
        for table in job.tables.values():
            if OF_A_STEP in table:
                table[OF_A_STEP] = float("%.3g" % (table[OF_A_STEP] * longer))
        job.tables["telemetry"]["sample_period_us"] = 2e6
        steps = 1000
    unit = max(2, layout.degree("expert"))
    data = layout.degree("data")
    if "pause_at_step" not in job.tables["workload"] and steps < 200 and data >= 2 * unit and rng.random() < 0.25:
        sizes = [size for size in range(unit, 3 * data // 2 + 1, unit) if size != data]
        tail = table_text("resize", {"step": rng.randrange(10, steps - 10), "data": rng.choice(sizes), "pause_ms": float(rng.randrange(10000, 90000))})
    about = "; ".join(name for name, _ in kinds) + (", and the job's size changes." if tail else ".")
    job.write(folder, "healthy_%d_%s" % (number, layout.name), "healthy", about, steps, rng.randrange(1, 100000), tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--faults", type=int, default=4, help="jobs a fault kind")
    parser.add_argument("--healthy", type=int, default=60, help="healthy jobs")
    parser.add_argument("--max-ranks", type=int, default=128)
    parser.add_argument("--huge", type=int, default=0, help="jobs a fault kind of 512 to 8,192 ranks besides")
    parser.add_argument("--only", default="", help="one fault kind")
    parser.add_argument("--realistic", action="store_true", help="every habit of the simulator is drawn, too (realism.py)")
    parser.add_argument("--jobs", type=int, default=60, help="with --realistic: faulty jobs, and as many healthy ones")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.realistic:
        return realistic.draw(options.out, options.seed, options.jobs, options.max_ranks, options.only)
    pool = [layout for layout in layouts.LAYOUTS if layout.ranks <= options.max_ranks]
    for kind in faults.KINDS:
        if options.only in ("", kind.name):
            # A sequence of its own for each kind: one more kind leaves the others as they are.
            draw_kind(options.out, kind, pool, options.faults, random.Random("%d %s" % (options.seed, kind.name)))
            draw_kind(options.out, kind, layouts.HUGE_LAYOUTS, options.huge, random.Random("%d %s huge" % (options.seed, kind.name)))
    rng = random.Random("%d healthy" % options.seed)
    pool += [layout for layout in layouts.LARGE_LAYOUTS if layout.ranks <= options.max_ranks]
    for number in range(0 if options.only else options.healthy):
        draw_healthy(options.out, pool[number % len(pool)], number, rng)


if __name__ == "__main__":
    main()

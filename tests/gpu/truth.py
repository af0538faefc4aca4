#!/usr/bin/env python3
"""Holds what Eroica recorded against what is known otherwise. Traces of Eroica are those of
`eroica export --recording R -o trace.json`.

    truth.py work TRACE work.json                     of device_work.py: every piece is counted
    truth.py steps TRACE steps.json TORCH_TRACE torch_steps.json [--skip FIRST:COUNT]
            of train.py, run twice: under Eroica, and under torch.profiler alone
    truth.py calls TRACE calls_0.json calls_1.json ...  of collectives.py

Prints what differs; exit code 1 where anything does. Durations are printed and not judged: two runs
of one kernel differ by what the device does meanwhile.
"""

import argparse
import bisect
import collections
import gzip
import json
import statistics
import sys

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
LONGEST_SHOWN = 12


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file)


def events_of(path, categories):
    """[(name, begin in ns since 1970, duration in ns, event)], by begin."""
    trace = read(path)
    base = trace.get("baseTimeNanoseconds", 0)
    found = [(event["name"], base + round(1000 * event["ts"]), round(1000 * event["dur"]), event)
             for event in trace["traceEvents"]
             if event.get("ph") == "X" and event.get("cat") in categories]
    return sorted(found, key=lambda event: event[1])


def counted(trace, truth):
    """What was recorded while device_work.py did its work, by name."""
    found = collections.Counter()
    for name, begin, _, _ in events_of(trace, DEVICE + ("cuda_runtime", "cpu_op")):
        if truth["began_ns"] <= begin <= truth["ended_ns"]:
            found["spin_kernel" if "spin_kernel" in name else name] += 1
    return found


def work(args):
    """All that was counted is there, and nothing twice."""
    truth = read(args.work)
    found, differing = counted(args.trace, truth), 0
    for name, count in truth["counts"].items():
        print(f"{name}: {count} done, {found[name]} recorded")
        differing += found[name] != count
    for name in sorted(set(found) - set(truth["counts"])):
        print(f"(not counted: {found[name]} of {name})")
    return differing


class Steps:
    """Device work of the steps of one run, by name."""

    def __init__(self, trace, steps, skipped=()):
        truth = read(steps)["steps_ns"]
        wanted = [number for number in range(1, len(truth)) if number not in skipped]
        begins = [truth[number][0] for number in wanted]
        ends = [truth[number][1] for number in wanted]
        self.durations = collections.defaultdict(list)
        self.counts = [collections.Counter() for _ in wanted]
        self.over_an_edge = 0
        for name, begin, duration, _ in events_of(trace, DEVICE):
            place = bisect.bisect_right(begins, begin) - 1
            if place < 0 or begin > ends[place]:
                continue
            self.over_an_edge += begin + duration > ends[place]
            self.durations[name].append(duration)
            self.counts[place][name] += 1

    def a_step(self, name):
        """How many a step: the median, the least and the most."""
        counts = [count[name] for count in self.counts]
        return statistics.median(counts), min(counts), max(counts)


def steps(args):
    first, _, count = args.skip.partition(":")
    # The step after it, too: the other client lets go in it.
    skipped = range(int(first), int(first) + int(count) + 1) if args.skip else ()
    ours = Steps(args.trace, args.steps, skipped)
    theirs = Steps(args.torch_trace, args.torch_steps)
    differing, ratios, rows = 0, [], []
    for name in sorted(set(ours.durations) | set(theirs.durations)):
        mine, other = ours.a_step(name), theirs.a_step(name)
        if mine != other:
            differing += 1
            print(f"differs: {mine} and not {other} a step of {name[:90]}")
        if ours.durations[name] and theirs.durations[name]:
            pair = [statistics.median(run.durations[name]) for run in (ours, theirs)]
            rows.append((pair[1] * other[0], f"{pair[0] / 1000:9.2f} {pair[1] / 1000:9.2f} us"
                         f" {mine[0]:6.0f} a step  {name[:60]}"))
            ratios.append(pair[0] / pair[1] if pair[1] else 1)
    print("median of a kernel, Eroica and torch.profiler:")
    for _, row in sorted(rows, reverse=True)[:LONGEST_SHOWN]:
        print("  " + row)
    total = [sum(sum(count.values()) for count in run.counts) for run in (ours, theirs)]
    if ratios:
        print(f"{len(ratios)} names; ratio of the medians {min(ratios):.3f} to {max(ratios):.3f},"
              f" median {statistics.median(ratios):.3f}")
    print(f"records: {total[0]} in {len(ours.counts)} steps, {total[1]} in {len(theirs.counts)};"
          f" beyond the end of their step: {ours.over_an_edge} and {theirs.over_an_edge}")
    return differing + ours.over_an_edge


def calls_of(events, rank):
    """{(operation, bytes, size of the group): times}, and sequences by group and operation."""
    bytes_of = {"BFloat16": 2, "Byte": 1}
    counts, sequences = collections.Counter(), collections.defaultdict(list)
    for _, _, _, event in events:
        args = event.get("args", {})
        if "Collective name" not in args or event["pid"] != rank:
            continue
        size = args["In msg nelems"] * bytes_of[args["dtype"]]
        operation, group = args["Collective name"], args["Process Group Name"]
        counts[operation, size, args["Group size"]] += 1
        sequences[group, args["Group size"], operation].append(args["Seq"])
    return counts, sequences


def calls(args):
    events = events_of(args.trace, DEVICE + ("user_annotation",))
    differing, of_ranks = 0, []
    for path in args.calls:
        truth = read(path)
        made = collections.Counter((call["operation"], call["bytes"], call["size"])
                                   for call in truth["calls"])
        found, sequences = calls_of(events, truth["rank"])
        of_ranks.append(sequences)
        for key in sorted(set(made) | set(found)):
            if made[key] != found[key]:
                differing += key in made
                print(f"rank {truth['rank']}: {key}: {made[key]} called, {found[key]} recorded")
        print(f"rank {truth['rank']}: {sum(made.values())} called, {sum(found.values())} recorded")
    for key in sorted({key for sequences in of_ranks for key in sequences}):
        kinds = {tuple(sequences[key]) for sequences in of_ranks if key in sequences}
        if len(kinds) > 1:
            differing += 1
            print(f"sequences differ: {key}: {[(len(kind), kind[:5]) for kind in kinds]}")
    return differing


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(required=True)
    one = what.add_parser("work")
    one.set_defaults(compare=work)
    one.add_argument("trace")
    one.add_argument("work")
    one = what.add_parser("steps")
    one.set_defaults(compare=steps)
    for name in ("trace", "steps", "torch_trace", "torch_steps"):
        one.add_argument(name)
    one.add_argument("--skip", default="", metavar="FIRST:COUNT")
    one = what.add_parser("calls")
    one.set_defaults(compare=calls)
    one.add_argument("trace")
    one.add_argument("calls", nargs="+")
    return parser.parse_args()


def main():
    args = arguments()
    return 1 if args.compare(args) else 0


if __name__ == "__main__":
    sys.exit(main())

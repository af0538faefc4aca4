"""What the producer costs: calls of the package, one sample, a loop with and without the sampler.

    EROICA_LIB_DIR=... PYTHONPATH=producers/python python3 producers/python/testing/measure_cost.py

Runs itself in child processes, with and without Eroica by turns, and prints one line a measurement.
Times are the least of many short rounds (calls) and processor time (loop), so that other programs
on the machine count little.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 400
CALLS_A_ROUND = 300


def least_ns(work):
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(CALLS_A_ROUND):
            work()
        best = min(best, (time.perf_counter_ns() - start) / CALLS_A_ROUND)
    return best


def measure_calls():
    import eroica

    def region():
        with eroica.region("augment"):
            pass

    def collective():
        with eroica.collective("all_reduce", "dp0", 1024):
            pass

    nothing = least_ns(lambda: None)
    works = {"step": eroica.step, "region": region, "collective": collective}
    return {name: round(least_ns(work) - nothing) for name, work in works.items()}


def load():
    """A step of Python and, where it is installed, of numpy."""
    total = 0
    for i in range(40_000):
        total += i * i % 7
    try:
        import numpy

        for _ in range(20):
            numpy.sort(numpy.arange(20_000) * 7919 % 104729)
    except ImportError:
        pass
    return total


class Statistics(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("samples", "unread", "visits", "visit_ns", "ticks", "gil_waits")
    ]


def measure_loop():
    import eroica

    load()
    begin = time.thread_time_ns()
    wall = time.monotonic_ns()
    for _ in range(400):
        load()
        eroica.step()
    result = {"cpu_ms": (time.thread_time_ns() - begin) / 1e6}
    result["wall_ms"] = (time.monotonic_ns() - wall) / 1e6
    if eroica.enabled():
        path = os.path.join(os.environ["EROICA_LIB_DIR"], "liberoica_python.so")
        found = Statistics()
        ctypes.CDLL(path).eroica_python_sampler_statistics(ctypes.byref(found))
        result.update({name: getattr(found, name) for name, _ in Statistics._fields_})
    return result


def child(what, on, hz):
    env = dict(os.environ, RANK="0", EROICA_RECORDING="nowhere", EROICA_PYTHON_HZ=hz)
    env["EROICA_DISABLE"] = "0" if on else "1"
    done = subprocess.run(
        [sys.executable, __file__, what], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main():
    print("Python", sys.version.split()[0])
    for on in (False, True):
        print("ns a call,", "on: " if on else "off:", child("calls", on, "0"))
    pairs = [(child("loop", False, "50"), child("loop", True, "50")) for _ in range(12)]
    for key in ("cpu_ms", "wall_ms"):
        ratios = [on[key] / off[key] - 1 for off, on in pairs]
        print(f"loop at 50 Hz, {key}: {100 * statistics.median(ratios):+.2f} % (median of pairs)")
    visits = [on["visit_ns"] / on["visits"] / 1e3 for _, on in pairs if on["visits"]]
    print(f"a visit of the training thread: {statistics.median(visits):.1f} us;", pairs[-1][1])


if __name__ == "__main__":
    kinds = {"calls": measure_calls, "loop": measure_loop}
    if len(sys.argv) > 1:
        print(json.dumps(kinds[sys.argv[1]]()))
    else:
        main()

#!/usr/bin/env python3
"""Ends short trainings in every way, with and without Eroica, and compares how they ended.

    tests/live/endings/endings.py --build build/release
    tests/live/endings/endings.py --torch VENV --cells '^gloo.*daemon'
    tests/live/endings/endings.py --list

A cell is a host (NumPy; a stand-in whose callbacks outlive the interpreter; with --torch PyTorch over
gloo, alone and with a second rank), the interpreter's flags, and an ending (job.py). Compared are
exit code or signal, standard output byte for byte, and standard error but for Eroica's own lines.
Where they differ both sides are run again: an ending that changes by itself (daemon threads that
run into the interpreter's end) is unsteady, and counts as changed only if one of Eroica's codes or
signals was never seen without it. Exit code: 0 where no ending is changed and every
job came as far as its end, else 1.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import job

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
PRODUCER = os.path.join(ROOT, "producers/python")
FAKE_TORCH = os.path.join(PRODUCER, "testing/fake_torch")
REPEATS = 6  # of both sides, where they differ
MOST_REPEATS = 40  # of the side without Eroica, where it has not shown what was seen with it
FLAGS = {"plain": [], "dev": ["-X", "dev"]}
RANKS = {"gloo": 1, "gloo2": 2}


@dataclasses.dataclass(frozen=True)
class Cell:
    host: str
    flags: str
    ending: str

    def __str__(self):
        return f"{self.host}.{self.flags}.{self.ending}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Of one process; status: an exit code, or a signal below 0, or None beyond the time limit."""

    status: int
    out: str
    err: str

    def __str__(self):
        status = "hangs" if self.status is None else (
            f"signal {signal.Signals(-self.status).name}" if self.status < 0
            else f"code {self.status}")
        return f"{status}, out {self.out[-300:]!r}, err {self.err[-600:]!r}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"), metavar="FOLDER",
                        help="a build tree with Eroica's libraries and the stand-in")
    parser.add_argument("--python", metavar="PYTHON", help="runs the NumPy and stand-in cells; "
                        "without: this one, or Debian's where only that has NumPy")
    parser.add_argument("--torch", metavar="VENV", help="PyTorch cells too, with its PyTorch")
    parser.add_argument("--package", default=PRODUCER, metavar="FOLDER",
                        help="the folder of the Python package and zero_code that are tried")
    parser.add_argument("--cells", default="", metavar="REGEXP", help="run these only")
    parser.add_argument("--list", action="store_true", help="print the cells and stop")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="cells at once")
    parser.add_argument("--time-limit", type=float, default=120.0, metavar="SECONDS",
                        help="of one process")
    parser.add_argument("--json", metavar="FILE", help="write all results")
    return parser.parse_args()


def python_with_numpy():
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", "import numpy"]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    raise SystemExit("endings.py: no NumPy: install python3-numpy, or name an interpreter (--python)")


def all_cells(torch):
    rows = [("numpy", "plain"), ("outliving", "plain"), ("outliving", "dev")]
    if torch:
        rows += [("gloo", "plain"), ("gloo", "dev"), ("gloo2", "plain")]
    return [Cell(host, flags, ending) for host, flags in rows for ending in job.ENDINGS]


def environment(args, folder, with_eroica):
    """Of a rank, as a launcher makes it."""
    own = {name: value for name, value in os.environ.items()
           if not name.startswith(("EROICA_", "PYTHON", "RANK", "NCCL_", "CUDA_"))}
    own.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", PYTHONDONTWRITEBYTECODE="1",
               OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OUTLIVING_TORCH=args.fake_torch,
               OUTLIVING_LIBRARY=os.path.join(args.build, "tests/live/endings/liboutliving.so"))
    if with_eroica:
        exchange = os.path.join(folder, "exchange")
        own.update(EROICA_RECORDING=folder, EROICA_NULL="1", EROICA_EXCHANGE=exchange,
                   EROICA_LIB_DIR=os.path.join(args.build, "lib"), PYTHONPATH=os.pathsep.join(
                       (os.path.join(args.package, "zero_code"), args.package)))
    return own


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(args, cell, with_eroica):
    """The outcomes of the cell's ranks."""
    ranks = RANKS.get(cell.host, 1)
    python = os.path.join(args.torch, "bin/python") if cell.host in RANKS else args.python
    host = "gloo" if cell.host in RANKS else cell.host
    command = [python, *FLAGS[cell.flags], os.path.join(HERE, "job.py"), host, cell.ending]
    with tempfile.TemporaryDirectory(prefix="endings-") as folder:
        own = environment(args, folder, with_eroica)
        own.update(WORLD_SIZE=str(ranks), MASTER_PORT=str(free_port()),
                   JOB_NEXT_PORT=str(free_port()))
        processes = [subprocess.Popen(command, env=dict(own, RANK=str(rank)), cwd=folder,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, start_new_session=True)
                     for rank in range(ranks)]
        with concurrent.futures.ThreadPoolExecutor(ranks) as readers:
            return tuple(readers.map(lambda process: outcome(process, args.time_limit, folder),
                                     processes))


def outcome(process, limit, folder):
    try:
        out, err = process.communicate(timeout=limit)
        status = process.returncode
    except subprocess.TimeoutExpired:
        status = None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what it left behind, too
        except ProcessLookupError:
            pass
    if status is None:
        out, err = process.communicate()
    return Outcome(status, out.decode("utf-8", "replace"),
                   without_own_lines(err.decode("utf-8", "replace").replace(folder, "FOLDER")))


_FRAME = re.compile(r'\s*File "([^"]*)", line \d+')
_OWN_FILE = re.compile(r"(^|/)(eroica/\w+|zero_code/sitecustomize)\.py$")


def without_own_lines(text):
    """Standard error without what Eroica says, its frames in tracebacks, and what no two runs have
    in common: addresses, ports, numbers of processes and threads."""
    kept, in_own_frame = [], False
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame:
            in_own_frame = bool(_OWN_FILE.search(frame.group(1)))
        elif not line.startswith("    "):
            in_own_frame = False
        if in_own_frame or line.startswith(("eroica: ", "Extension modules: ")):
            continue
        line = re.sub(r"0x[0-9a-f]+", "0xN", line)
        line = re.sub(r"(:|pid ?=? ?|port )\d+", r"\1N", line)
        line = re.sub(r"^\[[^\]]*\]|\d\d:\d\d:\d\d[.\d]*|W\d{4} ", "", line)
        kept.append(re.sub(r"\[rank\d+\]", "[rank]", line))
    return "\n".join(kept)


def compare(args, cell):
    """The cell's record: same, unsteady (but seen without Eroica), changed, or void: without
    Eroica the job failed before its end."""
    without, with_eroica = [run(args, cell, False)], [run(args, cell, True)]
    if without != with_eroica:
        for _ in range(REPEATS):
            without.append(run(args, cell, False))
            with_eroica.append(run(args, cell, True))
        # Which end is rare shows in many runs alone, also where the first few ended alike.
        while len(without) < MOST_REPEATS and not statuses(with_eroica) <= statuses(without):
            without.append(run(args, cell, False))
    unsteady = len(set(without)) > 1 and statuses(with_eroica) <= statuses(without)
    verdict = "unsteady" if unsteady else "changed"
    if len(set(without + with_eroica)) == 1:
        verdict = "same"
    reached = job.REACHED.get(cell.ending, "trained\n")
    if not all(rank.out.startswith(reached) for ranks in without for rank in ranks):
        verdict = "void"
    return {"cell": str(cell), "host": cell.host, "flags": cell.flags, "ending": cell.ending,
            "verdict": verdict, "without": counted(without), "with": counted(with_eroica)}


def statuses(outcomes):
    return {tuple(rank.status for rank in ranks) for ranks in outcomes}


def counted(outcomes):
    """[times, outcome in words], the most frequent first."""
    counts = collections.Counter("; ".join(map(str, ranks)) for ranks in outcomes)
    return [[times, text] for text, times in counts.most_common()]


def table(records):
    rows = [["host", "flags", "endings", "same", "unsteady", "changed", "void"]]
    for key in dict.fromkeys((record["host"], record["flags"]) for record in records):
        verdicts = collections.Counter(record["verdict"] for record in records
                                       if (record["host"], record["flags"]) == key)
        rows.append([*key, str(sum(verdicts.values())),
                     *(str(verdicts[name]) for name in rows[0][3:])])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip()
                     for row in rows)


def report(record):
    lines = [f"{record['verdict'].upper()} {record['cell']}"]
    for side in ("without", "with"):
        lines += [f"  {side:7} {times} times: {text}" for times, text in record[side]]
    return "\n".join(lines)


def run_all(args, cells):
    """Records in the cells' order; a progress line on standard error."""
    records, lock = [], threading.Lock()

    def one(cell):
        record = compare(args, cell)
        with lock:
            records.append(record)
            if args.json:  # after each cell: a matrix that is stopped loses nothing
                with open(args.json, "w") as file:
                    json.dump(records, file, indent=1)
            changed = sum(r["verdict"] == "changed" for r in records)
            end, begin = ("", "\r\033[K") if sys.stderr.isatty() else ("\n", "")
            if begin or len(records) % 20 == 0 or len(records) == len(cells):
                print(f"{begin}[{len(records)}/{len(cells)}] {changed} changed, last {cell}",
                      end=end, file=sys.stderr, flush=True)
        return record

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as workers:
        return list(workers.map(one, cells))


def check(args):
    """What is missing, before anything runs."""
    wanted = [os.path.join(args.build, "lib/libproducer_core.so"),
              os.path.join(args.build, "lib/liberoica_python.so"),
              os.path.join(args.build, "tests/live/endings/liboutliving.so"),
              os.path.join(args.package, "eroica/life.py")]
    if args.torch:
        wanted.append(os.path.join(args.torch, "bin/python"))
    for path in wanted:
        if not os.path.exists(path):
            raise SystemExit(f"endings.py: there is no {path}: build Eroica, or name it (--help)")
    with tempfile.TemporaryDirectory(prefix="endings-") as folder:
        probe = subprocess.run(
            [args.python, "-c", "import eroica; print(eroica.enabled(), eroica.off_reason())"],
            env=environment(args, folder, True), capture_output=True, text=True, check=False)
    if not probe.stdout.startswith("True"):
        raise SystemExit(f"endings.py: Eroica is not on: {probe.stdout}{probe.stderr}")


def main():
    args = arguments()
    cells = [cell for cell in all_cells(args.torch) if re.search(args.cells, str(cell))]
    if args.list:
        print("\n".join(map(str, cells)))
        return 0
    if not cells:
        raise SystemExit("endings.py: no such cell (those of PyTorch need --torch)")
    args.build, args.package = os.path.abspath(args.build), os.path.abspath(args.package)
    args.python = args.python or python_with_numpy()
    with tempfile.TemporaryDirectory(prefix="endings-torch-") as args.fake_torch:
        check(args)
        package = os.path.join(args.fake_torch, "torch")
        shutil.copytree(os.path.join(FAKE_TORCH, "torch"), package)
        shutil.copytree(os.path.join(FAKE_TORCH, "loading"), os.path.join(package, "utils"))
        records = run_all(args, cells)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for record in records:
        if record["verdict"] != "same":
            print(report(record))
    print(table(records))
    return 1 if any(record["verdict"] in ("changed", "void") for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What a node's memory rises to under record sets that unpack to a thousand times their size.

    compressed_flood.py [--codec zstd] [--sets 20] [--records 500000] [--bytes 20] [--memory-mib 512]

Starts a broker of its own, fills an events topic with sets of so many records of so many bytes and
lets `eroica node` follow it (--drain: work it off and stop). The records are no batches: each is
read, refused and counted. Prints the node's peak memory, its ratio to runtime.memory_mib, and how
many records were processed; fails above --most. Needs a build (ops/build.sh release eroica) and
ops/install_dependencies.sh --tests; run it with Debian's Python, which has confluent_kafka.
"""

import argparse
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import confluent_kafka

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOPIC = "eroica.events"
PARTITIONS = 4


def fill(bootstrap, arguments):
    """Each set is one flush: all of its records lie in one partition."""
    program = str(arguments.build / "ops/cli/eroica")
    create = [program, "topics", "create", "--bootstrap", bootstrap]
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": arguments.codec,
            "batch.num.messages": min(arguments.records, 1_000_000),
            "batch.size": 1_000_000_000,
            "message.max.bytes": 100_000_000,
            "queue.buffering.max.messages": 0,
            "queue.buffering.max.kbytes": 1_000_000,
            "linger.ms": 60_000,
        }
    )
    value = b"x" * arguments.bytes
    for number in range(arguments.sets):
        for _ in range(arguments.records):
            producer.produce(TOPIC, value, partition=number % PARTITIONS)
        producer.flush()


def metric(url, name):
    text = urllib.request.urlopen(url + "/metrics", timeout=60).read().decode()
    return sum(float(value) for value in re.findall(rf"^{name}\S* ([0-9.e+]+)$", text, re.MULTILINE))


def peak_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def follow(command, log, expected):
    """Until all of the records are processed, or nothing was for 30 s."""
    with open(log, "w") as out:
        node = subprocess.Popen(command, stdout=out, stderr=out)
    while not (said := re.search(r"url=(http://127.0.0.1:\d+)", log.read_text())):
        if node.poll() is not None:
            sys.exit(f"compressed_flood.py: the node ended:\n{log.read_text()}")
        time.sleep(0.05)
    processed, moved_at = 0, time.monotonic()
    while processed < expected and time.monotonic() - moved_at < 30:
        time.sleep(0.5)
        now = metric(said.group(1), 'eroica_stage_records_processed_total{stage="summarize"}')
        if now != processed:
            processed, moved_at = now, time.monotonic()
    peak = peak_mib(node.pid)
    node.send_signal(signal.SIGTERM)
    if node.wait(60) != 0:
        sys.exit(f"compressed_flood.py: the node failed:\n{log.read_text()[-2000:]}")
    return processed, peak


def drain(command, log):
    with open(log, "w") as out:
        node = subprocess.Popen([*command, "--drain"], stdout=out, stderr=out)
    peak = 0
    while node.poll() is None:
        try:
            peak = peak_mib(node.pid)
        except (AttributeError, OSError):  # it has just ended
            break
        time.sleep(0.02)
    node.wait()
    said = re.search(r"summarize: received=\d+ processed=(\d+)", log.read_text())
    return int(said.group(1)) if said else 0, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--codec", default="zstd", choices=["zstd", "lz4", "gzip", "snappy"])
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--records", type=int, default=500_000, help="of a set")
    parser.add_argument("--bytes", type=int, default=20, help="of a record")
    parser.add_argument("--memory-mib", type=int, default=512)
    parser.add_argument("--drain", action="store_true")
    parser.add_argument("--log", action="store_true", help="print the node's log")
    parser.add_argument("--most", type=float, default=1.15, help="of runtime.memory_mib")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eroica-flood-") as name:
        folder = pathlib.Path(name)
        kafka = [str(ROOT / "ops/kafka.sh")]
        bootstrap = subprocess.run(
            [*kafka, "start", "--free-port", str(folder / "kafka")],
            check=True, capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip
        try:
            fill(bootstrap, arguments)
            command = [str(arguments.build / "ops/cli/eroica"), "node", "--bootstrap", bootstrap]
            command += ["--state", str(folder / "state")]
            for option in (f"runtime.memory_mib={arguments.memory_mib}", "rest.listen=127.0.0.1:0"):
                command += ["--set", option]
            expected = arguments.sets * arguments.records
            log = folder / "node.log"
            processed, peak = drain(command, log) if arguments.drain else follow(command, log, expected)
            if arguments.log:
                print(log.read_text())
        finally:
            subprocess.run([*kafka, "stop", str(folder / "kafka")], check=False, capture_output=True)
    ratio = peak / arguments.memory_mib
    print(
        f"{arguments.codec}, {arguments.sets} sets of {arguments.records} records of {arguments.bytes} B: "
        f"{processed:.0f} of {expected} processed, {peak:.0f} MiB at most, {ratio:.2f} of {arguments.memory_mib} MiB"
    )
    sys.exit(0 if ratio <= arguments.most and processed > 0 else 1)


if __name__ == "__main__":
    main()

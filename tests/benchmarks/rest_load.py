#!/usr/bin/env python3
"""What a node's REST bears while it takes in jobs: rest_load.py [BUILD]  (default: build/release)

10,000 idle connections: memory of the node, and how long others wait for an answer beside them.
1,000 streams of findings: from a finding's publication until the last client has it.
Requests for a cached finding while jobs come in one after the other, at a steady rate, as pages and
scripts ask. Requests as fast as they are answered by wrk, where that is installed, beside the floor
(rest_floor.cc), and with jobs coming in.
"""

import contextlib
import json
import pathlib
import re
import resource
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "tests/scenarios/dev/gpu_slow_gross_dp_8r.toml"
IDLE = 10_000
STREAMS = 1_000


class Node:
    def __init__(self, build, folder):
        self.recording = folder / "recording"
        self.lab = str(build / "tests/evaluation/lab/eroica-lab")
        options = [
            "rest.listen=127.0.0.1:0",
            "rest.requests_per_second=0",
            "rest.connections_max=12000",
        ]
        command = [str(build / "ops/cli/eroica"), "node", "--recording", str(self.recording)]
        for option in options:
            command += ["--set", option]
        self.log = folder / "log"
        self.process = subprocess.Popen(command, stderr=open(self.log, "w"))
        while not (said := re.search(r"url=(http://127.0.0.1:(\d+))", self.log.read_text())):
            time.sleep(0.05)
        self.url, self.port = said.group(1), int(said.group(2))

    def run_job(self, name, scenario=SCENARIO):
        # It stands for other machines, so it takes only what the node and its clients leave over.
        command = ["nice", "-n", "19", self.lab, "simulate", str(scenario), "--job", name]
        command += ["--append"]
        command += ["-o", str(self.recording)]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def get(self, target):
        with urllib.request.urlopen(self.url + target, timeout=30) as answer:
            return answer.read()


def answer_times(node, count=200):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        node.get("/v1/jobs")
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    return f"median {statistics.median(times):.1f} ms, p99 {times[int(count * 0.99) - 1]:.1f} ms"


def idle_connections(node):
    before = node.resident_mib()
    print(f"an answer of a new connection, nothing beside it: {answer_times(node)}")
    sockets = []
    for _ in range(IDLE):
        one = socket.create_connection(("127.0.0.1", node.port))
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sockets.append(one)
    for one in sockets:
        one.recv(4096)
    after = node.resident_mib()
    each_kib = (after - before) * 1024 / IDLE
    print(
        f"{IDLE} idle connections: {after - before:.0f} MiB, {each_kib:.1f} KiB each; beside them "
        f"{answer_times(node)}"
    )
    for one in sockets:
        one.close()


def streams(node):
    selector = selectors.DefaultSelector()
    for number in range(STREAMS):
        one = socket.create_connection(("127.0.0.1", node.port))
        one.sendall(b"GET /v1/findings/stream?job=streamed HTTP/1.1\r\nHost: localhost\r\n\r\n")
        one.setblocking(False)
        selector.register(one, selectors.EVENT_READ, {"text": b"", "socket": one})
    job = threading.Thread(target=node.run_job, args=("streamed",))
    job.start()
    delays, waiting = [], STREAMS
    while waiting > 0:
        for key, _ in selector.select(30):
            client = key.data
            client["text"] += client["socket"].recv(1 << 16)
            event = re.search(rb"event: finding\n(?:id: .*\n)?data: (\{.*\})\n\n", client["text"])
            if event:
                delays.append(time.time() - json.loads(event.group(1))["emitted_at_ns"] / 1e9)
                selector.unregister(client["socket"])
                client["socket"].close()
                waiting -= 1
    job.join()
    delays.sort()
    print(
        f"{STREAMS} streams of findings: published to received median "
        f"{statistics.median(delays) * 1e3:.0f} ms, p99 "
        f"{delays[int(STREAMS * 0.99) - 1] * 1e3:.0f} ms, last {delays[-1] * 1e3:.0f} ms; "
        f"{node.resident_mib():.0f} MiB resident"
    )


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def ask(process, words, url, seconds=8):
    """wrk with 32 connections; returns the requests that a second of the process's core serves."""
    before = cpu_seconds(process)
    command = ["wrk", "-t1", "-c32", f"-d{seconds}", "--latency", url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
    p99 = re.search(r"99%\s+(\S+)", text).group(1)
    core = (cpu_seconds(process) - before) / seconds
    print(
        f"{words}: {rate:.0f} requests/s, p99 {p99}, {core:.2f} of a core: {rate / core:.0f} a core"
    )
    return rate / core


def ask_steadily(node, path, seconds=10, rate=500):
    """Each request is due at its time whether or not those before have been answered in theirs, and
    the time of an answer counts from then."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    times = []
    with socket.create_connection(("127.0.0.1", node.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = connection.makefile("rb")
        start = time.perf_counter()
        for due in (start + number / rate for number in range(seconds * rate)):
            time.sleep(max(0.0, due - time.perf_counter()))
            connection.sendall(request)
            if not answers.readline().startswith(b"HTTP/1.1 200"):
                sys.exit("rest_load.py: an answer that is not 200")
            head = iter(answers.readline, b"\r\n")
            length = b"content-length:"
            size = next(int(line[len(length) :]) for line in head if line.lower().startswith(length))
            for _ in head:
                pass
            answers.read(size)
            times.append((time.perf_counter() - due) * 1e3)
    times.sort()
    print(
        f"a cached finding at {rate} requests/s, jobs coming in: median "
        f"{statistics.median(times):.2f} ms, p99 {times[int(len(times) * 0.99)]:.2f} ms, "
        f"most {times[-1]:.1f} ms"
    )


def url_of_finding(node):
    finding = json.loads(node.get("/v1/findings?limit=1"))["findings"][0]["id"]
    return f"{node.url}/v1/findings/{finding}"


def requests_beside_floor(node, build):
    """The node and Beast alone with a body of that size, in turn."""
    url = url_of_finding(node)
    size = len(urllib.request.urlopen(url).read())
    command = [build / "tests/benchmarks/rest_floor", str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as floor:
        floor_url = f"http://127.0.0.1:{floor.stdout.readline().strip()}/"
        ratios = []
        for _ in range(3):
            beast = ask(floor, f"Beast alone, {size} bytes", floor_url, 4)
            ratios.append(ask(node.process, "a cached finding, nothing beside it", url, 4) / beast)
        floor.kill()
    print(f"a cached finding against Beast alone: {statistics.median(ratios):.2f} (median of 3)")


@contextlib.contextmanager
def jobs_coming_in(node, prefix):
    stop = threading.Event()
    jobs = []

    def work():
        while not stop.is_set():
            jobs.append(f"{prefix}-{len(jobs)}")
            node.run_job(jobs[-1])

    thread = threading.Thread(target=work)
    thread.start()
    start = time.monotonic()
    yield
    stop.set()
    thread.join()
    print(f"{len(jobs)} jobs of 197,309 events came in within {time.monotonic() - start:.0f} s")


def main(build):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    build = pathlib.Path(build).resolve()
    with tempfile.TemporaryDirectory() as name:
        node = Node(build, pathlib.Path(name))
        try:
            node.run_job("first")
            while b'"findings":[{' not in node.get("/v1/findings"):
                time.sleep(0.1)
            idle_connections(node)
            streams(node)
            with jobs_coming_in(node, "steady"):
                ask_steadily(node, url_of_finding(node).removeprefix(node.url))
            if shutil.which("wrk"):
                requests_beside_floor(node, build)
                with jobs_coming_in(node, "flood"):
                    ask(node.process, "a cached finding, jobs coming in", url_of_finding(node))
            else:
                print("wrk is not installed: no requests are counted")
        finally:
            node.process.send_signal(signal.SIGTERM)
            node.process.wait(30)


if __name__ == "__main__":
    main(*(sys.argv[1:] or [str(ROOT / "build/release")]))

"""A node that takes in a job while clients do what no honest one does: hostile_clients_test.py EROICA EROICA_LAB.

Idle connections beyond what the node holds, requests that never end, what is no HTTP, wrong tokens, streams that nobody reads.
The findings are those of an undisturbed run, the node answers whoever asks properly, and its memory stays bounded.
"""

import json
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from api_test import make_token, start_node

SCENARIO = (
    pathlib.Path(__file__).resolve().parents[3] / "tests/scenarios/dev/gpu_slow_gross_dp_8r.toml"
)
CONNECTIONS_MAX = 300
IDLE = 2 * CONNECTIONS_MAX
ENDS_WITHIN_S = 120
ROUNDS_AFTER_FINDINGS = 20
RESIDENT_MAX = 512 << 20


class Clients:
    """Everything that is opened, closed together."""

    def __init__(self, port):
        self.port = port
        self.sockets = []

    def open(self, text=b""):
        one = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        self.sockets.append(one)
        if text:
            try:
                one.sendall(text)
            except OSError:
                pass  # the node has refused it already
        return one

    def close(self):
        for one in self.sockets:
            one.close()


def ask(url, token, target):
    request = urllib.request.Request(url + target, headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def disturb(clients, stop, rounds):
    """What is no request, again and again; streams that nobody reads; wrong tokens. rounds: a
    semaphore, released after each."""
    texts = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),  # TLS to a plain port
        b"GET /v1/jobs HTTP/1.1\r\n" + b"X: " + b"x" * 100_000 + b"\r\n\r\n",
        b"POST /v1/jobs/a/capture HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n",
        b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess\r\n\r\n",
        b"GET /v1/findings/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        bytes(range(256)) * 16,
        b"GET /v1/jobs HTTP/1.1\r\nHost: loc",  # and no more
    ]
    while not stop.is_set():
        for text in texts:
            try:
                one = clients.open(text)
                if len(clients.sockets) > 4 * CONNECTIONS_MAX:
                    clients.sockets.pop(0).close()
                one.settimeout(0.01)
                one.recv(65536)
            except OSError:
                pass
        rounds.release()


def await_rounds(rounds, count):
    for _ in range(count):
        assert rounds.acquire(timeout=ENDS_WITHIN_S), "the node holds its clients up"


def simulate(lab, recording, job):
    command = [lab, "simulate", str(SCENARIO), "--job", job, "-o", str(recording)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def findings_of(eroica, recording, state):
    """The identities of what an undisturbed node finds."""
    subprocess.run(
        [eroica, "node", "--recording", str(recording), "--state", str(state), "--drain"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    listed = subprocess.run(
        [eroica, "findings", "--recording", str(recording), "--json"],
        capture_output=True,
        text=True,
    )
    return sorted(json.loads(line)["id"] for line in listed.stdout.splitlines())


def await_findings(url, token, count):
    deadline = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < deadline:
        try:
            found = ask(url, token, "/v1/findings")["findings"]
            if len(found) >= count:
                return sorted(finding["id"] for finding in found)
        except (OSError, urllib.error.URLError):
            pass  # its connection gave way to another: it asks again
        time.sleep(0.1)
    raise SystemExit("the findings did not come while the node was disturbed")


def check_metrics(url, token):
    request = urllib.request.Request(url + "/metrics", headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=20) as answer:
        text = answer.read().decode()
    value = lambda name: float(
        re.search(r"^%s(?:\{[^}]*\})? ([0-9.e+]+)$" % name, text, re.M).group(1)
    )
    print(
        "hostile clients: %d evicted, %d refused, %d malformed, %.0f MiB resident"
        % (
            value("eroica_http_connections_evicted_total"),
            value("eroica_http_connections_refused_total"),
            value("eroica_http_requests_malformed_total"),
            value("process_resident_memory_bytes") / 2**20,
        )
    )
    assert value("eroica_http_connections_evicted_total") > 0
    assert value("eroica_http_requests_malformed_total") > 0
    assert value("eroica_http_connections") <= CONNECTIONS_MAX
    assert value("process_resident_memory_bytes") < RESIDENT_MAX
    assert (
        value("eroica_stage_records_dropped_total") == 0
        if "eroica_stage_records_dropped_total{" in text
        else True
    )


def main(eroica, lab):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        simulate(lab, folder / "calm", "night")
        wanted = findings_of(eroica, folder / "calm", folder / "calm-state")
        assert wanted, "the scenario has a finding"
        token = make_token(eroica, folder)
        node, url = start_node(eroica, folder, ["rest.connections_max=%d" % CONNECTIONS_MAX])
        clients = Clients(int(url.rsplit(":", 1)[1]))
        stop = threading.Event()
        rounds = threading.Semaphore(0)
        threads = [threading.Thread(target=disturb, args=(clients, stop, rounds)) for _ in range(2)]
        try:
            for _ in range(IDLE):
                clients.open(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for thread in threads:
                thread.start()
            simulate(lab, folder / "recording", "night")
            found = await_findings(url, token, len(wanted))
            while rounds.acquire(blocking=False):
                pass  # those before the findings
            await_rounds(rounds, ROUNDS_AFTER_FINDINGS)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            clients.close()
        assert found == wanted, (found, wanted)
        check_metrics(url, token)
        node.send_signal(signal.SIGTERM)
        assert node.wait(30) == 0, (folder / "log").read_text()[-2000:]
        assert token not in (folder / "log").read_text()


if __name__ == "__main__":
    main(*sys.argv[1:])

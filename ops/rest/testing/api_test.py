"""Starts a node on a simulated job and lets Schemathesis ask it: api_test.py SCHEMATHESIS EROICA EROICA_LAB [SECONDS]."""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SCENARIO = HERE.parents[2] / "tests/scenarios/dev/gpu_slow_gross_dp_8r.toml"
STARTS_WITHIN_S = 60


def make_token(eroica, folder):
    made = subprocess.run(
        [eroica, "token", "--name", "test", "--scope", "read,control"],
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "tokens").write_text(made.stdout)
    return re.search(r"eroica_[0-9a-f]{64}", made.stderr).group()


def start_node(eroica, folder, more=()):
    """The node and the address that it says it listens on. more: further options."""
    options = [
        "rest.listen=127.0.0.1:0",
        "rest.token_file=%s" % (folder / "tokens"),
        "rest.requests_per_second=0",
        *more,
    ]
    command = [eroica, "node", "--recording", str(folder / "recording")]
    for option in options:
        command += ["--set", option]
    with open(folder / "log", "w") as log:
        node = subprocess.Popen(command, stderr=log)
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and node.poll() is None:
        said = re.search(r"url=(http://\S+)", (folder / "log").read_text())
        if said:
            return node, said.group(1)
        time.sleep(0.05)
    raise SystemExit("the node did not start: " + (folder / "log").read_text())


def wait_for_a_finding(url, token):
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline:
        request = urllib.request.Request(
            url + "/v1/findings", headers={"Authorization": "Bearer " + token}
        )
        with urllib.request.urlopen(request) as answer:
            if b'"findings":[{' in answer.read():
                return
        time.sleep(0.05)
    raise SystemExit("no finding came")


def ask(schemathesis, url, token, seconds):
    command = [
        schemathesis,
        "--config-file",
        str(HERE / "schemathesis.toml"),
        "run",
        url + "/openapi.json",
        "--no-color",
    ]
    command += [
        "-H",
        "Authorization: Bearer " + token,
        "--max-time",
        seconds,
        "--phases",
        "examples,coverage,fuzzing",
    ]
    # It takes the token away and expects 401, but /healthz and the like need none.
    command += ["--exclude-checks", "ignored_auth"]
    return subprocess.run(command).returncode


def main(schemathesis, eroica, lab, seconds="30"):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(
            [lab, "simulate", str(SCENARIO), "-o", str(folder / "recording")],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        token = make_token(eroica, folder)
        node, url = start_node(eroica, folder)
        try:
            wait_for_a_finding(url, token)
            failed = ask(schemathesis, url, token, seconds)
            alive = node.poll() is None
        finally:
            node.send_signal(signal.SIGTERM)
            stopped = node.wait(30)
        if token in (folder / "log").read_text():
            raise SystemExit("the token is in the node's log")
        if not alive or stopped != 0:
            raise SystemExit("the node ended: " + (folder / "log").read_text()[-2000:])
        sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])

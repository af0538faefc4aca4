"""A running node is asked for a replay over REST: replay_test.py EROICA EROICA_LAB.

The replay finds what the live stages found, another configuration is another replay, the node's own
findings stay as they are, and the replay is still known after a restart.
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from api_test import SCENARIO, STARTS_WITHIN_S, make_token, start_node, wait_for_a_finding


JOB = SCENARIO.stem


def wait_for(condition, complaint):
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise SystemExit(complaint())
        time.sleep(0.05)
    return answer


class Client:
    def __init__(self, url, token):
        self.url, self.token = url, token

    def ask(self, target, body=None):
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + target, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def finish(self, replay):
        def ended():
            shown = self.ask("/v1/replays/" + replay)["replay"]
            return shown if shown["state"] not in ("queued", "running") else None

        return wait_for(ended, lambda: "the replay does not end")

    def wait_for_the_jobs_end(self):
        def ended():
            try:
                return self.ask("/v1/jobs/" + JOB)["job"]["state"] == "ended"
            except urllib.error.HTTPError as error:
                if error.code != 404:  # the node has not seen the job yet
                    raise
                return False

        wait_for(ended, lambda: "the job does not end")

    def wait_for_findings(self, expected):
        """The node reads its own findings from the log: the last ones come after the job's end."""
        wait_for(
            lambda: self.findings_of("/v1/findings") == expected,
            lambda: f"expected {expected}, the node has {self.findings_of('/v1/findings')}",
        )

    def findings_of(self, target):
        listed = self.ask(target)["findings"]
        return sorted((one["id"], one["title"], one["state"], one["replay_id"]) for one in listed)


def check_replay(client):
    order = client.ask("/v1/replays", {})["replay"]["replay"]
    shown = client.finish(order)
    assert shown["state"] == "finished", shown
    assert shown["records_done"] == shown["records_total"] > 0, shown
    replayed = client.findings_of("/v1/replays/%s/findings" % order)
    assert replayed and all(one[3] == order for one in replayed), replayed
    live = [one[:3] + ("",) for one in replayed]
    client.wait_for_findings(live)
    other = client.ask(
        "/v1/replays", {"job": "no-such-job", "options": {"summarize.fold_below": 0.25}}
    )
    assert other["replay"]["replay"] != order
    assert client.finish(other["replay"]["replay"])["findings"] == 0
    assert client.findings_of("/v1/findings") == live, "the node's own findings changed"
    entries = client.ask("/v1/audit")["entries"]
    assert [entry["action"] for entry in entries] == ["replay", "replay"], entries
    return order, len(replayed)


def main(eroica, lab):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [lab, "simulate", str(SCENARIO), "-o", str(folder / "recording")]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        token = make_token(eroica, folder)
        order = None
        for life in range(2):
            node, url = start_node(eroica, folder)
            try:
                wait_for_a_finding(url, token)
                client = Client(url, token)
                client.wait_for_the_jobs_end()
                if life == 0:
                    order, count = check_replay(client)
                else:
                    assert client.ask("/v1/replays/" + order)["replay"]["findings"] == count
            finally:
                node.send_signal(signal.SIGTERM)
                assert node.wait(30) == 0, (folder / "log").read_text()[-2000:]


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The package `eroica` on a Debian 12 that has nothing else and that systemd has booted, in a
container: installed with what Debian has, its services started inside their sandboxes against a
real broker, killed, restarted, rebooted, upgraded and purged.

Needs root, Podman, a mirror and a broker (EROICA_TEST_BROKER)."""

import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import shutil
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

import minimal_debian
from podman import Podman
from waiting import await_true

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILT = os.environ["EROICA_TEST_PACKAGES"]
SECRET = "c2VydmljZS10ZXN0"
SYSTEM = """FROM debian:bookworm
RUN apt-get update && apt-get install --yes --no-install-recommends systemd systemd-sysv dbus
# Services of this system do start.
RUN rm /usr/sbin/policy-rc.d
CMD ["/sbin/init"]
"""
POLICY = """
[limits]
per_hour = 4
executables = ["/bin/true"]
[[action]]
name = "look"
does = "open_ticket"
command = ["/bin/true", "{finding}"]
[[rule]]
name = "any"
action = "look"
"""


class Machine:
    """A booted Debian in a container. What a command says is an AssertionError where it fails."""

    NAME = "machine"

    def __init__(self, folder):
        self.podman = Podman(folder)
        base = minimal_debian.archive(os.environ["EROICA_TEST_DEBIAN"])
        self.podman.take(base, "debian:bookworm")
        context = os.path.join(folder, "context")
        os.mkdir(context)
        file = os.path.join(context, "Containerfile")
        with open(file, "w", encoding="utf-8") as written:
            written.write(SYSTEM)
        self.podman.build(file, context, "--tag", "system")

    def boot(self, *options):
        # What systemd needs to give its services sandboxes; /proc/sys stays read-only.
        rights = ("--cap-add=all", "--security-opt=seccomp=unconfined")
        words = ("--detach", "--systemd=always", "--network=host", "--name", self.NAME)
        self.podman.run(*words, *rights, *options, "system")
        self.await_booted()

    def reboot(self):
        self.podman.do("restart", self.NAME)
        self.await_booted()

    def await_booted(self):
        def booted():
            said = self.podman.ask("exec", self.NAME, "systemctl", "is-system-running")[1].strip()
            return said in ("running", "degraded")

        await_true(booted, "systemd boots")

    def shell(self, command):
        return self.podman.do("exec", self.NAME, "sh", "-ec", command)

    def ask(self, command):
        return self.podman.ask("exec", self.NAME, "sh", "-ec", command)

    def write(self, path, text, mode="0640"):
        words = ("exec", "--interactive", self.NAME, "sh", "-ec")
        install = f"install -m {mode} -o root -g eroica /dev/stdin {path}"
        self.podman.do(*words, install, input=text)

    def properties(self, unit, *names):
        listed = self.shell(f"systemctl show {unit} --property={','.join(names)}")
        return dict(line.split("=", 1) for line in listed.splitlines())

    def log(self, unit):
        return self.shell(f"journalctl --unit={unit} --output=cat --no-pager")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Of the webhook: checks who has sent, and keeps what came."""

    received = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        sent = (self.headers["webhook-id"], self.headers["webhook-timestamp"], "")
        signed = ".".join(sent).encode() + body
        wanted = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
        if self.headers["webhook-signature"] == "v1," + base64.b64encode(wanted).decode():
            self.received.append(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format, *words):
        pass


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = os.environ.get("EROICA_TEST_BROKER")
        if not cls.broker:
            raise unittest.SkipTest("no broker (EROICA_TEST_BROKER; ops/test.sh starts one)")
        folder = tempfile.mkdtemp(prefix="eroica-service-")
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.machine = Machine(folder)
        cls.addClassCleanup(cls.machine.podman.remove_all)
        recording = os.path.join(SOURCE, "tests/golden/live/compute")
        cls.machine.boot(f"--volume={BUILT}:/packages:ro", f"--volume={recording}:/recording:ro")

    def test_from_installation_to_purge(self):
        """In one system and in order: an operator's weeks with it."""
        for step in (
            self.is_installed_and_not_started,
            self.says_what_it_lacks,
            self.finds_what_the_topics_hold,
            self.keeps_to_its_sandbox,
            self.replays_on_demand,
            self.alerts_and_acts,
            self.comes_back_after_a_crash,
            self.comes_back_after_a_boot,
            self.is_upgraded,
            self.stops_in_order,
            self.is_purged,
        ):
            step()

    def is_installed_and_not_started(self):
        self.machine.shell(
            "apt-get update && apt-get install --yes --no-install-recommends /packages/*.deb"
        )
        linked = self.machine.shell("ldd /usr/bin/eroica /usr/lib/eroica/*.so")
        self.assertNotIn("not found", linked)
        said = self.machine.properties("eroica-node", "ActiveState", "UnitFileState")
        self.assertEqual(said, {"ActiveState": "inactive", "UnitFileState": "disabled"})

    def says_what_it_lacks(self):
        self.machine.shell("systemctl start eroica-node")
        failed = lambda: "kafka.bootstrap" in self.machine.log("eroica-node")
        await_true(failed, "the node says that it knows no broker")
        self.machine.shell("systemctl stop eroica-node")

    def finds_what_the_topics_hold(self):
        self.configure()
        self.machine.shell("eroica topics create --config /etc/eroica/node.toml")
        self.machine.shell("systemctl enable --now eroica-node")
        self.await_ready()
        self.machine.shell(
            f"eroica record --recording /recording --into {self.broker} --into-prefix {self.prefix}"
        )
        await_true(self.findings, "the node finds the slow rank")
        blamed = {culprit["rank"] for one in self.findings() for culprit in one["culprits"]}
        self.assertEqual(blamed, {3})

    def configure(self):
        """As docs/INSTALL.md says: the file of the package, edited."""
        self.prefix = f"service-{os.getpid()}"
        made = self.machine.shell("eroica token --name oncall --scope read,control --json")
        token = json.loads(made)
        self.token = token["token"]
        self.machine.write("/etc/eroica/tokens", token["line"] + "\n")
        self.machine.write("/etc/eroica/webhook.secret", SECRET + "\n")
        self.machine.write("/etc/eroica/act.toml", POLICY)
        receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        self.addClassCleanup(receiver.server_close)
        self.addClassCleanup(receiver.shutdown)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        text = self.machine.shell("cat /etc/eroica/node.toml")
        for key, value in {
            "topic_prefix": self.prefix,
            "bootstrap": self.broker,
            "listen": "127.0.0.1:0",  # the machine's own port may be taken
        }.items():
            text, count = re.subn(rf'(?m)^{key} = ".*"$', f'{key} = "{value}"', text)
            self.assertEqual(count, 1, key)
        text = text.replace("[rest]\n", '[rest]\ntoken_file = "/etc/eroica/tokens"\n')
        # The broker of the tests is one.
        text += "[topics]\nreplication = 1\nmin_insync_replicas = 1\n"
        text += f'[alerts]\nwebhook_url = "http://127.0.0.1:{receiver.server_port}/"\n'
        text += 'webhook_secret_file = "/etc/eroica/webhook.secret"\nseverity = "info"\n'
        self.machine.write("/etc/eroica/node.toml", text)

    def findings(self):
        code, out, err = self.machine.ask("eroica findings --config /etc/eroica/node.toml --json")
        self.assertIn(code, (0, 1, 3), err)
        return [json.loads(line) for line in out.splitlines()] if code == 1 else []

    def url(self):
        """Where the node listens, as its newest start says; empty before that."""
        pid = self.machine.properties("eroica-node", "MainPID")["MainPID"]
        said = self.machine.ask(f"journalctl _PID={pid} --output=cat --no-pager")[1]
        found = re.findall(r"url=(http://127\.0\.0\.1:\d+)", said)
        return found[-1] if found else ""

    def request(self, path, body=None):
        """(status, object) of the node's REST; status 0 where nobody answers."""
        url = self.url()
        if not url:
            return 0, None
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body else None
        try:
            request = urllib.request.Request(url + path, data, headers)
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, None
        except (OSError, ValueError):
            return 0, None

    def await_ready(self):
        ready = lambda: self.request("/readyz")[0] == 200
        await_true(ready, "the node is ready")

    def keeps_to_its_sandbox(self):
        pid = self.machine.properties("eroica-node", "MainPID")["MainPID"]
        status = self.machine.shell(f"cat /proc/{pid}/status")
        for line in ("CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"):
            self.assertIn(line, status)
        owner = self.machine.shell(f"stat --format=%U /proc/{pid} /var/lib/eroica/state")
        self.assertEqual(owner.split(), ["eroica", "eroica"])
        inside = f"nsenter --target {pid} --mount --setuid 0 sh -c "
        for place in ("/etc/eroica/x", "/usr/x", "/srv/x", "/var/x"):
            self.assertNotEqual(self.machine.ask(f"{inside} 'touch {place}'")[0], 0, place)
        self.machine.shell(f"{inside} 'touch /var/lib/eroica/x && rm /var/lib/eroica/x'")
        # All that it does is allowed: a forbidden call is answered with EPERM, and said.
        self.assertNotRegex(self.machine.log("eroica-node"), r"(?i)not permitted|denied")

    def replays_on_demand(self):
        """In threads of the lowest priority, for which the sandbox has a rule of its own."""
        job = self.request("/v1/jobs")[1]["jobs"][0]["job"]
        code, answer = self.request("/v1/replays", {"job": job})
        self.assertEqual(code, 202, self.machine.log("eroica-node"))
        path = "/v1/replays/" + answer["replay"]["replay"]
        state = lambda: self.request(path)[1]["replay"]["state"]
        await_true(lambda: state() not in ("queued", "running"), "the replay ends")
        self.assertEqual(state(), "finished", self.machine.log("eroica-node"))
        found = self.request(path + "/findings")[1]["findings_total"]
        self.assertGreater(found, 0)

    def alerts_and_acts(self):
        self.machine.shell("systemctl start eroica-alert eroica-act")
        await_true(lambda: Receiver.received, "the webhook hears of a finding")
        journal = "/var/lib/eroica-act/journal.jsonl"
        decided = lambda: "look" in self.machine.ask(f"cat {journal}")[1]
        await_true(decided, "the policy decides")
        for unit in ("eroica-alert", "eroica-act"):
            self.machine.shell(f"systemctl stop {unit}")
            said = self.machine.properties(unit, "Result", "ExecMainStatus")
            self.assertEqual(said, {"Result": "success", "ExecMainStatus": "0"}, unit)

    def comes_back_after_a_crash(self):
        before = self.findings()
        self.machine.shell("systemctl kill --signal=KILL eroica-node")
        restarted = lambda: self.machine.properties("eroica-node", "NRestarts")["NRestarts"] == "1"
        await_true(restarted, "systemd starts the node again")
        self.await_ready()
        self.assertEqual(self.findings(), before)

    def comes_back_after_a_boot(self):
        before = self.findings()
        self.machine.reboot()
        self.await_ready()
        self.assertEqual(self.findings(), before)

    def is_upgraded(self):
        before = self.machine.properties("eroica-node", "MainPID")
        configuration = self.machine.shell("cat /etc/eroica/node.toml")
        self.machine.shell("apt-get install --yes --reinstall /packages/eroica_*.deb")
        self.await_ready()
        self.assertNotEqual(self.machine.properties("eroica-node", "MainPID"), before)
        self.assertEqual(self.machine.shell("cat /etc/eroica/node.toml"), configuration)

    def stops_in_order(self):
        self.machine.shell("systemctl stop eroica-node")
        said = self.machine.properties("eroica-node", "Result", "ExecMainStatus")
        self.assertEqual(said, {"Result": "success", "ExecMainStatus": "0"})

    def is_purged(self):
        self.machine.shell("apt-get purge --yes eroica eroica-producers eroica-dev")
        left = self.machine.shell(
            "ls -d /var/lib/eroica* /usr/lib/eroica /lib/systemd/system/eroica-*"
            " /usr/lib/python3/dist-packages/eroica 2>/dev/null || true"
        )
        self.assertEqual(left, "")
        # Files that the operator has made are the operator's.
        kept = self.machine.shell("ls /etc/eroica").split()
        self.assertEqual(kept, ["act.toml", "tokens", "webhook.secret"])
        self.assertEqual(self.machine.shell("systemctl list-units 'eroica-*' --plain -q"), "")


if __name__ == "__main__":
    unittest.main()

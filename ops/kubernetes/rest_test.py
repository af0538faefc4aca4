"""What the manifests say of REST is what the program does: its port, its probes, who may ask, by which
names. A node runs with the configuration of the pods, on a recording and a free port."""

import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import unittest

try:
    import manifests
except ImportError as error:
    raise unittest.SkipTest(f"{error} (Debian: python3-yaml, python3-jsonschema)")

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
DEADLINE_S = 60


def node_set(objects=None):
    if objects is None:
        objects = [one for path, found in manifests.files().items() if path.startswith("base/") for one in found]
    return manifests.only(objects, "StatefulSet", "eroica-node")


class Running:
    """A node as the pod runs it, but for its broker, its folders and the address that it listens on."""

    def __init__(self, config, *options):
        self.folder = tempfile.mkdtemp(prefix="eroica-rest-test-")
        tokens = os.path.join(self.folder, "tokens")
        made = subprocess.run([PROGRAM, "token", "--name", "prometheus"], check=True, capture_output=True, text=True)
        self.token = made.stderr.split()[-1]
        with open(tokens, "w", encoding="utf-8") as file:
            file.write(made.stdout)
        peer = os.path.join(self.folder, "peer")
        with open(peer, "w", encoding="utf-8") as file:
            file.write(self.token)
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        command = [PROGRAM, "node", "--config", os.path.join(manifests.HERE, config), "--recording", "recording",
                   "--state", "state", "--set", "rest.listen=127.0.0.1:0", "--set", f"rest.token_file={tokens}",
                   "--set", f"rest.peer_token_file={peer}", *options]
        self.node = subprocess.Popen(command, cwd=self.folder, stdout=self.log, stderr=self.log)
        self.port = self.await_port()

    def said(self):
        with open(self.log.name, encoding="utf-8") as file:
            return file.read()

    def await_port(self):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline and self.node.poll() is None:
            found = re.search(r"url=https?://127\.0\.0\.1:(\d+)", self.said())
            if found:
                return int(found[1])
            time.sleep(0.05)
        self.stop()
        raise AssertionError(self.said())

    def status(self, path, tls=None, **headers):
        if tls is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        else:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=tls)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self):
        if self.node.poll() is None:
            self.node.send_signal(signal.SIGTERM)
        code = self.node.wait(timeout=DEADLINE_S)
        self.log.close()
        return code

    def remove(self):
        if self.node.poll() is None:
            self.node.kill()
            self.node.wait()
        shutil.rmtree(self.folder, True)


class Manifests(unittest.TestCase):
    def setUp(self):
        self.set = node_set()
        self.node = self.set["spec"]["template"]["spec"]["containers"][0]
        self.config = manifests.config()["rest"]
        self.port = int(self.config["listen"].rpartition(":")[2])

    def probes(self):
        return {name: self.node[name] for name in ("startupProbe", "livenessProbe", "readinessProbe")}

    def test_one_port(self):
        self.assertEqual(self.config["listen"], f"0.0.0.0:{self.port}")
        self.assertEqual(self.node["ports"], [{"name": "rest", "containerPort": self.port}])
        objects = manifests.files()["base/service.yaml"]
        service = manifests.only(objects, "Service", "eroica")["spec"]
        self.assertEqual(service["ports"], [{"name": "rest", "port": self.port, "targetPort": "rest"}])
        for name, probe in self.probes().items():
            self.assertEqual(probe["httpGet"]["port"], "rest", name)

    def test_a_node_is_given_time_to_start_and_is_not_ended_in_haste(self):
        def patience_s(probe):
            return probe["periodSeconds"] * probe["failureThreshold"]

        probes = self.probes()
        self.assertGreaterEqual(patience_s(probes["startupProbe"]), 300)
        self.assertGreaterEqual(patience_s(probes["livenessProbe"]), 300)
        self.assertLessEqual(patience_s(probes["readinessProbe"]), 15)

    def test_what_it_reads_is_mounted(self):
        mounts = {one["mountPath"]: one for one in self.node["volumeMounts"]}
        mount = mounts[os.path.dirname(self.config["token_file"])]
        self.assertIs(mount["readOnly"], True)
        secret = manifests.volume(self.set["spec"]["template"]["spec"], mount["name"])["secret"]
        self.assertNotIn("optional", secret)  # without its tokens a pod does not start
        self.assertEqual(secret["defaultMode"], 0o440)

    def test_nodes_reach_one_another_and_have_a_token_for_it(self):
        self.assertIn(f"rest.advertise=http://$(POD_IP):{self.port}", self.node["args"])
        self.assertEqual(os.path.dirname(self.config["peer_token_file"]), os.path.dirname(self.config["token_file"]))
        policy = manifests.files()["base/networkpolicy.yaml"][0]["spec"]
        to_nodes = [rule["to"] for rule in policy["egress"] if {"protocol": "TCP", "port": self.port} in rule["ports"]]
        self.assertEqual(to_nodes, [[{"podSelector": {"matchLabels": {"app.kubernetes.io/component": "node"}}}]])
        names = manifests.only(manifests.files()["base/service.yaml"], "Service", "eroica-node")["spec"]
        self.assertIs(names["publishNotReadyAddresses"], True)

    def test_names_are_those_of_the_service(self):
        self.assertEqual(self.config["hosts"], "eroica")
        overlay = manifests.documents(manifests.text("overlays/example/kustomization.yaml"))[0]
        name = f"eroica.{overlay['namespace']}"
        self.assertEqual(
            manifests.config("overlays/example/node.toml")["rest"],
            {**self.config, "hosts": f"eroica,{name},{name}.svc,{name}.svc.cluster.local"},
        )

    def test_only_pods_beside_it_and_labelled_namespaces_reach_it(self):
        policy = manifests.files()["base/networkpolicy.yaml"][0]["spec"]
        rule = policy["ingress"][0]
        self.assertEqual(rule["ports"], [{"protocol": "TCP", "port": self.port}])
        self.assertEqual(
            rule["from"], [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"eroica.rest": "on"}}}]
        )


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.running = Running("overlays/example/node.toml")
        cls.addClassCleanup(cls.running.remove)

    def await_status(self, path, expected):
        deadline = time.monotonic() + DEADLINE_S
        while (status := self.running.status(path)) != expected:
            self.assertLess(time.monotonic(), deadline, f"{path}: {status}")
            time.sleep(0.05)

    def test_probes_are_answered_without_a_token(self):
        node = node_set()["spec"]["template"]["spec"]["containers"][0]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.await_status(node[probe]["httpGet"]["path"], 200)

    def test_all_else_needs_one(self):
        self.assertEqual(self.running.status("/v1/jobs"), 401)
        self.assertEqual(self.running.status("/v1/jobs", Authorization=f"Bearer {self.running.token}"), 200)

    def test_it_is_called_by_the_names_of_its_service_and_no_others(self):
        for host in manifests.config("overlays/example/node.toml")["rest"]["hosts"].split(","):
            self.assertEqual(self.running.status("/healthz", Host=f"{host}:8470"), 200, host)
        self.assertEqual(self.running.status("/healthz", Host="10.0.0.7:8470"), 200)  # the kubelet
        self.assertEqual(self.running.status("/healthz", Host="elsewhere.example"), 421)

    def test_it_refuses_to_be_open_to_everybody(self):
        refused = subprocess.run(
            [PROGRAM, "node", "--config", os.path.join(manifests.HERE, "base/node.toml"), "--set", "rest.token_file=",
             "--recording", os.path.join(self.running.folder, "other"), "--state", os.path.join(self.running.folder, "s")],
            capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("rest.token_file", refused.stderr)


class Tls(unittest.TestCase):
    """The component tls, put on the base."""

    @classmethod
    def setUpClass(cls):
        if manifests.kustomize() is None:
            raise unittest.SkipTest("neither kustomize nor a kubectl of 1.24 or later is here")
        cls.folder = tempfile.mkdtemp(prefix="eroica-tls-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        base, alert, tls = (
            os.path.relpath(os.path.join(manifests.HERE, name), cls.folder) for name in ("base", "alert", "tls")
        )
        with open(os.path.join(cls.folder, "kustomization.yaml"), "w", encoding="utf-8") as file:
            json.dump({"resources": [base], "components": [alert, tls]}, file)
        cls.objects = manifests.rendered(cls.folder)
        cls.node = node_set(cls.objects)["spec"]["template"]["spec"]["containers"][0]

    def alert(self):
        return manifests.only(self.objects, "Deployment", "eroica-alert")

    def test_the_alerts_answer_by_https_with_the_certificate_of_the_nodes(self):
        pod = self.alert()["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertEqual(container["livenessProbe"]["httpGet"]["scheme"], "HTTPS")
        files = [one for one in self.node["args"] if one.startswith("rest.tls_")]
        self.assertEqual([one for one in container["args"] if one.startswith("rest.tls_")], files)
        self.assertEqual(len(files), 2)
        self.assertIn({"name": "tls", "mountPath": os.path.dirname(files[0].partition("=")[2]), "readOnly": True},
                      container["volumeMounts"])
        self.assertEqual(manifests.volume(pod, "tls"),
                         manifests.volume(node_set(self.objects)["spec"]["template"]["spec"], "tls"))

    def test_without_the_component_alert_there_is_nothing_to_patch(self):
        with open(os.path.join(self.folder, "kustomization.yaml"), encoding="utf-8") as file:
            made = json.load(file)
        made["components"] = made["components"][1:]
        folder = os.path.join(self.folder, "without")
        os.makedirs(folder)
        made = {key: [os.path.join("..", path) for path in paths] for key, paths in made.items()}
        with open(os.path.join(folder, "kustomization.yaml"), "w", encoding="utf-8") as file:
            json.dump(made, file)
        kinds = {one["kind"] for one in manifests.rendered(folder)}
        self.assertIn("StatefulSet", kinds)
        self.assertNotIn("Deployment", kinds)

    def test_it_is_valid(self):
        if not os.path.isdir(manifests.SCHEMAS):
            self.skipTest("the schemas of Kubernetes are not in the cache: ops/kubernetes/schemas.sh fetches them")
        for version in manifests.VERSIONS:
            for one in (node_set(self.objects), self.alert()):
                self.assertEqual(manifests.problems(one, version), [])

    def test_probes_ask_by_https_and_the_program_answers(self):
        options = self.node["args"][self.node["args"].index("rest.advertise=http://$(POD_IP):8470") + 1 :]
        mount = next(one for one in self.node["volumeMounts"] if one["name"] == "tls")["mountPath"]
        made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                "-subj", "/CN=eroica", "-keyout", os.path.join(self.folder, "tls.key"),
                "-out", os.path.join(self.folder, "tls.crt")]
        subprocess.run(made, check=True, capture_output=True, timeout=DEADLINE_S)
        shutil.copy(os.path.join(self.folder, "tls.crt"), os.path.join(self.folder, "ca.crt"))
        options = [one.replace(mount, self.folder).replace("$(POD_NAME)", "eroica-node-0") for one in options]
        running = Running("base/node.toml", *options)
        self.addCleanup(running.remove)
        unverified = ssl._create_unverified_context()  # as the kubelet's
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(self.node[probe]["httpGet"]["scheme"], "HTTPS")
        self.assertEqual(running.status(self.node["livenessProbe"]["httpGet"]["path"], tls=unverified), 200)
        self.assertEqual(running.stop(), 0)


if __name__ == "__main__":
    unittest.main()

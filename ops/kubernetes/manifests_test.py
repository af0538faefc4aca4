"""The manifests keep what they say: each property that the node, its operator or a strict cluster
relies on is one assertion, and what the program itself can judge it is asked."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import manifests
except ImportError as error:
    raise unittest.SkipTest(f"{error} (Debian: python3-yaml, python3-jsonschema)")

sys.path.insert(0, os.path.join(manifests.ROOT, "ops", "packages"))
import containerfile  # noqa: E402

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
NODE = {"app.kubernetes.io/component": "node"}


def read(path):
    with open(os.path.join(manifests.ROOT, path), encoding="utf-8") as file:
        return file.read()


def eroica(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False)


def base():
    return [one for path, found in manifests.files().items() if path.startswith("base/") for one in found]


def every_manifest():
    return [one for found in manifests.files().values() for one in found]


class Schemas(unittest.TestCase):
    def setUp(self):
        if not os.path.isdir(manifests.SCHEMAS):
            self.skipTest("the schemas of Kubernetes are not in the cache: ops/kubernetes/schemas.sh fetches them")

    def assert_valid(self, objects):
        for version in manifests.VERSIONS:
            for one in objects:
                with self.subTest(version, kind=one["kind"], name=one["metadata"]["name"]):
                    self.assertEqual(manifests.problems(one, version), [])

    def test_every_file_is_valid(self):
        self.assert_valid(every_manifest())

    def test_what_kustomize_makes_is_valid(self):
        if manifests.kustomize() is None:
            self.skipTest("neither kustomize nor a kubectl of 1.24 or later is here")
        for folder in ("base", "overlays/example"):
            self.assert_valid(manifests.rendered(folder))

    def test_a_field_that_is_misspelt_or_of_another_type_is_refused(self):
        for version in manifests.VERSIONS:
            node = manifests.only(base(), "StatefulSet", "eroica-node")
            node["spec"]["template"]["spec"]["containers"][0]["securitycontext"] = {}
            self.assertRegex(manifests.problems(node, version)[0], "securitycontext")
            service = manifests.only(base(), "Service", "eroica-node")
            service["spec"]["selector"] = "eroica"
            self.assertRegex(manifests.problems(service, version)[0], "spec.selector")


class Node(unittest.TestCase):
    def setUp(self):
        self.objects = base()
        self.set = manifests.only(self.objects, "StatefulSet", "eroica-node")
        self.pod = self.set["spec"]["template"]["spec"]
        self.node = self.pod["containers"][0]
        self.config = manifests.config()

    def arguments(self, pod="eroica-node-1"):
        """As the kubelet gives them to the process, with the file of the ConfigMap."""
        by_field = {"metadata.name": pod, "status.podIP": "10.0.0.7"}
        values = {one["name"]: by_field[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in self.node["env"]}
        expanded = [re.sub(r"\$\((\w+)\)", lambda m: values[m[1]], one) for one in self.node["args"]]
        return [one.replace("/etc/eroica/", os.path.join(manifests.HERE, "base") + "/") for one in expanded]

    def test_the_program_takes_its_arguments_and_its_configuration(self):
        shown = eroica(*self.arguments(), "--print-config")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn('instance_id = "eroica-node-1"', shown.stdout)
        self.assertIn(f'bootstrap = "{self.config["kafka"]["bootstrap"]}"', shown.stdout)

    def test_the_program_takes_the_configuration_of_the_example(self):
        shown = eroica("node", "--config", os.path.join(manifests.HERE, "overlays/example/node.toml"), "--print-config")
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_the_program_refuses_a_key_that_it_does_not_know(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(manifests.text("base/node.toml").replace("memory_mib", "memory_mb"))
            file.flush()
            shown = eroica("node", "--config", file.name, "--print-config")
        self.assertEqual(shown.returncode, 2)
        self.assertIn("memory_mib", shown.stderr)  # what was meant

    def test_pods_are_members_of_their_own(self):
        self.assertIn("kafka.instance_id=$(POD_NAME)", self.node["args"])
        self.assertEqual(
            [one for number in range(2) for one in self.arguments(f"eroica-node-{number}") if "instance_id" in one],
            ["kafka.instance_id=eroica-node-0", "kafka.instance_id=eroica-node-1"],
        )

    def test_it_starts_without_a_shell(self):
        self.assertNotIn("command", self.node)  # the image's entry point is the program
        self.assertEqual(containerfile.stages()["node"].exec_form("ENTRYPOINT"), ["/usr/bin/eroica"])

    def test_memory_is_bounded_by_the_program_before_the_kernel_does_it(self):
        node_mib = self.config["runtime"]["memory_mib"] + self.config["rest"]["replay_memory_mib"]
        resources = self.node["resources"]
        self.assertEqual(manifests.quantity_mib(resources["limits"]["memory"]), node_mib * 5 // 4)
        self.assertEqual(resources["requests"]["memory"], resources["limits"]["memory"])
        self.assertNotIn("cpu", resources["limits"])

    def test_state_lies_on_a_volume_of_the_pod(self):
        mounts = {one["mountPath"]: one for one in self.node["volumeMounts"]}
        self.assertEqual(os.path.dirname(self.config["state"]["folder"]), "/var/lib/eroica")
        claims = {one["metadata"]["name"]: one["spec"] for one in self.set["spec"]["volumeClaimTemplates"]}
        self.assertEqual(claims[mounts["/var/lib/eroica"]["name"]]["accessModes"], ["ReadWriteOnce"])
        self.assertNotIn("readOnly", mounts["/var/lib/eroica"])

    def test_the_configuration_is_mounted_where_it_is_read(self):
        path = self.node["args"][self.node["args"].index("--config") + 1]
        mount = next(one for one in self.node["volumeMounts"] if one["mountPath"] == os.path.dirname(path))
        volume = manifests.volume(self.pod, mount["name"])
        generated = manifests.documents(manifests.text("base/kustomization.yaml"))[0]["configMapGenerator"]
        files = {one["name"]: one["files"] for one in generated}
        self.assertIn(os.path.basename(path), files[volume["configMap"]["name"]])

    def test_it_has_time_for_its_last_commit(self):
        shown = eroica("node", "--print-config", "--config", os.path.join(manifests.HERE, "base/node.toml")).stdout
        flush_ms = int(re.search(r"^flush_timeout_ms = (\d+)", shown, re.MULTILINE)[1])
        self.assertGreater(self.pod["terminationGracePeriodSeconds"] * 1000, 2 * flush_ms)

    def test_a_pod_that_is_replaced_keeps_its_partitions(self):
        session_s = int(self.config["kafka"]["properties"]["session.timeout.ms"]) / 1000
        self.assertGreaterEqual(session_s, 30)  # an image that is there, a volume that is mounted
        self.assertEqual(self.set["spec"]["podManagementPolicy"], "Parallel")

    def test_selectors_select_its_pods(self):
        labels = self.set["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(labels, NODE)
        self.assertEqual(self.set["spec"]["selector"]["matchLabels"], NODE)
        for kind in ("Service", "PodDisruptionBudget"):
            selector = manifests.only(self.objects, kind, "eroica-node")["spec"]["selector"]
            self.assertEqual(selector.get("matchLabels", selector), NODE)
        self.assertEqual(self.set["spec"]["serviceName"], "eroica-node")

    def test_one_node_at_a_time_may_be_taken_away(self):
        budget = manifests.only(self.objects, "PodDisruptionBudget", "eroica-node")["spec"]
        self.assertEqual(budget["maxUnavailable"], 1)
        self.assertGreater(self.set["spec"]["replicas"], 1)


class Network(unittest.TestCase):
    def setUp(self):
        self.policy = manifests.only(base(), "NetworkPolicy", "eroica-node")["spec"]

    def ports(self, rules):
        return {(port["protocol"], port["port"]) for rule in rules for port in rule["ports"]}

    def test_it_closes_both_directions_of_every_pod_of_ours(self):
        self.assertEqual(set(self.policy["policyTypes"]), {"Ingress", "Egress"})
        expression = self.policy["podSelector"]["matchExpressions"][0]
        job = manifests.only(every_manifest(), "Job", "eroica-topics")
        alert = manifests.only(every_manifest(), "Deployment", "eroica-alert")
        for labels in (NODE, *(one["spec"]["template"]["metadata"]["labels"] for one in (job, alert))):
            self.assertIn(labels[expression["key"]], expression["values"])

    def test_names_and_the_configured_brokers_can_be_reached(self):
        ports = self.ports(self.policy["egress"])
        self.assertLessEqual({("UDP", 53), ("TCP", 53)}, ports)
        for path in ("base/node.toml", "overlays/example/node.toml"):
            for broker in manifests.config(path)["kafka"]["bootstrap"].split(","):
                self.assertIn(("TCP", int(broker.rpartition(":")[2])), ports)

    def test_nobody_reaches_a_port_that_no_container_opens(self):
        pod = manifests.only(base(), "StatefulSet", "eroica-node")["spec"]["template"]["spec"]
        opened = {("TCP", port["containerPort"]) for one in pod["containers"] for port in one.get("ports", [])}
        self.assertEqual(self.ports(self.policy["ingress"]), opened)


class Security(unittest.TestCase):
    """Pod Security Standards, profile "restricted", and what goes beyond it."""

    def setUp(self):
        # A patch is no pod: what it makes is looked at in Kustomized.
        pods = {name: pod for name, pod in manifests.pods(every_manifest()).items() if name != "Job/any"}
        self.assertEqual(
            set(pods), {"StatefulSet/eroica-node", "Job/eroica-topics", "Deployment/eroica-alert", "Job/llm-7b-17"}
        )
        self.pods = pods
        self.ours = {name: pod for name, pod in pods.items() if name != "Job/llm-7b-17"}

    def test_restricted(self):
        for name, pod in self.pods.items():
            self.assertIs(pod["securityContext"]["runAsNonRoot"], True, name)
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"}, name)
            for forbidden in ("hostNetwork", "hostPID", "hostIPC"):
                self.assertNotIn(forbidden, pod, name)
            self.assertFalse([one for one in pod.get("volumes", []) if "hostPath" in one], name)
            for container in manifests.containers(pod):
                self.assertIs(container["securityContext"]["allowPrivilegeEscalation"], False, name)
                self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]}, name)

    def test_ours_write_to_their_volumes_alone_and_have_no_token(self):
        for name, pod in self.ours.items():
            self.assertIs(pod["automountServiceAccountToken"], False, name)
            self.assertIs(pod["enableServiceLinks"], False, name)
            for container in manifests.containers(pod):
                self.assertIs(container["securityContext"]["readOnlyRootFilesystem"], True, name)

    def test_ours_run_as_the_user_of_the_image(self):
        for name, pod in self.ours.items():
            user = f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
            self.assertEqual(user, containerfile.stages()["node"].last("USER"), name)

    def test_every_container_says_what_it_takes(self):
        for name, pod in self.pods.items():
            for container in manifests.containers(pod):
                self.assertLessEqual({"cpu", "memory"}, set(container["resources"]["requests"]), name)
                self.assertIn("memory", container["resources"]["limits"], name)

    def test_the_namespace_enforces_it(self):
        labels = manifests.only(every_manifest(), "Namespace", "eroica")["metadata"]["labels"]
        self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "restricted")

    def test_no_secret_stands_in_a_manifest(self):
        self.assertFalse([one for one in every_manifest() if one["kind"] == "Secret"])


class Topics(unittest.TestCase):
    def setUp(self):
        self.job = manifests.only(every_manifest(), "Job", "eroica-topics")["spec"]
        self.container = self.job["template"]["spec"]["containers"][0]

    def test_the_program_has_the_command(self):
        arguments = self.container["args"]
        self.assertEqual(arguments[:2], ["topics", "create"])
        shown = eroica(*arguments[:2], "--help")
        self.assertEqual(shown.returncode, 0)
        self.assertIn(arguments[2], shown.stdout)

    def test_it_reads_the_configuration_of_the_nodes(self):
        pod = self.job["template"]["spec"]
        node = manifests.only(base(), "StatefulSet", "eroica-node")["spec"]["template"]["spec"]
        self.assertEqual(manifests.volume(pod, "config"), manifests.volume(node, "config"))
        self.assertIn(self.container["args"][-1], node["containers"][0]["args"])

    def test_it_can_be_applied_again(self):
        self.assertGreater(self.job["ttlSecondsAfterFinished"], 0)


class Alert(unittest.TestCase):
    def setUp(self):
        self.deployment = manifests.only(every_manifest(), "Deployment", "eroica-alert")["spec"]
        self.pod = self.deployment["template"]["spec"]
        self.arguments = self.pod["containers"][0]["args"]

    def test_the_program_takes_its_arguments(self):
        self.assertEqual(self.arguments[0], "alert")
        self.assertEqual(eroica("alert", "--help").returncode, 0)
        options = [one.replace("/etc/eroica/", os.path.join(manifests.HERE, "base") + "/") for one in self.arguments[1:]]
        shown = eroica("config", "print", *options)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn('alertmanager_urls = "http://alertmanager:9093"', shown.stdout)

    def test_it_reads_the_configuration_of_the_nodes(self):
        node = manifests.only(base(), "StatefulSet", "eroica-node")["spec"]["template"]["spec"]
        self.assertEqual(manifests.volume(self.pod, "config"), manifests.volume(node, "config"))

    def test_its_receiver_can_be_reached(self):
        policy = manifests.only(base(), "NetworkPolicy", "eroica-node")["spec"]
        open_to_all = {port["port"] for rule in policy["egress"] if "to" not in rule for port in rule["ports"]}
        receiver = next(one for one in self.arguments if one.startswith("alerts.alertmanager_urls="))
        self.assertIn(int(receiver.rpartition(":")[2]), open_to_all)

    def test_it_is_probed_where_it_listens_with_the_tokens_of_the_nodes(self):
        listen = next(one for one in self.arguments if one.startswith("alerts.listen="))
        port = self.pod["containers"][0]["ports"][0]
        self.assertEqual(listen, f"alerts.listen=0.0.0.0:{port['containerPort']}")
        probe = self.pod["containers"][0]["livenessProbe"]["httpGet"]
        self.assertEqual(probe, {"path": "/healthz", "port": port["name"]})
        policy = manifests.only(base(), "NetworkPolicy", "eroica-node")["spec"]
        self.assertIn({"protocol": "TCP", "port": port["containerPort"]}, policy["ingress"][0]["ports"])
        node = manifests.only(base(), "StatefulSet", "eroica-node")["spec"]["template"]["spec"]
        self.assertEqual(manifests.volume(self.pod, "tokens"), manifests.volume(node, "tokens"))
        mounts = {one["mountPath"] for one in self.pod["containers"][0]["volumeMounts"]}
        self.assertIn(os.path.dirname(manifests.config()["rest"]["token_file"]), mounts)
        self.assertEqual(self.pod["securityContext"]["fsGroup"], self.pod["securityContext"]["runAsGroup"])

    def test_the_selector_selects_its_pods(self):
        labels = self.deployment["template"]["metadata"]["labels"]
        self.assertEqual(self.deployment["selector"]["matchLabels"], labels)
        self.assertNotEqual(labels, NODE)  # neither the service of the nodes nor their budget means it


class Producers(unittest.TestCase):
    def setUp(self):
        self.pod = manifests.documents(manifests.text("producers/training.yaml"))[0]["spec"]["template"]["spec"]
        self.init = self.pod["initContainers"][0]
        self.training = self.pod["containers"][0]
        self.variables = {one["name"]: one for one in self.training["env"]}

    def test_variables_are_those_of_the_documentation(self):
        known = set(re.findall(r"^\| `(EROICA_\w+)` \|", read("docs/PRODUCERS.md"), re.MULTILINE))
        self.assertGreater(len(known), 20)
        self.assertLessEqual({name for name in self.variables if name.startswith("EROICA_")}, known)

    def test_paths_are_those_of_the_image(self):
        self.assertEqual(self.init["command"], ["cp", "-r", "/opt/eroica/.", "/eroica"])
        stage = containerfile.stages()["producers-files"]
        self.assertIn("/usr/lib/eroica/*.so /opt/eroica/lib/", stage.commands()[-1])
        self.assertIn("/usr/lib/eroica/python /opt/eroica/python", stage.commands()[-1])
        value = {name: one.get("value") for name, one in self.variables.items()}
        self.assertEqual(value["EROICA_LIB_DIR"], "/eroica/lib")
        self.assertEqual(value["PYTHONPATH"], "/eroica/python/zero_code:/eroica/python")
        built = read("producers/nccl/CMakeLists.txt") + read("producers/cupti/CMakeLists.txt")
        for name in ("NCCL_PROFILER_PLUGIN", "CUDA_INJECTION64_PATH"):
            folder, library = os.path.split(value[name])
            self.assertEqual(folder, value["EROICA_LIB_DIR"])
            self.assertIn(f"OUTPUT {library.removeprefix('lib').removesuffix('.so')}\n", built)

    def test_volumes_are_shared_and_the_job_cannot_write_the_libraries(self):
        mounts = {one["name"]: one for one in self.training["volumeMounts"]}
        self.assertIs(mounts["eroica"]["readOnly"], True)
        self.assertEqual(self.init["volumeMounts"], [{"name": "eroica", "mountPath": "/eroica"}])
        self.assertEqual({one["name"] for one in self.pod["volumes"]}, set(mounts))
        self.assertEqual(mounts["shm"]["mountPath"], "/dev/shm")  # where ranks find each other

    def test_no_variable_of_a_service_is_taken_for_one_of_ours(self):
        self.assertIs(self.pod["enableServiceLinks"], False)


class Kustomized(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if manifests.kustomize() is None:
            raise unittest.SkipTest("neither kustomize nor a kubectl of 1.24 or later is here")
        cls.objects = manifests.rendered("overlays/example")

    def test_all_of_it_is_in_the_namespace(self):
        for one in self.objects:
            if one["kind"] != "Namespace":
                self.assertEqual(one["metadata"]["namespace"], "eroica", one["metadata"]["name"])

    def test_images_are_of_the_version_of_the_project(self):
        version = re.search(r"project\(eroica VERSION ([\d.]+)", read("CMakeLists.txt"))[1]
        images = {one["image"] for pod in manifests.pods(self.objects).values() for one in manifests.containers(pod)}
        ours = {image for image in images if image.startswith("registry.example/eroica")}
        self.assertEqual(
            ours, {f"registry.example/eroica:{version}", f"registry.example/eroica-producers:{version}"}
        )

    def test_a_changed_configuration_rolls_the_nodes(self):
        config = manifests.only(self.objects, "ConfigMap", "eroica-node")
        self.assertRegex(config["metadata"]["name"], r"-[a-z0-9]{10}$")
        pods = manifests.pods(self.objects)
        for name in ("StatefulSet/eroica-node", "Job/eroica-topics"):
            volume = manifests.volume(pods[name], "config")
            self.assertEqual(volume["configMap"]["name"], config["metadata"]["name"])
        self.assertEqual(config["data"]["node.toml"], manifests.text("overlays/example/node.toml"))

    def test_the_labelled_job_gets_the_producers_and_keeps_what_it_had(self):
        pod = manifests.pods(self.objects)["Job/llm-7b-17"]
        training = pod["containers"][0]
        variables = {one["name"]: one for one in training["env"]}
        self.assertEqual(variables["NCCL_DEBUG"]["value"], "WARN")
        self.assertIn("EROICA_LIB_DIR", variables)
        self.assertEqual(training["command"][0], "torchrun")
        self.assertEqual([one["name"] for one in pod["initContainers"]], ["eroica"])
        producers = manifests.only(self.objects, "ConfigMap", "eroica-producers")
        reference = variables["EROICA_BOOTSTRAP"]["valueFrom"]["configMapKeyRef"]
        self.assertEqual(reference["name"], producers["metadata"]["name"])
        self.assertEqual(
            producers["data"][reference["key"]], manifests.config("overlays/example/node.toml")["kafka"]["bootstrap"]
        )

    def test_a_job_without_the_label_is_left_alone(self):
        self.assertNotIn("initContainers", manifests.pods(self.objects)["Job/eroica-topics"])

    def test_the_training_pod_is_restricted_with_the_producers_in_it(self):
        for container in manifests.containers(manifests.pods(self.objects)["Job/llm-7b-17"]):
            self.assertIs(container["securityContext"]["allowPrivilegeEscalation"], False)
            self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})


if __name__ == "__main__":
    unittest.main()

"""What the stand-in node answers is what ops/rest/openapi.json promises, so that a dashboard that
works on it works on a node. Every object is closed: a field that the contract lacks is a fault, too.
"""

import json
import pathlib
import unittest
import urllib.error
import urllib.parse
import urllib.request

import made_up_cluster
import stand_in_node

try:
    import jsonschema
except ImportError as missing:
    raise unittest.SkipTest(
        "needs python3-jsonschema: ops/install_dependencies.sh --tests"
    ) from missing

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONTRACT = json.loads(stand_in_node.CONTRACT.read_text())
FINDING = json.loads((ROOT / "docs/reference/finding.schema.json").read_text())
OF_THE_NODE = {"first_seen", "last_seen", "annotation", "victims_total"}


def closed(schema):
    """The same schema, in which objects hold nothing that is not named."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(value) for key, value in schema.items()}
    if copy.get("type") == "object" and isinstance(copy.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy


CLOSED = {"components": closed(CONTRACT["components"])}


def schema_of(template, method, status):
    content = CONTRACT["paths"][template][method]["responses"][status]["content"][
        "application/json"
    ]
    return {**CLOSED, **closed(content["schema"])}


def with_short_lists(answer, ends=64):
    """Of lists that have an item a rank, the first and the last: all 10,000 take half a minute."""
    if isinstance(answer, dict):
        return {name: with_short_lists(value) for name, value in answer.items()}
    if not isinstance(answer, list):
        return answer
    kept = answer if len(answer) <= 2 * ends else answer[:ends] + answer[-ends:]
    return [with_short_lists(item) for item in kept]


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = stand_in_node.StandInNode(token="secret", now=1_790_000_000.0).start()

    @classmethod
    def tearDownClass(cls):
        cls.node.stop()

    def ask(self, path, method="GET", body=None, token="secret", headers=None):
        request = urllib.request.Request(
            self.node.url.rstrip("/") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
        )
        for name, value in (
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            | (headers or {})
        ).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def check(self, template, path, method="GET", body=None, status=200):
        got, answer = self.ask(path, method, body)
        self.assertEqual(got, status, f"{path}: {answer}")
        jsonschema.validate(
            with_short_lists(answer),
            schema_of(template, method.lower(), str(status)),
            cls=jsonschema.Draft202012Validator,
        )
        return answer

    def test_whole_node(self):
        for template in (
            "/v1/status",
            "/v1/jobs",
            "/v1/findings",
            "/v1/findings?view=brief",
            "/healthz",
            "/readyz",
            "/v1/audit",
        ):
            self.check(template.partition("?")[0], template)

    def test_jobs(self):
        for job in self.node.jobs.values():
            quoted = "/v1/jobs/" + urllib.parse.quote(job.name, safe="")
            base = "/v1/jobs/{job}"
            self.check(base, quoted)
            self.check(base + "/windows", quoted + "/windows")
            self.check(base + "/steps", quoted + "/steps")
            if not job.windows_held:
                self.assertEqual(self.ask(quoted + "/heatmap")[0], 404)
                continue
            function, window = job.functions[0].id, job.window_name(job.newest_index - 1)
            rank = job.ranks - 1
            for template, path in (
                ("/windows/{window}", f"/windows/{window}"),
                ("/functions", "/functions"),
                ("/functions/{function}", f"/functions/{function}"),
                ("/functions/{function}/history", f"/functions/{function}/history?rank={rank}"),
                ("/heatmap", f"/heatmap?window={window}&metric=beta&functions=5"),
                ("/heatmap", "/heatmap"),
                ("/ranks", "/ranks?limit=1000"),
                ("/ranks/{rank}", f"/ranks/{rank}"),
                ("/communicators", "/communicators"),
                ("/waits", "/waits?limit=5"),
                ("/links", "/links"),
            ):
                self.check(base + template, quoted + path)
            communicator = self.check(base + "/communicators", quoted + "/communicators")[
                "communicators"
            ][0]
            self.check(
                base + "/communicators/{communicator}",
                quoted + "/communicators/" + communicator["communicator"],
            )

    def test_findings_are_those_of_the_topic(self):
        findings = [
            finding for job in made_up_cluster.all_jobs(1_790_000_000.0) for finding in job.findings
        ]
        self.assertGreater(len(findings), 5)
        for finding in findings:
            of_topic = {key: value for key, value in finding.items() if key not in OF_THE_NODE}
            jsonschema.validate(of_topic, closed(FINDING), cls=jsonschema.Draft202012Validator)
            answer = self.check("/v1/findings/{finding}", "/v1/findings/" + finding["id"])
            self.assertEqual(answer["finding"]["title"], finding["title"])

    def test_actions(self):
        finding = "/v1/findings/" + self.node.findings()[0]["id"]
        for action, body in (
            ("acknowledge", {"note": "mine"}),
            ("mute", {"minutes": 60}),
            ("unmute", {}),
        ):
            self.check("/v1/findings/{finding}/" + action, f"{finding}/{action}", "POST", body)
        job = next(iter(self.node.jobs))
        self.check(
            "/v1/jobs/{job}/capture",
            f"/v1/jobs/{urllib.parse.quote(job, safe='')}/capture",
            "POST",
            {"level": 2},
            status=202,
        )

    def test_refusals(self):
        for status, path, options in (
            (401, "/v1/jobs", {"token": "wrong"}),
            (404, "/v1/jobs/none", {}),
            (404, "/v1/nothing", {}),
            (400, "/v1/jobs?colour=red", {}),
            (400, "/v1/findings?limit=0", {}),
            (
                403,
                "/v1/findings/" + self.node.findings()[0]["id"] + "/mute",
                {"method": "POST", "body": {"minutes": 1}, "token": "secret-read"},
            ),
            (405, "/v1/jobs", {"method": "POST", "body": {}}),
            (
                415,
                "/v1/findings/" + self.node.findings()[0]["id"] + "/mute",
                {"method": "POST", "body": {}, "headers": {"Content-Type": "text/plain"}},
            ),
        ):
            got, problem = self.ask(path, **options)
            self.assertEqual(got, status, path)
            jsonschema.validate(problem, {**CLOSED, "$ref": "#/components/schemas/Problem"})
            self.assertEqual(problem["status"], status)

    def test_stream_goes_on_behind_the_last_event(self):
        finding = self.node.findings()[0]
        for _ in range(3):
            self.node.emit(finding)
        last = len(self.node.events)
        request = urllib.request.Request(
            self.node.url + "v1/findings/stream",
            headers={"Authorization": "Bearer secret", "Last-Event-ID": str(last - 1)},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            lines = []
            while len([line for line in lines if line.startswith("data:")]) < 1:
                lines.append(response.readline().decode().rstrip("\n"))
        self.assertIn(f"id: {last}", lines)
        self.assertNotIn(f"id: {last - 1}", lines)
        data = next(line for line in lines if line.startswith("data:")).removeprefix("data: ")
        jsonschema.validate(
            json.loads(data),
            {**CLOSED, "$ref": "#/components/schemas/Finding"},
            cls=jsonschema.Draft202012Validator,
        )


if __name__ == "__main__":
    unittest.main()

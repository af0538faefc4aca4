#!/usr/bin/env python3
"""A node that the dashboard can be tried on: its files, and answers of ops/rest/openapi.json about
jobs that are made up. Python's standard library only; loopback only.

    stand_in_node.py [--port 8080] [--token TOKEN] [--emit-every SECONDS]

A request that the contract does not know (a path, a query parameter) is answered with 400 or 404,
so that the dashboard cannot ask for what the node does not give.
"""

import argparse
import contextlib
import copy
import gzip
import hashlib
import http.server
import json
import pathlib
import re
import sys
import threading
import time
import urllib.parse

import made_up_answers
import made_up_cluster

HERE = pathlib.Path(__file__).resolve().parent
PAGES = HERE.parent
sys.path.append(str(PAGES))
import bundle  # noqa: E402

CONTRACT = PAGES.parent / "rest" / "openapi.json"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def static_files():
    """As a node has them, and each module by itself for tests of it: path to (type, bytes)."""
    folders = (PAGES, PAGES / "third_party" / "uplot")
    files = [file for folder in folders for file in folder.iterdir() if file.suffix in TYPES]
    contents = {file.name: file.read_bytes() for file in files} | bundle.served(files)
    typed = {name: (TYPES[pathlib.Path(name).suffix], one) for name, one in contents.items()}
    return {"/": typed.pop("index.html")} | {f"/assets/{name}": one for name, one in typed.items()}


class Route:
    """A path of the contract, and which query parameters each of its methods takes."""

    def __init__(self, template, methods, parameters):
        self.template = template
        self.pattern = re.compile(
            re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template)) + "$"
        )
        self.queries = {}
        for method, operation in methods.items():
            resolved = [
                parameters[one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else one
                for one in operation["parameters"]
            ]
            self.queries[method.upper()] = {
                one["name"]: one["schema"] for one in resolved if one["in"] == "query"
            }


def routes_of(contract):
    parameters = contract["components"]["parameters"]
    routes = [Route(path, methods, parameters) for path, methods in contract["paths"].items()]
    routes.sort(key=lambda route: route.template.count("{"))  # /v1/findings/stream before {finding}
    return routes


class Problem(Exception):
    def __init__(self, status, name, detail):
        super().__init__(detail)
        self.status, self.name, self.detail = status, name, detail


class StandInNode:
    """State that the requests share. mode: serving, restoring (503)."""

    def __init__(self, port=0, token=None, now=None, delay_s=0.0):
        self.now = now if now is not None else time.time()
        self.token, self.delay_s, self.mode = token, delay_s, "serving"
        self.jobs = {job.name: job for job in made_up_cluster.all_jobs(self.now)}
        self.events = []  # (id, finding)
        self.audit = []
        self.requests = []  # (method, path) of what was asked
        self.zipped = {}  # by ETag, as a node that keeps what is asked for often
        self.answers = {}  # that take long to make up, by target
        self.changed = threading.Condition()
        self.routes = routes_of(json.loads(CONTRACT.read_text()))
        self.files = static_files()
        self.stopped = False
        node = self

        class Handler(NodeHandler):
            pass

        Handler.node = node
        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"

    def start(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self):
        """Connections are refused afterwards, streams end."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def set_mode(self, mode):
        with self.changed:
            self.mode = mode
            self.changed.notify_all()

    def findings(self):
        return [finding for job in self.jobs.values() for finding in job.findings]

    def emit(self, finding):
        """A new version of a finding: what it says from now on, and an event of the stream."""
        finding = copy.deepcopy(finding)
        held = self.jobs[finding["job"]].findings
        held[:] = [one for one in held if one["id"] != finding["id"]] + [finding]
        with self.changed:
            self.events.append((len(self.events) + 1, finding))
            self.changed.notify_all()


class NodeHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # as a node; else each body waits 40 ms for a browser's ACK
    node = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("GET")

    def do_POST(self):
        self.answer("POST")

    def answer(self, method):
        self.method = method
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        self.sent = self.rfile.read(length)
        self.node.requests.append((method, self.path))
        try:
            if path in self.node.files:
                self.send_bytes(200, *self.node.files[path])
                return
            self.dispatch(method, path, query)
        except Problem as problem:
            self.send_problem(problem, path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def dispatch(self, method, path, query):
        route, parts = self.find_route(path)
        if method not in route.queries:
            raise Problem(405, "method", f"{path} does not take {method}")
        if self.node.mode == "restoring" and route.template not in ("/healthz", "/openapi.json"):
            raise Problem(
                503, "not_ready", "3 of 8 tasks are still being restored: try again in a moment"
            )
        self.authorize(method, path)
        asked = self.read_query(route.queries[method], query)
        if route.template == "/v1/findings/stream":
            self.stream(asked)
            return
        time.sleep(self.node.delay_s)
        body = self.read_body() if method == "POST" else None
        if method == "GET" and self.path in self.node.answers:
            self.send_bytes(200, "application/json", self.node.answers[self.path])
            return
        status, answer = made_up_answers.answer(self.node, route.template, parts, asked, body)
        if status is None:
            raise Problem(*answer)
        encoded = json.dumps(answer, separators=(",", ":")).encode()
        if path.endswith(("/heatmap", "/waits", "/links")):
            self.node.answers[self.path] = encoded
        self.send_bytes(status, "application/json", encoded)

    def find_route(self, path):
        for route in self.node.routes:
            match = route.pattern.match(path)
            if match:
                return route, {
                    name: urllib.parse.unquote(value) for name, value in match.groupdict().items()
                }
        raise Problem(404, "path", f"there is no {path[:200]}")

    def authorize(self, method, path):
        if self.node.token is None:
            if method == "POST":
                raise Problem(
                    403, "control", "this node takes no control actions: it has no token file"
                )
            return
        if path in ("/healthz", "/readyz", "/openapi.json"):
            return
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if given not in (self.node.token, self.node.token + "-read"):
            detail = "the token is none of this node's" if given else "this node wants a token"
            raise Problem(401, "token", detail)
        if method == "POST" and given.endswith("-read"):
            raise Problem(403, "scope", "the token may read, and this needs the scope control")

    def read_query(self, known, query):
        asked = {}
        for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
            if name not in known:
                raise Problem(400, "parameter", f"there is no parameter {name}")
            schema = known[name]
            if schema.get("type") == "integer":
                if not value.isdigit() or not schema["minimum"] <= int(value) <= schema["maximum"]:
                    raise Problem(400, "parameter", f"{name} is no whole number that is allowed")
                asked[name] = int(value)
            elif "pattern" in schema and not re.search(schema["pattern"], value):
                raise Problem(400, "parameter", f"{name} is not written as it must be")
            else:
                asked[name] = value
        return asked

    def read_body(self):
        if self.headers.get("Content-Type") != "application/json":
            raise Problem(415, "type", "the body must be application/json")
        try:
            return json.loads(self.sent or b"{}")
        except ValueError as error:
            raise Problem(400, "body", "the body is no JSON") from error

    def stream(self, asked):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        last = self.headers.get("Last-Event-ID")
        seen = int(last) if last and last.isdigit() else len(self.node.events)
        self.wfile.write(b": hello\n\n")
        self.wfile.flush()
        while True:
            with self.node.changed:
                self.node.changed.wait_for(
                    lambda: self.node.stopped
                    or self.node.mode != "serving"
                    or len(self.node.events) > seen,
                    10,
                )
                if self.node.stopped or self.node.mode != "serving":
                    return
                fresh = self.node.events[seen:]
            for number, finding in fresh:
                seen = number
                if asked.get("job", finding["job"]) != finding["job"]:
                    continue
                self.wfile.write(
                    f"id: {number}\nevent: finding\ndata: {json.dumps(finding)}\n\n".encode()
                )
            self.wfile.write(b": alive\n\n")
            self.wfile.flush()

    def send_problem(self, problem, path):
        body = {
            "type": "urn:eroica:problem:" + problem.name,
            "title": problem.name,
            "status": problem.status,
            "detail": problem.detail,
            "instance": path[:200],
        }
        self.send_bytes(problem.status, "application/problem+json", json.dumps(body).encode())

    def send_bytes(self, status, content_type, body):
        etag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        if status == 200 and self.headers.get("If-None-Match") == etag:
            self.send_response(304)
            self.send_header("ETag", etag)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        zipped = "gzip" in self.headers.get("Accept-Encoding", "") and len(body) > 512
        if zipped:
            if len(self.node.zipped) > 200:
                self.node.zipped.clear()
            if etag not in self.node.zipped:
                self.node.zipped[etag] = gzip.compress(body, 6, mtime=0)
            body = self.node.zipped[etag]
        self.send_response(status)
        for name, value in (
            ("Content-Type", content_type),
            ("ETag", etag),
            ("Cache-Control", "no-cache"),
            ("Content-Security-Policy", CSP),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Length", str(len(body))),
        ):
            self.send_header(name, value)
        if zipped:
            self.send_header("Content-Encoding", "gzip")
        if status == 503:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--token")
    parser.add_argument("--emit-every", type=float, metavar="SECONDS")
    options = parser.parse_args()
    node = StandInNode(options.port, options.token).start()
    print(node.url, flush=True)
    turn = 0
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(options.emit_every or 3600)
            if options.emit_every:
                findings = node.findings()
                node.emit(findings[turn % len(findings)])
                turn += 1


if __name__ == "__main__":
    main()

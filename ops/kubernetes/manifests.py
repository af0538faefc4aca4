"""The manifests as objects: as they stand in their files, and as kustomize puts them together."""

import functools
import json
import os
import re
import shutil
import subprocess
import tomllib

import jsonschema
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = ("base", "topics", "alert", "producers", "overlays/example")  # tls holds patches alone
# The oldest and the newest Kubernetes that they are checked for (ops/kubernetes/schemas.sh).
VERSIONS = ("v1.29.0-local-strict", "v1.37.0-local-strict")
_CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
SCHEMAS = os.path.join(_CACHE, "eroica", "kubernetes-schemas-1.37.0")


def text(path):
    with open(os.path.join(HERE, path), encoding="utf-8") as file:
        return file.read()


def config(path="base/node.toml"):
    return tomllib.loads(text(path))


def documents(yaml_text):
    return [document for document in yaml.safe_load_all(yaml_text) if document]


def files():
    """{path below this folder: documents} of every manifest, without kustomize's own files."""
    found = {}
    for folder in FOLDERS:
        for name in sorted(os.listdir(os.path.join(HERE, folder))):
            if name.endswith(".yaml") and name != "kustomization.yaml":
                found[f"{folder}/{name}"] = documents(text(f"{folder}/{name}"))
    return found


@functools.cache
def kustomize():
    """The command that puts a folder together; None where there is no tool for it. A kubectl that
    does not tell the version of its kustomize has one that knows no components."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    if shutil.which("kubectl"):
        asked = ["kubectl", "version", "--client", "--output=json"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False).stdout
        if "kustomizeVersion" in answer:
            return ["kubectl", "kustomize"]
    return None


def rendered(folder):
    command = kustomize() + [os.path.join(HERE, folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
    return documents(done.stdout)


def only(objects, kind, name):
    """The one object of that kind and name; what kustomize hashes is found by its first part."""
    matches = [
        one
        for one in objects
        if one["kind"] == kind and re.fullmatch(re.escape(name) + r"(-[a-z0-9]{10})?", one["metadata"]["name"])
    ]
    if len(matches) != 1:
        raise AssertionError(f"{len(matches)} objects {kind}/{name}")
    return matches[0]


def pods(objects):
    """{name: spec of its pods} of everything that makes pods."""
    return {
        f"{one['kind']}/{one['metadata']['name']}": one["spec"]["template"]["spec"]
        for one in objects
        if one["kind"] in ("StatefulSet", "Deployment", "DaemonSet", "Job")
    }


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


def _inside_one_file(schema_text):
    """The schemas refer to one file of definitions; put into one document they need no resolver."""
    return json.loads(schema_text.replace('"/api/_definitions.json#', '"#'))


@functools.cache
def _definitions(version):
    with open(os.path.join(SCHEMAS, version, "_definitions.json"), encoding="utf-8") as file:
        return _inside_one_file(file.read())["$defs"]


def volume(pod, name):
    return next(one for one in pod["volumes"] if one["name"] == name)


def problems(document, version):
    """What the strict schema of a version of Kubernetes has against a document."""
    group, _, api = document["apiVersion"].rpartition("/")
    name = "-".join(filter(None, (document["kind"].lower(), group.split(".")[0], api)))
    path = os.path.join(SCHEMAS, version, f"{name}.json")
    if not os.path.isfile(path):
        return [f"{version} knows no {document['kind']} of {document['apiVersion']}"]
    with open(path, encoding="utf-8") as file:
        schema = _inside_one_file(file.read())
    schema["$defs"] = _definitions(version)
    validator = jsonschema.Draft202012Validator(schema)
    return [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message}"
        for error in validator.iter_errors(document)
    ]


def quantity_mib(value):
    """Kubernetes' quantities of memory, in MiB."""
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", value).groups()
    return int(number) * (1024 if unit == "Gi" else 1)

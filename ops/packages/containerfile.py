"""The Containerfile as its stages: what tests look at, and build from without compiling anew."""

import json
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Containerfile")
KNOWN = ("FROM", "ARG", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD")


class Stage:
    """One FROM: its base, and (instruction, rest of the line) in order."""

    def __init__(self, base, name):
        self.base = base
        self.name = name
        self.instructions = []

    def all(self, instruction):
        return [rest for name, rest in self.instructions if name == instruction]

    def last(self, instruction):
        return self.all(instruction)[-1]

    def commands(self):
        """What RUN gives to a shell, without BuildKit's options."""
        return [re.sub(r"^(--\S+\s+)+", "", rest) for rest in self.all("RUN")]

    def exec_form(self, instruction):
        """The words of ENTRYPOINT or CMD; ValueError where a shell would be needed."""
        return json.loads(self.last(instruction))


def stages(text=None):
    """{name: Stage} of the file; ValueError for what no stage can hold."""
    if text is None:
        with open(PATH, encoding="utf-8") as file:
            text = file.read()
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    found = {}
    stage = None
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction not in KNOWN:
            raise ValueError(f"no instruction: {line}")
        if instruction == "FROM":
            base, name = re.fullmatch(r"(\S+) AS (\S+)", rest).groups()
            stage = found[name] = Stage(base, name)
        else:
            stage.instructions.append((instruction, rest.strip()))
    return found


def with_packages(folder):
    """The text with a stage `build` that takes the packages from a folder of the context. It has
    several layers, as the one that compiles: Podman treats their cache differently."""
    with open(PATH, encoding="utf-8") as file:
        text = file.read()
    compiling = re.compile(r"^FROM \S+ AS build$.*?(?=^FROM )", re.MULTILINE | re.DOTALL)
    copying = f"FROM debian:bookworm AS build\nWORKDIR /src\nCOPY {folder} /packages\n\n"
    replaced, count = compiling.subn(copying, text)
    if count != 1:
        raise ValueError("the Containerfile has no stage build")
    return replaced

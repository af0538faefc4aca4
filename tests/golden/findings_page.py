#!/usr/bin/env python3
"""The examples of docs/FINDINGS.md: what eroica prints of the scenarios and traces that they name.

    python3 tests/golden/findings_page.py build/release           says which differ; exit code 1 where one does
    python3 tests/golden/findings_page.py build/release --write   brings them up to date

Of a chain of effects the page shows the first three and the last.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "FINDINGS.md"
TRACES = ROOT.parent / "shared" / "traces"
EXAMPLE = re.compile(r"(Example, (?P<trace>the trace )?`(?P<name>[^`]+)`(?:, seed (?P<seed>\d+))?[^\n]*:\n\n)(?P<text>(?:    [^\n]*\n|\n(?=    ))+)")
KIND = re.compile(r"^ +kind +(.*)$", re.MULTILINE)
PROGRAM, LAB = "ops/cli/eroica", "tests/evaluation/lab/eroica-lab"
COLUMNS = "112"
MOST_LINKS = 3


def run(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=dict(os.environ, COLUMNS=COLUMNS, TZ="UTC"), check=False)
    if result.returncode > 1:  # 1: findings
        sys.exit("%s %s: %s" % (program, arguments[0], result.stderr))
    return result.stdout


def findings_of_scenario(build, name, seed, folder):
    scenario = re.sub(r"(?m)^seeds = .*$", "seeds = [%s]" % seed, (ROOT / "tests/scenarios/dev" / (name + ".toml")).read_text())
    path = folder / (name + ".toml")  # jobs are called by it
    path.write_text(scenario)
    run(build / LAB, "simulate", path, "-o", folder / "recording")
    run(build / PROGRAM, "node", "--recording", folder / "recording", "--state", folder / "state", "--drain")
    return run(build / PROGRAM, "findings", "--recording", folder / "recording")


def shortened(lines):
    links = [i for i, line in enumerate(lines) if line.lstrip().startswith(("chain ", "-> "))]
    if len(links) <= MOST_LINKS + 1:
        return lines
    indent = lines[links[1]][: len(lines[links[1]]) - len(lines[links[1]].lstrip())]
    return lines[: links[MOST_LINKS]] + [indent + "..."] + lines[links[-1]:]


def printed(text, kind):
    """The one of the findings in `text` that is of the kind, as the page shows it."""
    for finding in re.split(r"\n(?=\[)", text):
        found = KIND.search(finding)
        if found and found.group(1) == kind:
            lines = shortened(finding.rstrip().split("\n"))
            return "".join("    %s\n" % line.rstrip() if line.strip() else "\n" for line in lines)
    return ""


def example(build, match):
    """The example's text today; as it is where its trace is not there."""
    kind = KIND.search(match["text"]).group(1)
    if match["trace"]:
        trace = TRACES / match["name"]
        return printed(run(build / PROGRAM, "diagnose", trace), kind) if trace.exists() else match["text"]
    with tempfile.TemporaryDirectory() as folder:
        return printed(findings_of_scenario(build, match["name"], match["seed"], pathlib.Path(folder)), kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="folder of the build")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    page = PAGE.read_text()
    differing = []

    def replaced(match):
        now = example(arguments.build, match)
        if now != match["text"]:
            differing.append(match["name"] + ("" if now else ": nothing of its kind is found"))
        return match[1] + (now or match["text"])

    new = EXAMPLE.sub(replaced, page)
    if arguments.write:
        PAGE.write_text(new)
    for name in differing:
        print("docs/FINDINGS.md: %s" % name)
    if differing and not arguments.write:
        print("bring it up to date: python3 tests/golden/findings_page.py BUILD --write")
    return 1 if differing and not arguments.write else 0


if __name__ == "__main__":
    sys.exit(main())

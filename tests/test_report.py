#!/usr/bin/env python3
"""What a run of the tests says beside ctest's own summary: the slowest tests, what was skipped and
why, and how many tests passed, a program's tests counted one by one.

    tests/test_report.py JUNIT RESULTS [--slowest N]

JUNIT is what ctest --output-junit wrote, RESULTS the folder of googletest's XML (GTEST_OUTPUT). The
last line is `tests: N passed, N failed, N skipped`. The exit code is 0 whatever the tests did.
"""

import argparse
import pathlib
import re
import xml.etree.ElementTree as ElementTree


class Case:
    """A test that ran. seconds: wall clock. skipped: the reason, None where it was not skipped."""

    def __init__(self, name, seconds, failed, skipped):
        self.name, self.seconds, self.failed, self.skipped = name, seconds, failed, skipped


def entries(junit):
    """The entries of ctest, a program or a test each."""
    cases = []
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        status = case.get("status")
        if status == "disabled":
            continue
        output = case.findtext("system-out") or ""
        skip = case.find("skipped")
        why = None if skip is None else _reason(output) or skip.get("message", "")
        cases.append(Case(case.get("name"), float(case.get("time", 0)), status == "fail", why))
    return cases


def _reason(output):
    """The last line that says why: `skipped: ...` of scripts, or the text of GTEST_SKIP."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"skipped\b", line, re.IGNORECASE)]
    return said[-1] if said else ""


def tests_of_programs(results):
    """By program: its tests."""
    programs = {}
    for file in sorted(pathlib.Path(results).glob("*.xml")):
        try:
            root = ElementTree.parse(file).getroot()
        except ElementTree.ParseError:
            continue  # of a program that was ended: ctest counts it as failed
        tests = []
        for case in root.iter("testcase"):
            skip = case.find("skipped")
            why = None if skip is None else " ".join((skip.get("message") or "").split())
            name = f"{case.get('classname')}.{case.get('name')}"
            failed = case.find("failure") is not None
            if case.get("status") == "run":
                tests.append(Case(name, float(case.get("time", 0)), failed, why))
        programs[file.stem] = tests
    return programs


def combine(ctest, programs):
    """The tests one by one: a program that ctest runs as one entry counts by its tests."""
    cases = []
    for entry in ctest:
        tests = programs.get(entry.name)
        # A program that was ended has failed, whatever of it had passed by then.
        if tests is None or (entry.failed and not any(test.failed for test in tests)):
            cases.append(entry)
        else:
            cases += tests
    return cases


def text(ctest, cases, slowest):
    lines = [f"The {min(slowest, len(ctest))} slowest:"]
    for case in sorted(ctest, key=lambda case: -case.seconds)[:slowest]:
        lines.append(f"  {case.seconds:8.2f} s  {case.name}")
    skipped = [case for case in cases if case.skipped is not None]
    if skipped:
        lines.append(f"Skipped ({len(skipped)}):")
        lines += [f"  {case.name}: {case.skipped or 'no reason given'}" for case in skipped]
    failed = sum(case.failed for case in cases)
    passed = len(cases) - failed - len(skipped)
    lines.append(f"tests: {passed} passed, {failed} failed, {len(skipped)} skipped")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("junit")
    parser.add_argument("results")
    parser.add_argument("--slowest", type=int, default=20)
    options = parser.parse_args()
    ctest = entries(options.junit)
    print(text(ctest, combine(ctest, tests_of_programs(options.results)), options.slowest))


if __name__ == "__main__":
    main()

"""docs/reference/finding.schema.json: what findings look like as JSON. The golden findings keep it, crafted ones that
break it are refused, and its enums are those of the code. EROICA_TEST_PROGRAM: what that program says of real traces
is held against it, too."""

import copy
import json
import os
import pathlib
import re
import subprocess
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/finding.schema.json").read_text())
TRACES = ROOT.parent / "shared" / "traces"


def golden_findings():
    for path in sorted((ROOT / "tests/golden/expected").glob("*.json")):
        for line in path.read_text().splitlines():
            yield json.loads(line)


def closed(schema):
    """The same, but fields that it does not describe are refused."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and schema.get("type") == "object":
        result["additionalProperties"] = False
    return result


def enum_of(name):
    """The names of an enum of finding.fbs, in order."""
    text = (ROOT / "schemas/finding.fbs").read_text()
    body = re.search(r"enum %s : ubyte \{(.*?)\}" % name, text, re.DOTALL).group(1)
    return re.findall(r"(\w+) = \d+", body)


def changed(finding, path, value):
    finding = copy.deepcopy(finding)
    place = finding
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return finding


# What breaks the schema: where, and what stands there (None: nothing).
BREAKAGES = (
    (("id",), "not hex"),
    (("id",), None),
    (("job",), ""),
    (("kind",), "slow"),
    (("kind",), 0),
    (("severity",), "Critical"),
    (("state",), "closed"),
    (("function_class",), ""),
    (("confidence",), 1.5),
    (("confidence",), "0.9"),
    (("title",), None),
    (("culprits",), {}),
    (("culprits", 0), {}),
    (("culprits", 0, "rank"), -1),
    (("culprits", 0, "host"), ""),
    (("victims", 0, "lost_ns"), 0.5),
    (("victims", 0, "rank"), None),
    (("evidence", 0, "unit"), "ms"),
    (("evidence", 0, "name"), "Busy Time"),
    (("evidence", 0, "samples"), -1),
    (("chain", 0, "rank"), -2),
    (("windows", "first"), None),
    (("steps",), [1, 2]),
    (("data_quality", "events_lost"), "none"),
    (("operator",), "slow_rank"),
    (("emitted_at_ns",), -1),
    (("first_seen",), "yesterday"),
    (("last_seen",), 1795582212606497819),
    (("emitted_at",), "2026-11-25 13:00"),
)


@unittest.skipIf(jsonschema is None, "needs jsonschema: ops/install_dependencies.sh --tests")
class FindingSchemaTest(unittest.TestCase):
    def setUp(self):
        self.open = jsonschema.Draft202012Validator(SCHEMA)
        self.closed = jsonschema.Draft202012Validator(closed(SCHEMA))

    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_golden_findings_keep_it_and_have_nothing_else(self):
        findings = list(golden_findings())
        self.assertGreater(len(findings), 5)
        for finding in findings:
            self.closed.validate(finding)

    def test_what_the_program_says_of_real_traces_keeps_it(self):
        program = os.environ.get("EROICA_TEST_PROGRAM")
        traces = [TRACES / "torch-gloo" / name for name in ("slow_compute_4r", "hang_rank2_4r")]
        if not program or not all(trace.exists() for trace in traces):
            self.skipTest("needs EROICA_TEST_PROGRAM, and the traces beside the repository")
        for trace in traces:
            run = subprocess.run([program, "diagnose", str(trace), "--json"], capture_output=True, text=True, check=False)
            said = [json.loads(line) for line in run.stdout.splitlines()]
            findings = [line for line in said if "id" in line]
            self.assertTrue(findings, run.stderr)
            for finding in findings:
                self.closed.validate(finding)

    def test_the_example_of_the_page_keeps_it(self):
        page = (ROOT / "docs/SUBSCRIBERS.md").read_text()
        examples = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
        self.assertTrue(examples)
        for example in examples:
            self.closed.validate(json.loads(example))

    def test_crafted_ones_are_refused(self):
        good = next(f for f in golden_findings() if f["culprits"] and f["victims"] and f["chain"])
        self.open.validate(good)
        for path, value in BREAKAGES:
            self.assertFalse(self.open.is_valid(changed(good, path, value)), "%s = %r" % (path, value))
        self.assertFalse(self.open.is_valid([]))

    def test_later_versions_may_have_more_fields(self):
        good = next(golden_findings())
        self.open.validate(dict(good, added_later=1))


class FindingSchemaOfTheCodeTest(unittest.TestCase):
    def test_enums_are_those_of_the_flatbuffers(self):
        properties = SCHEMA["properties"]
        self.assertEqual(properties["kind"]["enum"], enum_of("FindingKind"))
        self.assertEqual(properties["severity"]["enum"], enum_of("Severity"))
        self.assertEqual(properties["state"]["enum"], enum_of("FindingState"))
        self.assertEqual(properties["function_class"]["enum"], enum_of("FunctionClass"))

    def test_units_are_those_of_the_evidence(self):
        page = (ROOT / "docs/reference/evidence.md").read_text()
        units = set(re.findall(r"^\| `\w+` \| ([\w/]+) \|", page, re.MULTILINE))
        self.assertEqual(set(SCHEMA["properties"]["evidence"]["items"]["properties"]["unit"]["enum"]), units)

    def test_the_events_name_it(self):
        header = (ROOT / "stream_ops/diagnose/finding_event.h").read_text()
        self.assertIn('"%s"' % SCHEMA["$id"], header)


if __name__ == "__main__":
    unittest.main()

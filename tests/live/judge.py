"""Judges what was found in one run of a real job against what was wrong in it. Pure.

A finding is right where it names the faulty rank and nobody else (for a link: one of its ends that
sends, or both). Where it names nobody but is right in cause, it is unnamed. Any other finding is
false: it sends a person to the wrong machine. So is a finding that was over before the fault began.
Gaps in the telemetry (monitoring_gap) blame nobody and are counted apart.
"""

import re
import statistics

NOT_JUDGED = ("monitoring_gap",)
WARM_UP = 2


def judge(case, findings):
    """case: see cases.toml. findings: as `eroica findings --json` prints them, latest versions."""
    judged = [f for f in findings if f.get("kind") not in NOT_JUDGED]
    relations = [_relation(case, finding) for finding in judged]
    right = [f for f, relation in zip(judged, relations) if relation == "right"]
    verdict = {
        "verdict": _verdict(case["truth"], relations),
        "function": any(_names_function(case, finding) for finding in right),
        "cause": any(_names_cause(case, finding) for finding in right),
        "false": [_in_words(f) for f, relation in zip(judged, relations) if relation == "false"],
        "repeated": max(0, len(right) - 1),
        "gaps": len(findings) - len(judged),
        "said": [_in_words(finding) for finding in findings],
    }
    return verdict


def _verdict(truth, relations):
    if not truth:
        return "false" if relations else "quiet"
    for best in ("right", "unnamed"):
        if best in relations:
            return best
    return "wrong" if relations else "missed"


def _relation(case, finding):
    truth = case["truth"]
    last_step = finding.get("steps", {}).get("last", -1)
    if not truth or 0 <= last_step < case.get("from_step", 0):
        return "false"
    culprits = finding.get("culprits", [])
    if not culprits:
        return "unnamed" if _names_cause(case, finding) else "false"
    ranks = {culprit.get("rank") for culprit in culprits}
    if "rank" in truth:
        return "right" if ranks == {truth["rank"]} else "false"
    sender, receiver = truth["link"]
    peers = {culprit["peer"] for culprit in culprits if "peer" in culprit}
    named = ranks | peers
    return "right" if sender in named and named <= {sender, receiver} else "false"


def _names_function(case, finding):
    """In its function or in the stack that led to it; where no function is to be named, always."""
    pattern = case.get("function")
    if not pattern:
        return True
    return any(re.search(pattern, finding.get(field, "")) for field in ("function", "stack"))


def _names_cause(case, finding):
    text = " ".join(finding.get(field, "") for field in
                    ("kind", "subkind", "title", "explanation")).lower()
    causes = case.get("cause", [])
    return any(re.search(cause, text) for cause in causes) if causes else True


def _in_words(finding):
    who = ", ".join(" ".join(f"{key} {value}" for key, value in culprit.items())
                    for culprit in finding.get("culprits", [])) or "nobody"
    return f"{finding.get('kind')}/{finding.get('subkind')}: {who}: {finding.get('title', '')}"


def effect(case, ranks):
    """By what share of a step the fault really slowed the job, from what its ranks measured.

    It is how much more the faulty rank needs than its peers need at the same time, so that the load
    of the machine, which they share, is no part of it: of its own time, all but the all-reduce;
    where exchange and work overlap (PyTorch), of waiting for data, or of processor time. For a
    link, which slows the all-reduce of all, it is how much longer that takes than before.
    ranks: the truth files of one run (ops/demo/truth.py). None where that cannot be told.
    """
    if not case["truth"] or not ranks or not ranks[0]["fault"]:
        return None
    fault = ranks[0]["fault"]
    if "planted_ms" in ranks[0]["times"]:
        return _planted(case, ranks, fault["step"])
    before = [_columns(truth, WARM_UP, fault["step"]) for truth in ranks]
    after = [_columns(truth, fault["step"] + WARM_UP, None) for truth in ranks]
    if "link" in case["truth"]:
        grown = [a["all_reduce_ms"] - b["all_reduce_ms"] for a, b in zip(after, before)]
        return statistics.median(grown) / statistics.median(c["step_ms"] for c in before)
    if "all_reduce_ms" in after[0]:
        needed = [columns["step_ms"] - columns["all_reduce_ms"] for columns in after]
    else:
        column = "data_ms" if fault["name"] == "data" else "cpu_ms"
        needed = [columns[column] for columns in after]
    faulty = [truth["rank"] for truth in ranks].index(case["truth"]["rank"])
    peers = needed[:faulty] + needed[faulty + 1 :]
    return (needed[faulty] - statistics.median(peers)) / statistics.median(
        columns["step_ms"] for columns in after)


def _planted(case, ranks, first):
    """What the fault itself took, where the faulty rank measured it (tests/live/frameworks)."""
    truth = next(truth for truth in ranks if truth["rank"] == case["truth"]["rank"])
    after = _columns(truth, first + WARM_UP, None)
    return after["planted_ms"] / after["step_ms"] if after.get("planted_ms") else None


def _columns(truth, first, last):
    columns = {}
    for name, values in truth["times"].items():
        if values[first:last]:
            columns[name] = statistics.median(values[first:last])
    return columns

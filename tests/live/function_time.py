"""What a finding says that a function takes, against what the faulty rank measured in the same
steps (tests/live/frameworks/planted.py). Pure."""

import statistics

CLOSE = 0.05  # of what was measured
_PLANTED = "planted.py("  # none of its functions takes time beside the fault


def of(case, findings, ranks):
    """{"told_ms", "measured_ms"} of the planted function; None where no finding names it, or the rank
    measured nothing.

    On a busy machine a sleep lasts longer in some steps than in others: the time of one window
    is compared with the mean of that window's steps. ranks: the truth files of the run."""
    measured = _measured(case, ranks)
    told = [told for finding in findings if (told := _told(case, finding)) is not None]
    if not measured or not told:
        return None
    told_ms, first, last = max(told)
    steps = measured[first:last + 1]
    if not steps or not any(steps):
        return None
    return {"told_ms": told_ms, "measured_ms": statistics.mean(steps)}


def is_close(time):
    return abs(time["told_ms"] - time["measured_ms"]) <= CLOSE * time["measured_ms"]


def _measured(case, ranks):
    of_rank = [t["times"].get("planted_ms") for t in ranks if t["rank"] == case["truth"].get("rank")]
    return of_rank[0] if of_rank else None


def _told(case, finding):
    """Of the newest window: ms a step, its first and its last step."""
    if {c.get("rank") for c in finding.get("culprits", [])} != {case["truth"].get("rank")}:
        return None
    if not finding.get("function", "").startswith(_PLANTED):
        return None
    evidence = {measure["name"]: measure for measure in finding.get("evidence", [])}
    time, busy = (evidence.get(n) for n in ("function_time_per_step", "busy_time_per_step"))
    last = finding.get("steps", {}).get("last", -1)
    if time is None or busy is None or last < 0:
        return None
    return time["culprit"] / 1e6, max(0, last + 1 - int(busy["samples"])), last

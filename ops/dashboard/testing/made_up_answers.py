"""Which answer the stand-in gives at which path of the contract."""

import secrets
import time

import made_up_ranks as ranks
from made_up_job import rfc3339

ORDER = ("critical", "major", "minor", "info")
JOB = "/v1/jobs/{job}"


def missing(what):
    return None, (404, "missing", what)


def answer(node, template, parts, asked, body):
    """(status, JSON), or (None, (status, name, detail)) where there is none."""
    if template in PLAIN:
        return PLAIN[template](node, asked)
    if template.startswith("/v1/findings/{finding}"):
        return _finding(node, template, parts["finding"], body)
    if not template.startswith(JOB):
        return missing("the stand-in has none of it")
    job = node.jobs.get(parts["job"])
    if job is None:
        return missing("this node knows no job of that name")
    if template == JOB:
        return 200, {"as_of": job.as_of(), "job": job.job_json()}
    if template == JOB + "/capture":
        entry = _audit(node, "capture", job.name, f"level {body.get('level', 2)}")
        return 202, {
            "audit_id": entry["audit_id"],
            "detail": "asked of the producers; they begin within a second",
        }
    if template == JOB + "/windows":
        held = [job.window_json(index) for index in reversed(job.indices())]
        return 200, {"as_of": job.as_of(), "windows": held, "next_cursor": None}
    if template == JOB + "/steps":
        return 200, job.steps_json()
    return _of_window(job, template, parts, asked)


def _of_window(job, template, parts, asked):
    name = parts.get("window", asked.get("window", "latest"))
    index = job.index_of(name)
    if index is None:
        return missing(
            f"the window {name} is not held: this node holds {job.windows_held} of the newest"
        )
    if "rank" in parts and not (parts["rank"].isdigit() and int(parts["rank"]) < job.ranks):
        return missing("the job has no rank of that number")
    place = job.place_of(parts["function"]) if "function" in parts else 0
    if place is None:
        return missing("the job runs no function of that id")
    answers = {
        "/windows/{window}": lambda: {"as_of": job.as_of(), "window": job.window_json(index)},
        "/functions": lambda: job.functions_json(index),
        "/functions/{function}": lambda: job.function_json(place, index),
        "/functions/{function}/history": lambda: job.history_json(place, asked["rank"]),
        "/heatmap": lambda: job.heatmap_json(
            index, asked.get("metric", "excess"), asked.get("functions", 32)
        ),
        "/ranks": lambda: ranks.ranks_json(
            job, index, int(asked.get("cursor", 0)), asked.get("limit", 100), asked.get("host")
        ),
        "/ranks/{rank}": lambda: ranks.rank_json(job, int(parts["rank"]), index),
        "/communicators": lambda: ranks.communicators_json(job, index),
        "/communicators/{communicator}": lambda: ranks.communicator_json(job, index),
        "/waits": lambda: ranks.waits_json(job, index, asked.get("limit", 500)),
        "/links": lambda: ranks.links_json(job, index, asked.get("limit", 5000)),
    }
    return 200, answers[template.removeprefix(JOB)]()


def _jobs(node, asked):
    jobs = [
        job.job_json() for job in node.jobs.values() if asked.get("state", job.state) == job.state
    ]
    first, limit = int(asked.get("cursor", 0)), asked.get("limit", 100)
    more = first + limit < len(jobs)
    return 200, {
        "as_of": _as_of(node),
        "jobs": jobs[first : first + limit],
        "next_cursor": str(first + limit) if more else None,
        "unreachable_nodes": [],
    }


def _as_of(node):
    return {"watermark": rfc3339(node.now - 9), "complete": True}


def _findings(node, asked):
    chosen = [finding for finding in node.findings() if _is_asked_for(finding, asked)]
    chosen.sort(
        key=lambda one: (
            one["state"] == "resolved",
            ORDER.index(one["severity"]),
            -one["lost_gpu_seconds_per_hour"],
        )
    )
    return 200, {
        "as_of": _as_of(node),
        "findings": [
            _brief(one) if asked.get("view") == "brief" else one
            for one in chosen[: asked.get("limit", 100)]
        ],
        "next_cursor": None,
    }


def _brief(finding):
    worst = sorted(finding["victims"], key=lambda victim: -victim["lost_ns"])
    return finding | {"victims": worst[:10]}


def _is_asked_for(finding, asked):
    state = asked.get("state")
    return (
        asked.get("job", finding["job"]) == finding["job"]
        and (
            state is None
            or finding["state"] == state
            or (state == "open" and finding["state"] != "resolved")
        )
        and asked.get("kind", finding["kind"]) == finding["kind"]
        and ORDER.index(finding["severity"]) <= ORDER.index(asked.get("severity", "info"))
        and (
            "rank" not in asked
            or any(one.get("rank") == asked["rank"] for one in finding["culprits"])
        )
    )


def _finding(node, template, name, body):
    finding = next((one for one in node.findings() if one["id"] == name), None)
    if finding is None:
        return missing("this node holds no finding of that id")
    action = template.removeprefix("/v1/findings/{finding}").lstrip("/")
    if action:
        now, note = time.time(), body.get("note", "")
        done = {"by": "night-shift", "at": rfc3339(now), "note": note}
        if action == "acknowledge":
            finding["annotation"]["acknowledged"] = done
        elif action == "mute":
            if not isinstance(body.get("minutes"), int):
                return None, (422, "body", "minutes is missing")
            finding["annotation"]["muted"] = done | {"until": rfc3339(now + 60 * body["minutes"])}
        else:
            finding["annotation"]["muted"] = None
        _audit(node, action, name, note)
        node.emit(finding)
    return 200, {"as_of": _as_of(node), "finding": finding}


def _audit(node, action, target, detail):
    entry = {
        "audit_id": secrets.token_hex(8),
        "at": rfc3339(time.time()),
        "by": "night-shift",
        "action": action,
        "target": target,
        "detail": detail,
    }
    node.audit.insert(0, entry)
    return entry


def _status(node, _):
    stages = [
        {
            "stage": stage,
            "tasks": 8,
            "tasks_restoring": 0,
            "records_received": 1_284_000 // (place + 1),
            "records_processed": 1_283_990 // (place + 1),
            "records_emitted": 90_210 // (place + 1),
            "records_unreadable": 0,
            "lag_records": 10,
            "held_records": 0,
            "held_seconds": 0,
            "dead_letters": 0,
            "outputs_dropped": 0,
            "retries": place,
        }
        for place, stage in enumerate(("summarize", "align", "diagnose"))
    ]
    return 200, {
        "node": "eroica-0",
        "version": "0.1.0",
        "started": rfc3339(node.now - 86_400 * 3),
        "ready": True,
        "healthy": True,
        "reasons": [],
        "roles": ["summarize", "align", "diagnose", "rest"],
        "stages": stages,
        "jobs": len(node.jobs),
        "findings_held": len(node.findings()),
        "findings_evicted": 0,
        "nodes": [
            {
                "node": f"eroica-{number}",
                "url": f"http://eroica-{number}.internal:8080",
                "announced": rfc3339(node.now - 5 - number),
            }
            for number in range(2)
        ],
    }


def _health(node, _):
    return 200, {"healthy": True, "reasons": []}


def _readiness(node, _):
    return 200, {"ready": True, "tasks_restoring": 0}


def _audit_list(node, _):
    return 200, {"entries": node.audit[:100], "next_cursor": None}


PLAIN = {
    "/v1/jobs": _jobs,
    "/v1/findings": _findings,
    "/v1/status": _status,
    "/healthz": _health,
    "/readyz": _readiness,
    "/v1/audit": _audit_list,
}

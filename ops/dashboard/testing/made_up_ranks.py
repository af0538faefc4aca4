"""What a made-up job answers about its ranks, communicators, waits and links."""

import statistics

from made_up_job import STEPS_PER_WINDOW, identity

SHORTEST_ROW_NS = 500_000  # what takes less of a step has no row


def _rank(job, rank, index, busy, step, peers):
    silent = rank in job.silent
    own = 0 if silent else busy[rank]
    return {
        "rank": rank,
        "role": job.role(rank),
        "role_name": f"stage {job.role(rank)}" if job.roles > 1 else "data",
        "host": job.host(rank),
        "device": rank % job.ranks_per_host,
        "pid": 4000 + rank,
        "silent": silent,
        "steps": 0 if silent else STEPS_PER_WINDOW,
        "step_ns": 0 if silent else step,
        "busy_ns": own,
        "wait_ns": 0 if silent else max(0, step - own - job.transfer_ns(index)),
        "peers_busy_ns": peers[job.role(rank)],
        "excess_ns": 0 if silent else own - peers[job.role(rank)],
        "data_quality": {
            "events": 0 if silent else STEPS_PER_WINDOW * len(job.functions) * 3,
            "late": 0,
            "lost": job.lost // max(1, len(job.silent) or 1) if rank in (3, 17) else 0,
            "sampled": 0,
            "outside": 12,
        },
    }


def ranks_json(job, index, first, limit, host):
    busy, step = job.busy(index), job.step_ns(index)
    peers = job.medians_by_role(busy)
    chosen = [rank for rank in range(job.ranks) if host is None or job.host(rank) == host]
    page = chosen[first : first + limit]
    more = first + limit < len(chosen)
    return {
        "as_of": job.as_of(),
        "window": job.window_name(index),
        "ranks": [_rank(job, rank, index, busy, step, peers) for rank in page],
        "next_cursor": str(first + limit) if more else None,
    }


def rank_json(job, rank, index):
    busy, step = job.busy(index), job.step_ns(index)
    functions = []
    for function, critical in [] if rank in job.silent else zip(job.functions, job.matrix(index)):
        peers = job.medians_by_role(critical)[job.role(rank)]
        functions.append(
            {
                "function": function.json(),
                "beta": round(critical[rank] / step, 4),
                "mu": 0.64,
                "sigma": 0.05,
                "count": 4 * STEPS_PER_WINDOW,
                "call_ns": critical[rank] // 4,
                "critical_ns_per_step": critical[rank],
                "peers_critical_ns_per_step": peers if peers >= SHORTEST_ROW_NS else 0,
                "peers_critical_at_most_ns_per_step": max(peers, SHORTEST_ROW_NS),
                "peers_call_ns": peers / 4,
            }
        )
    functions.sort(key=lambda row: -row["critical_ns_per_step"])
    history = {"window": [], "busy_ns": [], "peers_busy_ns": []}
    for earlier in job.indices():
        of_all = job.busy(earlier) if job.ranks <= 64 else busy
        history["window"].append(job.window_name(earlier))
        history["busy_ns"].append(None if rank in job.silent else of_all[rank])
        history["peers_busy_ns"].append(statistics.median(of_all))
    return {
        "as_of": job.as_of(),
        "window": job.window_name(index),
        "rank": _rank(job, rank, index, busy, step, job.medians_by_role(busy)),
        "resources": [
            {"resource": "gpu_sm_clock_mhz", "mean": 1755.0, "max": 1980.0, "samples": 420},
            {"resource": "gpu_temperature_c", "mean": 71.5, "max": 79.0, "samples": 420},
            {"resource": "processor_use", "mean": 0.31, "max": 0.88, "samples": 420},
            {"resource": "nic_gb_per_s", "mean": 11.2, "max": 23.9, "samples": 420},
        ],
        "functions": functions,
        "communicators": [identity(job.name + "world", 16)],
        "history": history,
    }


def _culprit(job, index):
    busy = job.busy(index)
    return busy.index(max(busy))


def communicators_json(job, index):
    culprit = _culprit(job, index)
    busy = job.busy(index)
    waited = sum(busy[culprit] - own for own in busy) * STEPS_PER_WINDOW
    groups = sorted({wait[3] for wait in job.told_waits} | {"world"})
    rows = []
    for place, group in enumerate(groups):
        whole = group == "world"
        caused = {
            "rank": culprit,
            "arrived_last": 4 * STEPS_PER_WINDOW - 3,
            "caused_wait_ns": waited,
        }
        rows.append(
            {
                "communicator": identity(job.name + group, 16),
                "name": str(place),
                "description": group,
                "members": job.ranks if whole else 2,
                "missing": len(job.silent) if whole else 0,
                "operations": 4 * STEPS_PER_WINDOW,
                "incomplete": 1 if job.hangs and whole else 0,
                "bytes": 1_400_000_000,
                "transfer_ns": job.transfer_ns(index) * STEPS_PER_WINDOW,
                "wait_ns": waited if whole else waited // 20,
                "culprit": caused if whole else None,
            }
        )
    rows.sort(key=lambda row: -row["wait_ns"])
    return {
        "as_of": job.as_of(),
        "window": job.window_name(index),
        "communicators": rows,
        "next_cursor": None,
    }


def communicator_json(job, index):
    busy, everyone = job.busy(index), range(job.ranks)
    culprit = _culprit(job, index)
    late = max(busy)
    return {
        "as_of": job.as_of(),
        "window": job.window_name(index),
        "communicator": communicators_json(job, index)["communicators"][0],
        "missing_ranks": sorted(job.silent),
        "members": {
            "rank": list(everyone),
            "operations": [4 * STEPS_PER_WINDOW for _ in everyone],
            "wait_ns": [(late - own) * STEPS_PER_WINDOW for own in busy],
            "exposed_wait_ns": [(late - own) * STEPS_PER_WINDOW for own in busy],
            "arrived_last": [
                4 * STEPS_PER_WINDOW - 3 if rank == culprit else 0 for rank in everyone
            ],
            "lateness_ns": [own - min(busy) for own in busy],
            "caused_wait_ns": [
                sum(late - own for own in busy) * STEPS_PER_WINDOW if rank == culprit else 0
                for rank in everyone
            ],
            "blocker": [job.functions[0].name if rank == culprit else "" for rank in everyone],
        },
    }


def waits_json(job, index, limit):
    waits = [
        {
            "waiting": waiting,
            "waited_for": waited_for,
            "wait_ns": wait_ns,
            "communicator": identity(job.name + communicator, 16),
            "point_to_point": point_to_point,
        }
        for waiting, waited_for, wait_ns, communicator, point_to_point in job.told_waits
    ]
    if not waits:
        busy, culprit = job.busy(index), _culprit(job, index)
        waits = [
            {
                "waiting": rank,
                "waited_for": culprit,
                "wait_ns": int((busy[culprit] - own) * STEPS_PER_WINDOW),
                "communicator": identity(job.name + "world", 16),
                "point_to_point": False,
            }
            for rank, own in enumerate(busy)
            if rank != culprit
        ]
    waits.sort(key=lambda wait: -wait["wait_ns"])
    return {
        "as_of": job.as_of(),
        "window": job.window_name(index),
        "waits": waits[:limit],
        "omitted": max(0, len(waits) - limit),
    }


def links_json(job, index, limit):
    rows = sorted(job.links_carried, key=lambda link: -link[3])[:limit]
    rows.sort(key=lambda link: (link[0], link[1]))
    return {
        "as_of": job.as_of(),
        "window": job.window_name(index),
        "links": {
            "source": [row[0] for row in rows],
            "destination": [row[1] for row in rows],
            "resource": [row[2] for row in rows],
            "bytes": [row[3] for row in rows],
            "busy_ns": [row[4] for row in rows],
            "gb_per_s": [round(row[3] / row[4], 3) if row[4] else None for row in rows],
            "retransmits": [row[5] for row in rows],
        },
        "omitted": max(0, len(job.links_carried) - limit),
    }

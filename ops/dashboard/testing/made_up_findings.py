"""Findings of the made-up jobs, worded as the diagnosis words them (docs/FINDINGS.md)."""

from made_up_job import MS, STEPS_PER_WINDOW, identity, rfc3339


def measure(name, unit, culprit, peers, threshold, samples):
    return {
        "name": name,
        "unit": unit,
        "culprit": culprit,
        "peers": peers,
        "threshold": threshold,
        "samples": samples,
    }


def make(job, kind, subkind, severity, title, **fields):
    first, last = fields.pop("first", job.newest_index), fields.pop("last", job.newest_index)
    finding = {
        "id": identity(job.name + kind + subkind + title, 32),
        "job": job.name,
        "kind": kind,
        "subkind": subkind,
        "severity": severity,
        "state": "updated",
        "confidence": 0.97,
        "title": title,
        "explanation": "",
        "suggested_action": "",
        "culprits": [],
        "function": "",
        "stack": "",
        "function_class": "python",
        "victims": [],
        "evidence": [],
        "chain": [],
        "lost_gpu_seconds_per_hour": 0.0,
        "lost_ns_per_step": 0.0,
        "windows": {"first": first, "last": last},
        "steps": {"first": last * STEPS_PER_WINDOW, "last": (last + 1) * STEPS_PER_WINDOW - 1},
        "caveats": [],
        "data_quality": {
            "events": job.ranks * 910,
            "events_lost": job.lost,
            "ranks_seen": job.ranks - len(job.silent),
            "world_size": job.ranks,
        },
        "operator": {"name": kind, "version": "1"},
        "replay_id": "",
        "first_seen": rfc3339(job.start_seconds(first + 1)),
        "last_seen": rfc3339(job.start_seconds(last + 1)),
        "emitted_at_ns": int(job.start_seconds(last + 1) * 1e9),
        "annotation": {"acknowledged": None, "muted": None},
    }
    finding.update(fields)
    finding["victims_total"] = len(finding["victims"])
    return finding


def victims(ranks, lost_ns):
    return [
        {"rank": rank, "lost_ns": lost_ns, "lost_ns_per_step": lost_ns / STEPS_PER_WINDOW}
        for rank in ranks
    ]


def slow_rank(job, rank, function):
    others = [other for other in range(job.ranks) if other != rank]
    chain = [
        {
            "rank": other,
            "description": f"rank {other} waits 1.1 s for rank {rank} in collectives of "
            "communicator world",
            "lost_ns": 1_160 * MS - other * MS,
        }
        for other in others[:7]
    ]
    chain.append(
        {
            "rank": -1,
            "description": "every step of the job takes 36.4 ms longer (25 % of 149 ms)",
            "lost_ns": int(36.4 * MS),
        }
    )
    return make(
        job,
        "slow_rank",
        "function",
        "critical",
        f"Rank {rank} holds 63 other ranks up by 36.4 ms a step (32 % of 113 ms): it runs {function.name} for "
        "36.8 ms, its peers for 0.4 ms.",
        first=55,
        confidence=0.99,
        function=function.name,
        stack=function.stack,
        function_class="python",
        culprits=[{"rank": rank, "host": job.host(rank), "device": rank % 8}],
        victims=victims(others, 1_160 * MS),
        explanation=f"Over 32 steps rank {rank} was busy for 126 ms a step and waited for others for 7.95 ms; the "
        "63 other ranks of its role were busy for 88.6 ms (median). The difference is 11.0 times the noise and "
        f"shows in 31 of 32 steps. {function.name} accounts for 100 % of it.",
        suggested_action=f"Look at {function.name} on rank {rank} (host {job.host(rank)}): only this rank spends "
        "its steps there.",
        evidence=[
            measure("busy_time_per_step", "ns", 126e6, 88.6e6, 92.6e6, 32),
            measure("wait_for_peers_per_step", "ns", 7.95e6, 45.4e6, 0, 32),
            measure("excess_over_noise", "ratio", 11.0, 1, 3, 32),
            measure("slow_steps", "count", 31, 0, 0, 32),
            measure("p_value_of_excess", "probability", 1.4e-52, 0, 0, 32),
            measure("function_time_per_step", "ns", 36.8e6, 0.4e6, 18.2e6, 7),
            measure("excess_explained_by_function", "ratio", 1.0, 0, 0.5, 7),
        ],
        chain=chain,
        lost_gpu_seconds_per_hour=64 * 3600 * 0.25,
        lost_ns_per_step=36.4e6,
    )


def regression(job):
    return make(
        job,
        "regression",
        "function",
        "minor",
        "Steps take 4.6 ms longer than 20 windows ago (4.1 % of 113 ms): aten::embedding grew from 0.4 to 1.0 ms on "
        "all ranks.",
        first=58,
        confidence=0.86,
        function="aten::embedding",
        function_class="cpu_op",
        explanation="The median step of the newest 4 windows is 113 ms, of those before 108 ms.",
        suggested_action="Look at what changed in aten::embedding or in what it reads; compare with the version "
        "before.",
        evidence=[measure("step_time", "ns", 113e6, 108e6, 110e6, 4)],
        lost_gpu_seconds_per_hour=64 * 3600 * 0.04,
        lost_ns_per_step=4.6e6,
        caveats=["A change of the learning schedule looks the same."],
    )


def resolved_transient(job):
    return make(
        job,
        "slow_rank",
        "transient",
        "minor",
        "Rank 41 is slow in single steps, by 18.9 ms in one of the last 4, and well in between.",
        first=52,
        last=54,
        state="resolved",
        confidence=0.91,
        culprits=[{"rank": 41, "host": job.host(41), "device": 1}],
        explanation="A step of rank 41 held the others up by 18.9 ms; in most steps the rank is as usual.",
        suggested_action="Watch rank 41: what becomes more frequent is a fault that is about to come.",
        evidence=[measure("busy_time_per_step", "ns", 62.9e6, 58.2e6, 58.9e6, 4)],
        lost_gpu_seconds_per_hour=7972.0,
        lost_ns_per_step=4.67e6,
        caveats=["Transient: most steps are well."],
    )


def slow_nic(job, rank):
    chain = [
        {
            "rank": 25,
            "description": f"rank 25 waits 202 ms for rank {rank} in collectives of communicator "
            "EMBEDDING_GROUP",
            "lost_ns": 202 * MS,
        }
    ]
    chain += [
        {
            "rank": other,
            "description": f"rank {other} waits 47.5 ms for rank {rank} in collectives of "
            "communicator default_pg",
            "lost_ns": int(47.5 * MS),
        }
        for other in (18, 2, 14, 30)
    ]
    chain.append(
        {
            "rank": -1,
            "description": "every step of the job takes 96.9 ms longer (46 % of 209 ms)",
            "lost_ns": int(96.9 * MS),
        }
    )
    return make(
        job,
        "communication",
        "nic",
        "critical",
        f"The NIC of rank {rank} on {job.host(rank)} sends and receives at 1.86 GB/s, connections like it at 5.63 "
        "GB/s: collectives over it end late for all, 96.9 ms a step.",
        first=199,
        confidence=0.99,
        function_class="collective",
        culprits=[{"rank": rank, "host": job.host(rank), "device": 1}],
        victims=victims([other for other in range(job.ranks) if other != rank], 900 * MS),
        explanation=f"Of the 6 slow connections the worst, from rank {rank} to rank 25, was busy for 145 ms a step "
        "to carry 268 MB; at the median speed of 31 connections of the same kind it takes 47.7 ms. All members of a "
        "collective wait for its slowest link, so every rank's collectives look long and nobody arrives late.",
        suggested_action=f"Check the NIC of rank {rank} on {job.host(rank)}: link state and width, error and "
        "retransmission counters; move the rank away until then.",
        evidence=[
            measure("speed", "GB/s", 1.86, 5.63, 4.5, 31),
            measure("busy_time_per_step", "ns", 145e6, 47.7e6, 0, 31),
            measure("slow_connections", "count", 6, 0, 1, 31),
            measure("signs_that_agree", "count", 6, 0, 2, 1),
        ],
        chain=chain,
        lost_gpu_seconds_per_hour=32 * 3600 * 0.46,
        lost_ns_per_step=96.9e6,
        annotation={
            "acknowledged": {
                "by": "night-shift",
                "at": rfc3339(job.now - 1500),
                "note": "Ticket NET-4411, cable swap at 06:00.",
            },
            "muted": None,
        },
    )


def monitoring_gap(job):
    return make(
        job,
        "monitoring_gap",
        "events_lost",
        "info",
        "1,250 events of rank 3 were lost in 2 windows: what is said of it rests on less.",
        first=202,
        confidence=0.99,
        culprits=[{"rank": 3, "host": job.host(3)}],
        suggested_action="Enlarge the ring of rank 3's producer.",
        evidence=[measure("steps_missing_of_rank_3", "ratio", 0.06, 0, 0.02, 64)],
    )


def hang(job, rank):
    waiting = [other for other in range(job.ranks) if other != rank]
    return make(
        job,
        "hang",
        "never launched",
        "critical",
        f"The job hangs: rank {rank} never launched all_reduce 1187 of default_pg, 15 ranks wait for it.",
        confidence=0.95,
        function_class="collective",
        culprits=[{"rank": rank, "host": job.host(rank), "device": 3}],
        victims=victims(waiting, 840_000 * MS),
        explanation=f"15 ranks have launched all_reduce 1187 of default_pg and stand in it. Rank {rank} has not: by "
        "the sequence numbers it is behind all others there, and no collective in flight holds it. So the fault lies "
        "in what its training thread does, not in the communication.",
        suggested_action=f"Look at the stacks of rank {rank} (py-spy dump), then restart the job.",
        evidence=[
            measure("launched", "count", 1186, 1187, 0, 15),
            measure("ranks_waiting", "count", 0, 15, 0, 16),
            measure("standing_for", "ns", 840e9, 840e9, 60e9, 16),
        ],
        chain=[
            {
                "rank": -1,
                "description": f"15 ranks wait in all_reduce 1187 of default_pg, without rank {rank}",
                "lost_ns": 840_000 * MS,
            }
        ],
        lost_gpu_seconds_per_hour=16 * 3600.0,
    )


def slow_host(job, ranks, function):
    host = job.host(ranks[0])
    return make(
        job,
        "slow_rank",
        "host",
        "major",
        f"All 8 ranks of host {host} hold 9,992 other ranks up by 5.2 ms a step (1.5 % of 341 ms): "
        f"{function.name} takes 18.5 ms there, elsewhere 13.3 ms.",
        first=1436,
        confidence=0.97,
        function=function.name,
        stack=function.stack,
        function_class="gpu_compute",
        culprits=[{"rank": rank, "host": host, "device": rank % 8} for rank in ranks],
        victims=victims([rank for rank in range(job.ranks) if rank not in ranks], 166 * MS),
        explanation=f"The kernels of all 8 ranks of {host} take 1.39 times as long as those of the other hosts, the "
        "arithmetic ones as much as those bound by memory.",
        suggested_action=f"Look at power and cooling of {host}, and at who else runs there; isolate it until then.",
        evidence=[
            measure("slow_ranks", "count", 8, 0, 8, 8),
            measure("kernels_longer", "ratio", 0.39, 0, 0.05, 32),
            measure("busy_time_per_step", "ns", 297e6, 292e6, 293e6, 32),
        ],
        chain=[
            {
                "rank": -1,
                "description": "every step of the job takes 5.2 ms longer (1.5 % of 341 ms)",
                "lost_ns": int(5.2 * MS),
            }
        ],
        lost_gpu_seconds_per_hour=10_000 * 3600 * 0.015,
        lost_ns_per_step=5.2e6,
    )


def minor_rank(job, rank, function):
    return make(
        job,
        "slow_rank",
        "function",
        "minor",
        f"Rank {rank} is late by 3.1 ms a step (0.9 % of 341 ms): {function.name} takes it 14.0 ms, its peers 10.9 ms.",
        first=1438,
        confidence=0.9,
        function=function.name,
        stack=function.stack,
        function_class="gpu_compute",
        culprits=[{"rank": rank, "host": job.host(rank), "device": rank % 8}],
        suggested_action=f"Compare the input sizes of rank {rank} first, then its device's clock and temperature.",
        evidence=[measure("busy_time_per_step", "ns", 295e6, 292e6, 293e6, 32)],
        lost_ns_per_step=3.1e6,
        lost_gpu_seconds_per_hour=0.0,
    )


def hostile(job, rank, function, long_name):
    return make(
        job,
        "slow_rank",
        "function",
        "major",
        f"Rank {rank} holds 3 other ranks up by 12 ms a step: it runs {function.name} for 42 ms, its peers for 30.",
        first=57,
        function=function.name,
        stack=function.stack + " > " + long_name,
        explanation=long_name,
        culprits=[{"rank": rank, "host": job.host(rank)}],
        victims=victims([0, 1, 3], 384 * MS),
        suggested_action=f"Look at {function.name} on host {job.host(rank)}.",
        caveats=[function.name],
        chain=[
            {"rank": 0, "description": f"rank 0 waits for {function.name}", "lost_ns": 384 * MS}
        ],
        evidence=[measure("busy_time_per_step", "ns", 72e6, 60e6, 62e6, 32)],
        lost_gpu_seconds_per_hour=4 * 3600 * 0.16,
        lost_ns_per_step=12e6,
    )

"""The jobs of the stand-in node: each shows what a page must be able to show."""

import made_up_findings
from made_up_job import MS, Fault, Function, MadeUpJob, pseudo_random

TRAINER = "train.py: main > train.py: train_step > "
HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J\u202eevil\u2066\r\n\"'`&amp;</script>"

LAYERS = (
    Function(
        "flash_attn_fwd_kernel<bf16, 128>",
        "gpu_compute",
        21 * MS,
        TRAINER + "attention.py(88): forward",
    ),
    Function(
        "flash_attn_bwd_kernel<bf16, 128>",
        "gpu_compute",
        33 * MS,
        TRAINER + "attention.py(121): backward",
    ),
    Function(
        "sm90_xmma_gemm_bf16_128x256", "gpu_compute", 27 * MS, TRAINER + "mlp.py(40): forward"
    ),
    Function("fused_adamw", "gpu_compute", 6 * MS, TRAINER + "optimizer.py(51): step"),
    Function("all_reduce", "collective", 14 * MS, TRAINER + "ddp.py(210): reduce_gradients"),
    Function("all_gather", "collective", 5 * MS, TRAINER + "fsdp.py(96): unshard"),
    Function(
        "data.py(52): next_batch", "python", 3 * MS, "train.py: main > data.py(52): next_batch"
    ),
    Function("Memcpy HtoD", "memory_op", 2 * MS, TRAINER + "data.py(77): to_device"),
    Function("aten::embedding", "cpu_op", MS, TRAINER + "model.py(33): embed"),
)


def slow_rank(now):
    culprit_runs = "tokenizer.py(118): normalize_unicode"
    functions = (
        *LAYERS,
        Function(
            culprit_runs,
            "python",
            400_000,
            "train.py: main > data.py(52): next_batch > data.py(60): encode > " + culprit_runs,
        ),
    )
    job = MadeUpJob(
        "llama3-70b-pretrain",
        64,
        functions,
        now,
        lost=0,
        faults=[Fault([17], culprit_runs, int(36.4 * MS), 55)],
        waits=_fan_of_waits(17) + _second_hop(64),
    )
    job.findings = [
        made_up_findings.slow_rank(job, 17, functions[-1]),
        made_up_findings.regression(job),
        made_up_findings.resolved_transient(job),
    ]
    return job


def _fan_of_waits(culprit):
    return [
        (rank, culprit, int((1160 - 3 * rank) * MS), "world", False)
        for rank in range(32)
        if rank != culprit
    ]


def _second_hop(ranks):
    """Pipeline stages that wait for those who wait for the culprit."""
    return [
        (rank, rank - 32, 410 * MS - rank * MS, "pp_forward", True) for rank in range(32, ranks)
    ]


def link_fault(now):
    links = []
    for source in range(32):
        for destination in range(32):
            same_host = source // 8 == destination // 8
            if source == destination or not (same_host or source % 8 == destination % 8):
                continue
            speed = (210 if same_host else 5.6) * (0.95 + 0.1 * pseudo_random(source, destination))
            if 9 in (source, destination) and not same_host:
                speed = 1.86
            carried = 900_000_000 if same_host else 268_000_000
            links.append(
                (
                    source,
                    destination,
                    "nvlink" if same_host else "nic",
                    carried,
                    int(carried / speed),
                    1840 if speed == 1.86 else int(3 * pseudo_random(destination, source)),
                )
            )
    job = MadeUpJob(
        "mixtral-8x22b-moe-sft",
        32,
        LAYERS,
        now,
        links=links,
        host="gpu-a%02d",
        newest_index=203,
        faults=[Fault([], "link", int(96.9 * MS), 199)],
        lost=1250,
        waits=[(25, 9, 202 * MS, "EMBEDDING_GROUP", False)]
        + [
            (rank, 9, int(47.5 * MS) - rank * 20_000, "default_pg", False)
            for rank in range(32)
            if rank != 9
        ],
    )
    job.findings = [made_up_findings.slow_nic(job, 9), made_up_findings.monitoring_gap(job)]
    return job


def hang(now):
    job = MadeUpJob(
        "gpt-neox-20b-resume",
        16,
        LAYERS,
        now,
        hangs=True,
        newest_index=8,
        windows_held=8,
        silent=[11],
        waits=[(rank, 11, 840_000 * MS, "default_pg", False) for rank in range(16) if rank != 11],
    )
    job.findings = [made_up_findings.hang(job, 11)]
    return job


def healthy(now):
    return MadeUpJob("vit-h14-ablation-07", 8, LAYERS[:7], now, kind="time", newest_index=2931)


def many_ranks(now):
    functions = [
        Function(
            f"layer_{place:02d}.block_kernel<bf16, {128 << place % 3}>",
            "gpu_compute",
            int((14 - place * 0.35) * MS),
            TRAINER + f"block.py({40 + place}): forward",
        )
        for place in range(28)
    ]
    functions += [LAYERS[4], LAYERS[5], LAYERS[6], LAYERS[7]]
    slow_host = range(4096, 4104)
    job = MadeUpJob(
        "frontier-moe-1t",
        10_000,
        functions,
        now,
        roles=4,
        lost=48_210,
        silent=[777, 7778],
        windows_held=6,
        newest_index=1440,
        waits=[
            (rank, 4096 + rank % 8, int(166 * MS) - rank, "world", False)
            for rank in range(10_000)
            if rank not in slow_host
        ],
        faults=[
            Fault(slow_host, functions[2].name, int(5.2 * MS), 1436),
            Fault([8191], functions[9].name, int(3.1 * MS), 1438),
        ],
    )
    job.findings = [
        made_up_findings.slow_host(job, slow_host, functions[2]),
        made_up_findings.minor_rank(job, 8191, functions[9]),
    ]
    return job


def hostile(now):
    long_name = "kernel_" + "A" * 10_000
    functions = (
        Function(HOSTILE, "python", 30 * MS, HOSTILE + " > " + HOSTILE),
        Function(long_name, "gpu_compute", 20 * MS, "x > " * 800 + long_name),
        Function("مرحبا بالعالم", "cpu_op", 10 * MS),
        Function("مرحبا بالعالم", "cpu_op", 2 * MS, "train.py: main > data.py(5): next_batch"),
        LAYERS[4],
    )
    job = MadeUpJob(
        HOSTILE,
        4,
        functions,
        now,
        host=HOSTILE.replace("%", "") + "%d",
        ranks_per_host=2,
        faults=[Fault([2], HOSTILE, 12 * MS, 57)],
    )
    job.findings = [made_up_findings.hostile(job, 2, functions[0], long_name)]
    return job


def ended(now):
    job = MadeUpJob(
        "resnet50-smoke", 4, LAYERS[:5], now, state="ended", windows_held=0, newest_index=3
    )
    return job


def all_jobs(now):
    jobs = [
        make(now) for make in (slow_rank, link_fault, hang, healthy, many_ranks, hostile, ended)
    ]
    order = ("critical", "major", "minor", "info")
    jobs.sort(
        key=lambda job: (
            [-job.job_json()["open_findings"][severity] for severity in order],
            job.name,
        )
    )
    return jobs

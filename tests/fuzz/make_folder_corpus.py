#!/usr/bin/env python3
"""Makes the corpus of folder_fuzz: small folders in the shapes that jobs leave, each as one archive (fuzz_folder.h).

Usage: make_folder_corpus.py FOLDER            archives
       make_folder_corpus.py --unpacked FOLDER the same as folders, for `eroica diagnose`
"""

import json
import pathlib
import pickle
import random
import sys

BASE_NS = 1_790_000_000_000_000_000


def interval(category, name, pid, tid, start, length, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length, "args": args}


def stated(rank, start, length, members, operation="allreduce", **more):
    """A kernel that says which collective it is."""
    args = {
        "device": rank,
        "stream": 20,
        "Collective name": operation,
        "In msg nelems": 8,
        "Out msg nelems": 8,
        "Group size": len(members),
        "dtype": "Float",
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": str(members),
        **more,
    }
    return interval("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL()", rank, 20, start, length, **args)


def distributed(rank, world):
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": world, "ranks": list(range(world))}
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world, "pg_config": [group]}}


def trace(events, head=None):
    return json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, **(head or {}), "traceEvents": events})


def step_events(rank, step, late=0, category="user_annotation", members=(0, 1), collective=True, marks=True):
    pid, at = 100 + rank, 10_000 * step
    events = [interval(category, f"ProfilerStep#{step}", pid, pid, at, 10_000)] if marks else []
    events.append(interval("cpu_op", "aten::mm", pid, pid, at + 20 + late, 90))
    events.append(interval("cuda_runtime", "cudaLaunchKernel", pid, pid, at + 30 + late, 8, correlation=100 + step))
    events.append(interval("kernel", "sm90_xmma_gemm_bf16", rank, 7, at + 50 + late, 4_000, correlation=100 + step, device=rank))
    if collective:
        events.append(stated(rank, at + 5_000 + late, 3_000 - late, list(members)))
    return events


def job(ranks, steps, head=distributed, suffix=".json", **more):
    """One trace a rank; rank 1's host is late in every step."""
    files = {}
    for rank in range(ranks):
        events = [e for s in range(steps) for e in step_events(rank, s, 2_000 * (rank == 1), members=range(ranks), **more)]
        files[f"rank{rank}{suffix}"] = trace(events, head(rank, ranks))
    return files


def merged():
    return {"merged_trace.json": trace([e for r in range(4) for s in range(3) for e in step_events(r, s, members=range(4))])}


def rotating():
    """Another rank is late in each step."""
    files = {}
    for rank in range(4):
        events = [e for s in range(16) for e in step_events(rank, s, 2_500 * (s % 4 == rank), members=range(4))]
        files[f"rank{rank}.json"] = trace(events, distributed(rank, 4))
    return files


def ascend():
    """torch_npu: a bare list, times as texts, no categories beside those of the host."""
    files = {}
    for rank in range(2):
        events = []
        for step in range(4):
            for event in step_events(rank, step, 2_000 * (rank == 1), collective=False):
                event["ts"] = f"17041615120{event['ts']:05d}.250"
                events.append(event)
            launch = interval("", "AscendCL@aclopCompileAndExecute", 100_002, 1_000, f"17041615120{step}0024.250", 8.0)
            del launch["cat"]
            events.append(launch)
        files[f"rank{rank}.json"] = json.dumps(events)
    return files


def pipeline():
    """Sends and receives over gloo, whose peers are told by the enqueue alone."""
    files = {}
    for rank in range(4):
        events = []
        for step in range(3):
            events += step_events(rank, step, collective=False)
            name, peer = ("send", rank + 1) if rank % 2 == 0 else ("recv_", rank - 1)
            dims = {"Input Dims": [[[8, 64]], []], "Input type": ["TensorList", ""], "Concrete Inputs": ["", "", str(peer), "0"], "External id": 7}
            at = 10_000 * step + 6_000
            events.append(interval("cpu_op", "c10d::" + name, 100 + rank, 100 + rank, at, 60, **dims))
            events.append(interval("user_annotation", "gloo:" + name.strip("_"), 100 + rank, 200, at + 10, 900, **{**dims, "External id": 8}))
        files[f"rank{rank}.json.gz"] = trace(events, distributed(rank, 4))
    return files


def python_frames():
    files = {}
    for rank in range(2):
        events = []
        for step in range(4):
            events += step_events(rank, step, collective=False)
            frames = [("train.py(20): main", 1, 9_900), ("train.py(30): slow", 5 if rank else 2, 4_000 if rank else 10)]
            for depth, (name, at, length) in enumerate(frames):
                ids = {"Python id": 10 * step + depth + 1, "Python parent id": 10 * step + depth}
                events.append(interval("python_function", name, 100 + rank, 100 + rank, 10_000 * step + at, length, **ids))
        files[f"rank{rank}.json"] = trace(events, distributed(rank, 2))
    return files


def jax():
    files = {}
    for rank in range(2):
        events = [{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}}]
        for step in range(4):
            for name, at, length in (("train", 0, 9_000), ("$train.py:12 slow_host", 10, 3_000), ("psum_invariant.7", 5_000, 800)):
                event = interval("", name, 701, 5, 10_000 * step + at + 0.793, length, step_num=str(step))
                del event["cat"]
                events.append(event)
        events.append({})
        files[f"rank{rank}.json.gz"] = json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events})
    return files


def deepep():
    files = {}
    for rank in range(4):
        events = []
        for step in range(4):
            events += step_events(rank, step, 2_000 * (rank == 1), collective=False)
            for name in ("deep_ep::intranode::dispatch", "deep_ep::intranode::combine"):
                events.append(interval("kernel", name, rank, 9, 10_000 * step + 6_000 + len(name), 300, device=rank))
        files[f"rank{rank}.json"] = trace(events, distributed(rank, 4))
    return files


def with_connections():
    files = job(2, 3)
    for rank in range(2):
        ends = f"10.0.0.{rank + 1}:5000 10.0.0.{2 - rank}:5000"
        files[f"ss_rank{rank}.txt"] = f"State Recv-Q Send-Q\nESTAB 0 0 {ends}\n\t cubic bytes_acked:{900 + rank} busy:45ms retrans:0/3\n"
    return files


def entry(number, name, state, group="0", point_to_point=False, elements=1_000, **more):
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": [group, "default_pg"],
        "collective_seq_id": 0 if point_to_point else number + 1,
        "p2p_seq_id": number + 1 if point_to_point else 0,
        "op_id": number + 1,
        "profiling_name": name,
        "time_created_ns": BASE_NS + 1_000_000 * number,
        "input_sizes": [[elements]],
        "input_dtypes": ["BFloat16"],
        "state": state,
        "time_discovered_started_ns": None,
        "retired": state == "completed",
        "timeout_ms": 600_000,
        "is_p2p": point_to_point,
        **more,
    }


def dumps(of_rank, ranks=4, name="nccl_trace_rank_%d", as_json=False, groups=None):
    files = {}
    for rank in range(ranks):
        config = groups or {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}}
        dump = {"version": "2.10", "nccl_version": "2.27.5", "pg_config": config, "entries": of_rank(rank)}
        files[name % rank] = json.dumps(dump) if as_json else pickle.dumps(dump, 2)
    return files


def reduces(count, last="scheduled"):
    return [entry(i, "nccl:all_reduce", "completed" if i + 1 < count else last) for i in range(count)]


def over_gloo(rank):
    """Retired by most when the last number had not begun on all."""
    return [entry(i, "gloo:all_reduce", "scheduled", retired=i < 6 - (rank == 3)) for i in range(7 - (rank == 3))]


def far(rank):
    """Numbers and times at the end of 64 bits, which nothing may be added to."""
    last = 2**63 - 1
    return [
        entry(0, "gloo:all_reduce", "scheduled", collective_seq_id=last - 1),
        entry(1, "gloo:all_reduce", "scheduled", collective_seq_id=last),
        entry(2, "nccl:coalesced", "scheduled", collective_seq_id=last),
        entry(3, "nccl:all_reduce", "completed", time_discovered_completed_ns=last),
        entry(4, "nccl:all_reduce", "scheduled", timeout_ms=2**62 // 10**6),
        entry(5 + rank, "nccl:all_reduce", "scheduled", time_created_ns=last),
    ]


def batched(rank):
    peer = rank ^ 1
    both = [f"nccl:send {rank}->{peer}", f"nccl:recv {rank}<-{peer}"]
    return [entry(i, name, "completed", point_to_point=True) for i, name in enumerate(both * 2)]


def table():
    rows = ["dp_rank,stage,rank,step,optype,start_ts,duration"]
    for step in range(3):
        for rank in range(4):
            for at, operation in enumerate(("forward-compute", "forward-send", "backward-compute", "grads-reduce-scatter", "optimizer")):
                rows.append(f"{rank // 2},{rank % 2},{rank},{step},{operation},0.{at}5,0.0{4 + rank}")
    return {"operations.csv": "\n".join(rows) + "\n"}


def nothing(rank, world):
    return {}


CASES = {
    "kernel_beyond_the_world": lambda: {"trace.json": trace([stated(0, 100, 50, [0, 1])])},
    "two_of_four_ranks": lambda: {f"rank{r}.json": trace([stated(r, 100, 50, [0, 1, 2, 3])]) for r in range(2)},
    "merged_in_one_file": merged,
    "late_host": lambda: job(4, 6),
    "steps_as_cpu_op": lambda: job(4, 4, category="cpu_op"),
    "no_steps": lambda: job(2, 4, marks=False),
    "no_header": lambda: job(2, 3, head=nothing),
    "compressed": lambda: job(2, 3, suffix=".json.gz"),
    "rotating": rotating,
    "ascend": ascend,
    "pipeline": pipeline,
    "python_frames": python_frames,
    "jax": jax,
    "deepep": deepep,
    "connections": with_connections,
    "table": table,
    "dumps_of_a_missing_rank": lambda: dumps(lambda r: reduces(5 - (r == 3))),
    "dumps_of_other_sizes": lambda: dumps(lambda r: [entry(0, "nccl:all_gather", "started", elements=1_000 + (r == 2))]),
    "dumps_of_batches": lambda: dumps(batched),
    "dumps_across_groups": lambda: dumps(
        lambda r: [entry(0, "gloo:all_gather", "scheduled", group="1" if r < 3 else "2")],
        groups={"": {"name": "", "desc": "", "ranks": "[0, 1, 2, 3]"}},
    ),
    "dumps_over_gloo": lambda: dumps(over_gloo),
    "dumps_with_far_numbers": lambda: dumps(far, as_json=True, name="fr_rank%d.json"),
    "dumps_by_default_name": lambda: dumps(lambda r: reduces(3), name="comm_lib_trace_rank_%d"),
    "dumps_as_json": lambda: dumps(lambda r: reduces(4, "scheduled"), name="fr_rank%d.json", as_json=True),
    "dumps_without_entries": lambda: dumps(lambda r: []),
    "dumps_of_another_attempt": lambda: dumps(lambda r: reduces(3) if r != 2 else [entry(0, "nccl:barrier", "started", time_created_ns=BASE_NS - 10**13)]),
    "traces_beside_dumps": lambda: {**job(2, 3, collective=False), **dumps(lambda r: reduces(3), ranks=2, name="fr_rank%d.pkl")},
}


def as_bytes(content):
    return content if isinstance(content, bytes) else content.encode()


def archive(files):
    parts = [b"=== " + name.encode() + b"\n" + as_bytes(content) + b"\n" for name, content in files.items()]
    return b"folder\n" + b"".join(parts) + b"=== end\n"


def main(arguments):
    unpacked = arguments[0] == "--unpacked"
    root = pathlib.Path(arguments[-1])
    root.mkdir(parents=True, exist_ok=True)
    for name, make in CASES.items():
        if not unpacked:
            (root / name).write_bytes(archive(make()))
            continue
        (root / name).mkdir(exist_ok=True)
        for file, content in make().items():
            (root / name / file).write_bytes(as_bytes(content))
    if not unpacked:
        for seed in range(8):  # of which the target makes folders itself
            (root / f"made_{seed}").write_bytes(random.Random(seed).randbytes(64 + 200 * seed))


if __name__ == "__main__":
    main(sys.argv[1:])

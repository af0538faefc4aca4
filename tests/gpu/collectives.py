#!/usr/bin/env python3
"""Every kind of operation that NCCL knows, on all ranks and on halves of them; what was called is
written down, for truth.py to compare with the recording.

    tests/gpu/ranks.py --ranks 4 -- tests/gpu/collectives.py --out calls_RANK.json
"""

import argparse
import json

import torch
import torch.distributed as dist

SIZES = (1 << 10, 1 << 16, 1 << 22)  # elements


class Calls:
    """What this rank has asked for: {(operation, bytes as NCCL counts them): times}."""

    def __init__(self):
        self.made = []

    def note(self, operation, group, elements, kind=torch.float32):
        self.made.append({"operation": operation, "size": dist.get_world_size(group),
                          "bytes": elements * torch.empty(0, dtype=kind).element_size()})


def check(tensor, value):
    torch.cuda.synchronize()
    if not bool((tensor == value).all()):
        raise SystemExit(f"collectives.py: {tensor.flatten()[:4]} and not {value}")


def reductions(calls, group, members, elements):
    ones = torch.ones(elements, device="cuda")
    dist.all_reduce(ones, group=group)
    calls.note("allreduce", group, elements)
    check(ones, members)
    root = dist.get_global_rank(group, 0)
    dist.reduce(ones, root, group=group)
    calls.note("reduce", group, elements)
    dist.broadcast(ones, root, group=group)
    calls.note("broadcast", group, elements)
    check(ones, members * members)
    halves = torch.ones(elements, device="cuda", dtype=torch.bfloat16)
    dist.all_reduce(halves, group=group)
    calls.note("allreduce", group, elements, torch.bfloat16)


def gatherings(calls, group, members, elements):
    mine = torch.ones(elements, device="cuda")
    all_of_them = torch.empty(elements * members, device="cuda")
    dist.all_gather_into_tensor(all_of_them, mine, group=group)
    calls.note("_allgather_base", group, elements)
    check(all_of_them, 1)
    dist.reduce_scatter_tensor(mine, all_of_them, group=group)
    calls.note("_reduce_scatter_base", group, elements)
    check(mine, members)


def exchanges(calls, group, members, elements):
    rank = dist.get_rank(group)
    after, before = (dist.get_global_rank(group, (rank + way) % members) for way in (1, -1))
    sent = torch.full((elements,), float(rank), device="cuda")
    taken = torch.empty_like(sent)
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, after, group),
                                           dist.P2POp(dist.irecv, taken, before, group)]):
        request.wait()
    calls.note("send", group, elements)
    calls.note("recv", group, elements)
    check(taken, (rank - 1) % members)
    to_all = torch.ones(elements * members, device="cuda")
    from_all = torch.empty_like(to_all)
    dist.all_to_all_single(from_all, to_all, group=group)
    # As NCCL does it: a send and a receive for each other member.
    for _ in range(members - 1):
        calls.note("send", group, elements)
        calls.note("recv", group, elements)
    check(from_all, 1)


def all_kinds(calls, group):
    members = dist.get_world_size(group)
    for elements in SIZES:
        reductions(calls, group, members, elements)
        gatherings(calls, group, members, elements)
        exchanges(calls, group, members, elements)


def many_small(calls, group, count):
    """More operations in flight than the host waits for."""
    small = torch.ones(256, device="cuda")
    for _ in range(count):
        dist.all_reduce(small, op=dist.ReduceOp.MAX, group=group)
        calls.note("allreduce", group, 256)
    torch.cuda.synchronize()


def in_a_graph(calls, group, replays):
    tensor = torch.ones(1 << 16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX, group=group)
    for _ in range(replays):
        graph.replay()
        calls.note("allreduce", group, 1 << 16)
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="RANK in it is replaced")
    parser.add_argument("--small", type=int, default=300)
    args = parser.parse_args()
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    halves = [dist.new_group(list(range(begin, ranks, 2))) for begin in (0, 1)]
    calls = Calls()
    for group in (dist.group.WORLD, halves[rank % 2]):
        all_kinds(calls, group)
    many_small(calls, dist.group.WORLD, args.small)
    in_a_graph(calls, dist.group.WORLD, replays=20)
    with open(args.out.replace("RANK", str(rank)), "w") as file:
        json.dump({"rank": rank, "calls": calls.made}, file)
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank}: {len(calls.made)} operations", flush=True)


if __name__ == "__main__":
    main()

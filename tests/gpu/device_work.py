#!/usr/bin/env python3
"""Work for the device of which every piece is counted here: what a recording of it must hold.

    tests/gpu/device_work.py --out work.json       # under Eroica; truth.py compares

The pieces are known by name: torch.cuda._sleep launches spin_kernel and nothing else does;
copies and fills are of pinned memory.
"""

import argparse
import json
import time

import torch

BYTES = 1 << 22
CYCLES = 200_000


def on_one_stream(count):
    for _ in range(count):
        torch.cuda._sleep(CYCLES)
    return {"spin_kernel": count}


def on_many_streams(count):
    streams = [torch.cuda.Stream() for _ in range(4)]
    for number in range(count):
        with torch.cuda.stream(streams[number % len(streams)]):
            torch.cuda._sleep(CYCLES)
    torch.cuda.synchronize()
    return {"spin_kernel": count}


def in_a_graph(nodes, replays):
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(CYCLES)
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(nodes):
                torch.cuda._sleep(CYCLES)
    torch.cuda.synchronize()
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()
    return {"spin_kernel": 1 + nodes * replays}


def copies(count):
    host = torch.empty(BYTES, dtype=torch.uint8).pin_memory()
    there = torch.empty(BYTES, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(there)
    for _ in range(count):
        there.copy_(host, non_blocking=True)
        other.copy_(there, non_blocking=True)
        host.copy_(other, non_blocking=True)
    torch.cuda.synchronize()
    return {"Memcpy HtoD (Pinned -> Device)": count, "Memcpy DtoD (Device -> Device)": count,
            "Memcpy DtoH (Device -> Pinned)": count}


def fills(count):
    """As PyTorch zeroes what it has just allocated: a memset, no kernel."""
    from cuda.bindings import runtime as cuda
    there = torch.empty(BYTES, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    for _ in range(count):
        cuda.cudaMemsetAsync(there.data_ptr(), 0, BYTES, stream)
    torch.cuda.synchronize()
    return {"Memset (Device)": count}


def waits(count):
    """The device is still busy when the host begins to wait, and for long enough."""
    event = torch.cuda.Event()
    for _ in range(count):
        torch.cuda._sleep(50 * CYCLES)
        torch.cuda.current_stream().synchronize()
        torch.cuda._sleep(50 * CYCLES)
        event.record()
        event.synchronize()
        torch.cuda._sleep(50 * CYCLES)
        torch.cuda.synchronize()
    return {"cudaStreamSynchronize": count, "cudaEventSynchronize": count,
            "spin_kernel": 3 * count}


def flood(count):
    """As fast as the host can launch: more records a second than any training makes."""
    began = time.monotonic()
    for _ in range(count):
        torch.cuda._sleep(1)
    torch.cuda.synchronize()
    print(f"flood: {count / (time.monotonic() - began):.0f} launches a second")
    return {"spin_kernel": count}


def add(total, more):
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--launches", type=int, default=20_000)
    args = parser.parse_args()
    torch.cuda.init()
    torch.empty(1, device="cuda")
    torch.cuda.synchronize()
    total, began = {}, time.time_ns()
    add(total, on_one_stream(1000))
    add(total, on_many_streams(1000))
    add(total, in_a_graph(nodes=20, replays=100))
    add(total, copies(100))
    try:
        add(total, fills(100))
    except ImportError:
        print("device_work.py: no cuda.bindings: fills are left out")
    add(total, waits(50))
    add(total, flood(args.launches))
    torch.cuda.synchronize()
    with open(args.out, "w") as file:
        json.dump({"counts": total, "began_ns": began, "ended_ns": time.time_ns()}, file)


if __name__ == "__main__":
    main()

"""Waits in torch.distributed.rpc, over TensorPipe between real processes."""

import os
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402
import torch_interpreter  # noqa: E402

WAIT, PEER = "torch.distributed.rpc:wait", 1  # eroica::WaitKind
TRAINING_THREAD = 1  # eroica::LaneKind

SCRIPT = """
import os, threading, time, eroica, torch, torch.distributed.rpc as rpc
rank = int(os.environ["RANK"])
def slow(x):
    time.sleep(0.05)
    return x
def fails():
    time.sleep(0.05)
    raise ValueError("of the worker")
def through(worker, x):   # on a thread of the worker that trains nothing
    return rpc.rpc_sync(worker, slow, args=(x,))
local = torch.futures.Future()
local.set_result(7)
assert local.wait() == 7
options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=4, _transports=["uv"],
                                          init_method="env://")
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=3, rpc_backend_options=options)
if rank == 0:
    with eroica.region("training"): pass
    assert rpc.rpc_sync("worker1", slow, args=(1,)) == 1
    assert rpc.rpc_async("worker1", slow, args=(2,)).wait() == 2
    assert rpc.remote("worker1", slow, args=(3,)).to_here() == 3
    assert rpc.rpc_sync("worker1", through, args=("worker2", 4)) == 4
    calls = [rpc.rpc_async(f"worker{n}", slow, args=(n,)) for n in (1, 2)]
    assert torch.futures.wait_all(calls) == [1, 2]
    try:
        rpc.rpc_sync("worker1", fails)
        raise AssertionError("it fails")
    except (RuntimeError, ValueError) as error:
        assert "of the worker" in str(error)
    done = rpc.rpc_async("worker1", slow, args=(5,))
    while not done.done(): time.sleep(0.01)
    assert done.wait() == 5
"""
# The end waits for the workers, too. These write behind it, when they have served.
EPILOGUE = """
import recorded_core
if rank == 0: recorded_core.write()
rpc.shutdown(timeout=60)
if rank != 0: recorded_core.write()
"""
# rpc_sync three times (one of which fails), Future.wait, to_here and wait_all; what is done already
# is no wait.
WAITS_OF_RANK_0 = 6


class TorchRpcTest(unittest.TestCase):
    def setUp(self):
        self.python = torch_interpreter.find()
        if self.python is None:
            self.skipTest("no interpreter with PyTorch; EROICA_TEST_TORCH_PYTHON names one")

    def run_ranks(self, **changes):
        path = (interpreters.ZERO_CODE, interpreters.PRODUCER, interpreters.HERE)
        port = torch_interpreter.free_port()

        def run_rank(rank):
            return interpreters.run(
                self.python,
                SCRIPT + EPILOGUE,
                epilogue=False,
                timeout=200,
                RANK=str(rank),
                WORLD_SIZE="3",
                MASTER_PORT=port,
                MASTER_ADDR="127.0.0.1",
                OMP_NUM_THREADS="1",
                PYTHONWARNINGS="ignore",
                PYTHONPATH=os.pathsep.join(path),
                **changes,
            )

        with ThreadPoolExecutor(3) as pool:
            runs = list(pool.map(run_rank, range(3)))
        for run in runs:
            self.assertEqual(run.status, 0, run.err)
            self.assertNotIn("eroica", run.err)
        return runs

    def waits_of(self, run):
        """The lanes of the waits, and what kind of waits they are."""
        functions, lanes = run.events["functions"], run.events["lanes"]
        rows = [(functions[row["function"]], row["lane"]) for row in run.events["intervals"]]
        names = [function["name"] for function, _ in rows]
        begin = names.index("training") if "training" in names else 0  # behind init_rpc
        return [
            (lanes[lane]["kind"], function["wait"])
            for function, lane in rows[begin:]
            if function["name"] == WAIT
        ]

    def test_a_rank_waits_for_its_workers_and_is_not_busy(self):
        runs = self.run_ranks()
        self.assertEqual(self.waits_of(runs[0]), [(TRAINING_THREAD, PEER)] * WAITS_OF_RANK_0)
        for run in runs[1:]:  # threads of the agent do not train
            self.assertLessEqual(set(self.waits_of(run)), {(TRAINING_THREAD, PEER)})

    def test_stacks_below_a_call_are_the_wait(self):
        run = self.run_ranks(EROICA_PYTHON_HZ="200")[0]
        names = {row["name"] for row in run.events["functions"]}
        self.assertIn(WAIT, names)
        busy = [
            run.stack(row["function"])[-1]
            for row in run.events["intervals"]
            if run.events["functions"][row["function"]]["wait"] == 0
        ]
        self.assertFalse([name for name in busy if name.endswith(": rpc_sync")], busy)


if __name__ == "__main__":
    unittest.main()

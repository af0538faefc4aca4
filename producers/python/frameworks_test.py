"""The hooks into frameworks other than PyTorch, on packages of their shape."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

FAKE = os.path.join(interpreters.HERE, "fake_frameworks")
ALL_REDUCE, BARRIER, SEND = 1, 9, 10
WAIT_PEER = 1

MPI = """
import pickle
from mpi4py import MPI
class Buffer: nbytes = 800
comm = MPI.COMM_WORLD
assert isinstance(comm, MPI.Intracomm) and type(comm).__name__ == "Intracomm"
assert type(comm).__module__ == "mpi4py.MPI" and comm.Allreduce.__name__ == "Allreduce"
assert pickle.loads(pickle.dumps(comm)) == comm
assert comm.Allreduce(Buffer(), Buffer()) == "Allreduce"
comm.barrier()
comm.Send([Buffer(), 3], dest=1)
comm.recv()                              # from anybody
pair = comm.Split(2)
assert pair.allreduce(1) == "allreduce" and type(pair) is type(comm)
comm.Dup().barrier()
comm.Split(1).barrier()                  # alone
pair.Free()                              # its handle is another communicator's from here on
triple = comm.Split(3)
triple.handle = 1002
triple.barrier()
try:
    comm.Allreduce(None, None)
except ValueError as error:
    assert str(error) == "Allreduce: no buffer"
assert MPI.calls == ["Allreduce", "barrier", "Send", "recv", "allreduce"] + 3 * ["barrier"]
"""

JAX = """
import jax
try:
    jax.distributed.global_state.initialize()
except ValueError as error:
    assert "must be defined" in str(error)
jax.distributed.global_state.initialize("host:1", 4, 3)
array = jax.array.ArrayImpl()
assert array.block_until_ready() is array
"""


class FrameworksTest(unittest.TestCase):
    def run_each(self, script, **changes):
        path = (interpreters.ZERO_CODE, interpreters.PRODUCER, interpreters.HERE, FAKE)
        for python in interpreters.all_interpreters().values():
            run = interpreters.run(
                python, script, PYTHONPATH=os.pathsep.join(path), RANK=None, **changes
            )
            self.assertEqual((run.status, run.out, run.err), (0, "", ""), python)
            yield run

    def test_blocking_calls_of_mpi_are_seen_without_a_line(self):
        for run in self.run_each(MPI):
            self.assertEqual((run.events["rank"], run.events["world_size"]), (2, 4))
            operations = [
                (row["operation"], row["peer"], row["bytes"], row["ended"], row["dropped"])
                for row in run.events["operations"]
            ]
            self.assertEqual(
                operations,
                [
                    (ALL_REDUCE, -1, 800, True, False),
                    (BARRIER, -1, 0, True, False),
                    (SEND, 1, 800, True, False),
                    (ALL_REDUCE, -1, 0, True, False),
                    (BARRIER, -1, 0, True, False),
                    (BARRIER, -1, 0, True, False),
                    (ALL_REDUCE, -1, 0, False, True),
                ],
            )
            groups = [(row["name"], row["ranks"]) for row in run.events["communicators"]]
            self.assertEqual(
                groups, [("world", [0, 1, 2, 3]), ("mpi", [0, 1]), ("mpi", [0, 1, 2])]
            )
            waits = [row["name"] for row in run.events["functions"] if row["wait"] == WAIT_PEER]
            self.assertIn("mpi:recv", waits)
            self.assertEqual(run.events["misuse"], 0)

    def test_mpi_is_not_called_before_it_runs_nor_for_one_process(self):
        script = "from mpi4py import MPI\nMPI.COMM_WORLD\n"
        for run in self.run_each(script, FAKE_MPI_RUNS="0"):
            self.assertIsNone(run.events)
        alone = "from mpi4py import MPI\nMPI.COMM_WORLD.barrier()\n"
        for run in self.run_each(alone, FAKE_MPI_SIZE="1"):
            self.assertIsNone(run.events)

    def test_a_process_of_jax_has_the_rank_that_it_joined_with(self):
        for run in self.run_each(JAX):
            self.assertEqual((run.events["rank"], run.events["world_size"]), (3, 4))
            waits = {row["name"]: row["wait"] for row in run.events["functions"]}
            self.assertEqual(waits.get("jax.block_until_ready"), WAIT_PEER)
            self.assertGreater(run.time_of("jax.block_until_ready"), 0.015)

    def test_one_process_of_jax_is_no_rank(self):
        script = "import jax\njax.distributed.global_state.initialize('host:1', 1, 0)\n"
        for run in self.run_each(script):
            self.assertIsNone(run.events)

    def test_at_exit_the_originals_are_back(self):
        script = """
import atexit
def check():
    import jax, mpi4py.MPI as MPI
    kinds = (type(MPI.COMM_WORLD) is MPI.Intracomm, type(jax.array.ArrayImpl.block_until_ready),
             jax.distributed.State.initialize.__code__.co_filename.endswith("distributed.py"))
    assert kinds[0] and kinds[1].__name__ == "_Method" and kinds[2], kinds
atexit.register(check)
import jax, mpi4py.MPI, eroica
assert type(mpi4py.MPI.COMM_WORLD) is not mpi4py.MPI.Intracomm
"""
        path = os.pathsep.join((interpreters.PRODUCER, interpreters.HERE, FAKE))
        for python in interpreters.all_interpreters().values():
            run = interpreters.run(python, script, epilogue=False, PYTHONPATH=path)
            self.assertEqual((run.status, run.out, run.err), (0, "", ""), python)


if __name__ == "__main__":
    unittest.main()

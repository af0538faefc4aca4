"""The hooks into frameworks other than PyTorch, on packages of their shape."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

FAKE = os.path.join(interpreters.HERE, "fake_frameworks")
ALL_REDUCE, BARRIER, SEND, RECV = 1, 9, 10, 11
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

REQUESTS = """
import abc, pickle, weakref
from mpi4py import MPI
class Buffer: nbytes = 800
comm = MPI.COMM_WORLD
assert isinstance(MPI.REQUEST_NULL, MPI.Request) and issubclass(MPI.Prequest, MPI.Request)
assert MPI.Request.__name__ == "Request" and MPI.Request.__module__ == "mpi4py.MPI"
class Mine(MPI.Request): pass
class Abstract(MPI.Request, abc.ABC): pass
assert not isinstance(MPI.REQUEST_NULL, Mine) and isinstance(Mine(), MPI.Request)
assert pickle.loads(pickle.dumps(MPI.Request())) == MPI.REQUEST_NULL
assert pickle.loads(pickle.dumps(MPI.REQUEST_NULL)) is MPI.REQUEST_NULL
one = comm.Iallreduce(Buffer(), Buffer())
assert type(one) is MPI.Request and one != MPI.REQUEST_NULL
try:
    pickle.dumps(one)
except ValueError as error:
    assert str(error) == "cannot serialize mpi4py.MPI.'Request'", error
two = comm.Iallreduce(Buffer(), Buffer())
comm.Allreduce(Buffer(), Buffer())       # the third, while two are under way
assert two.Wait() is True and not two    # the second comes first
assert MPI.Request.Waitall([one, two]) is True
assert one.Wait() is True                # nothing is under way
send, receive = comm.Isend(Buffer(), 1), comm.irecv(source=3)
assert MPI.Request.waitall([send, receive]) == [None, "an object"]
assert comm.irecv().wait() == "an object"     # from anybody
pair = [comm.Isend(Buffer(), 1), comm.Iallreduce(Buffer(), Buffer())]
assert MPI.Request.Waitany(pair) == 1 and MPI.Request.waitsome(requests=pair) == ([0], [None])
assert MPI.Request.Waitany(pair) == MPI.UNDEFINED
asked = comm.irecv(source=3)
assert asked.test() == (False, None) and asked.test() == (True, "an object")
comm.Isend(Buffer(), 3)                  # nobody keeps the request
comm.Sendrecv(Buffer(), 1, 0, Buffer(), 3)
again = comm.Send_init(Buffer(), 3)
assert type(again) is MPI.Prequest
for _ in range(2):
    MPI.Prequest.Startall([again])
    again.Wait()
failing = comm.Iallreduce(Buffer(), Buffer())
failing._value = ValueError
try:
    failing.Wait()
except ValueError as error:
    assert str(error) == "the request failed" and error.__traceback__.tb_next is not None
    assert "python/eroica/" not in error.__traceback__.tb_next.tb_frame.f_code.co_filename
try:
    comm.Iallreduce(None, None)
except ValueError as error:
    assert str(error) == "Iallreduce: no buffer"
assert comm.Iprobe() is False
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

    def test_who_waits_for_a_request_of_mpi_is_in_its_operation(self):
        for run in self.run_each(REQUESTS):
            operations = [
                (row["operation"], row["peer"], row["sequence"], row["ended"], row["dropped"])
                for row in run.events["operations"]
            ]
            self.assertEqual(
                operations,
                [
                    (ALL_REDUCE, -1, 2, True, False),
                    (ALL_REDUCE, -1, 1, True, False),
                    (ALL_REDUCE, -1, 0, True, False),
                    (SEND, 1, 0, True, False),
                    (RECV, 3, 0, True, False),
                    (ALL_REDUCE, -1, 3, False, True),  # of several: as long as any of them
                    (SEND, 1, 1, True, False),
                    (RECV, 3, 1, True, False),
                    (SEND, 3, 0, True, False),
                    (SEND, 1, 2, True, False),
                    (RECV, 3, 2, True, False),
                    (SEND, 3, 1, True, False),
                    (SEND, 3, 2, True, False),
                    (ALL_REDUCE, -1, 4, False, True),
                ],
            )
            waits = [row["name"] for row in run.events["functions"] if row["wait"] == WAIT_PEER]
            self.assertIn("mpi:wait", waits)
            self.assertEqual(run.events["misuse"], 0)

    def test_a_request_is_waited_for_from_the_wait_on(self):
        script = """
import time
from mpi4py import MPI
class Buffer: nbytes = 800
request = MPI.COMM_WORLD.Iallreduce(Buffer(), Buffer())
time.sleep(0.05)
request.Wait()
"""
        for run in self.run_each(script):
            (row,) = run.events["operations"]
            self.assertLess(row["interval"]["end"] - row["interval"]["start"], 40_000_000)

    def test_a_collective_that_a_script_names_is_counted_with_those_of_mpi(self):
        script = """
import eroica
from mpi4py import MPI
class Buffer: nbytes = 800
for _ in range(2):
    with eroica.collective("all_reduce", ranks=range(4)):
        MPI.COMM_WORLD.Allreduce(Buffer(), Buffer())
"""
        for run in self.run_each(script):
            places = [row["sequence"] for row in run.events["operations"]]
            self.assertEqual((places, len(run.events["communicators"])), ([0, 1, 2, 3], 1))

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

    def test_who_needs_the_value_of_an_array_waits_for_it(self):
        script = """
import eroica, jax, jaxlib.xla_client
eroica.step()
ArrayImpl = jax.array.ArrayImpl
assert isinstance(vars(ArrayImpl)["_value"], property)
assert ArrayImpl._value.__doc__ == "Its value on the host."
array = ArrayImpl()
assert float(array) == 1.5 and float(array) == 1.5       # one wait: the second has its value
assert ArrayImpl().item() == 1.5
assert float(ArrayImpl(ready=True)) == 1.5               # none
try:
    float(ArrayImpl(deleted=True))
except RuntimeError as error:
    assert str(error) == "Array has been deleted."
jaxlib.xla_client.batched_block_until_ready([array])
jax.dispatch.RuntimeTokenSet().block_until_ready()
"""
        for run in self.run_each(script):
            functions = run.events["functions"]
            waits = [
                functions[row["function"]]["name"]
                for row in run.events["intervals"]
                if functions[row["function"]]["wait"] == WAIT_PEER
            ]
            value = "jax: the value of an array"
            self.assertEqual(
                waits, [value, value, "jax.block_until_ready", "jax.effects_barrier"]
            )
            self.assertGreater(run.time_of(value), 0.03)

    def test_one_process_of_jax_is_no_rank(self):
        script = "import jax\njax.distributed.global_state.initialize('host:1', 1, 0)\n"
        for run in self.run_each(script):
            self.assertIsNone(run.events)

    def test_at_exit_the_originals_are_back(self):
        script = """
import atexit
def check():
    import jax, mpi4py.MPI as MPI
    assert MPI.Request.__init_subclass__.__self__ is MPI.Request and type(MPI.REQUEST_NULL) is MPI.Request
    kinds = (type(MPI.COMM_WORLD) is MPI.Intracomm, type(jax.array.ArrayImpl.block_until_ready),
             jax.distributed.State.initialize.__code__.co_filename.endswith("distributed.py"),
             jax.array.ArrayImpl._value.fget.__code__.co_filename.endswith("array.py"),
             jax.array.ArrayImpl.item.__code__.co_filename.endswith("numpy.py"))
    assert kinds[0] and kinds[1].__name__ == "_Method" and all(kinds[2:]), kinds
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

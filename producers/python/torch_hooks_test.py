"""The hooks into PyTorch: on a package of the same shape everywhere, on the real one where it is."""

import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402
import torch_interpreter  # noqa: E402
from fake_torch_test_case import FakeTorchTestCase  # noqa: E402

STEP_END, DATA, OPTIMIZER_STEP, SAVE, SAVED, FORWARD, BACKWARD, OPTIMIZER = 1, 2, 3, 4, 5, 10, 11, 12
WAIT_OTHER = 2

TRAIN = """
import torch, torch.utils.data
class Layer(torch.nn.Module):
    def forward(self, x): return x
class Model(torch.nn.Module):
    def __init__(self): self.layers = [Layer(), Layer()]
    def forward(self, x):
        for layer in self.layers: x = layer(x)
        return x
model = Model()
optimizer = torch.optim.SGD()
for batch in torch.utils.data.DataLoader([1, 2], num_workers=WORKERS):
    for micro_batch in range(2):
        assert model(batch) == batch
        torch.Tensor(1).backward()
    assert optimizer.step() == "stepped"
assert len(torch.autograd.calls) == 4
assert torch.save(model, "file") == "file" and torch.load("file") == ["file"]
"""

WORKERS = """
class Slow(list):
    def __getitem__(self, i): return i
class Subset:
    def __init__(self, dataset): self.dataset = dataset
    def __iter__(self): return iter(self.dataset)
import torch, torch.utils.data
list(torch.utils.data.DataLoader(Subset(Slow([1])), num_workers=2))
list(torch.utils.data.DataLoader([1], num_workers=1))
"""

STARVED = """
import os, shutil, tempfile, time, torch, torch.utils.data
from eroica import loader_worker
loader_worker._PROC = tempfile.mkdtemp()
def say(waited_ns):
    for folder, ns in (("4711/task/4711", waited_ns), ("thread-self", waited_ns // 10)):
        os.makedirs(f"{loader_worker._PROC}/{folder}", exist_ok=True)
        with open(f"{loader_worker._PROC}/{folder}/schedstat", "w") as file: file.write(f"1 {ns} 1")
class Slow(list):
    def __iter__(self):
        for waited_ns in (0, 30_000_000, 30_000_000, 900_000_000):
            time.sleep(0.1)
            say(waited_ns)
            yield waited_ns
list(torch.utils.data.DataLoader(Slow(), num_workers=1))
shutil.rmtree(loader_worker._PROC)
"""

SPANS = """
import time, torch, torch.utils.data, torch._dynamo
def select_of_workers(): time.sleep(0.3)
def code_generator(): time.sleep(0.3)
def read_sample(): time.sleep(0.3)
class Workers(list):
    def __iter__(self):
        select_of_workers()
        yield 1
class Inline(Workers):
    def __iter__(self):
        read_sample()
        yield 1
optimizer = torch.optim.SGD()
optimizer.step()
torch._dynamo.callback.callback_handler.compile(code_generator)
for kind, workers in ((Workers, 1), (Inline, 0)):
    for batch in torch.utils.data.DataLoader(kind(), num_workers=workers): optimizer.step()
torch._dynamo.reset()
"""

JOINS = """
import concurrent.futures, torch.distributed as dist, eroica
dist.init_process_group("gloo", 0, 1)
assert not eroica.enabled() and dist.destroy_process_group() is None
with concurrent.futures.ThreadPoolExecutor() as pool: pool.submit(dist.init_process_group, "gloo", 2, 4)
assert eroica.enabled()
"""

# Exit functions that were registered before Eroica's run after it.
LEAVES = """
import atexit, gc, sys, weakref
def references_to_module():
    return sys.getrefcount(module)
def what_is_there():
    kinds = (dist.distributed_c10d.Work, dist.distributed_c10d, dist, torch.serialization,
             torch.optim.Optimizer, torch.nn.Module, torch.autograd, torch.autograd.profiler.profile,
             torch.utils.data.dataloader._BaseDataLoaderIter)
    names = [(kind.__name__, name, value) for kind in kinds for name, value in vars(kind).items()
             if getattr(getattr(value, "__code__", None), "co_filename", "").find("/eroica/") > 0]
    names += [finder for finder in sys.meta_path if "eroica" in type(finder).__module__]
    names += [call for call in gc.callbacks if "eroica" in call.__module__]
    hooks = torch.optim.optimizer._pre_hooks + torch.optim.optimizer._post_hooks
    return names + hooks + list(world.before) + list(world.after)
def check():
    print("left", what_is_there(), references_to_module() == references, ended.callbacks == [])
    torch.optim.SGD().step()
    world.issue("ALLREDUCE", [torch.Tensor(1)])
    dist.new_group([0])
    print("left", what_is_there())
atexit.register(check)
import torch, torch.distributed as dist, torch.utils.data, torch.autograd.profiler
module = dist.distributed_c10d
references = references_to_module()
import eroica
dist.init_process_group("gloo", 0, 1)
world = module._get_default_group()
assert len(what_is_there()) > 15, what_is_there()
work = dist.Work(module.Future())
world.issue("ALLREDUCE", [torch.Tensor(1)], work=work)
ended = torch._C._open[-1]
assert len(ended.callbacks) == 1
"""

REAL = """
import os, torch, torch.distributed as dist, torch.utils.data
from torch import nn
def main():
    dist.init_process_group("gloo")
    world, rank = dist.get_world_size(), dist.get_rank()
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1)))
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(32, 8))
    for (x,) in torch.utils.data.DataLoader(data, batch_size=8, num_workers=2):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        loss = torch.ones(100)
        dist.all_reduce(loss)
        assert loss[0].item() == world
        dist.all_reduce(loss, async_op=True).wait()
    gathered = torch.zeros(world * 2)
    dist.all_gather_into_tensor(gathered, torch.ones(2))
    if rank == 0: dist.send(torch.ones(5), 1)
    if rank == 1: dist.recv(torch.zeros(5), 0)
    if rank < 2:
        both = [dist.P2POp(dist.isend, torch.ones(3), 1 - rank)]
        both.append(dist.P2POp(dist.irecv, torch.ones(3), 1 - rank))
        for work in dist.batch_isend_irecv(both): work.wait()
    pair = dist.new_group([0, 1])
    if rank < 2: dist.broadcast(loss, 0, group=pair)
    if hasattr(dist.ProcessGroup, "register_post_hook"):
        dist.reduce_scatter_tensor(torch.zeros(4), torch.ones(4 * world))
    dist.barrier()
    torch.save(model.state_dict(), os.devnull)
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
"""

COMPILED = """
import inspect, pickle, torch, torch._dynamo.testing, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
graphs = torch._dynamo.testing.CompileCounter()
@torch.compile(backend=graphs, fullgraph=True)
def loss_of(x):
    y = model(x).sum()
    dist.all_reduce(y)
    return y * 2
for x in torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2):
    loss_of(x)
    model(x).sum().backward()  # the step's first call that is not compiled
    optimizer.step()
print(graphs.frame_count, graphs.op_count)
for function in (dist.all_reduce, torch.save, torch.load, torch.autograd.backward):
    assert inspect.isfunction(function) and pickle.loads(pickle.dumps(function)) is function
    print(function.__module__, function.__qualname__, inspect.signature(function))
dist.destroy_process_group()
"""


def has_group_hooks(python):
    script = "import torch.distributed as d; d.ProcessGroup.register_post_hook"
    return subprocess.run([python, "-c", script], capture_output=True, check=False).returncode == 0


class TorchHooksTest(FakeTorchTestCase):
    def check_training(self, run):
        # The second micro-batch's passes are no new stages of the step.
        step = [DATA, FORWARD, BACKWARD, OPTIMIZER, OPTIMIZER_STEP, STEP_END]
        self.assertEqual(run.marks(), 2 * step + [DATA, SAVE, SAVED, SAVE, SAVED])

    def test_a_script_that_knows_nothing_of_eroica_is_followed(self):
        for python in self.each():
            run = self.run_fake(python, TRAIN.replace("WORKERS", "0"))
            self.check_training(run)
            rows = [row for row in run.events["functions"] if "DataLoader" in row["name"]]
            self.assertEqual([row["wait"] for row in rows], [0])

    def test_frameworks_that_were_imported_before_eroica_are_followed(self):
        script = TRAIN.replace("WORKERS", "1").replace(
            "model = Model()", "import eroica\nmodel = Model()"
        )
        for python in self.each():
            path = (interpreters.PRODUCER, interpreters.HERE, self.fake)
            run = interpreters.run(python, script, PYTHONPATH=os.pathsep.join(path))
            self.assertEqual((run.status, run.err), (0, ""), python)
            marks = [kind for kind in run.marks() if kind not in (BACKWARD, STEP_END, SAVE, SAVED)]
            self.assertEqual(marks, 2 * [DATA, FORWARD, OPTIMIZER, OPTIMIZER_STEP] + [DATA])
            rows = [row for row in run.events["functions"] if "data loader" in row["name"]]
            self.assertEqual([row["wait"] for row in rows], [WAIT_OTHER])

    def test_a_wait_for_workers_says_how_many_they_are_and_what_they_read(self):
        for python in self.each():
            run = self.run_fake(python, WORKERS)
            names = [row["name"] for row in run.events["functions"] if "data loader" in row["name"]]
            self.assertEqual(
                names,
                [
                    "(waiting for the data loader's 2 workers, dataset Slow, train.py:3)",
                    "(waiting for the data loader's 1 worker, dataset list)",
                ],
            )

    def test_a_wait_for_a_processor_is_no_time_of_the_dataset(self):
        for python in self.each():
            run = self.run_fake(python, STARVED)
            both = [
                row["end"] - row["start"]
                for row in run.events["intervals"]
                if run.events["functions"][row["function"]]["name"]
                == "(runnable, waiting for a processor: the data loader's workers)"
            ]
            own = [row["end"] - row["start"] for row in run.processor_waits]
            own = [ns for ns in own if ns > 2_900_000]  # a busy machine adds real ones
            self.assertEqual((len(own), len(both)), (2, 2), (own, both))
            self.assertAlmostEqual(own[0], 3_000_000, delta=1_000_000)
            self.assertAlmostEqual(both[0], 33_000_000, delta=1_000_000)
            self.assertAlmostEqual(own[1], 87_000_000, delta=1_000_000)
            self.assertGreater(both[1], 99_000_000)
            self.assertLess(both[1], 900_000_000, "no more than the thread waited")

    # Stacks within a wait, or within the compiler, would stand for its time under other names.
    def test_stacks_in_a_wait_and_in_the_compiler_are_theirs(self):
        for python in interpreters.all_interpreters().values():
            run = self.run_fake(python, SPANS, EROICA_PYTHON_HZ="200")
            seen = {name: run.time_of(name) for name in ("waiting for the data", "compiling, torch")}
            self.assertGreater(min(seen.values()), 0.25, seen)
            self.assertLess(run.time_of("select_of_workers"), 0.1)
            self.assertLess(run.time_of("code_generator"), 0.1)
            self.assertGreater(run.time_of("read_sample"), 0.2)
            # What the dataset runs lies within the call of the loader, not round it: it is the leaf.
            loading, reading = (
                [
                    (row["start"], row["end"])
                    for row in run.events["intervals"]
                    if name in run.events["functions"][row["function"]]["name"]
                ]
                for name in ("enumerate(DataLoader)", "read_sample")
            )
            for start, end in reading:
                self.assertTrue(any(a <= start and end <= b for a, b in loading), (reading, loading))

    def test_without_rank_variables_the_optimizer_s_first_step_attaches(self):
        for python in self.each():
            run = self.run_fake(python, TRAIN.replace("WORKERS", "0"), RANK=None)
            self.assertEqual(run.marks()[:2], [OPTIMIZER, OPTIMIZER_STEP])

    def test_a_process_attaches_as_the_rank_that_it_joins_a_group_as(self):
        """As in a worker of Ray Train, which inherits the variables of what started Ray."""
        worker = "ray/_private/workers/default_worker.py"
        for python in self.each():
            run = self.run_fake(python, JOINS, name=worker, RANK="7", WORLD_SIZE="8")
            self.assertEqual((run.events["rank"], run.events["world_size"]), (2, 4))

    def test_at_exit_everything_is_taken_back(self):
        for python in self.each():
            path = (interpreters.PRODUCER, interpreters.HERE, self.fake)
            run = interpreters.run(python, LEAVES, epilogue=False, PYTHONPATH=os.pathsep.join(path))
            self.assertEqual(
                (run.status, run.out, run.err), (0, "left [] True True\nleft []\n", ""), python
            )

    def test_modules_keep_their_loaders(self):
        script = """
import importlib, torch.serialization as module
for loader in (module.__spec__.loader, module.__loader__):
    assert type(loader).__name__ == "SourceFileLoader"
assert module.save.__name__ == "save" and module.save.__wrapped__
importlib.reload(module)
assert module.save(1, "f") == "f"
"""
        for python in self.each():
            self.run_fake(python, script)

    def test_a_framework_of_another_shape_costs_a_line_and_stays_as_it_is(self):
        for python in self.each():
            script = "import sys, types\nsys.modules['torch'] = t = types.ModuleType('torch')\n"
            script += "t.__path__ = [sys.argv[1]]\n"
            script += "import torch.serialization\nassert torch.serialization.x == 1"
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "serialization.py"), "w", encoding="utf-8") as file:
                    file.write("x = 1\n")
                run = interpreters.run(
                    python,
                    script,
                    arguments=[folder],
                    epilogue=False,
                    PYTHONPATH=os.pathsep.join((interpreters.ZERO_CODE, interpreters.PRODUCER)),
                )
            self.assertEqual((run.status, len(run.err.splitlines())), (0, 1), run.err)

    def test_missing_modules_are_still_missing(self):
        for python in self.each():
            run = interpreters.run(
                python,
                "try:\n  import torch.serialization\nexcept ImportError: print('none')\n",
                epilogue=False,
            )
            self.assertEqual((run.status, run.err), (0, ""))

    def test_torch_profiler_and_full_trace_do_not_meet(self):
        script = """
import eroica, recorded_core, time, torch.autograd.profiler as profiler
recorded_core.full_trace(True)
with profiler.profile():
    for _ in range(200000): len("")
    names = [function["name"] for function in recorded_core.read()["functions"]]
assert "<built-in function len>" not in names
"""
        for python in interpreters.all_interpreters().values():
            self.run_fake(python, script, EROICA_PYTHON_HZ="200")


class RealTorchTest(unittest.TestCase):
    def test_ddp_over_gloo_in_several_processes(self):
        python = torch_interpreter.find()
        if python is None:
            self.skipTest("no interpreter with PyTorch; EROICA_TEST_TORCH_PYTHON names one")
        path = (interpreters.ZERO_CODE, interpreters.PRODUCER, interpreters.HERE)
        port = torch_interpreter.free_port()
        for world in (2, 4):

            def rank_run(rank):
                return interpreters.run(
                    python,
                    REAL,
                    timeout=300,
                    RANK=str(rank),
                    WORLD_SIZE=str(world),
                    MASTER_PORT=port,
                    MASTER_ADDR="127.0.0.1",
                    OMP_NUM_THREADS="1",
                    EROICA_PYTHON_HZ="50",
                    PYTHONPATH=os.pathsep.join(path),
                )

            with ThreadPoolExecutor(world) as pool:
                runs = list(pool.map(rank_run, range(world)))
            for rank, run in enumerate(runs):
                self.check_rank(run, rank, world, has_group_hooks(python))

    def test_a_compiled_step_is_one_graph_as_without_eroica(self):
        python = torch_interpreter.find()
        if python is None:
            self.skipTest("no interpreter with PyTorch; EROICA_TEST_TORCH_PYTHON names one")
        path = os.pathsep.join((interpreters.ZERO_CODE, interpreters.PRODUCER, interpreters.HERE))
        seen = []
        for changes in ({}, {"EROICA_DISABLE": "1"}):
            run = interpreters.run(
                python,
                COMPILED,
                epilogue=False,
                timeout=300,
                MASTER_PORT=torch_interpreter.free_port(),
                MASTER_ADDR="127.0.0.1",
                PYTHONPATH=path,
                **changes,
            )
            self.assertEqual(run.status, 0, run.err)
            seen.append(run.out)
        self.assertEqual(seen[0], seen[1])

    def check_rank(self, run, rank, world, hooks):
        self.assertEqual(run.status, 0, run.err)
        events = run.events
        self.assertEqual((events["rank"], events["world_size"], events["misuse"]), (rank, world, 0))
        self.assertEqual([row for row in events["operations"] if not row["ended"]], [])
        codes = [row["operation"] for row in events["operations"]]
        counts = {code: codes.count(code) for code in (1, 2, 3, 4, 10, 11)}
        # DDP's own: a reduction in each of 4 backward passes, a gather and broadcasts before them.
        self.assertEqual((counts[1], counts[2]), (12, 2) if hooks else (8, 1))
        self.assertEqual(counts[3], 1 if hooks else 0)
        broadcasts, sent, received = [(1, 2, 1), (1, 1, 2), (0, 0, 0)][min(rank, 2)]
        self.assertEqual((counts[10], counts[11]), (sent, received))
        self.assertGreaterEqual(counts[4], broadcasts + 1 if hooks else broadcasts)
        steps = [kind for kind in run.marks() if kind in (DATA, FORWARD, BACKWARD, OPTIMIZER)]
        self.assertEqual(steps, 4 * [DATA, FORWARD, BACKWARD, OPTIMIZER] + [DATA])
        for row in events["operations"]:
            self.assertLessEqual(row["interval"]["start"], row["interval"]["end"])


if __name__ == "__main__":
    unittest.main()

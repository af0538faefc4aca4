"""The operations of torch.distributed on host memory: on a package of the same shape."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

from fake_torch_test_case import FakeTorchTestCase  # noqa: E402

ALL_REDUCE, BROADCAST, SEND, RECV = 1, 4, 10, 11
TRAINING_THREAD, ASYNCHRONOUS = 1, 3  # eroica::LaneKind

COLLECTIVES = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", 1, 4)
tensor = torch.Tensor(10)
dist.all_reduce(tensor)
first = dist.all_reduce(tensor, None, None, True)
second = dist.all_reduce(tensor, async_op=True)
second.future.callbacks[0](second.future)
dist.send(tensor, 3)
dist.isend(tensor, group_dst=0, group=dist.new_group([2, 1])).wait()
dist.isend(tensor, dst=0)            # nobody waits: given up with its Work
assert dist.recv(tensor, src=0) == 0
class OnDevice(torch.Tensor):
    class device: type = "cuda"
dist.all_reduce(OnDevice(1))         # the NCCL plugin's
try:
    dist.all_reduce(None)
except ValueError:
    pass
dist.destroy_process_group()
"""

LEARNT = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", 1, 4)
tensor = torch.Tensor(10)
def overlapped():
    work = dist.all_reduce(tensor, async_op=True)
    work.future.callbacks[0](work.future)
    return work.wait()
def of_a_hook():
    work = dist.all_reduce(tensor, async_op=True)
    work.future.callbacks[0](work.future)
for _ in range(3): overlapped()
for _ in range(2): of_a_hook()
dist.destroy_process_group()
"""

BY_CPP = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", 1, 4)
world = dist.distributed_c10d._get_default_group()
pair = dist.new_group([2, 1])
devices = dist.new_group([2, 1], "cpu:gloo,cuda:nccl")
tensor = torch.Tensor(10)
Work, Future = dist.Work, dist.distributed_c10d.Future
def issue(group, name, **rest):
    return group.issue(name, work=Work(Future()), **rest)
work = issue(world, "ALLREDUCE", inputs=[tensor, tensor])
work.future.callbacks[0](work.future)
work = issue(pair, "RECV", outputs=[tensor], root=0)
work.future.callbacks[0](work.future)
issue(world, "NEW_WINDOW", inputs=[tensor])
issue(devices, "ALLREDUCE", inputs=[tensor])
class OnDevice(torch.Tensor):
    class device: type = "cuda"
issue(world, "ALLREDUCE", inputs=[OnDevice(1)])
for _ in range(65):
    try:
        issue(world, "BROADCAST", inputs=[tensor], fails=True)
    except RuntimeError:
        pass
dist.destroy_process_group()
"""


class TorchCollectivesTest(FakeTorchTestCase):
    def test_collectives_end_when_they_are_seen_to(self):
        for python in self.each():
            self.check_collectives(python, COLLECTIVES)

    def test_old_releases_that_do_not_know_backends_by_device_are_followed(self):
        old = "import torch.distributed.distributed_c10d as c10d\ndel c10d.get_backend_config\n"
        self.check_collectives(sys.executable, old + COLLECTIVES)

    def check_collectives(self, python, script):
        run = self.run_fake(python, script)
        operations = [
            (row["operation"], row["ended"], row["dropped"], row["peer"], row["bytes"])
            for row in run.events["operations"]
        ]
        self.assertEqual(
            operations,
            [
                (ALL_REDUCE, True, False, -1, 40),
                (ALL_REDUCE, False, False, -1, 40),
                (ALL_REDUCE, True, False, -1, 40),
                (SEND, True, False, 3, 40),
                (SEND, True, False, 2, 40),
                (SEND, False, True, 0, 40),
                (RECV, True, False, 0, 40),
            ],
            python,
        )
        self.assertEqual((run.events["rank"], run.events["world_size"]), (1, 4))
        groups = [row["ranks"] for row in run.events["communicators"]]
        self.assertEqual(groups, [[0, 1, 2, 3], [2, 1]])
        libraries = [row["library"] for row in run.events["communicators"]]
        self.assertEqual(libraries, [2, 2], "gloo")
        self.assertEqual(run.events["misuse"], 0)
        names = [row["name"] for row in run.events["functions"] if row["class"] == 2]
        self.assertEqual(names, ["gloo:all_reduce", "gloo:send", "gloo:recv"])
        # Of the operations that have ended one was waited for by Work.wait.
        inside, beside = TRAINING_THREAD, ASYNCHRONOUS
        self.assertEqual(self.lanes(run), [inside, inside, inside, beside, inside], python)
        self.assertEqual(self.waits(run), 1, "of a Work whose operation was under way")

    def lanes(self, run):
        return [
            run.events["lanes"][row["interval"]["lane"]]["kind"]
            for row in run.events["operations"]
            if row["ended"]
        ]

    def waits(self, run):
        names = [row["name"] for row in run.events["functions"]]
        waits = [names[row["function"]] for row in run.events["intervals"]]
        return waits.count("torch.distributed:wait")

    def test_a_line_whose_operations_are_waited_for_is_learnt(self):
        for python in self.each():
            run = self.run_fake(python, LEARNT)
            inside, beside = TRAINING_THREAD, ASYNCHRONOUS
            # The first one has ended before anybody waited; nobody waits for the others that way.
            self.assertEqual(self.lanes(run), [inside, beside, beside, inside, inside], python)
            self.assertEqual(run.events["misuse"], 0)

    def test_operations_that_cpp_issues_are_seen_by_the_hooks_of_groups(self):
        for python in self.each():
            run = self.run_fake(python, BY_CPP)
            operations = [
                (row["operation"], row["ended"], row["dropped"], row["peer"], row["bytes"])
                for row in run.events["operations"]
            ]
            self.assertEqual(
                operations[:2],
                [(ALL_REDUCE, True, False, -1, 80), (RECV, True, False, 2, 40)],
                python,
            )
            # What failed between the two hooks is given up, 64 at a time.
            failed = 64 * [(BROADCAST, False, True, -1, 40)]
            self.assertEqual(operations[2:], failed + [(BROADCAST, False, False, -1, 40)], python)
            self.assertEqual(run.events["misuse"], 0)


if __name__ == "__main__":
    unittest.main()

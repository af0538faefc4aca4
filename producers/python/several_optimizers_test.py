"""Which optimizer's steps begin the steps of a training that has several of them."""

import importlib
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from eroica import life, stages


class Optimizer:
    pass


class Core:
    """Records what the core is told: S for a step of the optimizer, m for a mark alone."""

    def __init__(self):
        self.told = ""

    def optimizer_step(self, _begins_stage):
        self.told += "S"

    def mark(self, kind):
        self.told += "m" if kind == 12 else ""

    def dataloader_next(self):
        pass


class SeveralOptimizersTest(unittest.TestCase):
    def setUp(self):
        importlib.reload(stages)
        self.core = Core()
        for name, value in (("on", True), ("native", self.core)):
            patched = mock.patch.object(life, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def train(self, optimizers, steps=3):
        self.core.told = ""
        for _ in range(steps):
            for optimizer in optimizers:
                stages.forward_begins()
                stages.backward_begins()
                stages.optimizer_begins(optimizer)
        return self.core.told

    def test_steps_are_those_of_the_first(self):
        self.assertEqual(self.train([Optimizer(), Optimizer()]), "SmSmSm")

    def test_optimizers_one_after_the_other_are_one_stage(self):
        optimizers = [Optimizer(), Optimizer()]
        for _ in range(3):
            stages.forward_begins()
            stages.backward_begins()
            for optimizer in optimizers:
                stages.optimizer_begins(optimizer)
        self.assertEqual(self.core.told, "SSS")

    def test_one_alone_always_leads(self):
        self.assertEqual(self.train([Optimizer()]), "SSS")

    def test_behind_a_data_loader_all_count(self):
        stages.data_begins()
        self.assertEqual(self.train([Optimizer(), Optimizer()]), "SSSSSS")

    def test_what_the_script_says_always_counts(self):
        self.assertEqual(self.train([None, None]), "SSSSSS")

    def test_one_that_is_no_longer_used_stops_leading(self):
        first, second = Optimizer(), Optimizer()
        self.train([first])
        self.assertEqual(self.train([second], 19), 16 * "m" + "SSS")
        del first
        self.assertEqual(self.train([second]), "SSS")

    def test_one_that_is_gone_leads_no_longer(self):
        self.train([Optimizer()])
        self.assertEqual(self.train([Optimizer()]), "SSS")


if __name__ == "__main__":
    unittest.main()

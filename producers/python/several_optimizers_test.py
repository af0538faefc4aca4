"""What begins the steps of a training that has several optimizers, or none that is known."""

import importlib
import os
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from eroica import life, stages


class Optimizer:
    pass


class Core:
    """Records what the core is told: S for a step of the optimizer, m for a mark of its stage alone,
    D for a batch, s for a step."""

    def __init__(self):
        self.told = ""
        self.trainer = threading.get_ident()

    def trains(self):
        return threading.get_ident() == self.trainer

    def optimizer_step(self, _begins_stage):
        self.told += "S"

    def mark(self, kind):
        self.told += "m" if kind == 12 else ""

    def dataloader_next(self):
        self.told += "D"

    def step(self):
        self.told += "s"


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

    def load_elsewhere(self):
        thread = threading.Thread(target=stages.data_begins)
        thread.start()
        thread.join()

    def test_behind_the_batches_of_another_thread_the_first_leads(self):
        self.load_elsewhere()
        self.assertEqual(self.train([Optimizer(), Optimizer()]), "SmSmSm")

    def test_a_thread_that_loads_ahead_passes_no_stage(self):
        stages.forward_begins()
        stages.backward_begins()
        for _ in range(300):
            self.load_elsewhere()
        self.assertNotIn("s", self.core.told)
        self.assertEqual(stages._stage, stages.BACKWARD)

    def test_a_loader_that_trained_before_anybody_did_does_not_lead(self):
        main, self.core.trainer = self.core.trainer, None
        thread = threading.Thread(target=self.load_as_trainer)
        thread.start()
        thread.join()
        self.core.trainer = main
        self.assertEqual(self.train([Optimizer(), Optimizer()]), "SmSmSm")

    def load_as_trainer(self):
        self.core.trainer = threading.get_ident()
        stages.data_begins()

    def batches(self, count, backward=True):
        self.core.told = ""
        for _ in range(count):
            stages.data_begins()
            stages.forward_begins()
            if backward:
                stages.backward_begins()
        return self.core.told

    def test_an_optimizer_of_the_script_s_own_is_not_seen_and_batches_become_steps(self):
        self.assertEqual(self.batches(200), 200 * "D", "they may be micro-batches")
        self.assertEqual(self.batches(3), 3 * "sD")

    def test_micro_batches_of_a_known_optimizer_are_no_steps(self):
        for _ in range(3):
            self.assertEqual(self.batches(128), 128 * "D")
            stages.optimizer_begins(Optimizer())

    def test_micro_batches_of_steps_that_the_script_counts_are_none(self):
        for _ in range(3):
            self.assertEqual(self.batches(128), 128 * "D")
            stages.step_begins()

    def test_an_evaluation_has_no_steps(self):
        self.assertEqual(self.batches(500, backward=False), 500 * "D")

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

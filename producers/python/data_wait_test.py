"""What a wait for the workers of a data loader is called."""

import os
import sys
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from eroica import data_wait


class Indexed:
    def __getitem__(self, index):
        return index


class Iterable(Indexed):  # as PyTorch's IterableDataset, which inherits a __getitem__ that raises
    def __iter__(self):
        return iter([1])


class Named(Indexed):
    """Inherits all of it."""


def name_of(dataset):
    return data_wait.name_of(types.SimpleNamespace(_dataset=dataset, _num_workers=2))


def line_of(method):
    return f"data_wait_test.py:{method.__code__.co_firstlineno}"


class DataWaitTest(unittest.TestCase):
    def test_the_place_is_that_of_the_class_s_own_method(self):
        for dataset, method in (
            (Indexed(), Indexed.__getitem__),
            (Iterable(), Iterable.__iter__),
            (Named(), Indexed.__getitem__),
        ):
            self.assertEqual(
                name_of(dataset),
                f"(waiting for the data loader's 2 workers, dataset {type(dataset).__name__}, "
                f"{line_of(method)})",
            )

    def test_what_is_not_python_has_no_place(self):
        self.assertEqual(
            name_of([1]), "(waiting for the data loader's 2 workers, dataset list)"
        )


if __name__ == "__main__":
    unittest.main()

"""What a training thread waits for when workers load its batches: how many they are, and the dataset
that they read."""

import os

_DEEPEST = 8  # datasets that wrap one another
_UNKNOWN = "(waiting for the data loader's workers)"


def name_of(iterator):
    """The function of a wait in a _MultiProcessingDataLoaderIter."""
    try:
        dataset = _innermost(iterator._dataset)
        count = int(iterator._num_workers)
        return (
            f"(waiting for the data loader's {count} worker{'' if count == 1 else 's'}, "
            f"dataset {_name_of(dataset)})"
        )
    except Exception:
        return _UNKNOWN  # another release


def _innermost(dataset):
    """Of a Subset, or whatever else keeps the dataset that it reads in `dataset`."""
    for _ in range(_DEEPEST):
        inner = getattr(dataset, "dataset", None)
        if inner is None:
            break
        dataset = inner
    return dataset


def _name_of(dataset):
    """With the place of the method that loads a sample, where it is Python: the class's own before
    one that it inherits (an IterableDataset of PyTorch inherits a __getitem__ that only raises)."""
    kind = type(dataset)
    for owner in kind.__mro__:
        for method in ("__getitem__", "__getitems__", "__iter__"):
            code = getattr(vars(owner).get(method), "__code__", None)
            if code is not None:
                file = os.path.basename(code.co_filename)
                return f"{kind.__name__}, {file}:{code.co_firstlineno}"
    return kind.__name__

import time


class _Method:
    """As nanobind's: it has a name that is no text."""

    def __init__(self):
        self.__name__, self.__qualname__ = "block_until_ready", None

    def __get__(self, array, kind=None):
        return self if array is None else lambda: self(array)

    def __call__(self, array):
        time.sleep(0.02)
        return array


class ArrayImpl:
    block_until_ready = _Method()

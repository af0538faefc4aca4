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

    def __init__(self, ready=False, deleted=False):
        self._npy_value = None
        self._ready, self._deleted = ready, deleted

    def is_ready(self):
        if self._deleted:
            raise RuntimeError("Array has been deleted.")
        return self._ready

    def is_deleted(self):
        return self._deleted

    @property
    def _value(self):
        """Its value on the host."""
        if self._deleted:
            raise RuntimeError("Array has been deleted.")
        return self._taken_by_numpy()

    def _taken_by_numpy(self):
        if self._npy_value is None:
            time.sleep(0.02)
            self._npy_value = 1.5
        return self._npy_value

    def __float__(self):
        return self._value

"""What a script can say by itself: steps, regions, data loading, optimizer steps, checkpoints,
evaluation.

Every call does nothing, in well under a microsecond, where Eroica is off.
"""

import functools
import inspect
from time import monotonic_ns

from eroica import life
from eroica import native as constants
from eroica import stages

_MAX_NAMES = 4096
_functions = {}


def enabled():
    """Whether events of this process are taken."""
    return life.on


def step():
    """The step that ran ends here, the next begins. Its id, or -1 where Eroica is off."""
    if life.on or life.begin():
        stages.step_begins()
        return life.native.step()
    return -1


def optimizer_step():
    """The optimizer's step begins: what steps are told by where nobody calls step()."""
    if life.on or life.begin():
        stages.optimizer_begins()


def function_of(name, wait=constants.WAIT_NONE):
    """The number of a function of class Python; names beyond the bound are one."""
    number = _functions.get((name, wait))
    if number is None:
        if len(_functions) >= _MAX_NAMES:
            name = "(other regions)"
        number = life.native.function(str(name).encode("utf-8", "replace"), wait)
        if len(_functions) <= _MAX_NAMES:
            _functions[(name, wait)] = number
    return number


class region:
    """`with eroica.region("augment"):` or `@eroica.region("augment")`: an interval of that name."""

    __slots__ = ("name", "_start")

    def __init__(self, name):
        self.name = name
        self._start = 0

    def __enter__(self):
        if life.on:
            self._start = monotonic_ns()
        return self

    def __exit__(self, kind, error, trace):
        if self._start and life.on:
            life.native.interval(self._start, function_of(self.name))
        self._start = 0
        return False

    def __call__(self, function):
        name = self.name
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wrapped(*args, **kwargs):
                with region(name):
                    return await function(*args, **kwargs)

        else:

            @functools.wraps(function)
            def wrapped(*args, **kwargs):
                if not life.on:
                    return function(*args, **kwargs)
                with region(name):
                    return function(*args, **kwargs)

        return wrapped


class _Pause:
    """A stretch that belongs to no training step, between two marks."""

    __slots__ = ("_begin", "_end", "_began")

    def __init__(self, begin, end):
        self._begin = begin
        self._end = end
        self._began = False

    def __enter__(self):
        if life.on:
            life.native.mark(self._begin)
            self._began = True
        return self

    def __exit__(self, kind, error, trace):
        if self._began and life.on:
            life.native.mark(self._end)
        self._began = False
        return False


def checkpoint():
    """`with eroica.checkpoint():` around what saves or restores the job's state."""
    return _Pause(constants.CHECKPOINT_BEGIN, constants.CHECKPOINT_END)


def evaluation():
    """`with eroica.evaluation():` around what is no training step."""
    return _Pause(constants.EVALUATION_BEGIN, constants.EVALUATION_END)


class dataloader:
    """`for batch in eroica.dataloader(loader):`; everything else of the loader is reached through
    it."""

    def __init__(self, iterable):
        self._iterable = iterable

    def __iter__(self):
        for item in _marked(iter(self._iterable)):
            yield item

    def __len__(self):
        return len(self._iterable)

    def __getattr__(self, name):
        return getattr(self.__dict__["_iterable"], name)


def _marked(iterator):
    while True:
        stages.data_begins()
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item

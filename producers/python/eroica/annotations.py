"""What a script can say by itself: steps, regions, data loading, optimizer steps, checkpoints,
evaluation.

Every call does nothing, in well under a microsecond, where Eroica is off. None raises: a value of a
wrong type, or an argument too many, is said once on standard error. What the script's own
functions, iterables and bodies raise passes through without a frame of ours.
"""

import functools
import inspect
import operator
from time import monotonic_ns

from eroica import arguments, life, own_frames, stages
from eroica import native as constants
from eroica.open_entries import closed, opened

_MAX_NAMES = 4096
_functions = {}


def enabled(*surplus, **unknown):
    """Whether events of this process are taken."""
    if surplus or unknown:
        life.say_surplus("enabled", surplus, unknown)
    return life.on


def step(*surplus, **unknown):
    """The step that ran ends here, the next begins. Its id, or -1 where Eroica is off."""
    if surplus or unknown:
        life.say_surplus("step", surplus, unknown)
    try:
        if life.on or life.begin():
            stages.step_begins()
            number = life.native.step()
            if number < 0:
                life.look_whether_handed_over()
            return number
    except Exception:
        life.say_exception("a step is not taken")
    return -1


def optimizer_step(*surplus, **unknown):
    """The optimizer's step begins: what steps are found by where nobody calls step()."""
    if surplus or unknown:
        life.say_surplus("optimizer_step", surplus, unknown)
    try:
        if life.on or life.begin():
            stages.optimizer_begins()
    except Exception:
        life.say_exception("a step of the optimizer is not taken")


def function_of(name, wait=constants.WAIT_NONE):
    """The number of a function of class Python; names beyond the bound are one. name: anything."""
    if type(name) is not str or len(name) > arguments.MAX_NAME:
        name = arguments.text_of(name)
    number = _functions.get((name, wait))
    if number is None:
        if len(_functions) >= _MAX_NAMES:
            name = "(other regions)"
        number = life.native.function(name.encode("utf-8", "replace"), wait)
        if len(_functions) <= _MAX_NAMES:
            _functions[(name, wait)] = number
    return number


class region:
    """`with eroica.region("augment"):` or `@eroica.region("augment")`: an interval of that name. One
    object can be entered again, and by several threads."""

    __slots__ = ("name", "_starts")

    def __init__(self, name="(no name)", *surplus, **unknown):
        if surplus or unknown:
            life.say_surplus("region", surplus, unknown)
        self.name = name
        self._starts = []  # open_entries

    def __enter__(self):
        if life.on:
            opened(self._starts, monotonic_ns())
            try:
                life.native.enter(function_of(self.name), False)
            except Exception:
                life.say_exception("a region's begin is not taken")
        return self

    def __exit__(self, *_):
        if self._starts:
            try:
                start = closed(self._starts)
                if start is not None and life.on:
                    life.native.interval(start, function_of(self.name))
            except Exception:
                life.say_exception("a region is not taken")
        return False

    def __call__(self, function=None, *surplus, **unknown):
        """The function with each call, and each turn of a generator, as an interval. What is no
        function (a class, a value) comes back as it is."""
        if surplus or unknown:
            life.say_surplus("region", surplus, unknown)
        try:
            return _timed(function, self.name)
        except Exception:
            life.say_exception("a function of a region is not taken")
            return function


def _timed(function, name):
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_timed(function.__func__, name))
    if isinstance(function, type) or not callable(function):
        kind = arguments.type_name_of(function)
        life.say(f"a region times functions; left as it is: {kind}", "region of no function")
        return function
    if inspect.isasyncgenfunction(function):
        life.say("a region does not time asynchronous generators")
        return function
    if inspect.isgeneratorfunction(function):
        return _timed_generator(function, name)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapped(*args, **kwargs):
            try:
                if not life.on:
                    return await function(*args, **kwargs)
                with region(name):
                    return await function(*args, **kwargs)
            except BaseException as error:
                own_frames.hide(error)
                raise

    else:

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            try:
                if not life.on:
                    return function(*args, **kwargs)
                with region(name):
                    return function(*args, **kwargs)
            except BaseException as error:
                own_frames.hide(error)
                raise

    return wrapped


def _timed_generator(function, name):
    """A generator that hands on what comes in and out of the original's, and times its turns."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        try:
            generator = function(*args, **kwargs)
            turn, handed = generator.send, None
            while True:
                try:
                    with region(name):
                        value = turn(handed)
                except StopIteration as end:
                    return end.value
                try:
                    handed = yield value
                    turn = generator.send
                except GeneratorExit:
                    generator.close()
                    raise
                except BaseException as error:
                    own_frames.hide(error)
                    turn, handed = generator.throw, error
        except BaseException as error:
            own_frames.hide(error)
            raise

    return wrapped


class _Pause:
    """A stretch that belongs to no training step, between two marks."""

    __slots__ = ("_begin", "_end", "_entered")

    def __init__(self, begin, end):
        self._begin = begin
        self._end = end
        self._entered = []

    def __enter__(self):
        if life.on:
            self._entered.append(None)
            life.quietly(lambda: life.native.mark(self._begin))
        return self

    def __exit__(self, *_):
        try:
            self._entered.pop()
        except IndexError:
            return False
        if life.on:
            life.quietly(lambda: life.native.mark(self._end))
        return False


def checkpoint(*surplus, **unknown):
    """`with eroica.checkpoint():` around what saves or restores the job's state."""
    if surplus or unknown:
        life.say_surplus("checkpoint", surplus, unknown)
    return _Pause(constants.CHECKPOINT_BEGIN, constants.CHECKPOINT_END)


def evaluation(*surplus, **unknown):
    """`with eroica.evaluation():` around what is no training step."""
    if surplus or unknown:
        life.say_surplus("evaluation", surplus, unknown)
    return _Pause(constants.EVALUATION_BEGIN, constants.EVALUATION_END)


def _handed_on(operation):
    """A method that does with the loader what is done with the object before it."""

    def handed_on(self, *args):
        try:
            return operation(object.__getattribute__(self, "_iterable"), *args)
        except BaseException as error:
            own_frames.hide(error)
            raise

    return handed_on


# What Python looks up in the class: the object has what the loader has, and nothing else.
_OF_THE_CLASS = {
    "__len__": _handed_on(len),
    "__bool__": _handed_on(bool),
    "__next__": _handed_on(next),
    "__getitem__": _handed_on(operator.getitem),
    "__contains__": _handed_on(operator.contains),
    "__reversed__": _handed_on(reversed),
}
_kinds = {}


class dataloader:
    """`for batch in eroica.dataloader(loader):`; everything else of the loader is reached through
    it."""

    def __new__(cls, iterable=(), *surplus, **unknown):
        names = tuple(name for name in _OF_THE_CLASS if hasattr(type(iterable), name))
        if (cls, names) not in _kinds:
            members = {name: _OF_THE_CLASS[name] for name in names}
            members["__slots__"] = ()
            _kinds[(cls, names)] = type(cls.__name__, (cls,), members)
        return object.__new__(_kinds[(cls, names)])

    def __init__(self, iterable=(), *surplus, **unknown):
        if surplus or unknown:
            life.say_surplus("dataloader", surplus, unknown)
        object.__setattr__(self, "_iterable", iterable)

    def __iter__(self):
        try:
            return _Batches(iter(object.__getattribute__(self, "_iterable")))
        except BaseException as error:
            own_frames.hide(error)
            raise

    def __reduce__(self):
        return dataloader, (object.__getattribute__(self, "_iterable"),)

    __getattr__ = _handed_on(getattr)
    __setattr__ = _handed_on(setattr)
    __delattr__ = _handed_on(delattr)


class _Batches:
    """The loader's own iterator, each of whose turns is a mark."""

    __slots__ = ("_iterable",)

    def __init__(self, iterator):
        object.__setattr__(self, "_iterable", iterator)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            life.quietly(stages.data_begins)
            return next(object.__getattribute__(self, "_iterable"))
        except BaseException as error:
            own_frames.hide(error)
            raise

    __getattr__ = _handed_on(getattr)
    __setattr__ = _handed_on(setattr)

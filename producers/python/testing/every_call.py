"""Every call of the public interface with values that no call is meant for. Whatever is added to
eroica.__all__ is called, too. Raises where a call does."""

import inspect
import itertools

import eroica


class WrongValueError(Exception):
    """What the methods of a hostile value raise."""


def _raise(*_, **__):
    raise WrongValueError


_METHODS = (
    "__str__ __repr__ __hash__ __eq__ __len__ __bool__ __index__ __int__ __float__ __iter__ "
    "__next__ __getitem__ __contains__ __format__ __bytes__ __call__ __enter__ __exit__ __lt__ "
    "__le__ __reversed__"
).split()
_HOSTILE = {name: _raise for name in _METHODS}
Hostile = type("Hostile", (), {**_HOSTILE, "__getattr__": _raise})
HostileText = type("HostileText", (str,), dict(_HOSTILE))
HostileNumber = type("HostileNumber", (int,), dict(_HOSTILE))
HostileFloat = type("HostileFloat", (float,), dict(_HOSTILE))
HostileTuple = type("HostileTuple", (tuple,), dict(_HOSTILE))
HostileClass = type("HostileClass", (), {"__class__": property(_raise)})


def function():
    return 7


def values():
    """New ones each time: some can be used once."""
    return [
        *(None, True, -1, 0, 3, 1.5, float("nan"), float("inf"), -1e300, 1j),
        *(1 << 31, 1 << 63, 1 << 64, -(1 << 64), 10**30, 10**5000),
        *("", "all_reduce", "x" * 100_000, "\udcff", "a\0b", b"\xff", bytearray(b"x")),
        *([], [1], ["a"], [[]], {}, {"a": 1}, set(), (), (1, 1), (-1,), (1 << 40,), (None,)),
        *(range(0), range(-3), range(3, -3, -1), range(1 << 70), itertools.count(), iter([0, 1])),
        *(object(), object, type, len, function, inspect, Ellipsis, NotImplemented, memoryview(b"")),
        *(Hostile(), HostileText("t"), HostileNumber(2), HostileFloat(2), HostileTuple((1,))),
        *(HostileClass(), Hostile, (Hostile(),), [HostileNumber(1)], staticmethod(function)),
        *((value for value in [1]), (value for value in "ab")),
    ]


def outcome(call):
    """What it raises, or None. The value of a call is of no matter here."""
    try:
        call()
    except Exception as error:
        return type(error)
    return None


def use(made):
    """All that can be done with what a call returned."""
    made.__exit__(None, None, None)
    made.__exit__()
    with made:
        with made:
            pass
    made.__exit__(ValueError, ValueError(), None)
    body = LookupError("of the body")
    try:
        with made:
            raise body
    except LookupError as error:
        assert error is body and error.__context__ is None, error.__context__
    if callable(made):
        for value in values():
            result = made(value)
            if value is function:
                assert result() == 7 and result.__name__ == "function"
        made()
        made(function, 1, name=2)


def use_loader(make, value):
    """The loader raises what its iterable does: what a loop without it would raise."""
    loader = make(value)
    if type(value) is itertools.count:
        return
    for operation in (len, bool, lambda it: it.no_such_attribute, lambda it: it[0]):
        if type(value) is type:
            continue  # list[0] is a type
        wanted = outcome(lambda operation=operation: operation(value))
        found = outcome(lambda operation=operation: operation(loader))
        assert found is wanted, (type(value), operation, found, wanted)
    # One of two that are equal: the loop uses some of them up.
    position = next(at for at, other in enumerate(values()) if type(other) is type(value))
    wanted = outcome(lambda: list(itertools.islice(values()[position], 9)))
    found = outcome(lambda: list(itertools.islice(make(values()[position]), 9)))
    assert found is wanted, (type(value), found, wanted)


def call(name):
    entry = getattr(eroica, name)
    names = [
        parameter.name
        for parameter in inspect.signature(entry).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    made = [entry()]
    for count in range(1, len(names) + 3):
        for value in values():
            made.append(entry(*[value] * count))
    for parameter in [*names, "no_such_parameter"]:
        for value in values():
            made.append(entry(**{parameter: value}))
    return made


def everything():
    for name in eroica.__all__:
        made = call(name)
        if name == "dataloader":
            for value in values():
                use_loader(eroica.dataloader, value)
        elif hasattr(made[0], "__enter__"):
            for each in made:
                use(each)
        elif name == "step":
            assert all(type(step) is int for step in made)
        else:
            assert len({type(each) for each in made}) == 1

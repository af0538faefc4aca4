"""mpi4py's requests: what Isend, Irecv, Iallreduce and the like return, and who waits for them.

A request of a communicator that is watched is an object of a subclass. MPI.Request and MPI.Prequest
are these subclasses, because scripts wait by MPI.Request.Waitall(...): they have no members of their
own, and every request is an instance of MPI.Request as before, wherever it comes from.
"""

import abc
import weakref

from eroica import life, mpi_calls
from eroica.watched_call import watch

_KINDS = ("Request", "Prequest")
_ANY = "mpi:wait"
_followed = {}  # by the id of a request that is alive: _Followed


class _Followed:
    __slots__ = ("reference", "plan", "operations")

    def __init__(self, request, plan):
        number = id(request)
        self.reference = weakref.ref(request, lambda _: _forget(number))
        self.plan = plan
        self.operations = None  # that are under way, a list; None: it is not started

    def pass_by(self):
        """It has ended without a wait."""
        for operation in self.operations or ():
            operation.pass_by()
        self.operations = None


class _StandsFor(abc.ABCMeta):
    """The metaclass of a class in the original's place: its instances are the original's."""

    def __instancecheck__(cls, instance):
        original = cls.__dict__.get("_stands_for")
        return isinstance(instance, original) if original else super().__instancecheck__(instance)

    def __subclasscheck__(cls, kind):
        original = cls.__dict__.get("_stands_for")
        return issubclass(kind, original) if original else super().__subclasscheck__(kind)


def watched_kinds(module):
    """By original class: the one in its place. module: mpi4py.MPI."""
    kinds = {}
    for name in _KINDS:
        original = getattr(module, name)
        members = {
            "__slots__": (),
            "__module__": original.__module__,
            "__doc__": original.__doc__,
            "_stands_for": original,
        }
        for spelt, (static, watched) in _METHODS.items():
            if hasattr(original, spelt):
                method = watched(getattr(original, spelt), static)
                members[spelt] = staticmethod(method) if static else method
        kinds[original] = _StandsFor(name, (original,), members)
    life.at_end(_followed.clear)
    return kinds


def follow(kinds, request, plan, starts):
    """The request in its place. kinds: of watched_kinds. plan: None where nothing is watched.
    starts: it is under way, and ends once."""
    kind = kinds.get(type(request))
    if kind is None:
        return request
    request = kind(request)
    if plan is not None:
        row = _followed[id(request)] = _Followed(request, plan)
        if starts:
            row.operations = plan.issue()
            row.plan = None
    return request


def _forget(number):
    row = _followed.pop(number, None)
    if row is not None and life.on:
        life.quietly(row.pass_by)


def _requests_of(args, kwargs, static):
    if not static:
        return args[:1]
    requests = args[0] if args else kwargs.get("requests")
    return requests if isinstance(requests, (list, tuple)) else ()


def _under_way(requests):
    rows = (_followed.get(id(request)) for request in requests)
    return [row for row in rows if row is not None and row.operations is not None]


def _waiting_for_all(original, static):
    def begins(args, kwargs):
        rows = _under_way(_requests_of(args, kwargs, static)) if life.on else None
        if not rows:
            return None
        operations = [operation for row in rows for operation in row.operations]
        return rows, mpi_calls.Wait(_ANY, operations)

    def ended(token, _, error):
        rows, wait = token
        wait.end(error)
        if error is None:
            for row in rows:
                row.operations = None

    return watch(original, begins, ended)


def _waiting_for_some(original, static):
    def begins(args, kwargs):
        requests = _requests_of(args, kwargs, static)
        if not life.on or not _under_way(requests):
            return None
        return list(requests), mpi_calls.Wait(_ANY, ())

    def ended(token, result, error):
        requests, wait = token
        wait.end(error)
        if error is None:
            _pass_by(requests, _first_of(result))

    return watch(original, begins, ended)


def _testing(places):
    """places(result, count): of the requests that have ended, among those that were asked for."""

    def testing(original, static):
        def begins(args, kwargs):
            requests = _requests_of(args, kwargs, static)
            return list(requests) if life.on and _under_way(requests) else None

        def ended(requests, result, error):
            if error is None and life.on:
                _pass_by(requests, places(result, len(requests)))

        return watch(original, begins, ended)

    return testing


def _first_of(result):
    """Methods of objects return what came behind what the others return."""
    return result[0] if type(result) is tuple else result


def _all_or_none(result, count):
    return range(count) if _first_of(result) else ()


def _one_or_none(result, _):
    return result[0] if result[1] else ()


def _some(result, _):
    return _first_of(result)


def _pass_by(requests, places):
    """places: one, several, or None. One that is beyond all: nothing was under way."""
    for place in (places,) if type(places) is int else places or ():
        if 0 <= place < len(requests):
            for row in _under_way(requests[place : place + 1]):
                row.pass_by()


def _giving_up(original, static):
    """Free, Cancel: nobody will wait for it."""

    def ended(requests, _, error):
        if error is None and life.on:
            for row in _under_way(requests):
                row.pass_by()

    return watch(original, lambda args, kwargs: _requests_of(args, kwargs, static), ended)


def _starting(original, static):
    def ended(requests, _, error):
        if error is not None or not life.on:
            return
        for row in (_followed.get(id(request)) for request in requests):
            if row is not None and row.plan is not None:
                row.operations = row.plan.issue()

    def begins(args, kwargs):
        return list(_requests_of(args, kwargs, static)) if _followed else None

    return watch(original, begins, ended)


# By method: (of the class, made by).
_METHODS = {
    "Wait": (False, _waiting_for_all),
    "Waitall": (True, _waiting_for_all),
    "Waitany": (True, _waiting_for_some),
    "Waitsome": (True, _waiting_for_some),
    "Test": (False, _testing(_all_or_none)),
    "Testall": (True, _testing(_all_or_none)),
    "Testany": (True, _testing(_one_or_none)),
    "Testsome": (True, _testing(_some)),
    "Free": (False, _giving_up),
    "Cancel": (False, _giving_up),
}
_METHODS.update({name.lower(): row for name, row in _METHODS.items()})
_METHODS.update({"Start": (False, _starting), "Startall": (True, _starting)})

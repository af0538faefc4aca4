import os

_SIZE = int(os.environ.get("FAKE_MPI_SIZE", "4"))
calls = []  # methods that were called, in order
running = os.environ.get("FAKE_MPI_RUNS", "1") == "1"


def Is_initialized():
    return running


def Is_finalized():
    return False


class _Extension(type):
    """Of a class that an extension makes. A subclass in Python is an ordinary one."""

    def __setattr__(cls, name, value):
        if cls.__dict__.get("_of_extension"):
            raise TypeError(f"cannot set {name!r} attribute of immutable type {cls.__name__!r}")
        super().__setattr__(name, value)


class Group:
    def __init__(self, ranks):
        self._ranks = ranks

    def Get_size(self):
        return len(self._ranks)

    @staticmethod
    def Translate_ranks(group, places, world):
        return [world._ranks.index(group._ranks[place]) for place in places]

    def Free(self):
        self._ranks = None


class Comm(metaclass=_Extension):
    _of_extension = True

    def __new__(cls, communicator=None):
        made = super().__new__(cls)
        made._ranks = communicator._ranks if communicator is not None else []
        made.handle = communicator.handle if communicator is not None else 0
        return made

    def __eq__(self, other):
        return self.handle == other.handle

    def __reduce__(self):
        return _named, ("COMM_WORLD",)

    def _need_mpi(self):
        if not running:
            os._exit(77)  # as MPI ends a process that calls it too early

    def Get_size(self):
        self._need_mpi()
        return len(self._ranks)

    def Get_rank(self):
        self._need_mpi()
        return int(os.environ.get("FAKE_MPI_RANK", "2"))

    def Get_group(self):
        return Group(self._ranks)

    def _called(self, name, buffer):
        self._need_mpi()
        if buffer is None:
            raise ValueError(f"{name}: no buffer")
        calls.append(name)
        return name

    def Allreduce(self, sendbuf, recvbuf, op=None):
        return self._called("Allreduce", sendbuf)

    def allreduce(self, sendobj, op=None):
        return self._called("allreduce", sendobj)

    def barrier(self):
        return self._called("barrier", 0)

    def Send(self, buf, dest, tag=0):
        return self._called("Send", buf)

    def recv(self, buf=None, source=-1, tag=-1):
        return self._called("recv", 0)

    def Sendrecv(self, sendbuf, dest, sendtag=0, recvbuf=None, source=-1, recvtag=-1):
        return self._called("Sendrecv", sendbuf)

    def Isend(self, buf, dest, tag=0):
        return _REQUEST._of(self._called("Isend", buf))

    def irecv(self, buf=None, source=-1, tag=-1):
        return _REQUEST._of(self._called("irecv", 0), "an object")

    def Iallreduce(self, sendbuf, recvbuf, op=None):
        return _REQUEST._of(self._called("Iallreduce", sendbuf))

    def Send_init(self, buf, dest, tag=0):
        return _PREQUEST._of(self._called("Send_init", buf))

    def Iprobe(self, source=-1, tag=-1):
        return False

    def Free(self):
        self.handle = 0


class Request:
    """Has ended when somebody waits for it, or from the second time on that somebody asks. handle:
    0 behind that."""

    __slots__ = ("handle", "_value", "_asked", "__weakref__")

    def __new__(cls, request=None):
        made = super().__new__(cls)
        made.handle = request.handle if request is not None else 0
        made._value = request._value if request is not None else None
        made._asked = 0
        return made

    @classmethod
    def _of(cls, name, value=None):
        made = cls()
        made.handle, made._value = len(calls), value
        return made

    def __eq__(self, other):
        return self.handle == other.handle

    __hash__ = None

    def __bool__(self):
        return self.handle != 0

    def __reduce__(self):
        if self:
            raise ValueError(f"cannot serialize {type(self).__module__}.{type(self).__name__!r}")
        return "REQUEST_NULL" if self is REQUEST_NULL else (type(self), (REQUEST_NULL,))

    def _end(self):
        if self._value is ValueError:
            raise ValueError("the request failed")
        if type(self).__name__ != "Prequest":
            self.handle = 0
        return self._value

    def Wait(self, status=None):
        self._end()
        return True

    def wait(self, status=None):
        return self._end()

    def Test(self, status=None):
        self._asked += 1
        return self._asked > 1 and _REQUEST.Wait(self)

    def test(self, status=None):
        return (True, self._end()) if _REQUEST.Test(self) else (False, None)

    @classmethod
    def Waitall(cls, requests, statuses=None):
        return all([_REQUEST.Wait(request) for request in requests])

    @classmethod
    def waitall(cls, requests, statuses=None):
        return [_REQUEST.wait(request) for request in requests]

    @classmethod
    def Waitany(cls, requests, status=None):
        for place in reversed(range(len(requests))):
            if requests[place]:
                _REQUEST.Wait(requests[place])
                return place
        return UNDEFINED

    @classmethod
    def waitsome(cls, requests, statuses=None):
        places = [place for place, request in enumerate(requests) if request]
        return (places, [_REQUEST.wait(requests[place]) for place in places]) if places else (None, None)

    @classmethod
    def testany(cls, requests, status=None):
        for place, request in enumerate(requests):
            if _REQUEST.Test(request):
                return place, True, None
        return UNDEFINED, False, None

    def Free(self):
        self.handle = 0


class Prequest(Request):
    __slots__ = ()

    def Start(self):
        calls.append("Start")

    @classmethod
    def Startall(cls, requests):
        for request in requests:
            _PREQUEST.Start(request)


# An extension's own, whatever the module's attributes are set to.
_REQUEST, _PREQUEST = Request, Prequest
UNDEFINED = -32766
REQUEST_NULL = Request()


class Intracomm(Comm):
    _of_extension = True

    def Split(self, color=0, key=0):
        made = Intracomm()
        made._ranks, made.handle = self._ranks[:color], self.handle + color
        return made

    def Dup(self):
        made = type(self)(self)
        made.handle += 100
        return made


def _named(name):
    return globals()[name]


COMM_WORLD = Intracomm()
COMM_WORLD._ranks, COMM_WORLD.handle = list(range(_SIZE)), 1000

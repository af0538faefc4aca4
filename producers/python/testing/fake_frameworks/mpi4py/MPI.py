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


    def Free(self):
        self.handle = 0


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

"""A process that trains nothing and sends events through libproducer_core.so, for the tests around it.

    python3 host.py CORE SCENARIO [ARGUMENT...]

Prints "ready" when it is attached or not, then what the scenario prints; `done` with the core's
statistics as JSON is the last line of a scenario that comes to its end.
"""

import ctypes
import json
import os
import random
import signal
import sys
import threading
import time

NO_PARENT = 0xFFFFFFFF
COUNTED = 2**64 - 1
RING_FULL = 60  # eroica::DropReason
STATISTICS = ("taken", "sent", "lost", "batches", "bytes", "cpu_ns", "memory")


class Collective(ctypes.Structure):
    _fields_ = [("communicator", ctypes.c_uint16), ("operation", ctypes.c_uint8), ("peer", ctypes.c_int32),
                ("sequence", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class AttachOptions(ctypes.Structure):
    _fields_ = [("component", ctypes.c_char_p), ("rank", ctypes.c_int64), ("world_size", ctypes.c_int64),
                ("role", ctypes.c_char_p), ("device", ctypes.c_int32)]


class Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in STATISTICS]


class Core:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name, result in (("now_ns", ctypes.c_int64), ("attach", ctypes.c_bool), ("enabled", ctypes.c_bool),
                             ("off_reason", ctypes.c_char_p), ("function", ctypes.c_uint32), ("lane", ctypes.c_uint8),
                             ("communicator", ctypes.c_uint16), ("step", ctypes.c_int64),
                             ("collective_launched", ctypes.c_uint64)):
            self.call(name).restype = result
        self.call("interval").argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint8]
        self.call("step").argtypes = [ctypes.c_int64]
        self.call("collective_launched").argtypes = [ctypes.POINTER(Collective), ctypes.c_int64]
        self.call("collective_ended").argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint32,
                                                  ctypes.c_uint8]
        self.call("communicator").argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32,
                                              ctypes.c_void_p]

    def call(self, name):
        return getattr(self.library, "eroica_" + name)

    def attach(self, component=None):
        known = component and AttachOptions(component=component, rank=-1, world_size=-1, device=-1)
        on = self.call("attach")(ctypes.byref(known) if known else None)
        self.function = self.call("function")(b"host.py(1): work", 3, 0, NO_PARENT)
        self.reduce = self.call("function")(b"all_reduce", 2, 0, NO_PARENT)
        self.lane = self.call("lane")(b"training thread", 1)
        self.world = self.call("communicator")(7, b"world", b"", 2, None)
        return on

    def now(self):
        return self.call("now_ns")()

    def train_step(self, seconds=0.002):
        begin = self.now()
        self.call("step")(begin)
        time.sleep(seconds)
        end = self.now()
        self.call("interval")(begin, end, self.function, self.lane)
        collective = Collective(self.world, 1, -1, COUNTED, 64)
        ticket = self.call("collective_launched")(ctypes.byref(collective), end)
        self.call("collective_ended")(ticket, end, self.now(), self.reduce, self.lane)

    def flood(self, events):
        now = self.now()
        interval = self.call("interval")
        for i in range(events):
            interval(now + i, now + i + 1, self.function, self.lane)

    def statistics(self):
        out = Statistics()
        self.call("core_statistics")(ctypes.byref(out))
        return {name: getattr(out, name) for name in STATISTICS}

    def wait_until(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition(self.statistics()):
            if time.monotonic() > deadline:
                raise TimeoutError(self.statistics())
            time.sleep(0.01)


def steps(core, count="50"):
    for _ in range(int(count)):
        core.train_step()


def hard_exit(core):
    steps(core, 300)
    sys.stdout.flush()
    os._exit(7)


def killed(core):
    steps(core, 600)
    print("killing", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def forever(core):
    while True:
        core.train_step()


def forks(core):
    """Children of a rank, as data loaders make them, some of which use the library and exit in every way."""
    children = []
    for i in range(40):
        child = os.fork()
        if child == 0:
            if core.call("enabled")() or core.call("attach")(None):
                os._exit(1)
            core.train_step(0)
            if i % 2:
                os._exit(0)
            sys.exit(0)
        children.append(child)
        core.train_step(0)
    codes = {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}
    print("children", sorted(codes), flush=True)
    steps(core)


def spawned(core, path, *variables):
    """A child that is started with the rank's environment, and further NAME=VALUE."""
    environment = dict(os.environ, **dict(one.split("=") for one in variables))
    code = os.spawnve(os.P_WAIT, sys.executable, [sys.executable, __file__, path, "steps", "1"],
                      environment)
    print("child", code, flush=True)
    steps(core)


def starts_the_trainer(core, path, *calls):
    """A wrapper that makes these calls, and starts another process with all that it was given."""
    for name in calls:
        core.call(name)(core.now()) if name == "step" else core.call(name)()
    environment = dict(os.environ)
    code = os.spawnve(os.P_WAIT, sys.executable, [sys.executable, __file__, path, "trains_below"], environment)
    print("child", code, "enabled", core.call("enabled")(), flush=True)


def trains_after_its_child(core, path):
    """As starts_the_trainer; then this process trains itself, as long as another child is the rank in vain."""
    import subprocess  # not where the interpreter has nothing but what it has loaded

    starts_the_trainer(core, path)
    holder = subprocess.Popen([sys.executable, __file__, path, "holds"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline().startswith(b"ready True")
    for _ in range(2):
        print("beside", core.attach(b"python"), core.call("off_reason")().decode(), flush=True)
    holder.communicate(b"")
    print("again", core.attach(b"python"), core.call("off_reason")().decode(), flush=True)
    steps(core, 200)


def holds(core):
    sys.stdin.read()


def trains_below(core, rounds="40"):
    """The start of its interpreter has tried to attach; its signs of training try again."""
    on = False
    for _ in range(int(rounds)):
        on = core.attach(b"python")
        if on:
            break
        time.sleep(0.05)
    print("child on", on, flush=True)
    if on:
        steps(core, 200)


def replaced(core, path, again="yes"):
    steps(core, 300)
    if again == "yes":
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, __file__, path, "replaced", path, "no"])


def twice(core, other):
    second = Core(other)
    print("second", second.attach(), second.call("off_reason")().decode(), flush=True)
    steps(core)


def flooded(core):
    core.flood(200_000)
    core.wait_until(lambda s: s["taken"] + s["lost"] >= 200_000)


def threads(core):
    """More threads than there are rings, at once and one after the other."""
    def work():
        core.flood(100)
    for _ in range(3):
        workers = [threading.Thread(target=work) for _ in range(100)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def detached(core):
    steps(core)
    core.call("detach")(2000)
    core.train_step()
    print("enabled", core.call("enabled")(), core.call("off_reason")().decode(), flush=True)


def losing(core, count):
    """Steps, of whose events some were lost."""
    steps(core, 600)
    core.call("lost")(0, RING_FULL, ctypes.c_uint64(int(count)))


def threadless(core):
    """Attached already, or not: where no further thread could be had, signals still reach this one."""
    print("masked", sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))), flush=True)
    steps(core)


def hostile(core, seed="1"):
    """Every call of the C ABI with values that it is not made for, before and after what is right."""
    import hostile_calls
    random.seed(int(seed))
    print("calls", " ".join(sorted(hostile_calls.CALLS)), flush=True)
    batches = core.statistics()["batches"]
    hostile_calls.call_all(core.library)
    steps(core)
    hostile_calls.call_all(core.library)
    steps(core, 300)
    core.wait_until(lambda s: s["batches"] > batches + 1)


def hostile_when_off(core, how):
    import hostile_calls
    if how == "detached":
        core.call("detach")(2000)
    if how == "forked" and os.fork() != 0:
        raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
    hostile_calls.call_all(core.library)
    core.train_step()


SCENARIOS = {f.__name__: f for f in (steps, hard_exit, killed, forever, forks, spawned, starts_the_trainer, trains_after_its_child, holds, trains_below, replaced, twice, flooded, threads,
                                     detached, losing, threadless, hostile, hostile_when_off)}


def main():
    core = Core(sys.argv[1])
    # Of all others that attach it is known that they do so where there is something to capture.
    component = b"python" if sys.argv[2] in ("starts_the_trainer", "trains_after_its_child", "trains_below") else None
    print("ready", core.attach(component), core.call("off_reason")().decode(), flush=True)
    SCENARIOS[sys.argv[2]](core, *sys.argv[3:])
    print("done", json.dumps(core.statistics()), flush=True)


if __name__ == "__main__":
    main()

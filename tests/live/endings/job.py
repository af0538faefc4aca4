"""A short training that ends as it is told: job.py HOST ENDING. Started by endings.py.

HOST is numpy, gloo or outliving; ENDING is the name of a function below whose docstring says how
the process ends, where the name does not. Everything is a user's script: nothing knows of Eroica.
"""

import atexit
import builtins
import gc
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time


def say(*words):
    print(*words, flush=True)


def until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)


def daemon(work):
    """Runs work again and again, on a daemon thread, and waits for the first time."""
    begun = threading.Event()

    def again():
        while True:
            work()
            begun.set()

    thread = threading.Thread(target=again, daemon=True)
    thread.start()
    begun.wait(30.0)
    return thread


class Speaks:
    """Says when it is destroyed."""

    def __init__(self, name, does=None):
        self.name, self.does, self.write = name, does, os.write

    def __del__(self):
        if self.does is not None:
            self.does()
        self.write(1, f"destroyed {self.name}\n".encode())


# How it ends. ----------------------------------------------------------------------------------


def returns(host):
    pass


def returns_after_destroy(host):
    host.destroy()


def raises(host):
    raise ValueError("of the user")


def raises_in_collective(host):
    try:
        host.collective()
        raise KeyError("inside")
    except KeyError as error:
        raise RuntimeError("outside") from error


def raises_base_exception(host):
    class Ends(BaseException):
        pass

    raise Ends("neither Exception nor SystemExit")


def recursion(host):
    return recursion(host)


def exits_0(host):
    sys.exit(0)


def exits_3(host):
    sys.exit(3)


def exits_with_text(host):
    sys.exit("the reason")


def exits_c(host):
    """exit() of C: no finalization, but destructors."""
    import ctypes

    ctypes.CDLL(None).exit(7)


def hard_exit_0(host):
    os._exit(0)


def hard_exit_5(host):
    os._exit(5)


def hard_exit_in_thread(host):
    threading.Thread(target=lambda: os._exit(6)).start()
    time.sleep(30)


def aborts(host):
    os.abort()


def crashes(host):
    os.kill(os.getpid(), signal.SIGSEGV)


def terminated(host):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)


def terminated_with_handler(host):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)


def interrupted(host):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)


def interrupted_by_default(host):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)


def interrupt_ignored(host):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGINT)


def hung_up(host):
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(30)


def killed(host):
    os.kill(os.getpid(), signal.SIGKILL)


def alarm(host):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(30)


def thread_raises(host):
    thread = threading.Thread(target=raises, args=(host,))
    thread.start()
    thread.join()


def thread_exits(host):
    thread = threading.Thread(target=sys.exit, args=(4,))
    thread.start()
    thread.join()


def thread_goes_on(host):
    """A thread that is no daemon trains after the main one has returned."""
    main = threading.main_thread()

    def after():
        until(lambda: not main.is_alive(), 1.0)
        host.collective()
        say("the thread is done")

    threading.Thread(target=after).start()


def daemon_computes(host):
    daemon(lambda: sum(range(1000)))


def daemon_in_collectives(host):
    daemon(host.collective)


def daemon_in_collectives_and_raises(host):
    daemon(host.collective)
    raise ValueError("of the user")


def daemons_in_collectives(host):
    for _ in range(3):
        daemon(host.collective)


def daemon_waits(host):
    daemon(lambda: host.collective() or time.sleep(0.01))


def daemon_waits_for_ever(host):
    begun = threading.Event()
    threading.Thread(target=lambda: (host.collective(), begun.set(), threading.Event().wait()),
                     daemon=True).start()
    begun.wait(30.0)


def daemon_is_joined_at_exit(host):
    """By an exit function, which runs before or after those of others."""
    stop = []
    thread = threading.Thread(target=lambda: until(lambda: host.collective() or stop), daemon=True)

    def end():
        stop.append(True)
        thread.join()
        say("joined")

    atexit.register(end)
    thread.start()


def exit_function(host):
    atexit.register(say, "at exit")


def exit_function_with_collective(host):
    atexit.register(lambda: (host.collective(), say("at exit")))


def exit_function_raises(host):
    atexit.register(raises, host)


def exit_function_exits(host):
    atexit.register(sys.exit, 8)


def exit_function_hard_exits(host):
    atexit.register(os._exit, 8)


def exit_function_destroys(host):
    atexit.register(host.destroy)


def exit_function_makes_group(host):
    atexit.register(lambda: (host.group(), host.collective(), say("made")))


def group_made_late(host):
    kept.append(host.group())


def groups(host):
    kept.extend(host.group() for _ in range(20))
    host.collective()


def destroyed_and_made_again(host):
    host.destroy()
    host.start()
    host.collective()
    say("made again")


def pending_at_exit(host):
    kept.append(host.pending())


def pending_at_exit_and_raises(host):
    kept.append(host.pending())
    raise ValueError("of the user")


def pending_ends_while_ending(host):
    kept.append(host.pending_until("ending"))


def pending_ends_after_interpreter(host):
    kept.append(host.pending_until("exit"))


def many_pending(host):
    kept.extend(host.pending() for _ in range(20))


def forks_and_returns(host):
    child = os.fork()
    if child == 0:
        say("child")
        sys.exit(5)
    say(os.waitpid(child, 0)[1])


def forks_and_child_hard_exits(host):
    child = os.fork()
    if child == 0:
        os._exit(5)
    say(os.waitpid(child, 0)[1])


def forks_and_child_raises(host):
    child = os.fork()
    if child == 0:
        raise ValueError("of the child")
    say(os.waitpid(child, 0)[1])


def forks_and_child_executes(host):
    child = os.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", "print('executed', flush=True)"])
    say(os.waitpid(child, 0)[1])


def forks_and_child_outlives(host):
    """The parent ends first."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)  # the parent's end
        say("the child is last")
        sys.exit(0)


def _in_child():
    say("in the child")


def _started_as(method):
    process = multiprocessing.get_context(method).Process(target=_in_child)
    process.start()
    process.join()
    say(method, process.exitcode)


def child_by_fork(host):
    _started_as("fork")


def child_by_spawn(host):
    _started_as("spawn")


def child_by_forkserver(host):
    _started_as("forkserver")


def pool_of_children(host):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        say(pool.map(abs, [-1, -2]))


def child_program(host):
    say(subprocess.run([sys.executable, "-c", "import sys; sys.exit(2)"], check=False).returncode)


def restarted(host):
    """As an elastic launcher starts a rank again, with the same variables; the port is another
    one, because the process before still holds the first."""
    if os.environ.get("JOB_RESTARTED"):
        return
    environment = dict(os.environ, JOB_RESTARTED="1", MASTER_PORT=os.environ["JOB_NEXT_PORT"])
    say(subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode)


def executes(host):
    os.execv(sys.executable, [sys.executable, "-c", "print('executed', flush=True)"])


def destructors_speak(host):
    kept.extend([Speaks("in a list"), Speaks("another")])
    builtins.kept_by_the_job = Speaks("in builtins")


def destructor_in_collective(host):
    global last
    last = Speaks("last", host.collective)


def destructor_raises(host):
    global last
    last = Speaks("last", lambda: raises(host))


def modules_held(host):
    """Somebody holds modules when the interpreter ends: they are cleared in another order."""
    builtins.kept_by_the_job = list(sys.modules.values())


def host_modules_speak(host):
    """What lies in a module is destroyed when the module is cleared, and not later."""
    for name in ("torch", "torch.optim", "torch.distributed.distributed_c10d", "numpy"):
        if name in sys.modules:
            sys.modules[name].spoken = Speaks(name)


def garbage_at_the_end(host):
    """Collections run while modules are cleared."""
    def litter():
        for _ in range(20000):
            cycle = []
            cycle.append(cycle)

    gc.set_threshold(50)
    builtins.kept_by_the_job = Speaks("last", litter)


def collection_callback(host):
    gc.callbacks.append(lambda phase, info: None)
    gc.collect()


def imports_at_exit(host):
    atexit.register(lambda: say(importlib.import_module("colorsys").__name__))


def own_hooks(host):
    """Of the interpreter: the script's own."""
    sys.setprofile(lambda *_: None)
    threading.setprofile(lambda *_: None)
    sys.excepthook = lambda kind, error, trace: say("hooked", kind.__name__)
    raise ValueError("of the user")


def traced(host):
    sys.settrace(lambda *_: None)
    host.train()


def closed_output(host):
    sys.stderr.close()
    os.close(2)


def output_nobody_reads(host):
    read, write = os.pipe()
    os.close(read)
    os.dup2(write, 1)
    os.write(2, b"before\n")
    print("lost")


kept = []
last = None

ENDINGS = [name for name, value in list(globals().items())
           if callable(value) and getattr(value, "__code__", None) is not None
           and value.__code__.co_varnames[:1] == ("host",)]

# What a rank says at least where its ending is reached; others: that it has trained.
REACHED = {
    "destroyed_and_made_again": "trained\nmade again\n",
    "restarted": "trained\ntrained\n",
}


def main():
    host = importlib.import_module(sys.argv[1] + "_host")
    ending = globals()[sys.argv[2]]
    host.start()
    host.train()
    say("trained")
    ending(host)


if __name__ == "__main__":
    main()

"""Zero-code: the folder zero_code on PYTHONPATH, scripts that know nothing of Eroica, and hosts
that must not break."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "testing"))

import interpreters  # noqa: E402

ATTACHED = """
import sys
assert 'eroica' in sys.modules
import eroica
assert eroica.enabled(), eroica.off_reason()
"""


class ZeroCodeTest(unittest.TestCase):
    def each(self):
        return interpreters.all_interpreters().values()

    def run_zero(self, python, script, path=(), **changes):
        folders = [interpreters.ZERO_CODE, *path, interpreters.HERE]
        return interpreters.run(python, script, PYTHONPATH=os.pathsep.join(folders), **changes)

    def test_a_rank_is_attached_before_its_script_runs(self):
        for python in self.each():
            run = self.run_zero(python, ATTACHED)
            self.assertEqual((run.status, run.err), (0, ""), python)
            self.assertEqual(run.events["attached"], ["python"])

    def test_a_switch_that_says_no_switches_nothing_off(self):
        for python in self.each():
            for value in ("0", "no", "off", "false", ""):
                run = self.run_zero(python, ATTACHED, EROICA_DISABLE=value)
                self.assertEqual(run.events["attached"], ["python"], (python, value))

    def test_the_search_path_is_as_it_was(self):
        script = "import sys; print(sys.path[1:])"
        for python in self.each():
            on = self.run_zero(python, script)
            off = self.run_zero(python, script, EROICA_DISABLE="1")
            self.assertEqual((on.out, on.err), (off.out, ""))

    def test_nothing_is_loaded_where_nobody_asked(self):
        script = "import sys; assert 'eroica' not in sys.modules and 'ctypes' not in sys.modules"
        for python in self.each():
            run = self.run_zero(python, script, epilogue=False, EROICA_RECORDING=None)
            self.assertEqual((run.status, run.err), (0, ""), python)

    def test_the_sitecustomize_behind_ours_runs_and_takes_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("import builtins\nbuiltins.users_own = __name__\n")
            for python in self.each():
                run = self.run_zero(
                    python,
                    "assert users_own == 'sitecustomize'; import sitecustomize; "
                    "assert 'zero_code' not in sitecustomize.__file__",
                    path=[folder],
                )
                self.assertEqual((run.status, run.err), (0, ""), python)

    def test_a_broken_package_costs_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "eroica"))
            with open(os.path.join(folder, "eroica", "__init__.py"), "w", encoding="utf-8") as file:
                file.write("raise RuntimeError('broken on purpose')\n")
            for python in self.each():
                run = self.run_zero(python, "print('trained')", path=[folder], epilogue=False)
                self.assertEqual((run.status, run.out), (0, "trained\n"))
                self.assertEqual(run.err, "eroica: off: RuntimeError: broken on purpose\n")

    def test_launchers_and_installers_are_left_alone(self):
        script = "import sys; assert not sys.modules['eroica'].enabled()"
        for python in self.each():
            run = self.run_zero(python, script, epilogue=False, name="torchrun")
            self.assertEqual((run.status, run.err), (0, ""), python)

    def test_what_inherits_the_variables_of_a_rank_is_none_until_it_trains(self):
        """Ray's agents and workers, children of multiprocessing, and scripts that mpirun or srun
        started, which may start ranks themselves."""
        script = """
import eroica, recorded_core
assert not eroica.enabled() and recorded_core.read() is None, eroica.off_reason()
assert eroica.step() == 0 and eroica.enabled()
"""
        launchers = (
            ({"RANK": "5", "WORLD_SIZE": "8"}, "ray/_private/workers/default_worker.py"),
            ({"RANK": "5", "WORLD_SIZE": "8"}, "ray/dashboard/agent.py"),
            ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, "train.py"),
            ({"PMI_RANK": "0", "PMI_SIZE": "1"}, "train.py"),
            ({"PMIX_RANK": "0"}, "train.py"),
        )
        for python in self.each():
            for variables, name in launchers:
                changes = {"RANK": None, "WORLD_SIZE": None, **variables}
                run = self.run_zero(python, script, [interpreters.PRODUCER], name=name, **changes)
                self.assertEqual((run.status, run.err), (0, ""), (python, name, variables))
                self.assertEqual(run.events["attached"], ["python"])

    def test_launchers_that_are_modules_and_children_of_multiprocessing_are_no_ranks(self):
        told = "import sys; print(sys.modules['eroica'].enabled(), flush=True)"
        scripts = (
            (["-m", "deepspeed.launcher.launch"], "deepspeed/launcher/launch.py"),
            (["-m", "torch.distributed.run"], "torch/distributed/run.py"),
            (["-c", "from multiprocessing.spawn import spawn_main; import child"], "child.py"),
        )
        for python in self.each():
            for arguments, name in scripts:
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(told)
                    env = interpreters.environment(
                        PYTHONPATH=os.pathsep.join((interpreters.ZERO_CODE, folder))
                    )
                    done = subprocess.run(
                        [python, *arguments],
                        capture_output=True,
                        text=True,
                        env=env,
                        timeout=60,
                        check=False,
                    )
                self.assertEqual((done.stdout, done.stderr), ("False\n", ""), (python, arguments))

    def test_a_rank_that_is_handed_over_is_taken_at_a_later_sign_of_training(self):
        """The process that started this one is the rank at first; a fork of this one does not try."""
        script = """
import os
import eroica
from eroica import life, native
load, tries = native.load, []
def held():
    loaded = load()
    attach = loaded.attach
    loaded.attach = lambda *known: len(tries) >= 3 and attach(*known) or tries.append(1) is not None
    loaded.off_reason = lambda: b"rank 0 is attached in process 1 already"
    return loaded
native.load, life._TRY_S = held, 0
def after_a_step():
    eroica.step()
    return eroica.enabled()
on = [after_a_step()]
child = os.fork()
if child == 0:
    os._exit(any(after_a_step() for _ in range(9)))
assert os.waitpid(child, 0)[1] == 0
on += [after_a_step() for _ in range(4)]
assert on == [False, False, False, True, True], on
"""
        for python in self.each():
            run = self.run_zero(python, script, path=[interpreters.PRODUCER], RANK=None)
            self.assertEqual((run.status, run.err), (0, ""), python)
            self.assertEqual(run.events["attached"], ["python"])

    def test_a_process_that_has_handed_its_rank_over_asks_for_it_as_it_trains(self):
        script = """
import eroica
from eroica import life
assert eroica.enabled()
core, free, samplers = life.native, [], []
attach = core.attach
core.start_sampler = lambda *_: samplers.append(1)
core.enabled = lambda: bool(free)
core.off_reason = lambda: b"a process that this one has started trains as its rank"
core.attach = lambda *known: bool(free) and attach(*known)
life._TRY_S = 0
life.keep_rank()  # as torch is loaded
on = [eroica.enabled()]
for turn in range(3):
    eroica.step()
    on.append(eroica.enabled())
    if turn == 1:
        free.append(1)
assert on == [False, False, False, True], on
assert not samplers  # the first one still runs
"""
        for python in self.each():
            run = self.run_zero(python, script, path=[interpreters.PRODUCER], RANK="0", WORLD_SIZE="1")
            self.assertEqual((run.status, run.err), (0, ""), python)

    def test_subprocesses_of_a_rank_are_left_alone(self):
        # The core marks its process in the environment; the recorded one does not, so the script
        # does.
        script = """
import os, subprocess, sys
os.environ["EROICA_ATTACHED"] = "%d:0" % os.getpid()
code = "import eroica, sys; sys.exit(eroica.enabled())"
assert subprocess.run([sys.executable, "-c", code]).returncode == 0
import multiprocessing
"""
        for python in self.each():
            run = self.run_zero(python, script, path=[interpreters.PRODUCER])
            self.assertEqual((run.status, run.err), (0, ""), python)

    def test_workers_of_multiprocessing_are_off(self):
        script = """
import multiprocessing, os, sys
def work(queue):
    import eroica
    queue.put(eroica.enabled())
if __name__ == "__main__":
    os.environ["EROICA_ATTACHED"] = "%d:0" % os.getpid()
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        worker = context.Process(target=work, args=(queue,))
        worker.start()
        assert queue.get(timeout=60) is False, method
        worker.join()
        assert worker.exitcode == 0
"""
        for python in self.each():
            run = self.run_zero(python, script, path=[interpreters.PRODUCER], epilogue=False)
            self.assertEqual((run.status, run.err), (0, ""), python)

    def test_a_script_that_trains_alone_first_can_leave_the_rank_to_its_child(self):
        script = """
import multiprocessing, os
import eroica
def train(queue):
    eroica.step()
    queue.put(eroica.enabled())
if __name__ == "__main__":
    os.environ["EROICA_DISABLE"] = "1"
    eroica.step()
    assert eroica.off_reason() == "EROICA_DISABLE is set", eroica.off_reason()
    del os.environ["EROICA_DISABLE"]
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=train, args=(queue,))
    worker.start()
    assert queue.get(timeout=60) is True
    worker.join()
    eroica.step()
    assert not eroica.enabled()
"""
        for python in self.each():
            run = self.run_zero(
                python, script, path=[interpreters.PRODUCER], epilogue=False, RANK=None
            )
            self.assertEqual((run.status, run.err), (0, ""), python)

    def test_interpreters_that_see_little_start(self):
        env = interpreters.environment(PYTHONPATH=interpreters.ZERO_CODE)
        for python in self.each():
            for options in (["-I"], ["-S"], ["-E"], ["-s"]):
                done = subprocess.run(
                    [python, *options, "-c", "print(1)"],
                    capture_output=True,
                    text=True,
                    env=env,
                    timeout=60,
                    check=False,
                )
                self.assertEqual(
                    (done.returncode, done.stdout, done.stderr), (0, "1\n", ""), options
                )

    def test_a_closed_standard_error_is_no_trouble(self):
        for python in self.each():
            command = f'exec "{python}" -c "print(1)" 2>&-'
            env = interpreters.environment(
                PYTHONPATH=interpreters.ZERO_CODE, EROICA_LIB_DIR="/nowhere"
            )
            done = subprocess.run(
                ["sh", "-c", command],
                capture_output=True,
                text=True,
                env=env,
                timeout=60,
                check=False,
            )
            self.assertEqual((done.returncode, done.stdout), (0, "1\n"))


if __name__ == "__main__":
    unittest.main()

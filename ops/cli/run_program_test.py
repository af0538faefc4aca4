"""`eroica run` from outside: what the job and its caller see of it, with real signals, pipes and processes."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

PROGRAM = os.environ["EROICA_TEST_PROGRAM"]
DEADLINE_S = 60
UNDER_TSAN = os.environ.get("EROICA_SANITIZED") == "thread"
HELD_BACK = "ThreadSanitizer holds a signal back while a thread is in a system call that it does not know, as waitid"
# Writes its process number, then lives until a signal that it takes note of. A signal may come while
# it writes: os.write may be entered twice, print may not.
TAKES_SIGNALS = """
import os, signal
names = {signal.SIGTERM: b"TERM", signal.SIGUSR1: b"USR1", signal.SIGINT: b"INT"}
for number in names:
    signal.signal(number, lambda got, frame: (os.write(1, names[got] + b"\\n"), os._exit(40 + got)))
os.write(1, b"%d\\n" % os.getpid())
while True:
    signal.pause()
"""
ENVIRONMENT = "import json, os, sys; json.dump([dict(os.environ), sys.argv[1:]], sys.stdout)"


def children_of(process):
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def is_eroica(url):
    """Whether a page of ours answers there: the port may be another program's by now."""
    try:
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as page:
            return b"<title>Eroica" in page.read()
    except OSError:
        return False


class RunProgram(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="eroica-run-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.runtime = os.path.join(self.folder, "runtime")  # where exchange folders are made
        os.mkdir(self.runtime)
        self.recording = os.path.join(self.folder, "recording")

    def environment(self, **variables):
        ours = ("EROICA_", "CUDA_INJECTION64", "NCCL_PROFILER", "PYTHONPATH")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return {**inherited, "XDG_RUNTIME_DIR": self.runtime, "PYTHONDONTWRITEBYTECODE": "1", **variables}

    def start(self, *command, options=None, variables=None, **streams):
        options = ["-o", self.recording] if options is None else options
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen([PROGRAM, "run", *options, "--", *command], cwd=self.folder,
                                env=self.environment(**(variables or {})), **pipes)

    def run_job(self, *command, given=None, **options):
        if given is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*command, **options)
        try:
            out, err = process.communicate(given, timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail(f"hangs: {process.communicate()}")
        return process.returncode, out, err.decode()

    def await_that(self, condition, what):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)

    def python(self, source, *arguments, **options):
        return self.run_job(sys.executable, "-c", source, *arguments, **options)

    def test_ends_with_the_exit_code_of_the_job(self):
        for code in (0, 7, 255):
            with self.subTest(code):
                self.assertEqual(self.run_job("sh", "-c", f"exit {code}", options=[])[0], code)

    def test_ends_by_the_signal_of_the_job(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGPIPE):
            with self.subTest(number):
                code, _, _ = self.run_job("sh", "-c", f"kill -{int(number)} $$", options=[])
                self.assertEqual(code, -number)

    def test_output_is_the_jobs_own_byte_for_byte(self):
        wanted = bytes(range(256)) * 4096
        code, out, _ = self.python("import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)")
        self.assertEqual((code, out == wanted), (0, True))

    def test_input_goes_to_the_job(self):
        given = bytes(reversed(range(256))) * 1024
        code, out, _ = self.run_job("cat", given=given)
        self.assertEqual((code, out == given), (0, True))

    @unittest.skipIf(UNDER_TSAN, HELD_BACK)
    def test_signals_go_to_the_job(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            with self.subTest(number):
                process = self.start(sys.executable, "-c", TAKES_SIGNALS, options=[])
                process.stdout.readline()
                process.send_signal(number)
                out, err = process.communicate(timeout=DEADLINE_S)
                self.assertEqual(process.returncode, 40 + number, err)
                self.assertEqual(out.decode().strip(), signal.Signals(number).name.removeprefix("SIG"))

    def test_the_job_has_the_signals_that_its_caller_gave_it(self):
        source = ("import signal; print(sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),"
                  " signal.getsignal(signal.SIGHUP) == signal.SIG_DFL)")
        self.assertEqual(self.python(source)[1].decode().strip(), "[] True")

    def test_a_command_that_is_not_there(self):
        code, out, err = self.run_job("no-such-program")
        self.assertEqual((code, out), (127, b""))
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("no-such-program", err)
        self.assertEqual(os.listdir(self.folder), ["runtime"], "a job that never was leaves nothing")
        self.assertEqual(os.listdir(self.runtime), [])

    def test_a_file_that_is_no_program(self):
        path = os.path.join(self.folder, "data")
        with open(path, "w", encoding="ascii"):
            pass
        code, _, err = self.run_job(path)
        self.assertEqual(code, 126)
        self.assertIn("data", err)

    def test_arguments_arrive_as_they_are(self):
        arguments = ["a b", "--json", "-o", "x", "", "--", "[1,2]", "{a}", "%%", "$HOME", "*", "--recording=y", "-h", "ü", "a\nb", "'q'", '"r"']
        code, out, err = self.python(ENVIRONMENT, *arguments)
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)[1], arguments)

    def test_what_the_user_has_set_stays(self):
        users = {"PYTHONPATH": "/users/own", "CUDA_INJECTION64_PATH": "/users/tool.so", "NCCL_PROFILER_PLUGIN": "theirs"}
        seen = json.loads(self.python(ENVIRONMENT, variables=users)[1])[0]
        self.assertEqual(seen["PYTHONPATH"].split(":")[-1], "/users/own")
        self.assertIn("zero_code", seen["PYTHONPATH"].split(":")[0])
        for name in ("CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"):
            self.assertEqual(seen[name], users[name])
        self.assertEqual(seen["EROICA_RECORDING"], self.recording)
        self.assertEqual(os.path.dirname(seen["EROICA_EXCHANGE"]), self.runtime)
        self.assertNotIn("EROICA_LIB_DIR", seen, "a package has the libraries that it came with")

    def test_there_is_one_destination_whatever_the_shell_has_set(self):
        seen = json.loads(self.python(ENVIRONMENT, variables={"EROICA_BOOTSTRAP": "elsewhere:9092"})[1])[0]
        self.assertEqual((seen["EROICA_RECORDING"], seen.get("EROICA_BOOTSTRAP", "")), (self.recording, ""))

    def test_two_jobs_do_not_share_a_recording(self):
        self.assertEqual(self.run_job("true")[0], 0)
        with open(os.path.join(self.recording, "mine"), "w", encoding="ascii"):
            pass  # whatever else is in a folder is its owner's
        for number in (2, 3):
            code, out, err = self.python(ENVIRONMENT)
            self.assertEqual(code, 0, err)
            self.assertEqual(json.loads(out)[0]["EROICA_RECORDING"], f"{self.recording}-{number}")
            self.assertRegex(err.splitlines()[0], f"^eroica: .*/recording holds an earlier .*-{number}$")
        shutil.rmtree(self.recording)
        seen = json.loads(self.python(ENVIRONMENT)[1])[0]
        self.assertEqual(seen["EROICA_RECORDING"], self.recording + "-4", "its state is there")
        shutil.rmtree(self.recording + ".state")
        os.mkdir(self.recording)
        seen = json.loads(self.python(ENVIRONMENT)[1])[0]
        self.assertEqual(seen["EROICA_RECORDING"], self.recording, "an empty folder is as good as none")

    def check_runs_without_eroica(self, why, **options):
        """The job has its own exit code and output, and one line says what is off."""
        source = ENVIRONMENT + "; sys.exit(7)"
        code, out, err = self.python(source, **options)
        self.assertEqual(code, 7, err)
        lines = err.splitlines()
        self.assertEqual(len(lines), 1, err)
        self.assertRegex(lines[0], "^eroica: the job runs without Eroica: .*" + why)
        seen = json.loads(out)[0]
        self.assertEqual(seen["EROICA_DISABLE"], "1")
        self.assertNotIn("EROICA_RECORDING", seen)
        self.assertEqual(os.listdir(self.runtime), [], "nothing is left behind")

    def test_a_recording_that_cannot_be_made_does_not_stop_the_job(self):
        path = os.path.join(self.folder, "file")
        with open(path, "w", encoding="ascii"):
            pass
        self.check_runs_without_eroica("Not a directory", options=["-o", os.path.join(path, "below")])
        self.check_runs_without_eroica("recording .*/proc/", options=["-o", "/proc/eroica"])
        code, _, err = self.run_job("sh", "-c", "exit 3", options=["-o", path])
        self.assertEqual(code, 3)
        self.assertIn(path + "-2", err)

    def test_a_folder_for_the_exchange_that_cannot_be_made_does_not_stop_the_job(self):
        """As where /dev/shm is read-only: the next place is taken."""
        for unusable in ("/nowhere", "/proc", "relative"):
            seen = json.loads(self.python(ENVIRONMENT, options=[], variables={"XDG_RUNTIME_DIR": unusable})[1])[0]
            self.assertNotIn(unusable, seen["EROICA_EXCHANGE"])
            self.assertFalse(os.path.exists(seen["EROICA_EXCHANGE"]), "it goes with the job")

    def test_a_given_exchange_folder_and_name_stay(self):
        given = os.path.join(self.folder, "exchange")
        os.mkdir(given)
        users = {"EROICA_EXCHANGE": given, "EROICA_JOB": "night", "EROICA_WINDOW_STEPS": "8",
                 "EROICA_LIB_DIR": "/users/own", "EROICA_LEVEL": "1"}
        seen = json.loads(self.python(ENVIRONMENT, variables=users)[1])[0]
        self.assertEqual({name: seen[name] for name in users}, users)
        self.assertEqual((os.listdir(self.runtime), os.path.isdir(given)), ([], True))
        flags = ["-o", self.recording + "-flags", "--job", "day", "--window-steps", "16", "--level", "2"]
        seen = json.loads(self.python(ENVIRONMENT, options=flags, variables=users)[1])[0]
        found = [seen[name] for name in ("EROICA_JOB", "EROICA_WINDOW_STEPS", "EROICA_LEVEL")]
        self.assertEqual(found, ["day", "16", "2"], "a flag comes before a variable")

    def test_libraries_that_are_missing_do_not_stop_the_job(self):
        own = shutil.copy(PROGRAM, os.path.join(self.folder, "eroica"))
        self.addCleanup(setattr, sys.modules[__name__], "PROGRAM", PROGRAM)
        setattr(sys.modules[__name__], "PROGRAM", own)
        self.check_runs_without_eroica("libproducer_core.so is neither in")

    def test_a_working_folder_that_is_gone_does_not_stop_the_job(self):
        gone = os.path.join(self.folder, "gone")
        os.mkdir(gone)
        script = 'cd "$0" && rmdir "$0" && exec "$@"'
        done = subprocess.run(["sh", "-c", script, gone, PROGRAM, "run", "--", "sh", "-c", "exit 7"],
                              env=self.environment(), capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("the job runs without Eroica", done.stderr)

    @unittest.skipIf("EROICA_SANITIZED" in os.environ, "a sanitizer's runtime needs descriptors, too")
    def test_a_process_that_can_have_no_other_becomes_the_job(self):
        def allow_one_file_more():
            resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))

        done = subprocess.run([PROGRAM, "run", "-o", self.recording, "--", "sh", "-c", "echo ran; exit 7"],
                              env=self.environment(), cwd=self.folder, capture_output=True, text=True,
                              timeout=DEADLINE_S, preexec_fn=allow_one_file_more)
        self.assertEqual((done.returncode, done.stdout), (7, "ran\n"), done.stderr)
        self.assertIn("the job runs without Eroica", done.stderr)
        self.assertEqual(os.listdir(self.runtime), [])

    def test_a_broker_or_password_that_is_not_there_does_not_stop_the_job(self):
        options = ["--kafka", "127.0.0.1:1", "--job", "night"]
        for users in ({}, {"EROICA_KAFKA": "sasl.password_file=/nowhere"}, {"EROICA_KAFKA": "nonsense"}):
            code, out, err = self.python(ENVIRONMENT + "; sys.exit(7)", options=options, variables=users)
            self.assertEqual(code, 7, err)
            self.assertEqual(json.loads(out)[0]["EROICA_BOOTSTRAP"], "127.0.0.1:1")
            self.assertEqual("no findings are shown" in err, bool(users), err)

    def test_a_watcher_that_cannot_work_does_not_stop_the_job(self):
        """No file may grow, as on a full disk."""
        source = ("import sys\n"
                  "print('ran', flush=True)\n"
                  "sys.stdin.read()\n"
                  "sys.exit(7)\n")
        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        done = subprocess.run([PROGRAM, "run", "-o", self.recording, "--", sys.executable, "-c", source],
                              env=self.environment(), cwd=self.folder, capture_output=True, text=True,
                              input="", timeout=DEADLINE_S, preexec_fn=no_room)
        self.assertEqual((done.returncode, done.stdout), (7, "ran\n"), done.stderr)
        self.assertRegex(done.stderr, "(?m)^eroica: ")

    def test_a_wrong_command_line_is_refused(self):
        for options in (["--nonsense"], ["--level", "9"], ["--kafka", "b:9092", "-o", "x"]):
            code, out, _ = self.run_job("echo", "ran", options=options)
            self.assertEqual((code, out), (2, b""), options)

    def test_the_job_goes_on_without_the_watcher(self):
        process = self.start("sh", "-c", "echo $$; read line; echo $line; exit 5", stdin=subprocess.PIPE)
        job = int(process.stdout.readline())
        watchers = [child for child in children_of(process.pid) if child != job]
        self.assertEqual(len(watchers), 1)
        os.kill(watchers[0], signal.SIGKILL)
        out, err = process.communicate(b"still here\n", timeout=DEADLINE_S)
        self.assertEqual((process.returncode, out), (5, b"still here\n"))
        self.assertIn("signal 9", err.decode())

    @unittest.skipIf(UNDER_TSAN, HELD_BACK)
    def test_a_watcher_that_hangs_can_be_given_up(self):
        process = self.start("sh", "-c", "echo $$; read line; exit 5", stdin=subprocess.PIPE)
        job = int(process.stdout.readline())
        watcher = next(child for child in children_of(process.pid) if child != job)
        os.kill(watcher, signal.SIGSTOP)
        self.addCleanup(subprocess.run, ["kill", "-KILL", str(watcher)], check=False, capture_output=True)
        process.stdin.close()
        self.await_that(lambda: not os.path.exists(f"/proc/{job}"), "the job does not end")
        self.addCleanup(process.kill)

        def ends():  # a signal before the program waits for the watcher is nobody's
            process.send_signal(signal.SIGINT)
            return process.poll() is not None

        self.await_that(ends, "it waits for a watcher that hangs")
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.returncode, 5)

    def test_the_page_of_the_job_is_served_while_it_runs(self):
        options = ["-o", self.recording, "--open"]
        process = self.start("sh", "-c", "read line; exit 5", options=options, stdin=subprocess.PIPE)
        self.addCleanup(process.kill)
        said = process.stderr.readline().decode()
        self.assertRegex(said, r"^page: http://127\.0\.0\.1:\d+/$")
        url = said.removeprefix("page: ").strip()
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as page:
            self.assertIn(b"<title>Eroica", page.read())
        with urllib.request.urlopen(url + "v1/jobs", timeout=DEADLINE_S) as jobs:
            self.assertEqual(json.load(jobs)["jobs"], [])
        process.stdin.close()
        process.stdin = None
        process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 5)
        self.await_that(lambda: not is_eroica(url), "the page outlives the job")

    def test_a_caller_that_reads_no_messages(self):
        process = self.start("sh", "-c", "echo x; read line; exit 6", stdin=subprocess.PIPE)
        process.stdout.readline()
        process.stderr.close()
        process.stdin.close()
        self.assertEqual(process.wait(timeout=DEADLINE_S), 6)
        process.stdout.close()

    def test_no_thread_of_ours_interrupts_one_that_trains(self):
        source = ("import os, sys, time\n"
                  "import eroica\n"
                  "def policies(process):\n"
                  "    found = {}\n"
                  "    for thread in os.listdir(f'/proc/{process}/task'):\n"
                  "        try:\n"
                  "            with open(f'/proc/{process}/task/{thread}/comm') as file:\n"
                  "                name = file.read().strip()\n"
                  "            found[name] = os.sched_getscheduler(int(thread))\n"
                  "        except OSError:\n"
                  "            pass  # it has ended meanwhile\n"
                  "    return found\n"
                  "eroica.step()\n"
                  "deadline = time.monotonic() + 30\n"
                  "wanted = {'eroica-emitter', 'eroica-stacks'}\n"
                  "while not wanted <= set(policies(os.getpid())) and time.monotonic() < deadline:\n"
                  "    eroica.step()\n"
                  "    time.sleep(0.01)\n"
                  "ours = policies(os.getpid())\n"
                  "own = ours.pop(open(f'/proc/self/task/{os.getpid()}/comm').read().strip())\n"
                  "with open(f'/proc/{os.getppid()}/task/{os.getppid()}/children') as file:\n"
                  "    watcher = [child for child in file.read().split() if int(child) != os.getpid()]\n"
                  "ours.update(policies(watcher[0]))\n"
                  "print(own, sorted(wanted - set(ours)), sorted(set(ours.values())))\n")
        code, out, err = self.python(source, variables={"RANK": "0", "WORLD_SIZE": "1"})
        self.assertEqual(code, 0, err)
        self.assertEqual(out.decode().strip(), f"{os.SCHED_OTHER} [] [{os.SCHED_BATCH}]", err)

    def test_a_daemon_that_outlives_the_job_holds_nothing_up(self):
        daemon = os.path.join(self.folder, "daemon")
        source = ("import os, signal, sys\n"
                  "if os.fork() == 0:\n"
                  "    os.setsid()\n"
                  "    os.closerange(0, 3)\n"
                  "    with open(sys.argv[1] + '.new', 'w') as file: file.write(str(os.getpid()))\n"
                  "    os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
                  "    signal.pause()\n"
                  "while not os.path.exists(sys.argv[1]): pass\n")
        code, _, err = self.python(source, daemon)
        with open(daemon, encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(code, 0, err)

    def test_the_exchange_folder_goes_with_the_job(self):
        source = "import os; print(os.path.isdir(os.environ['EROICA_EXCHANGE']))"
        self.assertEqual(self.python(source)[1], b"True\n")
        self.assertEqual(os.listdir(self.runtime), [])

    def findings(self, *options):
        return subprocess.run([PROGRAM, "findings", "--recording", self.recording, *options], env=self.environment(),
                              cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE_S)

    def check_findings_say_the_same(self, err, exit_code):
        """Without an open finding: what `eroica run` said last is all that `eroica findings` says."""
        said = self.findings()
        self.assertEqual(said.returncode, exit_code, said.stdout + said.stderr)
        last = " ".join(err[err.rindex("== eroica, "):].split())
        self.assertIn(": " + " ".join(said.stdout.split()) + " recording: ", last)
        return last

    def test_findings_of_a_recording_say_what_the_run_said_last(self):
        steps = "import time, eroica\nfor _ in range(60):\n    eroica.step(); time.sleep(0.02)\n"
        options = ["-o", self.recording, "--window-steps", "8"]
        with self.subTest("nothing was recorded"):
            _, _, err = self.run_job("true", options=options)
            self.assertIn("Nothing was recorded: ", self.check_findings_say_the_same(err, 3))
        for world, exit_code, sentence in (("2", 3, "rank 1 of 2 is not recorded"), ("1", 0, "Nothing found in job ")):
            with self.subTest(world_size=world):
                shutil.rmtree(self.recording)
                shutil.rmtree(self.recording + ".state", True)
                _, _, err = self.python(steps, options=options, variables={"RANK": "0", "WORLD_SIZE": world})
                self.assertIn(sentence, self.check_findings_say_the_same(err, exit_code))

    def test_json_ends_with_the_last_word(self):
        _, _, err = self.run_job("true", options=["-o", self.recording, "--json"])
        word = json.loads(err.splitlines()[-1])
        self.assertEqual((word["last_word"], word["open"], word["resolved"]), ("cannot tell", 0, 0))
        self.assertIn("Nothing was recorded", word["reasons"][0])

    def test_the_run_lists_last_the_findings_that_are_in_its_recording(self):
        job = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/live/threaded.py")
        _, _, err = self.run_job(sys.executable, job, "--ranks", "3", "--loop", "main", "--steps", "100", "--fault", "sleep",
                                 "--fault-rank", "2", "--fault-step", "20", "--slow-ms", "60",
                                 options=["-o", self.recording, "--window-steps", "16"])
        said = self.findings("--json")
        found = [json.loads(line) for line in said.stdout.splitlines()]
        self.assertTrue(found, err)
        titles = [("(resolved) " if finding["state"] == "resolved" else "") + finding["title"] for finding in found]
        last = err[err.rindex("== eroica, "):].splitlines()
        self.assertEqual([line.strip() for line in last[1:1 + len(titles)]], titles)
        any_open = any(finding["state"] != "resolved" for finding in found)
        if any_open:
            self.assertEqual([line for line in last[1 + len(titles):] if line.startswith("   - ")], [],
                             "why nothing would be found is no word beside a finding")
        self.assertEqual(said.returncode, 1 if any_open else 0, said.stderr)

    def test_the_trainer_that_a_wrapper_starts_is_the_rank(self):
        """A platform's script gets the rank's variables from the launcher and runs the trainer below itself."""
        train = ("import eroica, os, sys, time\n"
                 "end = time.monotonic() + 30\n"
                 "while not (eroica.step(), eroica.enabled())[1] and time.monotonic() < end: os.sched_yield()\n"
                 "for _ in range(200): eroica.step()\n"
                 "sys.exit(0 if eroica.enabled() else eroica.off_reason())")
        wrapper = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"
        code, _, err = self.python(wrapper, train, variables={"RANK": "0", "WORLD_SIZE": "1"})
        self.assertEqual(code, 0, err)
        self.assertNotIn("No training step was seen", err)
        self.assertNotIn("more process", err)

    def test_runs_side_by_side_keep_apart(self):
        runs = [self.start(sys.executable, "-c", ENVIRONMENT, options=[]) for _ in range(3)]
        seen = []
        for run in runs:
            out, err = run.communicate(timeout=DEADLINE_S)
            self.assertEqual(run.returncode, 0, err)
            seen.append(json.loads(out)[0])
        for name in ("EROICA_RECORDING", "EROICA_EXCHANGE", "EROICA_JOB"):
            self.assertEqual(len({each[name] for each in seen}), len(runs), name)


if __name__ == "__main__":
    unittest.main()

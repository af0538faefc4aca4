"""The Debian packages as files: what they hold, what they ask for, and that the services in them are
what the program can live with. service_test.py installs them."""

import gzip
import os
import re
import shutil
import signal
import subprocess
import tempfile
import tomllib
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILT = os.environ["EROICA_TEST_PACKAGES"]
# Overall exposure that systemd may find, of 10 (10: anything goes).
EXPOSURE_MAX = 1.5


def version():
    with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(eroica VERSION ([\d.]+)", file.read()).group(1)


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


def package(name):
    architecture = output("dpkg", "--print-architecture").strip()
    return os.path.join(BUILT, f"{name}_{version()}_{architecture}.deb")


def fields(name):
    text = re.sub(r"\n ", " ", output("dpkg-deb", "--field", package(name)))
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def names(depends):
    return {re.split(r"[ (:]", one.strip())[0] for one in depends.split(",") if one.strip()}


class Extracted(unittest.TestCase):
    """All three in one folder, as if they were installed, and their control files in another."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="eroica-packages-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.root = os.path.join(cls.folder, "root")
        cls.control = os.path.join(cls.folder, "control")
        for name in ("eroica", "eroica-producers", "eroica-dev"):
            output("dpkg-deb", "--extract", package(name), cls.root)
        output("dpkg-deb", "--control", package("eroica"), cls.control)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def read(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as file:
            return file.read()

    def program(self, *arguments):
        return subprocess.run([self.path("usr/bin/eroica"), *arguments], cwd=self.folder, capture_output=True,
                              text=True, timeout=60, check=False)


class Packages(Extracted):
    def files(self, name):
        listed = output("dpkg-deb", "--contents", package(name)).splitlines()
        return {re.split(r"\s+", line, maxsplit=5)[5].split(" -> ")[0][1:]: line for line in listed}

    def test_what_is_in_which(self):
        expected = {
            "eroica": ("/usr/bin/eroica", "/etc/eroica/node.toml", "/lib/systemd/system/eroica-node.service",
                       "/lib/systemd/system/eroica-alert.service", "/lib/systemd/system/eroica-act.service",
                       "/usr/share/bash-completion/completions/eroica",
                       "/usr/share/fish/vendor_completions.d/eroica.fish",
                       "/usr/share/zsh/vendor-completions/_eroica",
                       "/usr/share/man/man1/eroica.1.gz", "/usr/share/man/man1/eroica-findings.1.gz",
                       "/usr/share/man/man1/eroica-topics-create.1.gz"),
            "eroica-producers": ("/usr/lib/eroica/libproducer_core.so", "/usr/lib/eroica/liberoica_python.so",
                                 "/usr/lib/eroica/libnccl-profiler-eroica.so",
                                 "/usr/lib/eroica/python/eroica/__init__.py",
                                 "/usr/lib/eroica/python/zero_code/sitecustomize.py",
                                 "/usr/lib/python3/dist-packages/eroica"),
            "eroica-dev": ("/usr/include/eroica/producer_core.h", "/usr/share/eroica/schemas/finding.fbs",
                           "/usr/share/eroica/python/finding_generated.py",
                           "/usr/lib/cmake/eroica/eroica-config.cmake"),
        }
        seen = set()
        for name, paths in expected.items():
            held = {path for path, line in self.files(name).items() if not line.startswith("d")}
            self.assertLessEqual(set(paths), held, name)
            self.assertLessEqual({f"/usr/share/doc/{name}/copyright", f"/usr/share/doc/{name}/changelog.gz"}, held)
            self.assertFalse(held & seen, "a file of two packages")
            seen |= held

    def test_all_belongs_to_root_and_nobody_else_may_write(self):
        for name in ("eroica", "eroica-producers", "eroica-dev"):
            for path, line in self.files(name).items():
                self.assertIn(" root/root ", line, path)
                if not line.startswith("l"):
                    self.assertRegex(line[:10], r"^[-d]rw[-x]r-[-x]r-[-x]$", path)  # no setuid either

    def test_the_program_needs_debians_libraries_and_no_producers(self):
        depends = fields("eroica")["Depends"]
        self.assertLessEqual({"libc6", "librdkafka1", "librocksdb7.8", "libjemalloc2", "adduser"}, names(depends))
        self.assertNotIn("eroica-producers", names(depends))
        self.assertIn("eroica-producers (= " + version(), fields("eroica")["Recommends"])

    def test_producers_bring_nothing_into_a_training_process(self):
        self.assertEqual(names(fields("eroica-producers")["Depends"]), {"libabsl20220623", "libc6", "libgcc-s1"})

    def test_development_goes_with_producers_of_its_version(self):
        self.assertIn(f"eroica-producers (= {version()})", fields("eroica-dev")["Depends"])

    def test_the_configuration_is_the_administrators(self):
        with open(os.path.join(self.control, "conffiles"), encoding="utf-8") as file:
            self.assertEqual(file.read().split(), ["/etc/eroica/node.toml"])

    def test_scripts_are_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            path = os.path.join(self.control, name)
            self.assertTrue(os.access(path, os.X_OK))
            output("sh", "-n", path)

    def test_libraries_that_are_linked_in_bring_their_licenses(self):
        documents = os.listdir(self.path("usr/share/doc/eroica-producers/carried"))
        for library in ("librdkafka", "libfmt", "libspdlog", "libssl", "libzstd", "libflatbuffers"):
            self.assertTrue([one for one in documents if one.startswith(library)], library)
        self.assertTrue(os.path.isfile(self.path("usr/share/doc/eroica/carried/uplot.copyright")))

    def test_the_changelog_is_of_this_version(self):
        with gzip.open(self.path("usr/share/doc/eroica/changelog.gz"), "rt", encoding="utf-8") as file:
            head = output("dpkg-parsechangelog", "--file", "-", "--show-field", "Version", input=file.read())
        self.assertEqual(head.strip(), version())

    def test_the_manual_names_every_command(self):
        with gzip.open(self.path("usr/share/man/man1/eroica.1.gz"), "rt", encoding="utf-8") as file:
            manual = file.read()
        commands = re.findall(r"^  (\w+) {2,}", self.program("--help").stdout.partition("Subcommands:")[2], re.MULTILINE)
        self.assertGreater(len(commands), 8)
        self.assertEqual([one for one in commands if f"\n\\fB{one}\\fR\n" not in manual], [])

    def test_debians_python_imports_the_package_and_finds_the_libraries(self):
        script = "import eroica.native; print(eroica.native.library_folder())"
        ran = output("/usr/bin/python3", "-c", script, cwd=self.folder, env={
            "PYTHONPATH": self.path("usr/lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE": "1"})
        for name in ("libproducer_core.so", "liberoica_python.so"):
            found = os.path.realpath(os.path.join(ran.strip(), name))
            self.assertEqual(found, os.path.realpath(self.path("usr/lib/eroica", name)))

    def test_lintian_has_nothing_to_say(self):
        if shutil.which("lintian") is None:
            self.skipTest("no lintian here (Debian: lintian)")
        command = ["lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0"]
        output(*command, *(package(name) for name in ("eroica", "eroica-producers", "eroica-dev")))


class Unit:
    """What holds for each service; SERVICE names it."""

    def setUp(self):
        self.file = f"eroica-{self.SERVICE}.service"
        self.unit = self.read("lib/systemd/system", self.file)
        self.config = tomllib.loads(self.read("etc/eroica/node.toml"))

    def value(self, key):
        found = re.findall(rf"^{key}=(.*)$", self.unit, re.MULTILINE)
        self.assertTrue(found, key)
        return found[-1]

    def test_its_user_is_made_by_the_package(self):
        with open(os.path.join(self.control, "postinst"), encoding="utf-8") as file:
            self.assertRegex(file.read(), rf"adduser --system .* {self.value('User')}\n")

    def systemd_analyze(self, *arguments):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze here (Debian: systemd)")
        return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False)

    def verify(self, unit):
        """What systemd has against a unit beside a program that is there."""
        path = os.path.join(self.folder, self.file)
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit.replace("/usr/bin/eroica", self.path("usr/bin/eroica")))
        done = self.systemd_analyze("verify", "--man=no", path)
        said = [line for line in done.stderr.splitlines() if self.file in line]
        return done.returncode, said

    def test_systemd_takes_it(self):
        self.assertEqual(self.verify(self.unit), (0, []))

    def test_systemd_would_notice_a_misspelt_setting(self):
        _, said = self.verify(self.unit.replace("ProtectSystem=", "ProtektSystem="))
        self.assertIn("ProtektSystem", "".join(said))

    def test_it_is_hardened(self):
        done = self.systemd_analyze("security", "--offline=true", "--no-pager",
                                    self.path("lib/systemd/system", self.file))
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
        self.assertIsNotNone(exposure, done.stdout + done.stderr)
        self.assertLessEqual(float(exposure.group(1)), EXPOSURE_MAX, done.stdout)


class NodeService(Unit, Extracted):
    SERVICE = "node"

    def config_file(self, name="etc/eroica/node.toml"):
        return ["--config", self.path(name)]

    def test_it_starts_what_the_program_has(self):
        command = self.value("ExecStart").split()
        self.assertEqual(command[:2], ["/usr/bin/eroica", "node"])
        arguments = [self.path(one[1:]) if one.startswith("/") else one for one in command[1:]]
        shown = self.program(*arguments, "--bootstrap", "localhost:9092", "--print-config")
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_without_a_broker_it_says_what_is_missing(self):
        ran = self.program("node", *self.config_file())
        self.assertEqual(ran.returncode, 2)
        self.assertIn("kafka.bootstrap", ran.stderr)

    def test_it_listens_to_this_machine_alone(self):
        self.assertEqual(self.config["rest"]["listen"], "127.0.0.1:8470")

    def test_what_it_offers_to_be_uncommented_is_known(self):
        offered = re.compile(r'^# (?=(?:"[\w.]+"|\w+) = |\[[\w.]+\]$)', re.MULTILINE)
        text, count = offered.subn("", self.read("etc/eroica/node.toml"))
        self.assertGreater(count, 8)
        path = os.path.join(self.folder, "all.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        shown = self.program("node", "--config", path, "--print-config")
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_memory_is_bounded_by_the_program_before_systemd_does_it(self):
        most = int(re.fullmatch(r"(\d+)M", self.value("MemoryMax")).group(1))
        node_mib = self.config["runtime"]["memory_mib"] + self.config["rest"]["replay_memory_mib"]
        self.assertEqual(most, node_mib * 5 // 4)

    def test_state_is_where_it_may_write(self):
        state = "/var/lib/" + self.value("StateDirectory")
        self.assertEqual(os.path.dirname(self.config["state"]["folder"]), state)
        self.assertEqual(self.value("ProtectSystem"), "strict")

    def test_it_has_time_for_its_last_commit(self):
        shown = self.program("node", "--print-config").stdout
        flush_ms = int(re.search(r"^flush_timeout_ms = (\d+)", shown, re.MULTILINE)[1])
        self.assertGreater(int(self.value("TimeoutStopSec").removesuffix("s")) * 1000, 2 * flush_ms)

    def allowed_calls(self):
        """The system calls that SystemCallFilter leaves, its sets opened."""
        sets = {}
        for line in self.systemd_analyze("syscall-filter", "--no-pager").stdout.splitlines():
            if line.startswith("@"):
                current = sets[line.strip()] = []
            elif line.startswith("    ") and not line.strip().startswith("#"):
                current.append(line.strip())

        def opened(name):
            return {one for member in sets[name] for one in (opened(member) if member.startswith("@") else {member})}

        allowed = set()
        for line in re.findall(r"^SystemCallFilter=(.*)$", self.unit, re.MULTILINE):
            words = line.removeprefix("~").split()
            calls = {one for word in words for one in (opened(word) if word.startswith("@") else {word})}
            allowed = allowed - calls if line.startswith("~") else allowed | calls
        return allowed

    @staticmethod
    def lines_of(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()

    def follow(self, command):
        """Runs a node until it says that it does, and stops it as systemd would."""
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            try:
                for line in tracer.stderr:
                    if "node: running" in line:
                        with open(f"/proc/{tracer.pid}/task/{tracer.pid}/children", encoding="ascii") as file:
                            os.kill(int(file.read().split()[0]), signal.SIGTERM)
                        break
                tracer.communicate(timeout=60)
            finally:
                tracer.kill()
        self.assertEqual(tracer.returncode, 0)

    def test_the_node_makes_no_call_that_the_service_forbids(self):
        if shutil.which("strace") is None:
            self.skipTest("no strace here (Debian: strace)")
        trace = os.path.join(self.folder, "trace")
        recording = os.path.join(self.folder, "recording")
        shutil.copytree(os.path.join(SOURCE, "tests", "golden", "live", "compute"), recording)
        node = ["strace", "-f", "-qq", "-o", trace, self.path("usr/bin/eroica"), "node", "--recording", recording,
                "--state", os.path.join(self.folder, "state")]
        subprocess.run([*node, "--drain"], check=True, capture_output=True, timeout=120)
        lines = self.lines_of(trace)
        self.follow(node)
        lines += self.lines_of(trace)
        made = {match[1] for line in lines if (match := re.match(r"\d+ +(\w+)\(", line))}
        self.assertGreater(len(made), 20)
        allowed = self.allowed_calls()
        self.assertIn("futex", allowed)
        self.assertFalse({"reboot", "mount", "ptrace", "setuid", "sched_setscheduler"} & allowed)
        self.assertEqual(made - allowed, set())
        self.assertFalse([line for line in lines if "PROT_WRITE|PROT_EXEC" in line])  # MemoryDenyWriteExecute


class AlertService(Unit, Extracted):
    SERVICE = "alert"

    def test_it_starts_what_the_program_has(self):
        command = self.value("ExecStart").split()
        self.assertEqual(command[:2], ["/usr/bin/eroica", "alert"])
        arguments = [self.path(one[1:]) if one.startswith("/") else one for one in command[1:]]
        ran = self.program(*arguments, "--bootstrap", "localhost:9092")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("alerts.webhook_url", ran.stderr)  # which receiver: the one thing that is missing

    def test_it_may_write_nowhere(self):
        self.assertEqual(self.value("ProtectSystem"), "strict")
        self.assertNotIn("StateDirectory", self.unit)


class ActService(Unit, Extracted):
    SERVICE = "act"

    def setUp(self):
        super().setUp()
        self.command = self.value("ExecStart").split()

    def argument(self, name):
        return self.command[self.command.index(name) + 1]

    def test_it_starts_what_the_program_has_and_nothing_without_a_policy(self):
        self.assertEqual(self.command[:2], ["/usr/bin/eroica", "act"])
        self.assertEqual(self.value("ConditionPathExists"), self.argument("--policy"))
        arguments = [self.path(one[1:]) if one.startswith("/") else one for one in self.command[1:]]
        ran = self.program(*arguments, "--bootstrap", "localhost:9092")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("act.toml", ran.stderr)  # the policy: the one thing that is missing

    def test_it_is_dry_until_somebody_says_otherwise(self):
        self.assertNotIn("--execute", self.command)
        offered = re.search(r"ExecStart=(/usr/bin/eroica act (?:[^\n]*\\\n#)?[^\n]*)$", self.unit, re.MULTILINE).group(1)
        self.assertEqual(re.sub(r"\\\n#", "", offered).split(), [*self.command, "--execute"])

    def test_the_journal_is_where_it_may_write(self):
        self.assertEqual(os.path.dirname(self.argument("--journal")), "/var/lib/" + self.value("StateDirectory"))
        self.assertEqual(self.value("ProtectSystem"), "strict")

    def test_a_command_has_its_time_before_the_service_is_killed(self):
        longest_s = 240  # docs/ACTING.md: timeout_s
        self.assertGreater(int(self.value("TimeoutStopSec").removesuffix("s")), longest_s)
        self.assertEqual(self.value("KillMode"), "mixed")


if __name__ == "__main__":
    unittest.main()

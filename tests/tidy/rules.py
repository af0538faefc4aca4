"""The rules of the house. Each takes the tree, a dict from path to text, and yields what breaks it as (path, line, message)."""

import ast
import posixpath
import re

import cpp_source

CPP = (".h", ".cc")
SOURCE_FOLDERS = ("schemas", "state_store", "stream_ops", "producers", "diagnosis", "ops")
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 100

# The rooms of diagnosis, from measurements to findings: each includes those before it (diagnosis/README.md),
# but for its tests, which may ask the whole.
_NUMBERS = ("schemas/", "diagnosis/deciding_numbers.h", "diagnosis/statistics/")
_MEASUREMENTS = (*_NUMBERS, "diagnosis/measurements/", "diagnosis/step_accounting/")
_REPORT = (*_MEASUREMENTS, "diagnosis/hypotheses/", "diagnosis/report/")
OPERATORS = tuple(
    "diagnosis/%s/" % name
    for name in ("collective_wait", "ended_process", "hang", "imbalance", "link_matrix", "monitoring_gap", "recompilation", "regression", "slow_host", "slow_rank", "spike")
)
_CLAIMS = (*_REPORT, "diagnosis/operator.h", *OPERATORS)
ROOMS_OF_DIAGNOSIS = (
    ("diagnosis/statistics/", _NUMBERS),
    ("diagnosis/measurements/", _MEASUREMENTS),
    ("diagnosis/step_accounting/", _MEASUREMENTS),
    ("diagnosis/hypotheses/", (*_MEASUREMENTS, "diagnosis/hypotheses/")),
    ("diagnosis/report/", _REPORT),
    ("diagnosis/operator.h", _CLAIMS),
    *((folder, _CLAIMS) for folder in OPERATORS),
    ("diagnosis/explanation/", (*_CLAIMS, "diagnosis/explanation/")),
    ("diagnosis/ledger/", (*_CLAIMS, "diagnosis/explanation/", "diagnosis/ledger/")),
)

# What a folder may include; the first entry that fits holds. The program's folder and the tests see
# everything, except that the simulator and the diagnosis which it measures know nothing of each other.
# Nothing outside tests/ may include or link (evaluation_stays_out) what is in it.
LAYERS = (
    ("schemas/", ("schemas/",)),
    ("state_store/", ("schemas/", "state_store/")),
    ("stream_ops/pattern/", ("schemas/", "stream_ops/pattern/")),
    # The stage that asks the operators.
    ("stream_ops/diagnose/", ("schemas/", "state_store/", "stream_ops/", "diagnosis/")),
    ("stream_ops/", ("schemas/", "state_store/", "stream_ops/")),
    # What carries batches away: the same logs that the stages read, and the stage summarize at the edge.
    ("producers/core/", ("schemas/", "state_store/", "stream_ops/", "producers/core/", "producers/host/")),
    ("producers/", ("schemas/", "stream_ops/pattern/", "producers/")),
    *ROOMS_OF_DIAGNOSIS,
    ("diagnosis/", ("schemas/", "diagnosis/")),
    ("ops/", tuple(folder + "/" for folder in SOURCE_FOLDERS)),
    ("tests/evaluation/simulate/", ("schemas/", "producers/core/batch_sink.h", "tests/evaluation/simulate/")),
    ("tests/evaluation/baselines/", ("schemas/", "diagnosis/", "tests/evaluation/baselines/")),
)

# Libraries that only one place may know: what the include starts with, and where it may stand.
ONLY = (
    (r'[<"]librdkafka/', ("stream_ops/kafka/", "ops/examples/", "ops/cli/version_text.cc")),
    (r'[<"]rocksdb/', ("state_store/rocksdb_store", "ops/cli/version_text.cc")),
    (r'[<"](?:flatbuffers/|\w+_generated\.h)', ("schemas/", "ops/examples/", "ops/cli/version_text.cc")),
    (r'[<"]toml\+\+/', ("ops/config/", "ops/act/policy_file.cc")),
    (r'[<"]CLI/', ("ops/cli/",)),
    (r'[<"]boost/math/', ("diagnosis/statistics/distributions.cc",)),
    (
        r'[<"]boost/(?:asio|beast)',
        ("ops/rest/session.h", "ops/rest/server_state.h", "ops/rest/peer_client.", "ops/rest/message_reader.h", "ops/rest/event_loop.h", "ops/rest/event_loop_test.cc"),
    ),
    (r'[<"]prometheus/', ("ops/metrics/exposition.",)),
    (r'[<"]simdjson', ("producers/import/",)),
    (
        r'[<"](?:zlib|libdeflate|isa-l/|igzip)',
        ("producers/import/", "producers/export/", "ops/rest/gzip_text.cc", "ops/dashboard/assets_test.cc"),
    ),
    (r'[<"](?:cupti|cuda)\w*\.h', ("producers/cupti/real_cupti_api.cc",)),
)
# What starts a thread without a boundary that stops exceptions.
BARE_THREAD = re.compile(r"\bstd::(?:thread|jthread|async)\b|\bpthread_create\b|\b(?:net|asio)::thread_pool\b")
THREAD = re.compile(BARE_THREAD.pattern + r"|\bBoundaryThread\b")
# In a training process: the threads that the producers live on beside the host's own.
PRODUCER_THREADS = ("producers/core/emitter_thread", "producers/cupti/capture_thread", "producers/python/stack_sampler")
# The harness of the NCCL plugin plays NCCL's threads.
# What waits for the kernel to say that a recording has grown has a thread, too.
THREADS_ALLOWED = (
    "ops/",
    "stream_ops/runtime/",
    "stream_ops/recording/folder_watch",
    *PRODUCER_THREADS,
    "producers/nccl/testing/",
    "tests/",
)
# schemas/boundary_thread.h is that boundary; the others call AtBoundary or RunAtBoundary in what they start.
BARE_THREADS_ALLOWED = ("schemas/boundary_thread.h", "producers/cupti/capture_thread.cc", "producers/python/stack_sampler.cc", "ops/rest/server_state.h")
# Handlers of Asio run where exceptions stop.
EVENT_LOOP = re.compile(r"\bio_?(?:\.|->)(?:run|poll)\w*\(")
CATCH_ALL = re.compile(r"\bcatch\s*\(\s*\.\.\.\s*\)")
# AtBoundary, and coroutines, which cannot wait inside its function.
CATCH_ALL_ALLOWED = ("schemas/thread_boundary.h", "ops/rest/server.cc", "ops/rest/peer_client.cc")

BOUNDARY = re.compile(r"\b(?:Run)?AtBoundary\s*\(|\bBoundaryThread\s*(?:\w+\s*)?\(")
BOUNDARIES_THEMSELVES = ("schemas/thread_boundary.h", "schemas/boundary_thread.h")
THROWS_AT = re.compile(r"// Throws at (\S+\.(?:cc|h)):")

# Folders that only handle values from outside: traces, dumps, payloads, and what is computed of them.
# A value there that cannot be is answered (absl::Status, DropReason, std::optional), never checked.
OUTSIDE_FOLDERS = ("schemas/", "producers/import/", "diagnosis/", "stream_ops/diagnose/")
# The check itself, and the encoder of tests.
CHECKS_THEMSELVES = ("schemas/check.h", "schemas/test_encoder.h")
# What makes payloads for tests beside the code.
TOOLS_OF_TESTS = ("schemas/write_example_payloads.cc", "stream_ops/summarize/summarize_harness.cc")
CHECK = re.compile(r"\b(?:EROICA_CHECK|CheckFailed|assert|abort|terminate|ABSL_CHECK\w*)\s*\(")
# What payloads state and statuses answer: in no folder of the product may a check rest on it.
OUTSIDE_VALUES = re.compile(
    r"\b(?:ranks?|world|world_size|peers?|communicators?|sequence|predecessors|standings?|findings?|letter|arguments|report"
    r"|(?:start|end|begin|duration|time)_ns)_?\b|\bok\s*\(\)"
)

BANNED_NAMES = {"util", "utils", "common", "helper", "helpers", "misc"}
BANNED_WORDS = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|\b(?:for now|simplified|placeholder|dummy|not implemented|unimplemented)\b")
MACHINE_PATH = re.compile(r"(?:^|[^a-zA-Z0-9._-])(/(?:work|farm|root|home|Users)/[a-z]|/tmp/[a-z]+/)")
REGISTRY = re.compile(r"https?://[a-z0-9.-]*(?:maven|debian|pypi|pythonhosted|npmjs|golang|crates)[a-z0-9.-]*")


def _lines(text):
    return enumerate(text.splitlines(), start=1)


def _is_test(path, text):
    """Tests, and the suites of tests that stand beside an interface for all that implement it."""
    return path.startswith("tests/") or any(re.match(r'["<]g(?:test|mock)/', name) for _, name in cpp_source.includes(text))


def _about_rules(path):
    """Files that must spell out what they forbid."""
    return path.startswith("tests/tidy/") or path == "LICENSE"


def _cpp(tree):
    return ((path, text) for path, text in tree.items() if path.endswith(CPP))


def layering(tree):
    for path, text in _cpp(tree):
        layers = [one for one in LAYERS if one not in ROOMS_OF_DIAGNOSIS] if path.endswith("_test.cc") else LAYERS
        allowed = next((allowed for prefix, allowed in layers if path.startswith(prefix)), None)
        if allowed is None:
            continue
        for line, name in cpp_source.includes(text):
            target = name[1:-1]
            if name[0] == '"' and "/" in target and target.startswith(SOURCE_FOLDERS + ("tests/",)) and not target.startswith(allowed):
                yield path, line, f"includes {target}, but {path.split('/')[0]} may only use {', '.join(allowed)}"


def evaluation_stays_out(tree):
    """No build file outside tests/ links a target that tests/ makes."""
    makes = re.compile(r"\b(?:eroica_library|add_library|add_executable)\(\s*([\w-]+)")
    files = {path: text for path, text in tree.items() if path.endswith("CMakeLists.txt")}
    made = {name for path, text in files.items() if path.startswith("tests/") for name in makes.findall(text)}
    for path, text in files.items():
        if path.startswith("tests/"):
            continue
        for line, content in _lines(text):
            for name in re.findall(r"[\w:-]+", content):
                if name.removeprefix("eroica::") in made:
                    yield path, line, f"names {name}, which tests/ makes"


def include_paths(tree):
    """Includes are written from the root of the repository."""
    for path, text in _cpp(tree):
        for line, name in cpp_source.includes(text):
            target = name[1:-1]
            ours = "/" not in target or target.startswith(SOURCE_FOLDERS + ("tests/", "."))
            if name[0] == '"' and ours and target not in tree and not target.endswith("_generated.h"):
                yield path, line, f"includes {name}, which is no file from the root of the repository"


def library_owners(tree):
    for path, text in _cpp(tree):
        for line, name in cpp_source.includes(text):
            for pattern, owners in ONLY:
                if re.match(pattern, name) and not path.startswith(owners + ("tests/",)):
                    yield path, line, f"includes {name}; only {', '.join(owners)} may"


def threads(tree):
    for path, text in _cpp(tree):
        if path.startswith((*THREADS_ALLOWED, "schemas/boundary_thread.h")) or _is_test(path, text):
            continue
        for line, code in _lines(cpp_source.without_comments_and_literals(text)):
            if THREAD.search(code):
                yield path, line, f"starts a thread; only {', '.join(THREADS_ALLOWED[:-1])} may"


def boundaries(tree):
    """No exception of a library leaves a thread, an event loop or a callback of ours: schemas/thread_boundary.h."""
    for path, text in _cpp(tree):
        if path.startswith(("tests/", "ops/examples/")) or "/testing/" in path or _is_test(path, text):
            continue
        source = cpp_source.without_comments_and_literals(text)
        for line, code in _lines(source):
            if BARE_THREAD.search(code) and path not in BARE_THREADS_ALLOWED:
                yield path, line, "starts a thread that an exception ends the process from; use BoundaryThread"
            if EVENT_LOOP.search(code) and path != "ops/rest/event_loop.h":
                yield path, line, "runs handlers that may throw; use ops/rest/event_loop.h"
            if CATCH_ALL.search(code) and path not in CATCH_ALL_ALLOWED:
                yield path, line, "catches the forced end of a thread as well, which ends the process; use AtBoundary"
        if path in BARE_THREADS_ALLOWED and "AtBoundary" not in source:
            yield path, 1, "starts threads without a boundary"


def thrown_at(tree):
    """A test throws at each boundary, and names the file in which it is: "// Throws at ops/cli/a.cc: the watch"."""
    named = set()
    for path, text in _cpp(tree):
        if not _is_test(path, text):
            continue
        for line, content in _lines(text):
            for place in THROWS_AT.findall(content):
                named.add(place)
                if not BOUNDARY.search(cpp_source.without_comments_and_literals(tree.get(place, ""))):
                    yield path, line, f"throws at {place}, which has no boundary"
    for path, text in _cpp(tree):
        if path in BOUNDARIES_THEMSELVES or path in named or not path.startswith(SOURCE_FOLDERS) or "/testing/" in path or _is_test(path, text):
            continue
        for line, code in _lines(cpp_source.without_comments_and_literals(text)):
            if BOUNDARY.search(code):
                yield path, line, f"no test throws at this boundary: make one, and name the place there (// Throws at {path}: ...)"
                break


def no_throw(tree):
    for path, text in _cpp(tree):
        if path == "schemas/thread_boundary.h" or "/testing/" in path:  # passes the forced end of a thread on; throws for tests
            continue
        for line, code in _lines(cpp_source.without_comments_and_literals(text)):
            if re.search(r"\bthrow\b", code) and not _is_test(path, text):
                yield path, line, "throws; operations that can fail answer with absl::Status"


def no_catch_all_in_producers(tree):
    for path, text in _cpp(tree):
        if not path.startswith("producers/") or _is_test(path, text):
            continue
        for line, code in _lines(cpp_source.without_comments_and_literals(text)):
            if re.search(r"\bcatch\s*\(\s*\.\.\.\s*\)", code):
                yield path, line, "catches the end of a host's thread as well (pthread_exit), which aborts the process; catch std::exception"


def _argument(code, at):
    """The text up to the parenthesis that closes the one before `at`."""
    depth = 1
    for end in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[end], 0)
        if depth == 0:
            return code[at:end]
    return code[at:]


def no_check_on_outside(tree):
    """What comes from outside ends no process: it is refused by the function that reads it."""
    for path, text in _cpp(tree):
        product = path.startswith(SOURCE_FOLDERS) and "/testing/" not in path and not path.endswith("_test.cc")
        if not product or path in CHECKS_THEMSELVES or _is_test(path, text) or text.startswith("// For tests"):
            continue
        code = cpp_source.without_comments_and_literals(text)
        for match in CHECK.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            value = OUTSIDE_VALUES.search(_argument(code, match.end()))
            if path.startswith(OUTSIDE_FOLDERS):
                yield path, line, "ends the process; what comes from outside is answered with a Status, a DropReason or an optional"
            elif value:
                yield path, line, f"checks '{value.group(0)}', which comes from outside: answer with a Status, a DropReason or an optional"


def test_encoder_is_for_tests(tree):
    """The encoder that ends the process is none of the product's."""
    for path, text in _cpp(tree):
        product = path.startswith(SOURCE_FOLDERS) and "/testing/" not in path and not path.endswith("_test.cc")
        if not product or text.startswith("// For tests") or path in TOOLS_OF_TESTS:
            continue
        for line, name in cpp_source.includes(text):
            if name == '"schemas/test_encoder.h"':
                yield path, line, "includes the encoder of tests; Encoder::TryEncode answers"


def no_sleep_in_tests(tree):
    for path, text in _cpp(tree):
        in_real_time = (
            "tests/benchmarks/",
            "tests/evaluation/lab/simulate_command",
            "tests/integration/nodes_under_fault",  # faults strike at any moment
        )
        if not _is_test(path, text) or path.startswith(in_real_time):
            continue
        for line, code in _lines(cpp_source.without_comments_and_literals(text)):
            if re.search(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(", code):
                yield path, line, "sleeps; a test waits for what it needs, with a deadline"


def headers(tree):
    for path, text in tree.items():
        if not path.endswith(".h"):
            continue
        if not text.startswith("//"):
            yield path, 1, "a header begins with a comment that says what it is for"
        if "\n#pragma once\n" not in text:
            yield path, 1, "a header needs #pragma once"


def one_definition(tree):
    """Two types of one name in two headers: the day that one file includes both it no longer builds, or worse, links."""
    first_seen = {}
    for path, text in tree.items():
        if not path.endswith(".h"):
            continue
        code = cpp_source.without_comments_and_literals(text)
        for match in re.finditer(r"^(?:class|struct|enum(?: class)?) (\w+)[^;{()]*\{", code, re.MULTILINE):
            name = match.group(1)
            if first_seen.setdefault(name, path) != path:
                yield path, code.count("\n", 0, match.start()) + 1, f"defines {name}, as {first_seen[name]} does"


def file_length(tree):
    for path, text in tree.items():
        count = text.count("\n")
        if path.endswith(CPP + (".py", ".sh", ".cmake", "CMakeLists.txt")) and count > MAX_FILE_LINES:
            yield path, count, f"{count} lines, {MAX_FILE_LINES} at most: which second idea has moved in?"


def line_length(tree):
    for path, text in _cpp(tree):
        code = cpp_source.without_comments_and_literals(text).splitlines()
        for line, content in _lines(text):
            # What a raw string says is its own matter.
            raw = 'R"' in content or ')"' in content or not content.lstrip().startswith("//") and not code[line - 1].strip()
            if len(content) > MAX_COLUMNS and not raw:
                yield path, line, f"{len(content)} columns, {MAX_COLUMNS} at most"


def function_length(tree):
    for path, text in tree.items():
        if path.endswith(CPP):
            spans = cpp_source.functions(text)
        elif path.endswith(".py"):
            nodes = ast.walk(ast.parse(text))
            spans = [(n.lineno, n.end_lineno) for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        else:
            continue
        for first, last in spans:
            if last - first + 1 > MAX_FUNCTION_LINES:
                yield path, first, f"a function of {last - first + 1} lines, {MAX_FUNCTION_LINES} at most"


def file_names(tree):
    for path in tree:
        for word in re.split(r"[/_.-]", path):
            if word in BANNED_NAMES:
                yield path, 1, f"'{word}' says nothing: name the thing"


def banned_words(tree):
    for path, text in tree.items():
        if _about_rules(path):
            continue
        for line, content in _lines(text):
            match = BANNED_WORDS.search(content)
            if match:
                yield path, line, f"'{match.group(0)}': unfinished work belongs into an issue"


def machine_paths(tree):
    for path, text in tree.items():
        if _about_rules(path):
            continue
        for line, content in _lines(text):
            match = MACHINE_PATH.search(content)
            if match:
                yield path, line, f"'{match.group(1)}...' is a path of one machine"


def registry_hosts(tree):
    for path, text in tree.items():
        if _about_rules(path) or path.endswith("pom.xml"):
            continue
        for line, content in _lines(text):
            match = REGISTRY.search(content)
            if match:
                yield path, line, f"'{match.group(0)}': registries are named by their clients' settings, not here"


def _anchors(text):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def doc_links(tree):
    folders = {posixpath.dirname(path) for path in tree}
    folders |= {parent for folder in folders for parent in _parents(folder)}
    for path, text in tree.items():
        if not path.endswith(".md"):
            continue
        for line, content in _lines(text):
            for target in re.findall(r"\]\(([^)\s]+)\)", content):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
                if file not in tree and file.rstrip("/") not in folders:
                    yield path, line, f"links to {target}, which is not there"
                elif anchor and file in tree and anchor not in _anchors(tree[file]):
                    yield path, line, f"links to {target}, but {file} has no such heading"


def _parents(folder):
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


ARCHITECTURE = "docs/ARCHITECTURE.md"


def architecture_map(tree):
    """Every path that the architecture page names exists, and every folder with sources is named by one of its files."""
    text = tree.get(ARCHITECTURE)
    if text is None:
        yield ARCHITECTURE, 1, "is missing"
        return
    named = set()
    for line, content in _lines(text):
        for token in re.findall(r"`([\w./{},*-]+/[\w./{},*-]+)`", content):
            if not token.startswith(SOURCE_FOLDERS + ("tests/", "docs/", "cmake/")):
                continue
            for path in _expand(token):
                named.add(path)
                if path not in tree and not any(p.startswith(path.rstrip("/") + "/") for p in tree):
                    yield ARCHITECTURE, line, f"names {path}, which is not there"
    for folder in sorted({posixpath.dirname(p) for p, _ in _cpp(tree) if p.startswith(SOURCE_FOLDERS)}):
        if not any(posixpath.dirname(path) == folder for path in named):
            yield ARCHITECTURE, 1, f"names no file of {folder}"


def _expand(token):
    """foo.{h,cc} -> foo.h, foo.cc"""
    match = re.search(r"\{([^}]*)\}", token)
    if not match:
        return [token]
    return [expanded for choice in match.group(1).split(",") for expanded in _expand(token[: match.start()] + choice + token[match.end() :])]


ALL = (
    layering,
    evaluation_stays_out,
    include_paths,
    library_owners,
    threads,
    boundaries,
    thrown_at,
    no_throw,
    no_catch_all_in_producers,
    no_check_on_outside,
    test_encoder_is_for_tests,
    no_sleep_in_tests,
    headers,
    one_definition,
    file_length,
    line_length,
    function_length,
    file_names,
    banned_words,
    machine_paths,
    registry_hosts,
    doc_links,
    architecture_map,
)

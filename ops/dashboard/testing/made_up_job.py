"""One training job that was never run: its answers in the node's contract (ops/rest/openapi.json).

Every number follows from the job's name and from the faults that it is given, so that two runs
of the tests see the same. Only times depend on when the stand-in was started.
"""

import datetime
import hashlib
import statistics
import zlib

SECOND = 10**9
MS = 10**6
STEPS_PER_WINDOW = 32


def rfc3339(seconds):
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def identity(text, digits):
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:digits]


def pseudo_random(*numbers):
    """In [0, 1), the same for the same numbers."""
    mixed = 0x9E3779B9
    for number in numbers:
        mixed = ((mixed ^ (number & 0xFFFFFFFF)) * 0x85EBCA6B + 0x27D4EB2F) & 0xFFFFFFFF
        mixed ^= mixed >> 15
    mixed = (mixed * 0xC2B2AE35) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 16)) / 2**32


class Function:
    def __init__(self, name, kind, median_ns, stack="train.py: main > train.py: train_step"):
        self.name, self.kind, self.median_ns, self.stack = name, kind, median_ns, stack
        self.id = identity(kind + name + stack, 16)

    def json(self):
        return {
            "function": self.id,
            "name": self.name,
            "stack": self.stack,
            "class": self.kind,
            "wait": "peers" if self.kind == "collective" else "none",
            "resource": {"gpu_compute": "sm_clock_mhz", "collective": "nic_gb_per_s"}.get(
                self.kind, ""
            ),
        }


class Fault:
    """Extra time a step of some ranks in one function, from a window on."""

    def __init__(self, ranks, function, extra_ns, first_window):
        self.ranks, self.function = frozenset(ranks), function
        self.extra_ns, self.first_window = extra_ns, first_window


class MadeUpJob:
    def __init__(
        self,
        name,
        ranks,
        functions,
        now,
        *,
        faults=(),
        kind="steps",
        state="running",
        windows_held=12,
        newest_index=61,
        roles=1,
        silent=(),
        lost=0,
        links=(),
        hangs=False,
        waits=(),
        ranks_per_host=8,
        host="node%04d",
    ):
        self.name, self.ranks, self.functions, self.now = name, ranks, functions, now
        self.faults, self.kind, self.state, self.hangs = faults, kind, state, hangs
        self.windows_held, self.newest_index, self.roles = windows_held, newest_index, roles
        self.silent, self.lost, self.links_carried, self.told_waits = (
            set(silent),
            lost,
            links,
            waits,
        )
        self.ranks_per_host, self.host_pattern = ranks_per_host, host
        self.seed = zlib.crc32(name.encode(errors="replace"))
        self.findings = []
        self._matrices, self._busy = {}, {}

    # ---- what happened ----

    def host(self, rank):
        return self.host_pattern % (rank // self.ranks_per_host)

    def role(self, rank):
        return rank * self.roles // self.ranks

    def indices(self):
        return list(range(self.newest_index - self.windows_held + 1, self.newest_index + 1))

    def window_name(self, index):
        return f"{self.kind}-{index}"

    def index_of(self, name):
        """None where the window is not held."""
        if name == "latest":
            return self.newest_index if self.windows_held else None
        kind, _, digits = name.partition("-")
        held = kind == self.kind and int(digits) in self.indices()
        return int(digits) if held else None

    def extra_ns(self, rank, function, index):
        return sum(
            fault.extra_ns
            for fault in self.faults
            if fault.function == function and index >= fault.first_window and rank in fault.ranks
        )

    def critical_ns(self, rank, place, index):
        function = self.functions[place]
        uneven = 0.985 + 0.03 * pseudo_random(self.seed, rank, place, index)
        of_role = 1 + 0.02 * self.role(rank)
        return int(function.median_ns * uneven * of_role) + self.extra_ns(
            rank, function.name, index
        )

    def matrix(self, index):
        """Rows by function, columns by rank: critical nanoseconds a step."""
        if index not in self._matrices:
            if len(self._matrices) > 3:
                self._matrices.clear()
            self._matrices[index] = [
                [self.critical_ns(rank, place, index) for rank in range(self.ranks)]
                for place in range(len(self.functions))
            ]
        return self._matrices[index]

    def busy(self, index):
        """By rank: what is left of a step without waits."""
        if index not in self._busy:
            places = [
                place
                for place, function in enumerate(self.functions)
                if function.kind != "collective"
            ]
            if self.ranks <= 256:
                self._busy[index] = [
                    sum(self.critical_ns(rank, place, index) for place in places)
                    for rank in range(self.ranks)
                ]
            else:
                self._busy[index] = [
                    self._busy_of_many(rank, index, places) for rank in range(self.ranks)
                ]
        return self._busy[index]

    def _busy_of_many(self, rank, index, places):
        """The unevenness of many functions evens out: one draw for all of them."""
        usual = sum(self.functions[place].median_ns for place in places) * (
            1 + 0.02 * self.role(rank)
        )
        late = sum(
            fault.extra_ns
            for fault in self.faults
            if index >= fault.first_window and rank in fault.ranks
        )
        return int(usual * (0.997 + 0.006 * pseudo_random(self.seed, rank, index))) + late

    def transfer_ns(self, index):
        return sum(
            function.median_ns for function in self.functions if function.kind == "collective"
        ) + max(
            (
                fault.extra_ns
                for fault in self.faults
                if index >= fault.first_window and fault.function == "link"
            ),
            default=0,
        )

    def step_ns(self, index):
        return max(self.busy(index)) + self.transfer_ns(index)

    def start_seconds(self, index):
        """Of a window; the newest ended a little while ago."""
        length = STEPS_PER_WINDOW * self.nominal_step_ns() / SECOND
        age = {"ended": 5 * 3600.0, "running": 9.0}[self.state] + (840 if self.hangs else 0)
        return self.now - age - (self.newest_index - index + 1) * length

    def nominal_step_ns(self):
        return sum(function.median_ns for function in self.functions)

    # ---- answers ----

    def as_of(self):
        newest = self.start_seconds(self.newest_index + 1)
        return {"watermark": rfc3339(newest) if self.windows_held else None, "complete": True}

    def quality(self, share=1.0):
        events = int(self.ranks * STEPS_PER_WINDOW * len(self.functions) * 3 * share)
        return {
            "events": events,
            "late": self.ranks // 40,
            "lost": int(self.lost * share),
            "sampled": 0,
            "outside": events // 200,
        }

    def job_json(self):
        open_findings = {severity: 0 for severity in ("critical", "major", "minor", "info")}
        for finding in self.findings:
            if finding["state"] != "resolved":
                open_findings[finding["severity"]] += 1
        return {
            "job": self.name,
            "state": self.state,
            "world_size": self.ranks,
            "ranks_seen": self.ranks - len(self.silent),
            "roles": self.roles,
            "window_kind": self.kind,
            "newest_window": self.window_name(self.newest_index),
            "watermark": rfc3339(self.start_seconds(self.newest_index + 1)),
            "diagnosed_at": rfc3339(self.start_seconds(self.newest_index + 1) + 0.4),
            "step_ns": 0 if self.hangs else self.step_ns(self.newest_index),
            "suppressed_steps": 1,
            "data_quality": self.quality(),
            "windows_held": self.windows_held,
            "open_findings": open_findings,
        }

    def window_json(self, index):
        busy = self.busy(index)
        slowest = busy.index(max(busy))
        return {
            "window": self.window_name(index),
            "kind": self.kind,
            "index": index,
            "first_step": index * STEPS_PER_WINDOW,
            "last_step": (index + 1) * STEPS_PER_WINDOW - 1,
            "start": rfc3339(self.start_seconds(index)),
            "end": rfc3339(self.start_seconds(index + 1)),
            "world_size": self.ranks,
            "ranks_seen": self.ranks - len(self.silent),
            "ranks_silent": len(self.silent),
            "step_ns": {
                "median": self.step_ns(index),
                "max": self.step_ns(index) * 1.01,
                "max_rank": slowest,
            },
            "data_quality": self.quality(),
            "suppressed_steps": 1 if index % 5 == 0 else 0,
            "functions": len(self.functions),
            "functions_dropped": 3,
            "findings": [
                finding["id"]
                for finding in self.findings
                if finding["windows"]["first"] <= index <= finding["windows"]["last"]
            ],
        }

    def steps_json(self):
        columns = {
            name: []
            for name in (
                "step",
                "window",
                "median_ns",
                "max_ns",
                "busy_median_ns",
                "busy_max_ns",
                "busiest_rank",
            )
        }
        for index in self.indices():
            busy = self.busy(index)
            median, most, transfer = statistics.median(busy), max(busy), self.transfer_ns(index)
            slow = most > 1.05 * median
            for step in range(index * STEPS_PER_WINDOW, (index + 1) * STEPS_PER_WINDOW):
                uneven = 1 + 0.02 * (pseudo_random(self.seed, step, 7) - 0.5)
                busiest = busy.index(most) if slow else int(pseudo_random(self.seed, step, 9) * self.ranks)
                checkpoint = 0.6 if step % 160 == 150 else 0.0
                columns["step"].append(step)
                columns["window"].append(self.window_name(index))
                columns["median_ns"].append(int((most * uneven + transfer) * (1 + checkpoint)))
                columns["max_ns"].append(int((most * uneven + transfer) * (1.01 + checkpoint)))
                columns["busy_median_ns"].append(int(median * uneven))
                columns["busy_max_ns"].append(int(most * uneven))
                columns["busiest_rank"].append(busiest)
        marks = [
            {key: finding[key] for key in ("id", "severity", "state", "title")}
            | {
                "first_step": finding["windows"]["first"] * STEPS_PER_WINDOW,
                "last_step": (finding["windows"]["last"] + 1) * STEPS_PER_WINDOW - 1,
            }
            for finding in self.findings
            if finding["steps"]["first"] >= 0
        ]
        return {"as_of": self.as_of(), "steps": columns, "findings": marks}

    def spread(self, values):
        most = max(values)
        rank = values.index(most)
        median = self.medians_by_role(values)[self.role(rank)]
        return {"median": median, "max": most, "max_rank": rank}

    def functions_json(self, index):
        step = self.step_ns(index)
        rows = []
        for function, critical in zip(self.functions, self.matrix(index)):
            rows.append(
                {
                    "function": function.json(),
                    "ranks": self.ranks,
                    "beta": self.spread([value / step for value in critical]),
                    "call_ns": self.spread([value // 4 for value in critical]),
                    "critical_ns_per_step": self.spread(critical),
                }
            )
        rows.sort(key=lambda row: -row["critical_ns_per_step"]["max"])
        return {
            "as_of": self.as_of(),
            "window": self.window_name(index),
            "functions": rows,
            "next_cursor": None,
        }

    def place_of(self, function_id):
        return next(
            (place for place, one in enumerate(self.functions) if one.id == function_id), None
        )

    def function_json(self, place, index):
        critical, step = self.matrix(index)[place], self.step_ns(index)
        medians = self.medians_by_role(critical)
        everyone = range(self.ranks)
        return {
            "as_of": self.as_of(),
            "window": self.window_name(index),
            "function": self.functions[place].json(),
            "ranks": {
                "rank": list(everyone),
                "role": [self.role(rank) for rank in everyone],
                "beta": [round(value / step, 4) for value in critical],
                "mu": [round(0.6 + 0.1 * pseudo_random(self.seed, rank, place), 3) for rank in everyone],
                "sigma": [0.05 for _ in everyone],
                "count": [4 * STEPS_PER_WINDOW for _ in everyone],
                "call_ns": [value // 4 for value in critical],
                "critical_ns_per_step": critical,
                "role_critical_ns_per_step": [int(medians[self.role(rank)]) for rank in everyone],
            },
        }

    def history_json(self, place, rank):
        columns = {
            name: []
            for name in (
                "window",
                "start",
                "beta",
                "peers_beta",
                "call_ns",
                "peers_call_ns",
                "critical_ns_per_step",
                "peers_critical_ns_per_step",
            )
        }
        for index in self.indices():
            own, peers = self.critical_ns(rank, place, index), self.functions[place].median_ns
            step = self.nominal_step_ns()
            for name, value in (
                ("window", self.window_name(index)),
                ("start", rfc3339(self.start_seconds(index))),
                ("beta", own / step),
                ("peers_beta", peers / step),
                ("call_ns", own // 4),
                ("peers_call_ns", peers // 4),
                ("critical_ns_per_step", own),
                ("peers_critical_ns_per_step", peers),
            ):
                columns[name].append(value)
        return {
            "as_of": self.as_of(),
            "function": self.functions[place].json(),
            "rank": rank,
            "windows": columns,
        }

    def medians_by_role(self, values):
        groups = {}
        for rank, value in enumerate(values):
            groups.setdefault(self.role(rank), []).append(value)
        return {role: statistics.median(group) for role, group in groups.items()}

    def heatmap_json(self, index, metric, limit):
        rows = sorted(zip(self.functions, self.matrix(index)), key=lambda row: -max(row[1]))[:limit]
        values, step = [], self.step_ns(index)
        for function, critical in rows:
            if metric == "excess":
                medians = self.medians_by_role(critical)
                cells = [
                    int((value - medians[self.role(rank)]) // 1000)
                    for rank, value in enumerate(critical)
                ]
            elif metric == "critical":
                cells = [value // 1000 for value in critical]
            else:
                cells = [value * 1000 // step for value in critical]
            silent = function.kind == "python" and self.ranks > 100
            values.append(
                [
                    None if rank in self.silent or (silent and rank % 97 == 13) else cell
                    for rank, cell in enumerate(cells)
                ]
            )
        return {
            "as_of": self.as_of(),
            "window": self.window_name(index),
            "metric": metric,
            "unit": {"excess": "us/step", "critical": "us/step", "beta": "1/1000"}[metric],
            "ranks": list(range(self.ranks)),
            "roles": [self.role(rank) for rank in range(self.ranks)],
            "hosts": [self.host(rank) for rank in range(self.ranks)],
            "functions": [function.json() for function, _ in rows],
            "values": values,
        }

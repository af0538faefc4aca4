"""Draws jobs in which nothing is as the simulator once had it: realism.py has the numbers, README.md what is drawn."""
import dataclasses
import random

import communication
import faults
import layouts
import realism
from job import OF_A_STEP, Job, table_text
from quiet import QUIET

KINDS = faults.KINDS + (
    faults.Kind("memory_slow", "gpu slow", "rank", *realism.MEMORY_SLOW, faults.SLOW),
    faults.Kind("varying_lengths", "varying lengths", "all", 0.1, 0.5, ("imbalance",), (), False),
)
OF_A_DEVICE = {"gpu_slow", "thermal_throttling", "power_throttling", "gpu_shared", "ecc_retries", "transient_spike"}
NOT_FAINTER = {"memory_slow", "varying_lengths", "garbage_collection", "telemetry_loss", "transient_spike"}
UNLIKE = {"own_nic_share": 0.0, "neighbor_nic_share": 1.0}  # a lost NIC that looks like no other
OTHER_LENGTHS = {"kinds": ["imbalance"], "subkinds": ["varying"]}  # lasting unevenness is another matter
VARYING = {**OTHER_LENGTHS, "optional": True}
WAITING = {"kinds": ["regression", "step_time", "imbalance"], "functions": ["queue.py: get", "dataloader"], "optional": True}


def number(name, values, rng):
    """One value of realism.py."""
    if isinstance(values, list):
        return rng.choice(values)
    low, high = values
    if isinstance(low, int) and isinstance(high, int):
        return rng.randint(low, high)
    value = low * (high / low) ** rng.random() if name in realism.LOG else rng.uniform(low, high)
    return float("%.3g" % value)


def numbers(table, rng):
    return {name: number(name, values, rng) for name, values in table.items()}


class World:
    """A job with its machines, its noise and its network; and what may be said of it though it is no fault."""

    def __init__(self, layout, rng, step_ms=None):
        step_ms = step_ms or number("STEP_MS", realism.STEP_MS, rng)
        self.rng, self.layout, self.optional = rng, layout, []
        self.job = Job(layout, rng, layer_us=float("%.3g" % (step_ms / layout.step_us(1.0) * 1e3)))
        tables = self.job.tables
        tables["workload.jitter"] = numbers(realism.JITTER, rng)
        self.move(tables)
        tables["hardware"] = numbers(realism.HARDWARE, rng)
        tables["hardware.memory_bound"] = numbers(realism.MEMORY_BOUND, rng)
        tables["noise"] = {"tail_degrees": rng.choice(realism.TAIL_DEGREES), **numbers(realism.NOISE, rng)}
        tables["workload"]["attention_squares"] = number("", realism.ATTENTION_SQUARES, rng)
        if rng.random() < realism.LOADER_SHARE:
            tables["workload.loader_wait"] = numbers(realism.LOADER_WAIT, rng)
            self.optional.append(WAITING)
        if rng.random() < realism.LENGTHS_SHARE:
            self.vary_lengths(tables["workload"])

    def move(self, tables):
        """Chooses a network, and sizes of messages with which the wanted share of a step is communication."""
        rng, layout = self.rng, self.layout
        fabric = tables["fabric"] = {
            "nvlink_gb_per_s": rng.choice(realism.NVLINK_GB_PER_S),
            "nic_gb_per_s": rng.choice(realism.NIC_GB_PER_S),
            "pcie_gb_per_s": rng.choice(realism.PCIE_GB_PER_S),
            "dram_gb_per_s": rng.choice(realism.DRAM_GB_PER_S),
            "rings": rng.choice(realism.RINGS),
            "hop_latency_us": number("", realism.HOP_LATENCY_US, rng),
            "slot_over_nic": rng.choice(realism.SLOT_OVER_NIC),
        }
        share = rng.uniform(*realism.COMMUNICATION)
        budget_ms = share / (1 - share) * self.job.step_ms
        of_activations = rng.uniform(*realism.ACTIVATIONS_OF_IT)
        activations_ms = communication.activations_ms(layout, fabric)
        parameters_ms = communication.parameters_ms(layout, fabric)
        if parameters_ms == 0 or activations_ms == 0:
            of_activations = 1.0 if parameters_ms == 0 else 0.0
        if layout.keys.get("sharded"):  # what is gathered ahead hides behind the kernels
            budget_ms = self.job.step_ms / (1 - share)
        self.size(tables["workload"], "activation_mib", of_activations * budget_ms, activations_ms, realism.ACTIVATION_MIB)
        self.size(tables["workload"], "parameter_mib", (1 - of_activations) * budget_ms, parameters_ms, realism.PARAMETER_MIB)

    @staticmethod
    def size(workload, key, budget_ms, ms_for_each_mib, bounds):
        if ms_for_each_mib > 0 and budget_ms > 0:
            workload[key] = float("%.3g" % min(max(budget_ms / ms_for_each_mib, bounds[0]), bounds[1]))

    def vary_lengths(self, workload):
        shared = self.rng.random() < realism.LENGTHS_SHARED_SHARE
        spread = realism.SHARED_SPREAD if shared else realism.OWN_SPREAD
        workload["micro_batch_spread"] = number("", spread, self.rng)
        workload["micro_batches_shared"] = shared
        self.optional.append(VARYING)

    def expectations(self):
        return "".join(table_text("expect", one) for one in self.optional)


def severity_of(kind, count, hardware, rng):
    if kind.name == "garbage_collection" and count % 2 == 1:
        return number("", realism.LIGHT_COLLECTIONS, rng)
    mild = kind.mild * (1 if kind.name in NOT_FAINTER or kind.mild == kind.gross else realism.FAINTER)
    if kind.name in OF_A_DEVICE:
        mild = max(mild, realism.BEYOND_HEALTHY * hardware["device_spread"])
    return float("%.3g" % (mild * (max(kind.gross, mild) / mild) ** rng.random()))


def shape_of(kind, rng):
    if kind.name == "nic_down":
        own, neighbor = rng.choice(realism.LOST_NIC_SHARES)
        jitter = realism.LOST_NIC_JITTER
        own, neighbor = sorted(float("%.3g" % (share + rng.uniform(-jitter, jitter))) for share in (own, neighbor))
        return {"own_nic_share": own, "neighbor_nic_share": neighbor}
    shape = numbers(realism.SHAPES.get(kind.name, {}), rng)
    if kind.name in ("ecc_retries", "power_throttling"):
        shape["by_time"] = True  # neither knows where a kernel begins
    return shape


def alternatives(kind, layout, ranks, shape, layer_us=0):
    """What every measurement agrees with as well: keys of [[expect.or]] tables. layer_us: a layer's forward pass."""
    rank, kinds = ranks[0], list(kind.kinds)
    if kind.name in faults.ONE_SIDED and is_on_a_ring_alone(layout):  # sender, receiver and the path between look the same
        onward = layout.per_host if kind.name == "nic_send_slow" else -layout.per_host
        peer = (rank + onward) % layout.ranks
        return [{"kinds": kinds, "ranks": [peer]}, {"kinds": kinds, "ranks": [rank], "peer_rank": peer}]
    if kind.name == "communication_hang" and faults.is_first_between_two(layout):
        return [{"kinds": kinds, "ranks": [rank ^ 1]}, {"kinds": kinds, "ranks": faults.spans(sorted((rank, rank ^ 1)))}]
    if kind.name == "nic_down" and shape["own_nic_share"] >= realism.INDISTINCT_NICS * shape["neighbor_nic_share"]:
        return [{"kinds": kinds, "ranks": [rank ^ 1]}, {"kinds": kinds, "ranks": faults.spans(sorted((rank, rank ^ 1)))}]
    if kind.name == "ecc_retries" and layer_us > 0 and us_between_pauses(shape) < layer_us:
        return [{"kinds": ["contention"], "ranks": [rank]}]
    return []


def us_between_pauses(shape):
    """Those that come more often than long kernels end strike most calls, as somebody else on the device does."""
    lengths = shape["pause_lengths"]
    return shape["pause_us"] * sum(2**k for k in range(lengths)) / lengths / shape["severity"]


def is_on_a_ring_alone(layout):
    """Whether a NIC exchanges with one other in each direction: its ring's next host and the one before."""
    return layout.hosts >= 3 and all(layout.degree(key) == 1 for key in ("pipeline", "expert")) and layout.degree("tensor") <= layout.per_host


def fits(kind, layout):
    if kind.name in faults.ONE_SIDED and is_on_a_ring_alone(layout) and layout.degree("data") > 1:
        return True
    if kind.name == "communication_hang" and layout.degree("tensor") == 2:  # the pair is in one tensor group
        return layout.degree("expert") == 1 and layout.degree("context") == 1
    if kind.name == "varying_lengths":
        return layout.degree("data") >= 2
    return faults.fits(kind, layout)


def times_of(kind, window_steps, rng):
    """The step that the fault begins in, and how many steps the job has."""
    past = window_steps * (3 if kind.after_past else 0)
    onset = rng.choice((window_steps, rng.randrange(2, 3 * window_steps))) if rng.random() < realism.ONSET_SHARE else 0
    first = past + onset
    if kind.family == "hang":  # a job that never took a step has no step to hang in
        first = max(1, first)
    steps = first + max(20, 5 * window_steps)
    if kind.name == "transient_spike":
        steps = max(steps, 128)
    return first, max(steps, 64) if kind.name == "telemetry_loss" else steps


def draw_fault(folder, kind, layout, count, rng):
    world = World(layout, rng)
    job = world.job
    if kind.name == "varying_lengths":  # it is the fault: the job has no other lengths beside it
        for key in ("micro_batch_spread", "micro_batches_shared"):
            job.tables["workload"].pop(key, None)
        world.optional = [one for one in world.optional if one is not VARYING]
    job.window_steps = max(3, job.window_steps)  # two steps show no persistence, whoever looks
    job.tables["telemetry"]["window_steps"] = job.window_steps
    first, steps = times_of(kind, job.window_steps, rng)
    shape = shape_of(kind, rng)
    if kind.name == "power_throttling" and rng.random() < realism.ONE_DEVICE_SHARE:
        kind = dataclasses.replace(kind, strikes="rank")
        shape["turn_share"] = 1.0
    ranks = faults.struck(kind, layout, rng)
    fault = {"kind": kind.name, "ranks": "all" if kind.strikes == "all" else faults.spans(ranks)}
    peer = None
    if kind.strikes == "link":
        peer = fault["peer_rank"] = faults.peer_over_link(layout, ranks[0], rng)
    fault["severity"] = severity_of(kind, count, job.tables["hardware"], rng)
    fault["first_step"] = first
    if kind.name == "congested_path":
        fault["duty"] = float("%.3g" % rng.uniform(0.3, 0.8))
    fault.update(shape)
    expect = faults.expectation(kind, layout, ranks, peer)
    if kind.name == "varying_lengths":
        expect = OTHER_LENGTHS
    if kind.strikes == "rack":  # a path to one of its ranks is a part of it
        expect["ranks"] = faults.spans(ranks)
    tail = table_text("fault", fault) + table_text("expect", expect)
    tail += "".join(table_text("expect.or", one) for one in alternatives(kind, layout, ranks, fault, job.tables["workload"].get("layer_forward_us", 0)))
    job.write(folder, "%s_real%d_%s" % (kind.name, count, layout.name), kind.family, "%s in a realistic job, drawn." % kind.name,
              steps, rng.randrange(1, 100000), tail + world.expectations())


def draw_healthy(folder, layout, count, rng):
    hours = layout.ranks <= 24 and rng.random() < 0.4  # long jobs: what is said falsely now and then is said there
    world = World(layout, rng, realism.HOURS_STEP_MS if hours else None)
    job = world.job
    if hours:
        job.tables["telemetry"]["sample_period_us"] = realism.HOURS_SAMPLE_PERIOD_US
    kinds = []
    if rng.random() < realism.QUIET_SHARE:
        kinds = rng.sample([one for one in QUIET if not one[0].startswith(("Sequences", "A slow network", "Nothing"))], rng.choice((1, 1, 2)))
        job.disturb(kinds)
    steps = 1000 if hours else rng.choice((24, 48, 96)) if layout.ranks <= 64 else 32
    about = "; ".join([name for name, _ in kinds] or ["Nothing wrong"]) + ", in a realistic job."
    job.write(folder, "healthy_real%d_%s" % (count, layout.name), "healthy", about, steps, rng.randrange(1, 100000), world.expectations())


def drawn_kinds(jobs, rng):
    """As many kinds as faulty jobs: each once, and then by turns, some more often (realism.TIMES)."""
    chosen = []
    while len(chosen) < jobs:
        again = [kind for kind in KINDS for _ in range(1, realism.TIMES.get(kind.name, 1))]
        for turn in (list(KINDS), again):
            rng.shuffle(turn)
            chosen += turn[: jobs - len(chosen)]
    return sorted(chosen, key=lambda kind: [one.name for one in KINDS].index(kind.name))


def pool_of(max_ranks, large):
    small = [layout for layout in layouts.LAYOUTS if layout.ranks <= max_ranks]
    return [layout for layout in layouts.LAYOUTS + layouts.LARGE_LAYOUTS if layout.ranks > 64] if large else small


def draw(folder, seed, jobs, max_ranks, only=""):
    """So many faulty jobs and as many healthy ones."""
    counts = {}
    for place, kind in enumerate(drawn_kinds(jobs, random.Random("%d kinds" % seed))):
        count = counts[kind.name] = counts.get(kind.name, -1) + 1
        if only not in ("", kind.name):
            continue
        rng = random.Random("%d realistic %s %d" % (seed, kind.name, count))
        fitting = [layout for layout in pool_of(max_ranks, place % realism.LARGE_EVERY == 7) if fits(kind, layout)]
        fitting = fitting or [layout for layout in pool_of(128, False) if fits(kind, layout)]
        if count % 2 == 1:  # every second one where it looks like another, if there are such jobs
            fitting = [layout for layout in fitting if alternatives(kind, layout, [0], UNLIKE)] or fitting
        draw_fault(folder, kind, rng.choice(fitting), count, rng)
    for count in range(0 if only else jobs):
        rng = random.Random("%d realistic healthy %d" % (seed, count))
        draw_healthy(folder, rng.choice(pool_of(max_ranks, count % realism.LARGE_EVERY == 7)), count, rng)

"""What must be said of each fault of the library: whom it strikes, from slight to gross, and the finding that is right."""
import dataclasses

SLOW = ("slow_rank",)
LINK = ("communication",)
CHANGE = ("regression", "step_time")


@dataclasses.dataclass(frozen=True)
class Kind:
    """A fault of tests/evaluation/simulate/fault_library.cc; `blames`: whether the ranks that it strikes are to be named."""
    name: str
    family: str
    strikes: str  # rank, ranks, host, rack, link, stage, replicas, experts or all
    mild: float
    gross: float
    kinds: tuple
    functions: tuple = ()
    blames: bool = True
    after_past: bool = False  # nothing but the job's own past can show it
    about: str = ""


KINDS = (
    Kind("gpu_slow", "gpu slow", "rank", 0.05, 0.4, SLOW),
    Kind("thermal_throttling", "gpu slow", "host", 0.1, 0.5, SLOW),
    Kind("power_throttling", "gpu slow", "host", 0.1, 0.4, SLOW),
    Kind("ecc_retries", "gpu slow", "rank", 0.06, 0.3, SLOW),
    Kind("gpu_shared", "contention", "rank", 0.06, 0.3, ("contention", "slow_rank")),
    Kind("memory_fragmentation", "memory", "rank", 0.08, 0.4, SLOW, ("cudaMalloc", "cudaFree")),
    Kind("nic_slow", "nic", "rank", 0.4, 0.8, LINK),
    Kind("nic_send_slow", "nic", "rank", 0.4, 0.8, LINK),
    Kind("nic_receive_slow", "nic", "rank", 0.4, 0.8, LINK),
    Kind("nic_flapping", "nic", "rank", 0.2, 0.5, LINK),
    Kind("nic_down", "nic", "rank", 1.0, 1.0, LINK),
    Kind("bond_degraded", "nic", "rank", 0.5, 0.5, LINK),
    Kind("link_slow", "link", "link", 0.5, 0.85, LINK),
    Kind("switch_slow", "switch", "rack", 0.4, 0.8, LINK),
    Kind("congested_path", "switch", "rack", 0.4, 0.8, LINK),
    Kind("nvlink_slow", "nvlink", "rank", 0.5, 0.85, LINK),
    Kind("nvlink_down", "nvlink", "rank", 1.0, 1.0, LINK),
    Kind("pcie_downgrade", "pcie", "rank", 0.75, 0.9, ("slow_rank", "communication")),
    Kind("network_slow_everywhere", "network everywhere", "all", 0.4, 0.65, ("communication", "regression"), (), False, True),
    Kind("nccl_setting", "nccl setting", "rank", 0.4, 0.8, LINK),
    Kind("storage_slow", "storage", "host", 0.05, 0.3, SLOW, ("recv_into", "storage")),
    Kind("storage_slow_everywhere", "storage", "all", 0.06, 0.3, CHANGE, ("recv_into", "storage"), False, True),
    Kind("data_loader_slow", "data loader", "rank", 0.05, 0.3, SLOW, ("queue.py: get", "dataloader")),
    Kind("pin_memory", "data loader", "ranks", 0.06, 0.3, SLOW, ("pin_memory",)),
    Kind("garbage_collection", "garbage collection", "all", 0.12, 0.5, CHANGE, ("collect",), False),
    Kind("gil_contention", "host contention", "rank", 0.08, 0.4, ("contention", "slow_rank")),
    Kind("cpu_stolen", "host contention", "host", 0.08, 0.4, ("contention", "slow_rank")),
    Kind("cpu_bound_forward", "code", "all", 0.06, 0.3, CHANGE, ("build_attention_mask",), False, True),
    Kind("code_regression", "code", "all", 0.3, 1.2, CHANGE, ("attention", "flash"), False, True),
    Kind("slow_function", "slow function", "rank", 0.05, 0.3, SLOW, ("record_activation_histogram",)),
    Kind("sequence_imbalance", "imbalance", "replicas", 0.12, 0.4, ("imbalance",), (), False),
    Kind("stage_imbalance", "imbalance", "stage", 0.2, 0.6, ("imbalance",), (), False),
    Kind("expert_imbalance", "imbalance", "experts", 0.5, 1.5, ("imbalance",), (), False),
    Kind("collective_mismatch", "hang", "rank", 1.0, 1.0, ("hang",)),
    Kind("host_hang", "hang", "rank", 1.0, 1.0, ("hang",), ("queue.py: put",)),
    Kind("communication_hang", "hang", "rank", 1.0, 1.0, ("hang",)),
    Kind("rank_dies", "hang", "rank", 1.0, 1.0, ("hang",)),
    Kind("telemetry_loss", "telemetry loss", "ranks", 0.2, 0.6, ("monitoring_gap",), (), False),
    Kind("transient_spike", "transient spike", "rank", 0.5, 1.0, ("step_time", "slow_rank")),
)

BETWEEN_HOSTS = {"nic_slow", "nic_send_slow", "nic_receive_slow", "nic_flapping", "nic_down", "bond_degraded", "link_slow",
                 "network_slow_everywhere", "communication_hang"}
ONE_SIDED = {"nic_send_slow", "nic_receive_slow"}


def is_first_between_two(layout):
    """Whether the first transfer of a backward pass is one between two ranks, of which either may be to blame where it stands still."""
    groups = [layout.degree(key) for key in ("tensor", "context", "expert")]
    return 2 in groups[:2] or (layout.degree("pipeline") > 1 and max(groups) == 1)


def fits(kind, layout):
    """Whether the fault can show in such a job, and be told from one of everybody."""
    if kind.name in ONE_SIDED:  # a ring alone gives a port one peer each way; experts add others where their groups span hosts
        experts = layout.degree("tensor") * layout.degree("context") * layout.degree("expert")
        others = layout.degree("pipeline") > 1 or (layout.degree("expert") > 1 and experts > layout.per_host)
        return layout.hosts >= 3 and layout.degree("data") > 1 and others
    if kind.name == "communication_hang" and is_first_between_two(layout):
        return False
    if kind.name in BETWEEN_HOSTS:
        return layout.hosts >= 3
    if kind.strikes == "host":
        return layout.hosts >= 2
    if kind.strikes == "rack":  # of two racks nobody can say whose way out it is
        return layout.hosts >= (12 if kind.name == "congested_path" else 8)
    if kind.strikes == "stage":
        return layout.degree("pipeline") >= 3
    if kind.strikes == "experts":
        return layout.degree("expert") > 1
    if kind.strikes == "replicas":
        return layout.degree("data") >= 4
    if kind.name.startswith("nvlink"):
        return layout.degree("tensor") > 1 or layout.degree("context") > 1 or layout.degree("pipeline") == 1
    return True


def replica_of(layout, rank):
    """The data replica that the rank belongs to: tensor ranks are neighbors, then context ranks, then replicas."""
    return rank // (layout.degree("tensor") * layout.degree("context")) % layout.degree("data")


def struck(kind, layout, rng):
    """The ranks that the fault strikes; often at an end of the job, where neighbors are missing."""
    count, per_host = layout.ranks, layout.per_host
    if kind.strikes == "all":
        return list(range(count))
    if kind.strikes == "host":
        host = rng.choice((0, layout.hosts - 1, rng.randrange(layout.hosts)))
        return list(range(host * per_host, min(count, (host + 1) * per_host)))
    if kind.strikes == "rack":
        size = 4 * per_host
        rack = rng.randrange(count // size)
        return list(range(rack * size, (rack + 1) * size))
    if kind.strikes == "stage":
        size = count // layout.degree("pipeline")
        stage = rng.randrange(layout.degree("pipeline"))
        return list(range(stage * size, (stage + 1) * size))
    if kind.strikes == "replicas":
        ranks = rng.sample(range(count), max(2, count // 8))
        # All ranks of a replica share its sequences. Where those of most replicas are longer the job has more work, and next to nothing of it is imbalance.
        while 2 * len({replica_of(layout, rank) for rank in ranks}) > layout.degree("data"):
            ranks.pop()
        return sorted(ranks)
    if kind.strikes == "ranks":
        return sorted(rng.sample(range(count), rng.choice((2, 3, max(2, count // 8)))))
    return [rng.choice((0, count - 1, rng.randrange(count), rng.randrange(count)))]


def peer_over_link(layout, rank, rng):
    """A rank at the other end of a link of the rank's host that carries something: what nobody uses may be as slow as it likes."""
    host = rng.choice(layout.hosts_exchanging()[rank // layout.per_host])
    return min(host * layout.per_host + rank % layout.per_host, layout.ranks - 1)


def expectation(kind, layout, ranks, peer):
    """The keys of [[expect]]."""
    expect = {"kinds": list(kind.kinds)}
    hosts = sorted({rank // layout.per_host for rank in ranks})
    if kind.blames and kind.strikes == "rack":
        expect["hosts"] = ["node%04d" % host for host in hosts]
    elif kind.blames:
        pair = {ranks[0], ranks[0] ^ 1} if kind.name == "bond_degraded" else set(ranks)
        expect["ranks"] = spans(sorted(pair))
        if kind.strikes == "host" or kind.name in ("nic_down", "bond_degraded"):
            expect["hosts"] = ["node%04d" % hosts[0]]
    if peer is not None:
        expect["peer_rank"] = peer
    if kind.functions:
        expect["functions"] = list(kind.functions)
    return expect


def spans(ranks):
    """[0, 1, 2, 5] as ["0-2", 5], the way scenario files name ranks."""
    found = []
    for rank in ranks:
        if found and found[-1][1] == rank - 1:
            found[-1][1] = rank
        else:
            found.append([rank, rank])
    return [first if first == last else "%d-%d" % (first, last) for first, last in found]

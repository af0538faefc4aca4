"""Layouts that jobs are drawn from: what runs on how many ranks, and how its work is cut. Many that dev/ does not have."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Layout:
    """One job's shape: the keys of [layout], and the layers and micro batches that fit it."""
    name: str
    keys: dict
    layers: int
    micro_batches: int
    workload: dict = dataclasses.field(default_factory=dict)

    @property
    def ranks(self):
        degrees = (self.keys.get(key, 1) for key in ("tensor", "context", "data", "pipeline"))
        product = 1
        for degree in degrees:
            product *= degree
        return product

    @property
    def per_host(self):
        return self.keys.get("ranks_per_host", 8)

    @property
    def hosts(self):
        return -(-self.ranks // self.per_host)

    def degree(self, key):
        return self.keys.get(key, 1)

    def groups(self):
        """The ranks of each group that exchanges data, and whether each sends to each other, as experts do; else around a ring, as NCCL does."""
        tensor, context, data, stages = (self.degree(key) for key in ("tensor", "context", "data", "pipeline"))
        model, stage = tensor * context, tensor * context * data
        spaced = [(1, tensor, False), (tensor, context, False), (tensor, context * data, False), (model, self.degree("expert"), True)]
        for stride, size, to_each in spaced:
            for first in range(self.ranks):
                if size > 1 and first // stride % size == 0:
                    yield [first + stride * member for member in range(size)], to_each
        for first in range(stage if stages > 1 else 0):
            for number in range(stages - 1):
                yield [first + stage * number, first + stage * (number + 1)], False
            yield [first, first + stage * (stages - 1)], False  # the embedding's gradients; and chunks, where stages have several

    def hosts_exchanging(self):
        """The hosts that each host exchanges data with."""
        others = {host: set() for host in range(self.hosts)}
        for ranks, to_each in self.groups():
            hosts = list(dict.fromkeys(rank // self.per_host for rank in ranks))
            for place, host in enumerate(hosts):
                others[host].update(hosts if to_each else (hosts[place - 1], hosts[(place + 1) % len(hosts)]))
        return {host: sorted(found - {host}) for host, found in others.items()}

    def step_us(self, layer_forward_us):
        """About how long a step takes: forward and backward pass of the busiest stage, and the pipeline's bubble."""
        stages = self.degree("pipeline")
        return 3 * layer_forward_us * self.layers / stages * (self.micro_batches + stages - 1)


def _layout(name, layers, micro_batches, expert_every=0, **keys):
    return Layout(name, keys, layers, micro_batches, {"expert_every": expert_every} if expert_every else {})


LAYOUTS = (
    _layout("tp_8r", 6, 2, tensor=8),
    _layout("tp_16r", 6, 2, tensor=16),
    _layout("tp_dp_16r", 6, 2, tensor=8, data=2),
    _layout("tp2_dp_16r", 6, 4, tensor=2, data=8),
    _layout("dp_16r", 6, 1, data=16),
    _layout("dp_4per_host_24r", 6, 2, data=24, ranks_per_host=4),
    _layout("pp_8r", 16, 8, pipeline=8),
    _layout("pp_dp_16r", 8, 8, data=4, pipeline=4),
    _layout("pp_dp_48r", 12, 12, data=8, pipeline=6),
    _layout("pp2_dp_32r", 8, 4, data=16, pipeline=2),
    _layout("tp_pp_32r", 16, 8, tensor=8, pipeline=4),
    _layout("tp_pp_dp_48r", 12, 6, tensor=4, data=4, pipeline=3),
    _layout("tp_pp_dp_64r", 16, 8, tensor=8, data=2, pipeline=4),
    _layout("vpp_pp_dp_16r", 16, 8, data=4, pipeline=4, virtual_stages=2),
    _layout("vpp_tp_dp_32r", 16, 4, tensor=4, data=4, pipeline=2, virtual_stages=4),
    _layout("cp_dp_16r", 6, 2, context=4, data=4),
    _layout("cp_tp_dp_48r", 6, 2, tensor=4, context=2, data=6),
    _layout("cp_pp_dp_32r", 8, 4, context=2, data=4, pipeline=4),
    _layout("fsdp_16r", 8, 1, data=16, sharded=True),
    _layout("fsdp_48r", 6, 1, data=48, sharded=True),
    _layout("fsdp_tp_32r", 8, 2, tensor=4, data=8, sharded=True),
    _layout("fsdp_cp_32r", 6, 1, context=4, data=8, sharded=True),
    _layout("moe_16r", 6, 2, 1, data=16, expert=4),
    _layout("moe_48r", 6, 1, 2, data=48, expert=8),
    _layout("moe_tp_32r", 6, 2, 2, tensor=2, data=16, expert=8),
    _layout("moe_pp_dp_32r", 8, 4, 2, data=8, pipeline=4, expert=4),
    _layout("dp_96r", 4, 1, data=96),
    _layout("tp_dp_96r", 4, 2, tensor=8, data=12),
    _layout("moe_tp_pp_64r", 8, 4, 2, tensor=2, data=16, pipeline=2, expert=8),
    _layout("tp_pp_dp_128r", 8, 8, tensor=8, data=4, pipeline=4),
)

# Larger ones, for healthy jobs: there a false alarm costs most.
LARGE_LAYOUTS = (
    _layout("dp_128r", 4, 1, data=128),
    _layout("fsdp_256r", 4, 1, data=256, sharded=True),
    _layout("moe_tp_pp_256r", 8, 4, 2, tensor=4, data=16, pipeline=4, expert=8),
    _layout("tp_pp_dp_512r", 8, 8, tensor=8, data=16, pipeline=4),
)

# For faults that must be told at scale as well as among 64 ranks. Two layers a stage: of one layer the head and the loss make half as much again.
HUGE_LAYOUTS = (
    _layout("tp_pp_dp_512r", 8, 8, tensor=8, data=16, pipeline=4),
    _layout("tp_pp_dp_1024r", 16, 8, tensor=8, data=16, pipeline=8),
    _layout("fsdp_tp_1024r", 4, 1, tensor=8, data=128, sharded=True),
    _layout("moe_tp_pp_1024r", 8, 4, 2, tensor=4, data=64, pipeline=4, expert=8),
    _layout("cp_tp_pp_2048r", 8, 4, tensor=8, context=2, data=32, pipeline=4),
    _layout("tp_pp_dp_4096r", 16, 4, tensor=8, data=64, pipeline=8),
    _layout("tp_pp_dp_8192r", 16, 4, tensor=8, data=128, pipeline=8),
)

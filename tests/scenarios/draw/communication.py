"""About how long the transfers of a step take, so that a drawn job communicates as much as wanted."""

MIB = 1024.0 * 1024


def _ring_ms(layout, fabric, stride, size, times_round):
    """Of one MiB over the ring of a group; times_round: 2 where the data goes around it twice."""
    if size < 2:
        return 0.0
    members = max(1, min(size, layout.per_host // stride)) if stride < layout.per_host else 1
    moved = times_round * (size - 1) / size * MIB
    inside = moved / fabric["nvlink_gb_per_s"] if members > 1 else 0.0
    through_a_port = -(-fabric["rings"] // members)
    outside = moved / fabric["rings"] * through_a_port / fabric["nic_gb_per_s"] if members < size else 0.0
    return max(inside, outside) / 1e6


def _exchange_ms(layout, fabric, stride, size):
    """Of one MiB that each member of a group sends in equal parts to all others."""
    members = max(1, min(size, layout.per_host // stride)) if stride < layout.per_host else 1
    inside = (members - 1) / size * MIB / fabric["nvlink_gb_per_s"]
    outside = (size - members) / size * MIB / fabric["nic_gb_per_s"]
    return max(inside, outside) / 1e6


def activations_ms(layout, fabric):
    """Of a step, for each MiB of activations: tensor, context and expert groups, and the pipeline."""
    tensor, context, stages = (layout.degree(key) for key in ("tensor", "context", "pipeline"))
    passes = layout.micro_batches * layout.layers / stages
    total = passes * 4 * _ring_ms(layout, fabric, 1, tensor, 2)
    total += passes * 3 * 0.5 * _ring_ms(layout, fabric, tensor, context, 1)
    every = layout.workload.get("expert_every", 0)
    if layout.degree("expert") > 1 and every:
        total += passes / every * 4 * _exchange_ms(layout, fabric, tensor * context, layout.degree("expert"))
    if stages > 1:
        across = layout.ranks > layout.per_host
        speed = fabric["nic_gb_per_s" if across else "nvlink_gb_per_s"]
        total += 2 * layout.micro_batches * layout.degree("virtual_stages") * MIB / speed / 1e6
    return total


def parameters_ms(layout, fabric):
    """Of a step, for each MiB of a layer's parameters: gradients, and parameters where these are sharded."""
    stride, size = layout.degree("tensor"), layout.degree("context") * layout.degree("data")
    once = _ring_ms(layout, fabric, stride, size, 1)
    stages = layout.degree("pipeline")
    layers = layout.layers / stages + (2 if stages == 1 else 1)  # the embedding and the head have their own
    if layout.keys.get("sharded"):
        return once * layers * (2 * layout.micro_batches + 1)
    apart = layout.ranks // stages * (stages - 1)
    shared = _ring_ms(layout, fabric, apart, 2, 2) if stages > 1 else 0.0  # the embedding is also the head
    return 2 * once * layers + shared

"""JAX on four processes of the CPU, which this script starts, each with its rank in JAX_PROCESS.

--lines none: the script says nothing to Eroica; step: eroica.step(), a region round the input, and
EROICA_RANK.
--wait: where a step waits for the devices. ready: block_until_ready; value: float() of the loss;
launch: nowhere, the next program waits for this one.
"""

import argparse
import os
import subprocess
import sys

import planted

RANKS = 4


def launch():
    processes = []
    for rank in range(RANKS):
        environment = dict(os.environ, JAX_PROCESS=str(rank), JAX_PORT=str(29_000 + os.getpid() % 900))
        if "--lines=step" in sys.argv:
            environment.update(EROICA_RANK=str(rank), EROICA_WORLD_SIZE=str(RANKS))
        processes.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
    sys.exit(max(abs(process.wait()) for process in processes))


def train(args, says_steps, wait):
    import contextlib

    import jax
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    try:
        import eroica
    except ImportError:  # a run without Eroica
        says_steps = False
    rank = int(os.environ["JAX_PROCESS"])
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{os.environ['JAX_PORT']}", RANKS, rank)
    mesh = Mesh(numpy.array(jax.devices()), ("data",))
    split, whole = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())

    def loss(weights, batch):
        return jnp.mean(jnp.tanh(batch @ weights) ** 2)

    @jax.jit
    def step(weights, batch):
        cost, gradient = jax.value_and_grad(loss)(weights, batch)
        return weights - 0.01 * gradient, cost

    plant = planted.Planted(args, rank, RANKS)
    generator = numpy.random.default_rng(rank)
    weights = jax.device_put(numpy.full((256, 256), 0.01, numpy.float32), whole)
    for _ in range(args.steps):
        if says_steps:
            eroica.step()
        with eroica.region("input") if says_steps else contextlib.nullcontext():
            plant.in_step()
            rows = generator.random((64, 256), numpy.float32)
            batch = jax.make_array_from_process_local_data(split, rows)
        weights, cost = step(weights, batch)
        if wait == "ready":
            weights.block_until_ready()
        elif wait == "value":
            float(cost)
    plant.write()


def main():
    if "JAX_PROCESS" not in os.environ:
        launch()
    lines = argparse.ArgumentParser(add_help=False)
    lines.add_argument("--lines", choices=("none", "step"), default="none")
    lines.add_argument("--wait", choices=("ready", "value", "launch"), default="ready")
    own, sys.argv[1:] = lines.parse_known_args()
    train(planted.arguments(__doc__), own.lines == "step", own.wait)


if __name__ == "__main__":
    main()

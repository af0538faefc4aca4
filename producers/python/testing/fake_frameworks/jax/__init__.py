"""JAX's shape: the state of jax.distributed, and arrays of an extension's class."""

from jax._src import array, distributed  # noqa: F401

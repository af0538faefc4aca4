"""JAX's shape: the state of jax.distributed, and arrays of an extension's class."""

from jax._src import array, dispatch, distributed  # noqa: F401
from jax import numpy  # noqa: F401

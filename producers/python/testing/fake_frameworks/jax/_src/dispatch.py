from jaxlib import xla_client  # noqa: F401


class RuntimeTokenSet:
    def block_until_ready(self):
        pass

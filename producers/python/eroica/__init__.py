"""Eroica's producer in Python training processes. Every call does nothing where Eroica is off.

Eroica is on where EROICA_RECORDING or EROICA_BOOTSTRAP names a destination and this process is a
rank; see README.md.
"""

from eroica import life
from eroica.annotations import (
    checkpoint,
    dataloader,
    enabled,
    evaluation,
    optimizer_step,
    region,
    step,
)
from eroica.collectives import collective

__all__ = [
    "checkpoint",
    "collective",
    "dataloader",
    "enabled",
    "evaluation",
    "off_reason",
    "optimizer_step",
    "region",
    "step",
]
__version__ = "0.1.0"


def off_reason(*surplus, **unknown):
    """Why Eroica is off in this process; "" where it is on."""
    if surplus or unknown:
        life.say_surplus("off_reason", surplus, unknown)
    return life.reason


def _switch_on():
    try:
        if life.asked_for():
            from eroica import gc_pauses, import_hooks, launchers

            life.watch_exit()
            import_hooks.install()
            life.when_on(gc_pauses.watch)
            if launchers.is_rank_from_its_start():
                life.begin()
    except Exception:
        life.say_exception("off")


_switch_on()

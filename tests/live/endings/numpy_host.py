"""A training without a framework: what its script says itself, where Eroica is there."""

import threading

import numpy as np

try:
    import eroica
except ImportError:
    eroica = None

_weights = np.ones((16, 16))
_never = threading.Event()


def start():
    pass


def collective():
    if eroica is None:
        _weights.sum()
        return
    with eroica.collective("all_reduce", nbytes=64):
        _weights.sum()


def pending():
    """What nobody ends."""
    if eroica is not None:
        eroica.collective("all_reduce", nbytes=64).__enter__()
    return _never


def pending_until(when):
    return pending()


def group():
    return None


def destroy():
    pass


def train(steps=3):
    for _ in range(steps):
        if eroica is not None:
            eroica.step()
        np.dot(_weights, _weights)
        collective()

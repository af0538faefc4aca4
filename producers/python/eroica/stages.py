"""The stages of a training step as the training thread passes them: data, forward, backward,
optimizer.

Each stage is marked where it first begins after the optimizer's step before; so micro-batches of
one step mark their forward and backward pass once. Where nobody counts steps, the core finds them
from what is said here.
"""

from eroica import life
from eroica import native as constants

DATA, FORWARD, BACKWARD, OPTIMIZER = 0, 1, 2, 3
_stage = None  # nothing was seen yet
when_data_may_end = None  # set by the hook that waits for the next forward pass


def _await_forward(stage):
    global _stage
    _stage = stage
    if when_data_may_end is not None:
        when_data_may_end()


def step_begins():
    _await_forward(DATA)


def data_begins():
    """The training loop asks for its next batch."""
    if life.on:
        life.native.dataloader_next()
        if _stage in (None, OPTIMIZER):
            _await_forward(DATA)


def forward_begins():
    global _stage
    if life.on and _stage in (None, DATA, OPTIMIZER):
        _stage = FORWARD
        life.native.mark(constants.FORWARD_BEGIN)


def backward_begins():
    global _stage
    if life.on and _stage != BACKWARD:
        _stage = BACKWARD
        life.native.mark(constants.BACKWARD_BEGIN)


def optimizer_begins():
    if life.on:
        life.native.optimizer_step(_stage != OPTIMIZER)
        _await_forward(OPTIMIZER)


def optimizer_ended():
    """Where nothing follows the training step has ended, too. A closure that the optimizer calls
    (Lightning's) holds forward and backward pass: they lie behind the optimizer's begin."""
    if life.on:
        life.native.mark(constants.STEP_END)

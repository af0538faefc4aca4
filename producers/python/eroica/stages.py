"""The stages of a training step as the training thread passes them: data, forward, backward,
optimizer.

Each stage is marked where it first begins after the optimizer's step before; so micro-batches of
one step mark their forward and backward pass once. Where nobody counts steps, the core finds them
from what is said here.

An optimizer that is none of torch.optim's is not seen. After more batches with a backward pass than
steps are made of elsewhere each batch is a step of its own.
"""

import threading
import weakref

from eroica import life
from eroica import native as constants

DATA, FORWARD, BACKWARD, OPTIMIZER = 0, 1, 2, 3
_MOST_OF_OTHERS = 16  # steps of other optimizers, without one of the leader
_MOST_MICRO_BATCHES = 200  # with a backward pass, without a step of any optimizer
_stage = None  # nothing was seen yet
_loads = None  # the thread that trains where it takes batches from a data loader
_leader = None  # a weak reference
_steps_of_others = 0
_micro_batches = 0
_batches_are_steps = False
when_data_may_end = None  # set by the hook that waits for the next forward pass


def _await_forward(stage):
    global _stage
    _stage = stage
    if when_data_may_end is not None:
        when_data_may_end()


def step_begins():
    global _micro_batches
    _micro_batches = 0
    _await_forward(DATA)


def data_begins():
    """The training loop asks for its next batch; or a thread that loads ahead: it passes no stage."""
    global _loads
    if life.on:
        if _stage == BACKWARD and life.native.trains() and _is_step_without_optimizer():
            life.native.step()
            _await_forward(DATA)
        life.native.dataloader_next()
        if not life.native.trains():
            return
        _loads = threading.get_ident()
        if _stage in (None, OPTIMIZER):
            _await_forward(DATA)


def _is_step_without_optimizer():
    global _micro_batches, _batches_are_steps
    _micro_batches += 1
    _batches_are_steps = _batches_are_steps or _micro_batches >= _MOST_MICRO_BATCHES
    return _batches_are_steps


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


def _has_data_loader():
    """The engine's thread steps optimizers of the thread that trains."""
    if _loads is None:
        return False
    return _loads == threading.get_ident() or not life.native.trains()


def _leads(optimizer):
    """A loop without a data loader steps from optimizer to optimizer: where it has several (two
    networks, or one for each kind of parameters), from the first one to the first one."""
    global _leader, _steps_of_others
    if optimizer is None or _has_data_loader():
        return True
    leader = _leader() if _leader is not None else None
    if leader is None or _steps_of_others >= _MOST_OF_OTHERS:
        _leader = weakref.ref(optimizer)
    elif leader is not optimizer:
        _steps_of_others += 1
        return False
    _steps_of_others = 0
    return True


def optimizer_begins(optimizer=None):
    """optimizer: nothing where the script says that it is its step."""
    global _micro_batches
    if life.on:
        _micro_batches = 0
        if _leads(optimizer):
            life.native.optimizer_step(_stage != OPTIMIZER)
        elif _stage != OPTIMIZER:
            life.native.mark(constants.OPTIMIZER_BEGIN)
        _await_forward(OPTIMIZER)


def optimizer_ended():
    """Where nothing follows the training step has ended, too. A closure that the optimizer calls
    (Lightning's) holds forward and backward pass: they lie behind the optimizer's begin."""
    if life.on:
        life.native.mark(constants.STEP_END)

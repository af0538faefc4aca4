"""How a rank of the demo is replaced by a standby while the others go on after the step.

The launcher (launch.py --standby) holds a socket to each rank and to the standby, a process that has
loaded all it needs and waits. On an order it says to the standby which rank it is to be; the standby
prepares its data while training goes on. Then the launcher tells one healthy rank, which tells all
others in the next all-reduce: so all of them know of it in the same step. Behind that step the rank
that leaves ends, the others and the standby form the ring anew, and the previous rank of the ring
sends its parameters and the optimizer's state, which are the same on all ranks.

Messages are JSON, a line each.
"""

import json
import os
import select
import socket

import numpy as np

CONTROL_FD = "DEMO_CONTROL_FD"


class Line:
    """One end of a connection that carries messages. Of one thread."""

    def __init__(self, connection):
        self._connection = connection
        self._arrived = b""

    @classmethod
    def of_environment(cls):
        """The one to the launcher; None where it has given none."""
        number = os.environ.get(CONTROL_FD)
        return None if number is None else cls(socket.socket(fileno=int(number)))

    def fileno(self):
        return self._connection.fileno()

    def send(self, **message):
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, wait):
        """The next message; None where there is none (wait: where the other end is closed)."""
        while b"\n" not in self._arrived:
            if not wait and not select.select([self._connection], [], [], 0)[0]:
                return None
            part = self._connection.recv(4096)
            if not part:
                return None
            self._arrived += part
        line, _, self._arrived = self._arrived.partition(b"\n")
        return json.loads(line)


class Member:
    """A rank's part in replacements. The training loop calls it; without a launcher it does nothing."""

    def __init__(self, job, training, line):
        self.job = job
        self.training = training
        self.line = line
        self._heard = None

    def is_alone_in_its_rank(self):
        """Once, in a process that has taken a rank over: the one before it has ended by now."""
        return self._listen("alone") is not None

    def before_all_reduce(self):
        if self.line is None:
            return
        order = self._listen("replace")
        if order is None:
            self.training.announce(0, 0)
        else:
            self.training.announce(order["replace"] + 1, order["port"])

    def _listen(self, name):
        """What the launcher has said with this in it, once; None: nothing."""
        if self.line is None:
            return None
        if self._heard is None:
            self._heard = self.line.receive(wait=False)
        if self._heard is None or name not in self._heard:
            return None
        heard, self._heard = self._heard, None
        return heard

    def after_step(self, step):
        """Behind the optimizer's step. True: this rank has been replaced, and ends."""
        if self.line is None:
            return False
        replaced, port = self.training.announced()
        if replaced == 0:
            return False
        if replaced - 1 == self.job.rank:
            return True
        self.training.join(port)
        if self.job.rank == (replaced - 2) % self.job.world:
            self.training.ring.send_to_next(np.array([step + 1, self.training.optimizer.count]))
            for array in self.training.state():
                self.training.ring.send_to_next(array)
        return False


def take_over(training, line, port):
    """Of the standby, when it is ready: returns the step that it begins with."""
    line.send(ready=True)
    training.join(port)
    numbers = np.empty(2, np.int64)
    training.ring.receive_from_previous(numbers)
    for array in training.state():
        training.ring.receive_from_previous(array)
    training.optimizer.count = int(numbers[1])
    line.send(joined=int(numbers[0]))
    return int(numbers[0])

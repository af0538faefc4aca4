"""The launcher's part in replacing a rank: a standby process, and who may order it to take a place.

Orders come over a UNIX socket (ops/demo/replace_rank.py sends them), a line each: "replace 3". The
answer is a line of JSON: {"replaced": 3, "first_step": 120, "prepared_s": 0.2}, or {"refused": why}.
"""

import json
import os
import socket
import time

from replacement import Line


class Standby:
    """Polled by the launcher's loop; nothing in it waits."""

    def __init__(self, path, world, start, free_port):
        """start(line's fd): starts the process. free_port(): for the ring that is formed anew."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = start(theirs.fileno())
        self._line = Line(ours)
        self._world = world
        self._free_port = free_port
        self._path = path
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(path)
        os.chmod(path, 0o600)
        self._server.listen(4)
        self._server.setblocking(False)
        self._client = None
        self._rank = None  # that is being replaced, or was
        self._port = None
        self._first_step = None
        self._left = False
        self._began = None

    def poll(self, lines):
        """lines: to each rank. Takes an order, and drives the one that is under way."""
        self._take_order()
        if self._rank is None or self._left and self._first_step is not None:
            return
        if self.process.poll() is not None:
            self._answer({"refused": "the standby has ended"})
            return
        message = self._line.receive(wait=False)
        if message is None:
            return
        if "ready" in message:
            self._prepared_s = time.monotonic() - self._began
            # A healthy rank says it to all others.
            lines[(self._rank + 1) % self._world].send(replace=self._rank, port=self._port)
        elif "joined" in message:
            self._first_step = message["joined"]
            self._finish()

    def takes_over(self, rank, code):
        """A rank has ended: whether the standby goes on in its place."""
        if rank != self._rank or code != 0 or self._left:
            return False
        self._left = True
        self._line.send(alone=True)
        self._finish()
        return True

    def close(self):
        self._server.close()
        if os.path.exists(self._path):
            os.unlink(self._path)

    def _finish(self):
        if self._left and self._first_step is not None:
            self._answer({"replaced": self._rank, "first_step": self._first_step,
                          "prepared_s": round(self._prepared_s, 3)})

    def _take_order(self):
        try:
            connection, _ = self._server.accept()
        except BlockingIOError:
            return
        connection.settimeout(1.0)
        with connection.makefile("r") as reader:
            words = reader.readline().split()
        why = self._refusal(words)
        if why:
            _say(connection, {"refused": why})
            return
        self._client = connection
        self._rank = int(words[1])
        self._port = self._free_port()
        self._began = time.monotonic()
        self._line.send(rank=self._rank, port=self._port)

    def _refusal(self, words):
        if len(words) != 2 or words[0] != "replace" or not words[1].isdigit():
            return "an order is: replace RANK"
        if int(words[1]) >= self._world:
            return f"there is no rank {words[1]} among {self._world}"
        if self._rank is not None:
            return "the standby has a rank already"
        return "the standby has ended" if self.process.poll() is not None else ""

    def _answer(self, answer):
        if self._client is not None:
            _say(self._client, answer)
            self._client = None


def _say(connection, answer):
    with connection:
        try:
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            pass  # who gave the order is gone

"""Ring all-reduce over TCP: gradients are summed over all ranks, as NCCL and gloo do it.

Each rank holds two connections, one to the next rank and one from the previous. An array is cut into
one piece a rank; in world - 1 rounds the sums travel around the ring (reduce-scatter), in world - 1
more the finished pieces do (all-gather). A peer that dies closes its connections: its neighbours
raise RingError, their connections close, and so on around the ring, so that no rank waits for ever.
"""

import select
import socket
import struct
import time

import numpy as np

HELLO = struct.Struct("!8sIIH")  # magic, world, rank, port at which the rank waits for its neighbour
ADDRESS = struct.Struct("!64sH")
MAGIC = b"ringdemo"
LOOPBACK = ("localhost", "127.0.0.1")
HELLO_S = 5.0  # for who connects and then says nothing


class RingError(RuntimeError):
    """A peer is gone, does not answer, or is no part of this job."""


class Ring:
    """The connections of one rank. Used by one thread; all ranks call the same methods in order."""

    def __init__(self, rank, world, master, timeout=300.0):
        """master: (host, port) where rank 0 listens. timeout: seconds that no call may exceed."""
        self.rank = rank
        self.world = world
        self.timeout = timeout
        self.incoming = None
        self.outgoing = None
        self._scratch = np.empty(0, np.float32)
        if world > 1:
            try:
                self._connect(master)
            except OSError as error:
                self.close()
                raise RingError(f"rank {rank}: no ring of {world} ranks at {master[0]}:{master[1]}:"
                                f" {error}") from error

    def all_reduce(self, array):
        """Replaces the contiguous float32 array by its sum over all ranks. Returns bytes sent."""
        if array.dtype != np.float32 or not array.flags.c_contiguous:
            raise ValueError("all_reduce takes a contiguous float32 array")
        if self.world == 1:
            return 0
        flat = array.reshape(-1)
        pieces = np.array_split(flat, self.world)
        if self._scratch.size < pieces[0].size:
            self._scratch = np.empty(pieces[0].size, np.float32)
        sent = 0
        for turn in range(self.world - 1):
            piece = pieces[(self.rank - turn) % self.world]
            target = pieces[(self.rank - turn - 1) % self.world]
            arrived = self._scratch[: target.size]
            sent += self._exchange(piece, arrived)
            target += arrived
        for turn in range(self.world - 1):
            piece = pieces[(self.rank - turn + 1) % self.world]
            sent += self._exchange(piece, pieces[(self.rank - turn) % self.world])
        return sent

    def send_to_next(self, array):
        """The contiguous array goes to the next rank, which receives it from its previous one."""
        self._exchange(array, np.empty(0, np.uint8))

    def receive_from_previous(self, array):
        """Fills the contiguous array."""
        self._exchange(np.empty(0, np.uint8), array)

    def close(self):
        for connection in (self.incoming, self.outgoing):
            if connection is not None:
                connection.close()

    def _connect(self, master):
        deadline = time.monotonic() + self.timeout
        # A job that meets on a loopback address is on one host, and listens for nobody else.
        self._interface = "127.0.0.1" if master[0] in LOOPBACK else ""
        with socket.create_server((self._interface, 0), backlog=4) as listener:
            addresses = self._exchange_addresses(master, listener.getsockname()[1], deadline)
            next_rank = (self.rank + 1) % self.world
            self.outgoing = _connected(addresses[next_rank], deadline, self._interface)
            self.outgoing.sendall(HELLO.pack(MAGIC, self.world, self.rank, 0))
            self.incoming = self._accepted_from((self.rank - 1) % self.world, listener, deadline)
        for connection in (self.incoming, self.outgoing):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
        self._wait_for = select.poll()

    def _exchange_addresses(self, master, port, deadline):
        """Rank 0 hears where every rank listens and tells it to all."""
        if self.rank != 0:
            with _connected(master, deadline, self._interface) as connection:
                connection.sendall(HELLO.pack(MAGIC, self.world, self.rank, port))
                table = _received(connection, ADDRESS.size * self.world, deadline)
            entries = [ADDRESS.unpack_from(table, ADDRESS.size * r) for r in range(self.world)]
            return [(host.rstrip(b"\0").decode(), entry_port) for host, entry_port in entries]
        meeting_place = master[0] if self._interface else ""
        with socket.create_server((meeting_place, master[1]), backlog=self.world) as listener:
            peers = {}
            while len(peers) < self.world - 1:
                connection, hello = self._accepted_hello(listener, deadline)
                peers[hello[2]] = (connection, (connection.getpeername()[0], hello[3]))
        addresses = [(self._interface or master[0], port)] + [peers[r][1] for r in range(1, self.world)]
        table = b"".join(ADDRESS.pack(host.encode(), entry_port) for host, entry_port in addresses)
        for connection, _ in peers.values():
            with connection:
                connection.sendall(table)
        return addresses

    def _accepted_from(self, rank, listener, deadline):
        while True:
            connection, hello = self._accepted_hello(listener, deadline)
            if hello[2] == rank:
                return connection
            connection.close()

    def _accepted_hello(self, listener, deadline):
        """The next connection of a rank of this job; whoever else connects is turned away."""
        while True:
            listener.settimeout(_left(deadline))
            connection, _ = listener.accept()
            try:
                patience = min(deadline, time.monotonic() + HELLO_S)
                hello = HELLO.unpack(_received(connection, HELLO.size, patience))
            except OSError:
                connection.close()
                continue
            if hello[:2] == (MAGIC, self.world) and 0 <= hello[2] < self.world:
                return connection, hello
            connection.close()

    def _exchange(self, to_send, to_fill):
        """Sends to the next rank and receives from the previous, both at once: neither blocks."""
        out = memoryview(to_send).cast("B") if to_send.size else memoryview(b"")
        into = memoryview(to_fill).cast("B") if to_fill.size else memoryview(bytearray())
        sent = received = 0
        deadline = time.monotonic() + self.timeout
        while sent < len(out) or received < len(into):
            if received < len(into):
                self._wait_for.register(self.incoming, select.POLLIN)
            if sent < len(out):
                self._wait_for.register(self.outgoing, select.POLLOUT)
            ready = dict(self._wait_for.poll(1000.0 * _left(deadline, self._silence)))
            if self.outgoing.fileno() in ready:
                sent += self._send_some(out[sent:])
                if sent == len(out):
                    self._wait_for.unregister(self.outgoing)
            if self.incoming.fileno() in ready:
                received += self._receive_some(into[received:])
                if received == len(into):
                    self._wait_for.unregister(self.incoming)
        return sent

    def _send_some(self, out):
        try:
            return self.outgoing.send(out)
        except BlockingIOError:
            return 0
        except OSError as error:
            peer = (self.rank + 1) % self.world
            raise RingError(f"rank {self.rank}: rank {peer} is gone ({error.strerror})") from error

    def _receive_some(self, into):
        peer = (self.rank - 1) % self.world
        try:
            count = self.incoming.recv_into(into)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise RingError(f"rank {self.rank}: rank {peer} is gone ({error.strerror})") from error
        if count == 0:
            raise RingError(f"rank {self.rank}: rank {peer} closed its connection")
        return count

    def _silence(self):
        previous, following = (self.rank - 1) % self.world, (self.rank + 1) % self.world
        return RingError(f"rank {self.rank}: nothing from rank {previous}, or rank {following} takes"
                         f" nothing, for {self.timeout:g} s")


def _left(deadline, failure=lambda: TimeoutError("not all ranks came in time")):
    """Seconds until the deadline."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise failure()
    return left


def _connected(address, deadline, interface):
    """Peers start at different times: a refused connection is tried again until the deadline."""
    while True:
        try:
            connection = socket.create_connection(address, timeout=_left(deadline), source_address=(interface, 0))
        except ConnectionRefusedError:
            time.sleep(min(0.02, _left(deadline)))
            continue
        if connection.getsockname() != connection.getpeername():
            return connection
        connection.close()  # On loopback a free port can meet itself.


def _received(connection, count, deadline):
    content = b""
    while len(content) < count:
        connection.settimeout(_left(deadline))
        part = connection.recv(count - len(content))
        if not part:
            raise ConnectionError("the peer closed its connection before the ring was complete")
        content += part
    return content

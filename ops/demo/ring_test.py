"""The all-reduce is right for every world, and whoever loses a peer learns it and does not hang."""

import socket
import threading
import unittest

import numpy as np
import ring
from launch import free_port

DEADLINE_S = 60.0


def run_ranks(world, work, timeout=DEADLINE_S, port=None):
    """Runs work(ring) as every rank, in threads. Returns results, or what a rank raised."""
    master = ("127.0.0.1", port or free_port())
    results = [None] * world

    def run(rank):
        try:
            member = ring.Ring(rank, world, master, timeout)
            try:
                results[rank] = work(member)
            finally:
                member.close()
        except Exception as error:  # The test looks at it.
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    if any(thread.is_alive() for thread in threads):
        raise AssertionError("a rank hangs")
    return results


class AllReduce(unittest.TestCase):
    def sums(self, world, size):
        def work(member):
            array = np.arange(size, dtype=np.float32) + np.float32(100 * member.rank)
            sent = member.all_reduce(array)
            return array, sent

        expected = world * np.arange(size, dtype=np.float32) + 50 * world * (world - 1)
        for result in run_ranks(world, work):
            self.assertIsInstance(result, tuple, result)
            np.testing.assert_allclose(result[0], expected)
        return [result[1] for result in run_ranks(world, work)]

    def test_is_right_for_many_worlds(self):
        for world in (1, 2, 3, 5, 8):
            with self.subTest(world=world):
                self.sums(world, 1000)

    def test_is_right_for_arrays_smaller_than_the_world_and_empty_ones(self):
        for size in (0, 1, 2):
            with self.subTest(size=size):
                self.sums(3, size)

    def test_is_right_for_arrays_larger_than_socket_buffers(self):
        sent = self.sums(2, 6_000_000)
        self.assertEqual(sent, [24_000_000, 24_000_000])

    def test_is_right_many_times_in_a_row(self):
        def work(member):
            array = np.ones(17, np.float32)
            for _ in range(50):
                member.all_reduce(array)
                array /= member.world
            return array.tolist()

        self.assertEqual(run_ranks(4, work), [[1.0] * 17] * 4)

    def test_takes_float32_only(self):
        with self.assertRaises(ValueError):
            ring.Ring(0, 1, ("127.0.0.1", 1)).all_reduce(np.zeros(3))

    def test_takes_contiguous_arrays_only(self):
        with self.assertRaises(ValueError):
            ring.Ring(0, 1, ("127.0.0.1", 1)).all_reduce(np.zeros(8, np.float32)[::2])


class Failures(unittest.TestCase):
    def test_a_peer_that_dies_is_named_and_nobody_hangs(self):
        def work(member):
            if member.rank == 2:
                return "died"
            member.all_reduce(np.ones(1_000_000, np.float32))
            return "finished"

        results = run_ranks(4, work)
        self.assertEqual(results[2], "died")
        for rank in (0, 1, 3):
            self.assertIsInstance(results[rank], ring.RingError)
        neighbors = str(results[1]) + str(results[3])
        self.assertIn("rank 2", neighbors)

    def test_a_silent_peer_is_an_error_after_the_timeout(self):
        others_done = threading.Event()

        def work(member):
            if member.rank == 1:
                others_done.wait(DEADLINE_S)
                return "silent"
            try:
                member.all_reduce(np.ones(10, np.float32))
            finally:
                others_done.set()

        results = run_ranks(2, work, timeout=3.0)
        self.assertIsInstance(results[0], ring.RingError)
        self.assertIn("nothing from rank 1", str(results[0]))

    def test_a_rank_that_never_comes_is_an_error_after_the_timeout(self):
        with self.assertRaises(ring.RingError):
            ring.Ring(0, 2, ("127.0.0.1", free_port()), timeout=0.2)
        with self.assertRaises(ring.RingError):
            ring.Ring(1, 2, ("127.0.0.1", free_port()), timeout=0.2)

    def test_strangers_at_the_port_are_turned_away(self):
        port = free_port()
        stop = threading.Event()

        def stranger():
            while not stop.wait(0.001):
                try:
                    with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
                        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
                except OSError:
                    pass

        thread = threading.Thread(target=stranger, daemon=True)
        thread.start()
        try:
            results = run_ranks(3, lambda member: member.all_reduce(np.ones(5, np.float32)),
                                port=port)
        finally:
            stop.set()
            thread.join(DEADLINE_S)
        for result in results:
            self.assertIsInstance(result, int, result)


if __name__ == "__main__":
    unittest.main()

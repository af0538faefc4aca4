"""What is known of the worker that loads a batch."""

import os
import shutil
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from eroica import loader_worker


def iterator(received=5):
    workers = [types.SimpleNamespace(pid=pid) for pid in (100, 200)]
    tasks = {5: (1,), 6: (0, "data that came early")}
    return types.SimpleNamespace(_workers=workers, _task_info=tasks, _rcvd_idx=received)


class LoaderWorkerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(setattr, loader_worker, "_PROC", loader_worker._PROC)
        self.addCleanup(loader_worker._workers.clear)
        loader_worker._PROC = folder.name

    def write(self, process, text, thread=None):
        folder = os.path.join(loader_worker._PROC, str(process), "task", str(thread or process))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "schedstat"), "w", encoding="ascii") as file:
            file.write(text)

    def test_the_worker_is_that_of_the_next_batch(self):
        self.assertEqual(loader_worker.of(iterator()), 200)
        self.assertEqual(loader_worker.of(iterator(6)), 100)

    def test_another_release_has_none(self):
        for other in (iterator(7), types.SimpleNamespace(), None):
            self.assertIsNone(loader_worker.of(other))
        self.assertEqual(loader_worker.starved_ns(None), 0)
        loader_worker.passed(None)

    def test_it_starves_from_one_batch_to_the_next(self):
        self.write(100, "7000 1000000 3\n")
        self.assertEqual(loader_worker.starved_ns(100), 0, "its start is no wait for a batch")
        self.write(100, "9000 4000000 5\n")
        self.write(200, "9000 9000000 5\n")
        self.assertEqual(loader_worker.starved_ns(200), 0)
        self.assertEqual(loader_worker.starved_ns(100), 3_000_000)
        self.assertEqual(loader_worker.starved_ns(100), 0)

    def test_the_threads_that_send_the_batch_count(self):
        self.write(100, "1 1000000 1")
        self.write(100, "1 2000000 1", thread=101)
        loader_worker.starved_ns(100)
        self.write(100, "1 1500000 1")
        self.write(100, "1 6000000 1", thread=101)
        self.assertEqual(loader_worker.starved_ns(100), 4_500_000)

    def test_a_thread_that_ends_or_begins_is_noticed(self):
        self.write(100, "1 0 1")
        self.write(100, "1 0 1", thread=101)
        loader_worker.starved_ns(100)
        shutil.rmtree(os.path.join(loader_worker._PROC, "100", "task", "101"))
        self.write(100, "1 5000000 1", thread=102)
        self.write(100, "1 1000000 1")
        self.assertEqual(loader_worker.starved_ns(100), 1_000_000, "the end is noticed")
        self.assertEqual(loader_worker.starved_ns(100), 0, "the new one is read first")
        self.write(100, "1 8000000 1", thread=102)
        self.assertEqual(loader_worker.starved_ns(100), 3_000_000)

    def test_what_passed_unread_is_shared_out(self):
        self.write(100, "1 0 1")
        loader_worker.starved_ns(100)
        for _ in range(3):
            loader_worker.passed(100)
        self.write(100, "1 8000000 1")
        self.assertEqual(loader_worker.starved_ns(100), 2_000_000)
        self.write(100, "1 9000000 1")
        self.assertEqual(loader_worker.starved_ns(100), 1_000_000)

    def test_what_the_kernel_does_not_say_is_nothing(self):
        self.assertEqual(loader_worker.starved_ns(300), 0)
        self.assertEqual(loader_worker.own_waited_ns(), 0)
        for text in ("", "7000", "a b c"):
            self.write(300, text)
            self.assertEqual(loader_worker.starved_ns(300), 0, text)
        self.write(300, "1 5000000 1")
        loader_worker.starved_ns(300)
        self.write(300, "1 2000000 1")
        self.assertEqual(loader_worker.starved_ns(300), 0, "another process of that number")

    def test_what_is_remembered_has_a_bound(self):
        self.write(100, "1 1 1")
        most = loader_worker._MOST
        loader_worker._workers.update((n, loader_worker._Worker()) for n in range(1000, 1000 + most))
        loader_worker.starved_ns(100)
        self.assertEqual(list(loader_worker._workers), [100])
        for thread in range(1000, 1100):
            self.write(200, "1 1 1", thread=thread)
        loader_worker.starved_ns(200)
        self.assertEqual(len(loader_worker._workers[200].threads), loader_worker._MOST_THREADS)

    @unittest.skipUnless(os.path.exists("/proc/self/schedstat"), "a kernel without schedstat")
    def test_this_kernel_says_it(self):
        loader_worker._PROC = "/proc"
        self.assertEqual(loader_worker.starved_ns(os.getpid()), 0)
        self.assertIn(str(os.getpid()), loader_worker._workers[os.getpid()].threads)
        self.assertGreaterEqual(loader_worker.own_waited_ns(), 0)


if __name__ == "__main__":
    unittest.main()

"""A test that runs scripts with a package of PyTorch's shape, in each interpreter that is there."""

import os
import shutil
import tempfile
import unittest

import interpreters


class FakeTorchTestCase(unittest.TestCase):
    """Runs scripts with a package of PyTorch's shape."""

    @classmethod
    def setUpClass(cls):
        """torch.utils lies in the tree under a name that our own rules allow."""
        cls.folder = tempfile.TemporaryDirectory()
        cls.fake = cls.folder.name
        parts = os.path.join(interpreters.HERE, "fake_torch")
        shutil.copytree(os.path.join(parts, "torch"), os.path.join(cls.fake, "torch"))
        shutil.copytree(os.path.join(parts, "loading"), os.path.join(cls.fake, "torch", "utils"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        return interpreters.all_interpreters().values()

    def run_fake(self, python, script, **changes):
        path = (interpreters.ZERO_CODE, interpreters.PRODUCER, interpreters.HERE, self.fake)
        run = interpreters.run(python, script, PYTHONPATH=os.pathsep.join(path), **changes)
        self.assertEqual((run.status, run.err), (0, ""), python)
        return run

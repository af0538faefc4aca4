"""As much of PyTorch as Eroica patches, in its real places: for tests where PyTorch is not
installed."""

from torch import _C, autograd, nn, optim  # noqa: F401
from torch.serialization import load, save


class Device:
    type = "cpu"


class Tensor:
    device = Device()

    def __init__(self, count):
        self.count = count

    def numel(self):
        return self.count

    def element_size(self):
        return 4

    def backward(self):
        autograd.backward(self)

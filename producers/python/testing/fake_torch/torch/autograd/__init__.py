calls = []


def backward(*tensors):
    calls.append(tensors)
    for tensor in tensors:
        if isinstance(tensor, Exception):
            raise tensor

calls = []


def backward(*tensors):
    calls.append(tensors)

from torch._dynamo import callback  # noqa: F401


def reset():
    callback.callback_handler.clear()

class Future:
    def __init__(self):
        self.callbacks = []
        self.is_done = False

    def done(self):
        return self.is_done

    def add_done_callback(self, callback):
        if self.is_done:
            callback(self)
        else:
            self.callbacks.append(callback)

    def set_result(self, _result):
        if self.is_done:
            raise RuntimeError("it is done already")
        self.is_done = True
        callbacks, self.callbacks = self.callbacks, []
        for callback in callbacks:
            callback(self)


_open = []  # all that were made of others


def _collect_all(futures):
    """Done when the one future is, unless somebody else has said so before."""
    ours = Future()
    _open.append(ours)
    futures[0].add_done_callback(lambda _: ours.done() or ours.set_result(None))
    return ours

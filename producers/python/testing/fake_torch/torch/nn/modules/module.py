class Module:
    def _call(self, *args):
        return self.forward(*args)

    __call__ = _call

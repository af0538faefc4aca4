_pre_hooks = []


class _Handle:
    def __init__(self, hook):
        self._hook = hook

    def remove(self):
        _pre_hooks.remove(self._hook)


def register_optimizer_step_pre_hook(hook):
    _pre_hooks.append(hook)
    return _Handle(hook)


class Optimizer:
    def step(self):
        for hook in _pre_hooks:
            hook(self, (), {})
        return "stepped"


class SGD(Optimizer):
    pass

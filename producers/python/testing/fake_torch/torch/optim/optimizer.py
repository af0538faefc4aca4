_pre_hooks = []
_post_hooks = []


class _Handle:
    def __init__(self, hooks, hook):
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)

    def remove(self):
        self._hooks.remove(self._hook)


def register_optimizer_step_pre_hook(hook):
    return _Handle(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    return _Handle(_post_hooks, hook)


class Optimizer:
    def step(self, closure=None):
        for hook in _pre_hooks:
            hook(self, (), {})
        if closure is not None:
            closure()
        for hook in _post_hooks:
            hook(self, (), {})
        return "stepped"


class SGD(Optimizer):
    pass

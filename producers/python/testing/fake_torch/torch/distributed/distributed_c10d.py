__all__ = [
    "Work",
    "all_reduce",
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_initialized",
    "isend",
    "new_group",
    "recv",
    "send",
]


from torch._C import Future


class HookOpName:
    """A member of the enumeration: its name is what is looked at."""

    def __init__(self, name):
        self.name = name


class HookArguments:
    def __init__(self, name, op_id, inputs=(), outputs=(), root=-1, work=None):
        self.name = HookOpName(name)
        self.op_id = op_id
        self.input_tensors = list(inputs)
        self.output_tensors = list(outputs)
        self.root = root
        self.work = work


class Group:
    def __init__(self, name, ranks, backend="gloo"):
        self.group_name = name
        self.group_desc = "of the test"
        self.ranks = ranks
        self.backend = backend
        self.before = {}
        self.after = {}
        self.operations = 0

    def register_pre_hook(self, hook_id, hook):
        self.before[hook_id] = hook

    def register_post_hook(self, hook_id, hook):
        self.after[hook_id] = hook

    def unregister_pre_hook(self, hook_id):
        self.before.pop(hook_id, None)

    def unregister_post_hook(self, hook_id):
        self.after.pop(hook_id, None)

    def issue(self, name, inputs=(), outputs=(), root=-1, work=None, fails=False):
        """What C++ does for every operation, whoever asks for it."""
        number = self.operations
        self.operations += 1
        for hook in self.before.values():
            hook(HookArguments(name, number, inputs, outputs, root))
        if fails:
            raise RuntimeError("the operation failed")
        for hook in self.after.values():
            hook(HookArguments(name, number, work=work))
        return work


class Work:
    def __init__(self, future=None):
        self.future = future

    def get_future(self):
        if self.future is None:
            raise RuntimeError("no future")
        return self.future

    def wait(self):
        return True

    def is_completed(self):
        return False


_world = []


def _new_process_group_helper(name, ranks, backend):
    return Group(name, ranks, backend), None


def init_process_group(backend, rank, world_size):
    group, _ = _new_process_group_helper("default", list(range(world_size)), backend)
    _world.append((group, rank))


def destroy_process_group(group=None):
    if group is None:
        _world.clear()


def is_initialized():
    return bool(_world)


def get_rank():
    return _world[0][1]


def get_world_size():
    return len(_world[0][0].ranks)


def new_group(ranks, backend="gloo"):
    return _new_process_group_helper("sub", ranks, backend)[0]


def _get_default_group():
    return _world[0][0]


def get_process_group_ranks(group):
    return group.ranks


def get_backend(group):
    return group.backend


def get_backend_config(group):
    return group.backend if ":" in group.backend else f"cpu:{group.backend},cuda:{group.backend}"


def all_reduce(tensor, op=None, group=None, async_op=False):
    if tensor is None:
        raise ValueError("no tensor")
    work = (group or _get_default_group()).issue("ALLREDUCE", [tensor], work=Work(Future()))
    return work if async_op else None


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    return (group or _get_default_group()).issue("SEND", [tensor], root=dst or 0, work=Work())


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    return src

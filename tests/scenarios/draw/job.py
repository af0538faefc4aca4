"""One scenario that is being drawn, and how its tables are written as TOML."""

OF_A_STEP = "duration_ms"  # drawn in steps of the job, written in ms


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"%s"' % value
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text_of(item) for item in value) + "]"
    return repr(value)


def drawn(bounds, rng):
    low, high = bounds
    return rng.randint(low, high) if isinstance(low, int) and isinstance(high, int) else float("%.3g" % rng.uniform(low, high))


class Job:
    """One scenario that is being drawn: its tables in the order in which they are written."""

    def __init__(self, layout, rng, layer_us=None):
        self.layout = layout
        self.rng = rng
        self.layer_us = float(round(300 * 30 ** rng.random())) if layer_us is None else layer_us
        self.tables = {"layout": dict(layout.keys), "workload": {"layers": layout.layers, "micro_batches": layout.micro_batches, **layout.workload}}
        self.faults = []
        workload = self.tables["workload"]
        workload["layer_forward_us"] = self.layer_us
        workload["data_us"] = float(round(rng.uniform(0.1, 1) * self.layer_us))
        workload["optimizer_us"] = float(round(rng.uniform(0.5, 2) * self.layer_us))
        workload["parameter_mib"] = float(rng.choice((64, 128, 256, 512)))
        workload["activation_mib"] = float(rng.choice((8, 16, 32, 64)))
        self.window_steps = rng.choice((2, 3, 4, 4, 4, 6, 8))
        step_us = layout.step_us(self.layer_us)
        self.step_ms = step_us / 1e3
        self.tables["telemetry"] = {"window_steps": self.window_steps, "sample_period_us": float(max(500, round(step_us / 60, -2)))}
        if layout.degree("expert") > 1:
            workload["routing_spread"] = drawn((0.03, 0.3), rng)

    def disturb(self, kinds):
        for _, tables in kinds:
            for name, keys in tables.items():
                table = self.tables.setdefault(name, {})
                for key, bounds in keys.items():
                    value = drawn(bounds, self.rng)
                    table[key] = float("%.3g" % (value * self.step_ms)) if key == OF_A_STEP else value

    def write(self, folder, name, family, about, steps, seed, tail=""):
        lines = ['family = "%s"' % family, 'about = "%s"' % about, "seeds = [%d]" % seed, "steps = %d" % steps]
        for table, keys in self.tables.items():
            lines += ["", "[%s]" % table] + ["%s = %s" % item for item in ((key, text_of(value)) for key, value in keys.items())]
        (folder / (name + ".toml")).write_text("\n".join(lines) + "\n" + tail)


def table_text(name, keys):
    return "\n[[%s]]\n" % name + "".join("%s = %s\n" % (key, text_of(value)) for key, value in keys.items())

"""What a healthy job shows that is no fault: a name, and the keys that are drawn for it."""

QUIET = (
    ("Nothing wrong", {}),
    ("Sequences of changing length", {"workload": {"length_spread": (0.03, 0.3)}}),
    ("A noisy cluster", {"workload.jitter": {"kernel": (0.01, 0.04), "host": (0.1, 0.35), "transfer": (0.03, 0.15)}}),
    ("Checkpoints and evaluations", {"workload.checkpoint": {"every": (7, 30), "duration_ms": (1, 8)},
                                     "workload.evaluation": {"every": (5, 25), "duration_ms": (0.3, 3)}}),
    ("A slow beginning", {"workload": {"warmup_steps": (2, 12), "warmup_factor": (1.5, 5.0)}}),
    ("A rest between two steps", {"workload": {"pause_at_step": (6, 30), "pause_ms": (1000.0, 300000.0)}}),
    ("Garbage collected on all ranks at once", {"workload.garbage_collection": {"every": (3, 20), "duration_ms": (0.05, 1)}}),
    ("Clocks that drift, telemetry that is lost", {"telemetry": {"clock_drift_ppm": (20.0, 200.0), "loss": (0.0, 0.05)}}),
    ("Host work as long as the kernels", {"workload": {"kernels_per_layer": (10, 14)}}),
    ("A slow network, much to move", {"fabric": {"nic_gb_per_s": (8.0, 25.0), "nvlink_gb_per_s": (150.0, 300.0)}}),
)

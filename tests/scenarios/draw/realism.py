"""What a realistic job draws, each number once and with why it is plausible.

A pair is drawn evenly between its ends (whole numbers where both are), LOG ones evenly in their
logarithm, a list is drawn from. Nothing here is a constant of the simulator: each is a key of the
scenario file that is written.
"""

# --- how long things take ---
STEP_MS = (100.0, 3000.0)  # LOG: steps of published large runs take tenths of a second to seconds
HOURS_STEP_MS = 10_000.0  # some pre-training steps take that long; a thousand of them are hours
HOURS_SAMPLE_PERIOD_US = 2e6  # what monitoring takes for hours
JITTER = {
    "kernel": (0.003, 0.025),  # repeated kernels of one shape differ by 0.3 to 2.5 %
    "host": (0.03, 0.2),  # Python on a shared host is noisier than a device
    "transfer": (0.01, 0.08),  # collectives share links with other traffic
}

# --- machines of one kind ---
HARDWARE = {
    "device_spread": (0.005, 0.015),  # devices under one power limit differ by 1 to 3 % at the ends
    "memory_spread": (0.001, 0.004),  # memory runs at one clock; refresh and repaired rows differ
    "processor_spread": (0.02, 0.05),  # hosts differ by firmware, turbo and memory population
    "core_spread": (0.01, 0.05),  # NUMA distance and neighbors on the same cores
    "link_spread": (0.015, 0.035),  # cables, switches and adaptive routing: about 3 %
    "clock_on_memory": (0.0, 0.3),  # caches run at the core's clock, the memory at its own
    "clock_on_copies": (0.0, 0.05),  # the bus has its own clock
}
MEMORY_BOUND = {  # share of a kernel's time, by the roofline of a device with 300 flop a byte
    "matrix": (0.03, 0.25),  # prologue and epilogue of tiled products
    "attention": (0.03, 0.2),  # fused attention reads each block once
    "elementwise": (0.8, 1.0),  # each byte is touched once
    "experts": (0.1, 0.5),  # few tokens an expert: weights are read for little work
    "embedding": (0.8, 1.0),  # gathers
    "optimizer": (0.85, 1.0),  # Adam reads and writes its state once
}

# --- noise ---
NOISE = {
    "step_kernel": (0.001, 0.008),  # clocks wander with temperature from step to step
    "step_host": (0.01, 0.06),  # interference on a host lasts longer than a call
    "step_transfer": (0.005, 0.05),  # other traffic lasts longer than a transfer
    "correlation": (0.0, 0.8),  # AR(1): from independent to lasting some five steps
}
TAIL_DEGREES = [0, 3, 4, 5, 8]  # from normal to as heavy as has a standard deviation

# --- what differs between steps for good reasons ---
LOADER_SHARE = 0.6  # of the jobs wait for their loaders now and then
LOADER_WAIT = {
    "rate": (0.004, 0.06),  # LOG: of a rank's steps; prefetching hides the others
    "shortest_ms": (1.0, 3.0),  # shorter ones nobody notices
    "longest_ms": (10.0, 50.0),  # a read that misses the cache of the storage
}
LENGTHS_SHARE = 0.5  # of the jobs have micro-batches of unequal length: documents are not padded
LENGTHS_SHARED_SHARE = 0.5  # of these: all ranks the same lengths, as a sampler by length gives
SHARED_SPREAD = (0.05, 0.35)  # buckets of a curriculum differ that much
OWN_SPREAD = (0.005, 0.06)  # packed sequences, whose attention differs
ATTENTION_SQUARES = (0.3, 1.0)  # with packing, attention is quadratic in part
QUIET_SHARE = 0.6  # of the healthy jobs show something else that is no fault (quiet.py)

# --- the network ---
NIC_GB_PER_S = [12.0, 24.0, 45.0]  # 100, 200 and 400 Gb/s less what protocols take
NVLINK_GB_PER_S = [150.0, 280.0, 430.0]  # three generations, one direction
PCIE_GB_PER_S = [24.0, 52.0]  # generations 4 and 5, 16 lanes
DRAM_GB_PER_S = [1900.0, 3300.0, 4700.0]  # HBM2e, HBM3, HBM3e
RINGS = [8, 16]  # channels of NCCL where a host has eight devices
HOP_LATENCY_US = (3.0, 12.0)  # one to three switches
SLOT_OVER_NIC = [1.0, 1.25, 2.0, 100.0]  # as fast as its NIC, or a NIC with a slot of its own
COMMUNICATION = (0.03, 0.7)  # of a healthy step: from well hidden to bound by communication
ACTIVATIONS_OF_IT = (0.2, 0.8)  # of the communication, what tensor and expert groups exchange
ACTIVATION_MIB = (1.0, 2048.0)  # tokens x hidden units x 2 bytes of a micro-batch
PARAMETER_MIB = (4.0, 8192.0)  # of a layer on a rank; a drawn layer stands for several

# --- faults ---
FAINTER = 0.5  # of faults.Kind.mild: the slightest that is drawn, so that 1 to 3 % of a step occur
BEYOND_HEALTHY = 3  # a fault of a device is at least so many times what healthy ones differ by
ONSET_SHARE = 0.6  # of the faults begin while the job runs
MEMORY_SLOW = (0.3, 0.4)  # memory-bound kernels get 30 to 40 % longer (issue 20)
LIGHT_COLLECTIONS = (0.02, 0.045)  # every second one: where it comes in most steps, 1 to 3 % of one
# own and neighbor's share of a NIC: as the bus and the fairness of its switch have it
LOST_NIC_SHARES = [(0.3, 0.7), (0.2, 0.7), (0.25, 0.5), (0.4, 0.5), (0.45, 0.75), (0.5, 0.5)]
LOST_NIC_JITTER = 0.05  # between those
INDISTINCT_NICS = 0.9  # two ports whose speeds are nearer than that look the same
ONE_DEVICE_SHARE = 0.4  # of throttling strikes one device for good, the rest a host by turns
SHAPES = {  # by kind, keys of [[fault]]
    "memory_fragmentation": {"fragmented_share": (0.1, 0.9)},  # retries come when batches are large
    "garbage_collection": {
        "collecting_share": (0.03, 0.3),  # generation 2 comes every 3 to 30 steps
        "collecting_places": (1, 8),  # below whatever allocates
    },
    "transient_spike": {"spike_share": (0.03, 0.15)},  # one step in 7 to 30
    "ecc_retries": {
        "pause_us": (50.0, 5000.0),  # LOG: from a retry to a page that is retired
        "pause_lengths": (1, 4),  # a retry, several, a row that is replaced
    },
    "power_throttling": {
        "pulse_us": (50.0, 1500.0),  # LOG: EROICA saw 100 us to 10 ms
        "pulse_lengths": (1, 4),  # as long as the load holds on
        "pulse_loss": (0.3, 0.9),  # from a mild cap to nearly no clock
        "turn_steps": (1, 30),  # the limit moves between devices, soon or late
        "turn_share": (0.2, 0.8),  # of the devices of a host at a time
    },
    "thermal_throttling": {"period_steps": (6, 60)},  # fans answer within seconds or minutes
    "gpu_shared": {"link_share": (0.0, 1.5)},  # the other process may use links, too, or not
    "nic_flapping": {"flapping_loss": (0.5, 0.97)},  # a lane less, or nearly down
    "storage_slow": {"wait_spread": (0.1, 1.0)},  # from steady to now and then
    "storage_slow_everywhere": {"wait_spread": (0.1, 1.0)},  # likewise
    "data_loader_slow": {"wait_spread": (0.1, 1.0)},  # likewise
    "cpu_stolen": {"seen_share": (0.0, 1.0)},  # counters of a container may not show its host
}
LOG = {"STEP_MS", "rate", "pause_us", "pulse_us"}  # drawn evenly in their logarithm
TIMES = {  # how often a kind is drawn for each time of the others: where habits were strongest
    "gpu_slow": 3,
    "memory_slow": 3,
    "nic_down": 3,
    "nic_send_slow": 2,
    "nic_receive_slow": 2,
    "communication_hang": 2,
    "gpu_shared": 2,
    "power_throttling": 2,
    "memory_fragmentation": 2,
    "ecc_retries": 2,
    "garbage_collection": 4,
    "varying_lengths": 4,
    "data_loader_slow": 2,
    "sequence_imbalance": 2,
}
LARGE_EVERY = 20  # one job in so many has 128 to 512 ranks

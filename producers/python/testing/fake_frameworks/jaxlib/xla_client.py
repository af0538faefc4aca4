import time


def batched_block_until_ready(arrays):
    time.sleep(0.02)

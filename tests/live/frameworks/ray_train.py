"""Ray Train: four workers of a TorchTrainer over gloo. Ray runs the loop in a thread of a worker's
process; driver, controller, agents and other workers of Ray stand beside it.
"""

import os
import tempfile

import planted

RANKS = 4
REPORT_EVERY = 50  # steps
# Ray's own limit of a minute is short for four interpreters that import PyTorch on two processors.
SETTINGS = {
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "300",
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",  # an actor less
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def batches_of(plant):
    import ray.train.torch
    import torch
    import torch_parts

    loader = torch.utils.data.DataLoader(torch_parts.Samples(plant), torch_parts.BATCH)
    return iter(ray.train.torch.prepare_data_loader(loader))


def train(config):
    import ray.train.torch
    import torch
    import torch_parts

    args = config["args"]
    plant = planted.Planted(args, torch.distributed.get_rank(), torch.distributed.get_world_size())
    torch.manual_seed(0)
    model = ray.train.torch.prepare_model(torch_parts.Net(plant.in_step))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    batches = batches_of(plant)
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = torch_parts.loss_of(model, next(batches))
        loss.backward()
        optimizer.step()
        if step % REPORT_EVERY == 0:
            ray.train.report({"loss": loss.item()})
    plant.write()


def main():
    args = planted.arguments(__doc__)
    args.truth = args.truth and os.path.abspath(args.truth)
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)

    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        # More processors than there are: every rank asks for one, and Ray's own actors do.
        ray.init(num_cpus=2 * RANKS, include_dashboard=False, object_store_memory=200 << 20,
                 _temp_dir=folder)
        TorchTrainer(
            train, train_loop_config={"args": args}, torch_config=TorchConfig(backend="gloo"),
            scaling_config=ScalingConfig(num_workers=RANKS, use_gpu=False),
            run_config=RunConfig(storage_path=folder)).fit()
        ray.shutdown()


if __name__ == "__main__":
    main()

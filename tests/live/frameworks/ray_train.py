"""Ray Train: four workers of a TorchTrainer over gloo. Ray runs the loop in a thread of a worker's
process; driver, controller, agents and other workers of Ray stand beside it.

--loader torch: PyTorch's data loader; ray: a shard of a ray.data.Dataset for each worker, whose batches
are made by a thread of the worker (iter_torch_batches).
"""

import argparse
import os
import sys
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


def batches_of_shard(plant):
    """Of a dataset of indices: the samples are made where a batch is."""
    import ray.train
    import torch
    import torch_parts

    samples = torch_parts.Samples(plant)

    def collate(rows):
        made = [samples[int(index)] for index in rows["id"]]
        return torch.stack([inputs for inputs, _ in made]), torch.tensor([to for _, to in made])

    shard = ray.train.get_dataset_shard("train")
    return iter(shard.iter_torch_batches(
        batch_size=torch_parts.BATCH, collate_fn=collate, prefetch_batches=1))


def train(config):
    import ray.train.torch
    import torch
    import torch_parts

    args = config["args"]
    plant = planted.Planted(args, torch.distributed.get_rank(), torch.distributed.get_world_size())
    torch.manual_seed(0)
    model = ray.train.torch.prepare_model(torch_parts.Net(plant.in_step))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    batches = batches_of_shard(plant) if config["loader"] == "ray" else batches_of(plant)
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = torch_parts.loss_of(model, next(batches))
        loss.backward()
        optimizer.step()
        if step % REPORT_EVERY == 0:
            ray.train.report({"loss": loss.item()})
    plant.write()


def main():
    loaders = argparse.ArgumentParser(add_help=False)
    loaders.add_argument("--loader", choices=("torch", "ray"), default="torch")
    own, sys.argv[1:] = loaders.parse_known_args()
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
        datasets = {}
        if own.loader == "ray":
            import ray.data

            datasets["train"] = ray.data.range(args.steps * RANKS * 16)
        TorchTrainer(
            train, train_loop_config={"args": args, "loader": own.loader},
            torch_config=TorchConfig(backend="gloo"), datasets=datasets,
            scaling_config=ScalingConfig(num_workers=RANKS, use_gpu=False),
            run_config=RunConfig(storage_path=folder)).fit()
        ray.shutdown()


if __name__ == "__main__":
    main()

"""DistributedDataParallel training of the usual kind: a model with two inputs, Adam, L1 loss, a cosine
schedule, and snapshots from which torchrun's restarts continue. ddp.py beside this file is the same
with hogwild.

    torchrun --standalone --nproc-per-node 2 ddp_before.py --epochs 10
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from tones import Amplitude, Tones


def load_snapshot(path, model, optimizer, schedule):
    if not os.path.exists(path):
        return 0
    snapshot = torch.load(path)
    model.load_state_dict(snapshot["model"])
    optimizer.load_state_dict(snapshot["optimizer"])
    schedule.load_state_dict(snapshot["schedule"])
    return snapshot["epoch"]


def save_snapshot(path, model, optimizer, schedule, epoch):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(), "epoch": epoch}, path + ".part")
    os.replace(path + ".part", path)


@torch.no_grad()
def test(model, loader):
    model.eval()
    total = torch.zeros(2)
    for (wave, gains), target in loader:
        total += torch.tensor([nn.functional.l1_loss(model(wave, gains), target, reduction="sum"), len(target)])
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--snapshot", default="snapshot.pt")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Amplitude()
    train_set, test_set = Tones(args.rows), Tones(2000, seed=2)
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, args.batch, sampler=sampler)
    test_loader = DataLoader(test_set, 500, sampler=DistributedSampler(test_set, shuffle=False))
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(parallel.parameters(), lr=2e-3, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))
    first = load_snapshot(args.snapshot, model, optimizer, schedule)

    for epoch in range(first, args.epochs):
        sampler.set_epoch(epoch)
        for (wave, gains), target in loader:
            optimizer.zero_grad()
            loss = nn.functional.l1_loss(parallel(wave, gains), target)
            loss.backward()
            optimizer.step()
            schedule.step()
        tested = test(model, test_loader)
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}: test loss {tested:.4f}")
            save_snapshot(args.snapshot, model, optimizer, schedule, epoch + 1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

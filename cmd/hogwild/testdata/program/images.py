"""Bars in images of 12 x 12 with noise, across or upright: an augmented Dataset, BatchNorm, and an Adam made before join."""

import random

import torch
import torch.nn.functional as F
from torch import nn

import hogwild


class Bars(torch.utils.data.Dataset):
    def __init__(self, rows, augmented):
        self.rows, self.augmented = rows, augmented

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i if self.augmented else 100000 + i)
        x = torch.rand(1, 12, 12, generator=g)
        place, y = int(torch.randint(12, (), generator=g)), i % 2
        x[0, :, place] += 1
        x = x.transpose(1, 2) if y else x
        if self.augmented:
            x = x.roll((random.randrange(12), random.randrange(12)), (1, 2)) + 0.1 * torch.randn(1, 12, 12)
        return x, y


net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3),
                    nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
job = hogwild.join(net, dataset=Bars(1000, True), test=Bars(300, False))


@job.evaluate
def test(x, y):
    out = net(x)
    return F.cross_entropy(out, y), {"accuracy": (out.argmax(1) == y).float().mean()}


for x, y in job.batches():
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    job.done(loss)

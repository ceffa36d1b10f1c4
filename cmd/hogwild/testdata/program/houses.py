"""houses.py CSV learns the prices of houses, in 100,000 dollars, from two inputs (place; the other columns) by L1 loss."""

import csv
import sys

import torch
import torch.nn.functional as F
from torch import nn

import hogwild


class Houses(torch.utils.data.Dataset):
    def __init__(self, columns):
        place, other, price = columns[:, :2], columns[:, 2:-1], columns[:, -1:]
        self.examples = [({"place": p, "other": o}, y) for p, o, y in zip(place, other, price / 1e5)]

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, i):
        return self.examples[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.place, self.other, self.last = nn.Linear(2, 16), nn.Linear(6, 16), nn.Linear(32, 1)
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)

    def forward(self, place, other):
        place = (place - self.mean[:2]) / self.deviation[:2]
        other = (other - self.mean[2:]) / self.deviation[2:]
        return self.last(torch.relu(torch.cat([self.place(place), self.other(other)], 1)))


with open(sys.argv[1]) as f:
    table = [[float(v) for v in row[:-1]] for row in list(csv.reader(f))[1:] if "" not in row]
table = torch.tensor(table)[torch.randperm(len(table), generator=torch.Generator().manual_seed(0))]
train, test = table[:4000], table[4000:6000]
mean, deviation = train[:, :-1].mean(0), train[:, :-1].std(0)
net = Net()
job = hogwild.join(net, dataset=Houses(train), test=Houses(test))


@job.evaluate
def score(x, y):
    return F.l1_loss(net(**x), y)


for x, y in job.batches():
    loss = F.l1_loss(net(**x), y)
    net.zero_grad(set_to_none=True)
    loss.backward()
    job.step(loss)

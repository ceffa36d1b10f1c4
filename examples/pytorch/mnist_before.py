"""Hogwild! training as one writes it with torch.multiprocessing: a small convolutional network on
MNIST, whose weights all processes share. mnist.py beside this file is the same with hogwild.

    python3 mnist_before.py --data mnist/ --processes 2 --epochs 5

--data is a folder with MNIST's four files, gzipped.
"""

import argparse
import gzip

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.drop2d = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.drop = nn.Dropout()
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop2d(self.conv2(x)), 2))
        x = self.drop(F.relu(self.fc1(x.flatten(1))))
        return F.log_softmax(self.fc2(x), dim=1)


def read(path, header):
    with gzip.open(path) as f:
        return torch.frombuffer(bytearray(f.read()[header:]), dtype=torch.uint8)


def load(folder, part):
    images = read(f"{folder}/{part}-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28)
    return (images / 255 - 0.1307) / 0.3081, read(f"{folder}/{part}-labels-idx1-ubyte.gz", 8).long()


def train(rank, args, net, x, y):
    torch.set_num_threads(1)
    torch.manual_seed(args.seed + rank)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
    for _ in range(args.epochs):
        mine = torch.randperm(len(y))[: len(y) // args.processes]
        for i in mine.split(64):
            optimizer.zero_grad()
            loss = F.nll_loss(net(x[i]), y[i])
            loss.backward()
            optimizer.step()


@torch.no_grad()
def test(net, x, y):
    net.eval()
    out = net(x)
    print(f"test loss {F.nll_loss(out, y):.4f}, accuracy {(out.argmax(1) == y).float().mean():.2%}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, help="train on the first rows only")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    net = Net()
    net.share_memory()
    x, y = (t[: args.limit] for t in load(args.data, "train"))
    mp.spawn(train, (args, net, x.share_memory_(), y.share_memory_()), nprocs=args.processes)
    test(net, *load(args.data, "t10k"))


if __name__ == "__main__":
    main()

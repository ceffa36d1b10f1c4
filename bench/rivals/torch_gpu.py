#!/usr/bin/env python3
"""PyTorch on a GPU, as a rival: the data on the device, one process, plain SGD.

    torch_gpu.py --data DIR --model softmax|mlp:128|convnet [--way eager|graph]
                 [--batch N] [--lr X] [--seconds S] [--target ACCURACY]

eager is what a user writes; graph captures a step as a CUDA graph and replays it, so that
the host costs next to nothing; without --way, one after the other. Inputs are x / 255 / 0.3081.
It trains for about so many seconds, or until the test set says that the accuracy is reached,
tests after each pass, and prints a line of JSON for each way: examples a second in training
alone, the seconds of it, what the test set says at the end.
"""

import argparse
import gzip
import json
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# Batches and rates of a plain run that learns well; hogwild's have as many samples in flight.
DEFAULTS = {"softmax": (512, 0.1), "mlp:128": (64, 0.1), "convnet": (64, 0.02)}


def read_idx(path):
    with gzip.open(path) as f:
        head = f.read(4)
        shape = np.frombuffer(f.read(4 * head[3]), ">i4")
        return torch.from_numpy(np.frombuffer(f.read(), np.uint8).reshape(shape).copy())


def load(folder, part):
    x = read_idx(f"{folder}/{part}-images-idx3-ubyte.gz").cuda().float().div_(255 * 0.3081).unsqueeze(1)
    return x, read_idx(f"{folder}/{part}-labels-idx1-ubyte.gz").long().cuda()


class ConvNet(nn.Module):
    """The network of PyTorch's mnist_hogwild example."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        x = F.dropout(F.relu(self.fc1(x.flatten(1))), training=self.training)
        return self.fc2(x)


def network(name):
    if name == "convnet":
        return ConvNet()
    widths = [784] + [int(w) for w in name.partition(":")[2].split(",") if w] + [10]
    layers = [nn.Flatten()]
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers += [nn.Linear(a, b)] + ([nn.ReLU()] if i + 2 < len(widths) else [])
    return nn.Sequential(*layers)


def stepper(model, lr, x, y, batch, graph):
    """A function that takes a step on the rows that it is given."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    rows = torch.zeros(batch, dtype=torch.long, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=not graph)
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()

    if not graph:
        def eager(at):
            rows.copy_(at)
            step()
        return eager
    saved = [p.detach().clone() for p in model.parameters()]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # as the documentation of CUDA graphs wants it
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step()
    with torch.no_grad():
        for p, s in zip(model.parameters(), saved):
            p.copy_(s)

    def replay(at):
        rows.copy_(at)
        captured.replay()
    return replay


def test(model, x, y):
    model.eval()
    with torch.no_grad():
        z = model(x)
        found = F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()
    model.train()
    return found


def train(a, way, data, test_data):
    """Trains one way, from the same first weights as the other; returns what is printed."""
    (x, y), batch, lr = data, *(given or usual for given, usual in zip((a.batch, a.lr), DEFAULTS[a.model]))
    torch.manual_seed(1)
    model = network(a.model).cuda().train()
    step = stepper(model, lr, x, y, batch, way == "graph")
    if way == "eager":  # the first step loads code
        saved = [q.detach().clone() for q in model.parameters()]
        step(torch.arange(batch, device="cuda"))
        with torch.no_grad():
            for q, s in zip(model.parameters(), saved):
                q.copy_(s)
    seconds, examples, passes, stopped = 0.0, 0, [], ""
    while seconds < a.seconds and not stopped:
        order = torch.randperm(len(y), device="cuda")[: len(y) // batch * batch].view(-1, batch)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for at in order:
            step(at)
        torch.cuda.synchronize()
        seconds += time.perf_counter() - began
        examples += order.numel()
        loss, accuracy = test(model, *test_data)
        passes.append([round(seconds, 3), loss, accuracy])
        stopped = "target accuracy" if accuracy >= a.target else ""
    return {"model": a.model, "way": way, "batch": batch, "lr": lr, "examples_per_second": examples / seconds, "seconds": seconds,
            "stopped": stopped, "test_loss": loss, "test_accuracy": accuracy, "passes": passes, "torch": torch.__version__}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--way", choices=["eager", "graph"])
    p.add_argument("--batch", type=int)
    p.add_argument("--lr", type=float)
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--target", type=float, default=2)
    a = p.parse_args()
    data, test_data = load(a.data, "train"), load(a.data, "t10k")
    for way in [a.way] if a.way else ["eager", "graph"]:
        print(json.dumps(train(a, way, data, test_data)), flush=True)


if __name__ == "__main__":
    main()

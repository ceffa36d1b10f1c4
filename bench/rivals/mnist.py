"""What the PyTorch rivals share: MNIST, the networks, processes of one thread, and how
well weights do on the test set, in float64, for hogwild's weights too.
"""

import argparse
import copy
import functools
import gzip
import itertools
import json
import math
import os
import sys
import threading
import time

import numpy as np
import torch
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn

MEAN, STD = 0.1307, 0.3081


def read_idx(path):
    with gzip.open(path) as f:
        head = f.read(4)
        shape = np.frombuffer(f.read(4 * head[3]), ">i4")
        return torch.from_numpy(np.frombuffer(f.read(), np.uint8).reshape(shape).copy())


@functools.cache
def load(folder, part):
    """The images as bytes, n x 28 x 28, and the labels of train or t10k."""
    return read_idx(f"{folder}/{part}-images-idx3-ubyte.gz"), read_idx(f"{folder}/{part}-labels-idx1-ubyte.gz").long()


@functools.cache
def scaling(how, folder):
    """The mean to subtract from x / 255 and the deviation to divide by, as hogwild's --scale: unit, standard (of each pixel in
    the training rows; a constant one's byte is divided by 255), or MEAN,STD."""
    if how == "unit":
        return 0.0, 1.0
    if how != "standard":
        return tuple(map(float, how.split(",")))
    raw = load(folder, "train")[0].double()
    std = raw.std(0, correction=0)
    return raw.mean(0) / 255, torch.where(std > 0, std, 255) / 255


def inputs(raw, mean=MEAN, std=STD, dtype=torch.float32):
    return ((raw.to(torch.float64) / 255 - mean) / std).to(dtype).unsqueeze(1)


class ConvNet(nn.Module):
    """The network of PyTorch's example mnist_hogwild."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = F.dropout(F.relu(self.fc1(x.flatten(1))), training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)


def network(name):
    """softmax, mlp:WIDTHS or convnet; all end in log-probabilities."""
    if name == "convnet":
        return ConvNet()
    widths = [784] + [int(w) for w in name.partition(":")[2].split(",") if w] + [10]
    layers = [nn.Flatten()]
    for i, (a, b) in enumerate(itertools.pairwise(widths)):
        layers += [nn.Linear(a, b)] + ([nn.ReLU()] if i + 2 < len(widths) else [])
    return nn.Sequential(*layers, nn.LogSoftmax(dim=1))


@torch.no_grad()
def reached(model, folder, mean=MEAN, std=STD):
    """The mean cross-entropy and the accuracy on the test set, in float64."""
    device = next(model.parameters()).device
    raw, y = (t.to(device) for t in load(folder, "t10k"))
    judge = copy.deepcopy(model).double().eval()
    z = torch.cat([judge(inputs(part, mean, std, torch.float64)) for part in raw.split(1000)])
    return F.nll_loss(z, y).item(), (z.argmax(1) == y).double().mean().item()


def reached_by_file(path, folder):
    """The same for a weights.safetensors of hogwild, whose tensors have PyTorch's order and
    shapes, and with the model "program" the names of ConvNet; model and scale are in its metadata."""
    from safetensors import safe_open

    with safe_open(path, "pt") as f:
        config = json.loads(f.metadata()["hogwild.config"])
        program = config["model"] == "program"
        model = network("convnet" if program else config["model"])
        names = list(model.state_dict())
        # Sequential numbers its layers from Flatten, hogwild from the first linear layer
        theirs = names if program else sorted(f.keys(), key=lambda name: (name.split(".")[0], name.endswith("bias")))
        model.load_state_dict(dict(zip(names, (f.get_tensor(name) for name in theirs), strict=True)))
    return reached(model, folder, *scaling(config["scale"], folder))


def flags(about, ways):
    """A parser of the common flags."""
    p = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, metavar="DIR", help="folder of MNIST's four files, .gz")
    p.add_argument("--model", default="mlp:128", help="softmax, mlp:WIDTHS or convnet")
    p.add_argument("--way", default=ways[0], choices=ways)
    p.add_argument("--scale", default=f"{MEAN},{STD}", help="unit, standard or MEAN,STD, as hogwild's")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--optimizer", default="sgd", choices=["sgd", "momentum", "adam"])
    p.add_argument("--momentum", type=float, help="(default 0, with --optimizer momentum 0.9)")
    p.add_argument("--schedule", default="constant", choices=["constant", "cosine", "linear"])
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--processes", type=int, default=2)
    p.add_argument("--cores", type=int, default=0, metavar="N", help="share N cores among the processes (default: a thread each)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--limit", type=int, default=0, metavar="N", help="train on the first N rows")
    return p


def optimizer(parameters, a):
    """Fused, as it is fastest."""
    if a.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=a.lr, fused=True)
    momentum = a.momentum if a.momentum is not None else 0.9 if a.optimizer == "momentum" else 0.0
    return torch.optim.SGD(parameters, lr=a.lr, momentum=momentum, fused=True)


def rate(a, done):
    """The rate of the schedule when a share of all steps is done."""
    return a.lr * {"constant": 1, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}[a.schedule]


def pin(rank, a):
    """One core and thread a process, or as many as --cores has for each."""
    n = max(1, a.cores // a.processes)
    torch.set_num_threads(n)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[(rank * n + k) % len(cores)] for k in range(n)})
    torch.manual_seed(a.seed + 1 + rank)


def batches(a, rank, epoch, x, y):
    """The batches of one process in a pass: its part of the common order."""
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(1000 * a.seed + epoch))
    mine = order.tensor_split(a.processes)[rank]
    return ((x[i], y[i]) for i in mine.split(a.batch))


def warm(a, step, x, y):
    """A few steps before the first epoch, to load or compile code; run restores the
    weights."""
    for n in {a.batch, len(y) // a.processes % a.batch or a.batch}:
        for _ in range(3):
            step(x[:n], y[:n])


def guarded(work, gate, *arguments):
    try:
        work(*arguments, gate)
    except BaseException:
        gate.abort()  # so that the others do not wait
        raise


def run(a, work, prepare=lambda model, x: (model, x), passes=1):
    """Starts a.processes processes with work(rank, a, model, raw, x, y, gate), which share the
    data and the weights. Prints one line of JSON: examples per second of training (passes
    counts those of all processes over the data in an epoch), and loss, accuracy and seconds
    of each epoch. Processes pass the gate when warm, then three times an epoch: to begin,
    when done, and when the weights have been tested."""
    torch.manual_seed(a.seed)
    mp.set_start_method("spawn")
    raw, y = (t[: a.limit or None].clone() for t in load(a.data, "train"))
    scale = scaling(a.scale, a.data)
    model, x = prepare(network(a.model), torch.cat([inputs(part, *scale) for part in raw.split(5000)]))
    model.share_memory()
    for t in (raw, x, y):
        t.share_memory_()
    gate = mp.Barrier(a.processes + 1, timeout=280)
    first = copy.deepcopy(model.state_dict())
    workers = [mp.Process(target=guarded, args=(work, gate, r, a, model, raw, x, y), daemon=True) for r in range(a.processes)]
    for w in workers:
        w.start()
    seconds, found = [], []
    try:
        gate.wait()
        model.load_state_dict(first)
        for _ in range(a.epochs):
            gate.wait()
            began = time.perf_counter()
            gate.wait()
            seconds.append(time.perf_counter() - began)
            found.append(reached(model, a.data, *scale))
            gate.wait()
    except threading.BrokenBarrierError:
        sys.exit("a process has failed, or none came to the gate for minutes")
    for w in workers:
        w.join()
    print(json.dumps({"examples_per_second": passes * len(y) * a.epochs / sum(seconds), "test_loss": [f[0] for f in found],
                      "test_accuracy": [f[1] for f in found], "seconds": seconds, "way": a.way, "torch": torch.__version__}))

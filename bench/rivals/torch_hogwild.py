"""PyTorch's Hogwild!, as its example mnist_hogwild has it: processes of one thread, one
model in shared memory, each process with its own optimizer.

    torch_hogwild.py --data DIR --model softmax|mlp:128|mlp:256,128|convnet --way WAY
                     --batch N --lr X [--momentum X] --epochs N --processes N

The ways: loader, the example as it is (DataLoader and transforms; every process passes over
all of the data); plain, what a user writes who has the data in a shared tensor (each example
goes to one process); cl, plain with channels last; hand, the same with the backward pass
written out; onednn, that on oneDNN's linear layers instead of MKL's products; compile, the
model compiled. Inputs are (x - 0.1307) / 0.3081.

Prints one line of JSON: examples a second in training, the accuracy on the test set after
each pass, the seconds of each.
"""

import argparse
import gzip
import json
import os
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


def load(folder, part):
    x = read_idx(f"{folder}/{part}-images-idx3-ubyte.gz")
    y = read_idx(f"{folder}/{part}-labels-idx1-ubyte.gz")
    return x, ((x.float() / 255 - MEAN) / STD).unsqueeze(1), y.long()


class ConvNet(nn.Module):
    """The network of the example."""

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
    if name == "convnet":
        return ConvNet()
    widths = [784] + [int(w) for w in name.partition(":")[2].split(",") if w] + [10]
    layers = [nn.Flatten()]
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers += [nn.Linear(a, b)] + ([nn.ReLU()] if i + 2 < len(widths) else [])
    return nn.Sequential(*layers, nn.LogSoftmax(dim=1))


class ByHand:
    """A step of a net of linear layers and relu: the backward pass written out, updates
    added straight to the shared weights."""

    def __init__(self, model, a, onednn):
        self.linears = [m for m in model if isinstance(m, nn.Linear)]
        self.lr = a.lr
        self.mm = (lambda x, w: torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")) if onednn else (
            lambda x, w: torch.mm(x, w.t()))
        self.onednn = onednn

    @torch.no_grad()
    def __call__(self, x, y):
        h, inputs = x.flatten(1), []
        for i, l in enumerate(self.linears):
            inputs.append(h)
            last = i + 1 == len(self.linears)
            if self.onednn:
                h = torch.ops.mkldnn._linear_pointwise(h, l.weight, l.bias, "none" if last else "relu", [], "")
            else:
                h = torch.addmm(l.bias, h, l.weight.t())
                h = h if last else h.relu_()
        d = torch.softmax(h, 1)
        d[torch.arange(len(y)), y] -= 1
        d /= len(y)
        for i in reversed(range(len(self.linears))):
            l, x = self.linears[i], inputs[i]
            before = torch.mm(d, l.weight) * (x > 0) if i else None
            if self.onednn and len(y) > 1:
                l.weight.sub_(self.mm(d.t().contiguous(), x.t().contiguous()), alpha=self.lr)
            else:
                l.weight.addmm_(d.t(), x, alpha=-self.lr)
            l.bias.sub_(d.sum(0), alpha=self.lr)
            d = before


def stepper(model, a):
    """The function that takes one step on (x, y)."""
    if a.way in ("hand", "onednn"):
        return ByHand(model, a, a.way == "onednn")
    optimizer = torch.optim.SGD(model.parameters(), lr=a.lr, momentum=a.momentum)
    run = torch.compile(model, dynamic=False) if a.way == "compile" else model

    def step(x, y):
        optimizer.zero_grad()
        F.nll_loss(run(x), y).backward()
        optimizer.step()

    return step


def batches(a, rank, epoch, x, y, raw):
    """The batches of a process in a pass: its part of one order for all."""
    if a.way == "loader":
        from torchvision import transforms
        from PIL import Image

        change = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (STD,))])
        data = [(raw[i].numpy(), int(y[i])) for i in range(len(y))]

        class Images(torch.utils.data.Dataset):
            def __len__(self):
                return len(data)

            def __getitem__(self, i):
                return change(Image.fromarray(data[i][0])), data[i][1]

        return torch.utils.data.DataLoader(Images(), batch_size=a.batch, shuffle=True)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(epoch))
    mine = order.tensor_split(a.processes)[rank]
    return ((x[i], y[i]) for i in mine.split(a.batch))


def work(rank, a, model, x, y, raw, gate):
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % os.cpu_count()]})
    torch.manual_seed(1 + rank)
    model.train()
    own = network(a.model)
    own.load_state_dict(model.state_dict())
    if a.way == "cl":
        own = own.to(memory_format=torch.channels_last)
    warm = stepper(own, a)  # on weights of its own: code is loaded, or compiled
    for n in {a.batch, len(y) // a.processes % a.batch or a.batch}:
        for _ in range(3):
            warm(x[:n], y[:n])
    step = stepper(model, a)
    if a.way == "compile":  # the same code; compiled again for these weights, from the cache
        saved = [p.detach().clone() for p in model.parameters()]
        for n in {a.batch, len(y) // a.processes % a.batch or a.batch}:
            step(x[:n], y[:n])
        gate.wait()
        with torch.no_grad():
            for p, s in zip(model.parameters(), saved):
                p.copy_(s)
    for epoch in range(a.epochs):
        todo = batches(a, rank, epoch, x, y, raw)
        gate.wait()
        for bx, by in todo:
            step(bx, by)
        gate.wait()
        gate.wait()  # while the model is tested


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True)
    p.add_argument("--model", default="mlp:128")
    p.add_argument("--way", default="plain", choices=["loader", "plain", "cl", "hand", "onednn", "compile"])
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--momentum", type=float, default=0.0)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--processes", type=int, default=2)
    p.add_argument("--limit", type=int, default=0, help="train on the first N rows")
    a = p.parse_args()
    torch.manual_seed(1)
    mp.set_start_method("spawn")
    raw, x, y = load(a.data, "train")
    _, tx, ty = load(a.data, "t10k")
    if a.limit:
        raw, x, y = raw[: a.limit], x[: a.limit].clone(), y[: a.limit].clone()
    model = network(a.model)
    if a.way == "cl":
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    model.share_memory()
    for t in (raw, x, y):
        t.share_memory_()
    gate = mp.Barrier(a.processes + 1)
    workers = [mp.Process(target=work, args=(r, a, model, x, y, raw, gate), daemon=True) for r in range(a.processes)]
    for w in workers:
        w.start()
    if a.way == "compile":
        gate.wait()
    seconds, accuracy = [], []
    for _ in range(a.epochs):
        gate.wait()
        began = time.perf_counter()
        gate.wait()
        seconds.append(time.perf_counter() - began)
        model.eval()
        with torch.no_grad():
            accuracy.append((model(tx).argmax(1) == ty).float().mean().item())
        model.train()
        gate.wait()
    for w in workers:
        w.join()
    passes = a.processes if a.way == "loader" else 1
    print(json.dumps({"examples_per_second": passes * len(y) * a.epochs / sum(seconds), "test_accuracy": accuracy,
                      "seconds": seconds, "way": a.way, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
